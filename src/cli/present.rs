//! `review present`: presents Markdown from the command line, in the same document store as assistants use.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::console::Console;
use super::review::render_options;
use crate::app::{self, AppError, Connection, Dialect, Overrides, Service, ServiceOptions, Surroundings};
use crate::config::Colour;
use crate::domain::presented::{PresentMode, PresentReview, Presented, WhichDocument};
use crate::domain::text::{strip_block, strip_line};
use crate::present::presented::terminal;
use crate::present::{Links, Syntax};

/// Upper bound on broken references that are shown.
const TOLD: usize = 50;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review present review.md              show it, with its references looked up
  review present review.md --check      fail when a reference points nowhere
  review present more.md --into last --mode append
                                        add to what was presented last
  review present new.md --into last --mode update-section --section Plan
                                        replace what it says under this heading
  review present --show last --permalink https://github.com/me/it/blob/0123abc
                                        print it as a comment for a forge

References: [name](src/a.rs), [here](src/a.rs#L42-L50), [main](src/a.rs?fn main)
and src/a.rs:42

Exits with 2 when --check finds a reference that points nowhere.")]
pub(super) struct PresentArgs {
    /// The Markdown to present; - is standard input
    #[arg(value_name = "FILE|-", required_unless_present = "show", conflicts_with = "show")]
    file: Option<PathBuf>,
    /// Count references from this folder [default: the document's, else the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    base: Option<PathBuf>,
    /// Go on with this document: its id, the beginning of one, or `last`
    #[arg(long, value_name = "ID", conflicts_with = "show")]
    into: Option<String>,
    /// What to do with what the document says already
    #[arg(long, value_enum, default_value_t = Mode::Replace, requires = "into", conflicts_with = "show")]
    mode: Mode,
    /// The heading of the section to update
    #[arg(long, value_name = "HEADING", required_if_eq("mode", "update-section"), conflicts_with = "show")]
    section: Option<String>,
    /// Print a document that was presented before: its id, the beginning of one, or `last`
    #[arg(long, value_name = "ID")]
    show: Option<String>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Write Markdown whose references lead below this address of a forge
    #[arg(long, value_name = "URL", conflicts_with = "format")]
    permalink: Option<String>,
    /// Exit with 2 when a reference points nowhere
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// It becomes the document
    Replace,
    /// It follows, after a blank line
    Append,
    /// It takes the place of the section named with --section
    UpdateSection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading here; references are links where the terminal has them
    Terminal,
    /// Links such as src/a.rs#L42
    Markdown,
    /// Links such as [`src/a.rs:42`][]
    Rustdoc,
    /// Links to the files on the disk, where they are on the disk
    Files,
    /// As it was written, with src/a.rs:42 for links
    Plain,
}

pub(super) fn run(args: &PresentArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = Surroundings::of_this_process()?;
    let presented = match (&args.show, &args.file) {
        (Some(name), _) => app::show_document(&around, name)?,
        (None, file) => present(args, file.as_deref().unwrap_or(Path::new("-")), around, console)?,
    };
    console.data(&output(args, &presented, console), Syntax::Plain)?;
    let broken = presented.broken().count();
    for (reference, fault) in presented.broken().take(TOLD) {
        let near = if fault.near.is_empty() { String::new() } else { format!(" (near: {})", fault.near.join(", ")) };
        let written = presented.markdown.get(reference.at.clone()).unwrap_or(&reference.text);
        console.say(&strip_line(&format!("review: {written}: {}{near}", fault.why)));
    }
    if broken > TOLD {
        console.say(&format!("review: and {} more references point nowhere", broken - TOLD));
    }
    Ok(if args.check && broken > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn present(args: &PresentArgs, file: &Path, around: Surroundings, console: &Console) -> Result<Presented, AppError> {
    let into = args.into.as_deref().map(|name| app::find_document(&around, name)).transpose()?;
    let content = app::read_content(file)?;
    let mode = match (args.mode, &args.section) {
        (Mode::UpdateSection, section) => PresentMode::UpdateSection { section: section.clone().unwrap_or_default() },
        (Mode::Append, _) => PresentMode::Append,
        (Mode::Replace, _) => PresentMode::Replace,
    };
    // A person may read any accessible file: the named folders are allowed, with the repositories around them.
    let kept = into.as_ref().map(|(_, base)| base.clone()).filter(|base| base.is_dir());
    let directory = args.base.clone().or_else(|| kept.clone()).unwrap_or_else(|| ".".into());
    let roots = kept.into_iter().collect();
    let options = ServiceOptions { directory, roots, flags: Overrides::default(), allow_write: true, log: None };
    let service = Service::open(options, around)?;
    let document = into.map_or(WhichDocument::New, |(id, _)| WhichDocument::Known(id));
    // The server's folder is the base that was given.
    let base = args.base.as_ref().map(|_| PathBuf::from("."));
    let ask = PresentReview { content, mode, base, document };
    let shown = service.present(&Connection::Process, ask)?;
    let id = shown.presented.id;
    console.say(&format!("review: kept; print it again with: review present --show {id}"));
    if let Some(note) = &shown.note {
        console.say(&strip_line(&format!("review: {note}")));
    }
    Ok(shown.presented)
}

fn output(args: &PresentArgs, presented: &Presented, console: &Console) -> Vec<u8> {
    let root = app::checkout(&presented.base);
    if args.format == Format::Terminal && args.permalink.is_none() {
        let options = render_options(console, Colour::Auto, root);
        let dialect = match &options.links {
            Links::Osc8 { root } => Dialect::Osc8 { root: root.clone() },
            Links::None => Dialect::Plain,
        };
        return terminal(&app::written(presented, &dialect), &options);
    }
    let dialect = match (&args.permalink, args.format, root) {
        (Some(url), _, _) => Dialect::Forge { blob: format!("{}/", url.trim_end_matches('/')) },
        (None, Format::Files, Some(base)) => Dialect::File { base },
        (None, Format::Markdown | Format::Files, _) => Dialect::Fragment,
        (None, Format::Rustdoc, _) => Dialect::Rustdoc,
        (None, Format::Plain | Format::Terminal, _) => Dialect::Plain,
    };
    let mut text = app::written(presented, &dialect);
    // Markdown is written verbatim, unless a terminal or the page of a build log would obey something in it.
    if console.stdout_is_terminal || console.logs().any() {
        text = strip_block(&text);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}
