//! `review guidelines`: lists the guidelines of the project, and those that apply to a file.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, ExplainedGuidelines, ListedGuideline, ProcessEnv, ReachedGuideline};
use crate::domain::guideline::{GuidelineOrigin, GuidelineSource};
use crate::domain::path::RepoPath;
use crate::domain::request::ReviewRequest;
use crate::domain::text::{count_noun, strip_line};
use crate::present::Syntax;

/// The version of the JSON.
const SCHEMA: &str = "review-guidelines/1";

/// Examples in the help text.
const EXAMPLES: &str = "\
Examples:
  review guidelines list                               all of them, from the target's tip
  review guidelines explain src/main.rs                which apply to a file, and why
  review guidelines explain src/main.rs --target main  those of another branch
  review guidelines list --settings worktree           as they are on the disk, to try them out";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GuidelinesArgs {
    #[command(subcommand)]
    what: GuidelinesCommand,
}

#[derive(Debug, Subcommand)]
enum GuidelinesCommand {
    /// Say which guidelines apply to a file and why, which do not, and what of them is cut
    Explain(GuidelineExplainArgs),
    /// List the guidelines of the project, with what each applies to
    List(GuidelineListArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct GuidelineExplainArgs {
    /// The file, as a path from the root of the repository; it need not be there
    #[arg(value_name = "FILE", value_parser = |text: &str| RepoPath::parse(text))]
    file: RepoPath,
    #[command(flatten)]
    read: GuidelineReadArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct GuidelineListArgs {
    #[command(flatten)]
    read: GuidelineReadArgs,
}

#[derive(Debug, Args)]
struct GuidelineReadArgs {
    /// Print it for people, or as JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten, next_help_heading = "The change whose target they are read from")]
    scope: ScopeArgs,
    #[command(flatten, next_help_heading = "Settings")]
    shape: ShapeArgs,
}

impl GuidelineReadArgs {
    fn request(&self) -> ReviewRequest {
        ReviewRequest {
            directory: self.place.directory.clone(),
            settings_from_worktree: self.shape.settings_from_worktree(),
            scope: self.scope.clone().scope(),
        }
    }

    fn is_json(&self) -> bool {
        self.format == "json"
    }
}

pub(super) fn run(args: &GuidelinesArgs, console: &Console) -> Result<ExitCode, AppError> {
    let (around, never) = (ProcessEnv::of_this_process()?, app::Cancel::never());
    let (text, syntax) = match &args.what {
        GuidelinesCommand::Explain(GuidelineExplainArgs { file, read }) => {
            let flags = read.shape.overrides();
            let told = app::explain_guidelines(&read.request(), file, &flags, &around, &never)?;
            if read.is_json() {
                (explained_json(&told), Syntax::Json)
            } else {
                (render_explanation(&told), Syntax::Plain)
            }
        }
        GuidelinesCommand::List(GuidelineListArgs { read }) => {
            let flags = read.shape.overrides();
            let (from, all) = app::list_guidelines(&read.request(), &flags, &around, &never)?;
            let from = from.as_deref();
            if read.is_json() {
                (listed_json(from, &all), Syntax::Json)
            } else {
                (render_list(from, &all), Syntax::Plain)
            }
        }
    };
    console.write_data(text.as_bytes(), syntax)?;
    Ok(ExitCode::SUCCESS)
}

/// Names the source of the guidelines, as the start of a sentence.
fn read_from(from: Option<&str>) -> String {
    from.map_or_else(|| "nowhere: there is no target to read them from".to_owned(), str::to_owned)
}

fn render_explanation(told: &ExplainedGuidelines) -> String {
    let mut out = format!("{}\nguidelines read {}\n", told.file, read_from(told.from.as_deref()));
    if told.applies.is_empty() {
        out.push_str("\nnone applies\n");
    } else {
        out.push_str("\napply, the nearest to the file last:\n");
    }
    for ReachedGuideline { guideline, .. } in &told.applies {
        let lines = if guideline.is_cut() {
            format!("lines {} to {} of {}", guideline.first, guideline.last_line(), guideline.lines)
        } else {
            count_noun(guideline.text.lines().count(), "line")
        };
        out.push_str(&format!("  {}  {lines}, {} bytes\n", guideline.path, guideline.text.len()));
        for reach in guideline.reach.iter().filter(|reach| reach.applies.has(&told.file)) {
            out.push_str(&format!("      {}\n", describe_reach(reach)));
        }
    }
    if !told.passed_over.is_empty() {
        out.push_str("\ndo not apply:\n");
    }
    for (path, why) in &told.passed_over {
        out.push_str(&format!("  {}: {}\n", strip_line(path), strip_line(why)));
    }
    if !told.notes.is_empty() {
        out.push_str("\na review says of them:\n");
    }
    for note in &told.notes {
        out.push_str(&format!("  {}\n", strip_line(note)));
    }
    out
}

fn describe_reach(reach: &GuidelineOrigin) -> String {
    let applies = format!("{}: applies to {}", reach.kind.as_str(), strip_line(&reach.applies.describe()));
    match &reach.via {
        None => applies,
        Some(GuidelineSource::Import { path, line }) => format!("{applies}; imported by {path}:{line}"),
        Some(GuidelineSource::Link(name)) => format!("{applies}; {name} is a link to it"),
    }
}

fn explained_json(told: &ExplainedGuidelines) -> String {
    let reached = |reached: &ReachedGuideline| {
        let ReachedGuideline { guideline, kinds } = reached;
        let reach = guideline.reach.iter().map(|reach| {
            let via = match &reach.via {
                None => Value::Null,
                Some(GuidelineSource::Import { path, line }) => json!({ "import": { "path": path, "line": line } }),
                Some(GuidelineSource::Link(name)) => json!({ "link": name }),
            };
            let applies_to_file = reach.applies.has(&told.file);
            json!({ "kind": reach.kind, "applies_to": reach.applies.describe(), "applies": applies_to_file, "via": via })
        });
        json!({
            "path": guideline.path, "kinds": kinds, "first_line": guideline.first, "last_line": guideline.last_line(),
            "lines": guideline.lines, "bytes": guideline.text.len(), "cut": guideline.is_cut(), "why": reach.collect::<Vec<_>>(),
        })
    };
    let passed_over = told.passed_over.iter().map(|(path, why)| json!({ "path": path, "why": why }));
    let all = json!({
        "schema": SCHEMA, "file": told.file, "from": told.from, "apply": told.applies.iter().map(reached).collect::<Vec<_>>(),
        "do_not_apply": passed_over.collect::<Vec<_>>(), "notes": told.notes,
    });
    format!("{all:#}\n")
}

fn render_list(from: Option<&str>, all: &[ListedGuideline]) -> String {
    let mut out = format!("guidelines read {}\n", read_from(from));
    if all.is_empty() {
        out.push_str("there are none\n");
    }
    let width = all.iter().map(|one| one.path.to_string().chars().count()).max().unwrap_or(0).min(60);
    for ListedGuideline { path, kind, applies } in all {
        let applies = match applies {
            Ok(applies) => format!("applies to {}", strip_line(applies)),
            Err(why) => format!("not used: {}", strip_line(why)),
        };
        out.push_str(&format!("  {:width$}  {:7}  {applies}\n", path.to_string(), kind.as_str()));
    }
    out
}

fn listed_json(from: Option<&str>, all: &[ListedGuideline]) -> String {
    let one = |one: &ListedGuideline| {
        let (applies, why_not) = (one.applies.as_ref().ok(), one.applies.as_ref().err());
        json!({ "path": one.path, "kind": one.kind, "applies_to": applies, "not_used": why_not })
    };
    format!("{:#}\n", json!({ "schema": SCHEMA, "from": from, "guidelines": all.iter().map(one).collect::<Vec<_>>() }))
}
