//! `review present`: presents Markdown from the command line, in the same document store as assistants use.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::console::Console;
use super::review::render_options;
use crate::app::{self, AppError, ClientConnection, Overrides, ProcessEnv, ReferenceStyle, Service, ServiceOptions};
use crate::config::Colour;
use crate::domain::presented::{DocumentSelector, PresentMode, PresentReview, Presented};
use crate::domain::text::{strip_block, strip_line};
use crate::present::presented::terminal;
use crate::present::{LinkStyle, Syntax};

/// Upper bound on broken references that are shown.
const TOLD: usize = 50;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review present review.md              show it, with its references checked
  review present review.md --check      fail when a reference points nowhere
  review present more.md --into last --mode append
                                        add to what was presented last
  review present new.md --into last --mode update-section --section Plan
                                        replace the section under this heading
  review present --show last --permalink https://github.com/me/it/blob/0123abc
                                        print it as a comment for a forge

References: [name](src/a.rs), [here](src/a.rs#L42-L50), [main](src/a.rs?fn main)
and src/a.rs:42

Exits with 2 if --check finds a reference that points nowhere.")]
pub(super) struct PresentArgs {
    /// The Markdown to present; - is standard input
    #[arg(value_name = "FILE|-", required_unless_present = "show", conflicts_with = "show")]
    file: Option<PathBuf>,
    /// Count references from this folder [default: the document's, else the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    base: Option<PathBuf>,
    /// Change this document: its id, a prefix of one, or `last`
    #[arg(long, value_name = "ID", conflicts_with = "show")]
    into: Option<String>,
    /// What to do with what the document says already
    #[arg(long, value_enum, default_value_t = PresentModeArg::Replace, requires = "into", conflicts_with = "show")]
    mode: PresentModeArg,
    /// The heading of the section to update
    #[arg(long, value_name = "HEADING", required_if_eq("mode", "update-section"), conflicts_with = "show")]
    section: Option<String>,
    /// Print a document that was presented before: its id, a prefix of one, or `last`
    #[arg(long, value_name = "ID")]
    show: Option<String>,
    /// How to write it
    #[arg(short, long, value_enum, default_value_t = PresentFormat::Terminal)]
    format: PresentFormat,
    /// Write Markdown whose references lead below this address of a forge
    #[arg(long, value_name = "URL", conflicts_with = "format")]
    permalink: Option<String>,
    /// Exit with 2 if a reference points nowhere
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresentModeArg {
    /// It becomes the document
    Replace,
    /// It follows, after a blank line
    Append,
    /// It takes the place of the section named with --section
    UpdateSection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PresentFormat {
    /// For reading here; references are links where the terminal has them
    Terminal,
    /// Links such as src/a.rs#L42
    Markdown,
    /// Links as rustdoc writes them.
    #[value(help = "Links such as [`src/a.rs:42`][]")]
    Rustdoc,
    /// Links to the files on the disk, where they are on the disk
    Files,
    /// As it was written, with src/a.rs:42 for links
    Plain,
}

pub(super) fn run(args: &PresentArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let presented = match (&args.show, &args.file) {
        (Some(name), _) => app::show_document(&around, name)?,
        (None, file) => present(args, file.as_deref().unwrap_or(Path::new("-")), around, console)?,
    };
    console.write_data(&output(args, &presented, console), Syntax::Plain)?;
    let broken = presented.broken_references().count();
    for (reference, fault) in presented.broken_references().take(TOLD) {
        let near = if fault.near.is_empty() { String::new() } else { format!(" (near: {})", fault.near.join(", ")) };
        let written = presented.markdown.get(reference.at.clone()).unwrap_or(&reference.text);
        console.print_to_stderr(&strip_line(&format!("review: {written}: {}{near}", fault.why)));
    }
    if broken > TOLD {
        console.print_to_stderr(&format!("review: and {} more references point nowhere", broken - TOLD));
    }
    Ok(if args.check && broken > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn present(args: &PresentArgs, file: &Path, around: ProcessEnv, console: &Console) -> Result<Presented, AppError> {
    let into = args.into.as_deref().map(|name| app::find_document(&around, name)).transpose()?;
    let content = app::read_content(file)?;
    let mode = match (args.mode, &args.section) {
        (PresentModeArg::UpdateSection, section) => {
            PresentMode::UpdateSection { section: section.clone().unwrap_or_default() }
        }
        (PresentModeArg::Append, _) => PresentMode::Append,
        (PresentModeArg::Replace, _) => PresentMode::Replace,
    };
    // A person may read any accessible file: the named folders are allowed, with the repositories around them.
    let kept = into.as_ref().map(|(_, base)| base.clone()).filter(|base| base.is_dir());
    let directory = args.base.clone().or_else(|| kept.clone()).unwrap_or_else(|| ".".into());
    let roots = kept.into_iter().collect();
    let options = ServiceOptions { directory, roots, flags: Overrides::default(), allow_write: true, log: None };
    let service = Service::open(options, around)?;
    let document = into.map_or(DocumentSelector::New, |(id, _)| DocumentSelector::Known(id));
    // The server's folder is the base that was given.
    let base = args.base.as_ref().map(|_| PathBuf::from("."));
    let ask = PresentReview { content, mode, base, document };
    let shown = service.present(&ClientConnection::Process, ask)?;
    let id = shown.presented.id;
    console.print_to_stderr(&format!("review: kept; print it again with: review present --show {id}"));
    if let Some(note) = &shown.note {
        console.print_to_stderr(&strip_line(&format!("review: {note}")));
    }
    Ok(shown.presented)
}

fn output(args: &PresentArgs, presented: &Presented, console: &Console) -> Vec<u8> {
    let root = app::checkout(&presented.base);
    if args.format == PresentFormat::Terminal && args.permalink.is_none() {
        let options = render_options(console, Colour::Auto, root);
        let dialect = match &options.links {
            LinkStyle::Osc8 { root } => ReferenceStyle::Osc8 { root: root.clone() },
            LinkStyle::None => ReferenceStyle::Plain,
        };
        return terminal(&app::render_document(presented, &dialect), &options);
    }
    let dialect = match (&args.permalink, args.format, root) {
        (Some(url), _, _) => ReferenceStyle::Forge { blob: format!("{}/", url.trim_end_matches('/')) },
        (None, PresentFormat::Files, Some(base)) => ReferenceStyle::File { base },
        (None, PresentFormat::Markdown | PresentFormat::Files, _) => ReferenceStyle::Fragment,
        (None, PresentFormat::Rustdoc, _) => ReferenceStyle::Rustdoc,
        (None, PresentFormat::Plain | PresentFormat::Terminal, _) => ReferenceStyle::Plain,
    };
    let mut text = app::render_document(presented, &dialect);
    // Markdown is written verbatim, unless a terminal or the page of a build log would obey something in it.
    if console.stdout_is_terminal || console.logs().is_any_detected() {
        text = strip_block(&text);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}
