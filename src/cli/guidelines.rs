//! `review guidelines`: lists the guidelines of the project, and those that apply to a file.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::domain::path::RepoPath;
use crate::domain::request::ReviewRequest;
use crate::present::{Syntax, guideline_list};

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
    /// Show which guidelines apply to a file and why, which do not, and what is cut
    Explain(GuidelineExplainArgs),
    /// List the guidelines of the project, with what each applies to
    List(GuidelineListArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct GuidelineExplainArgs {
    /// The file, as a path from the root of the repository; it need not exist
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
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
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
            let sources = app::explain_guidelines(&read.request(), file, &flags, &around, &never)?;
            if read.is_json() {
                (guideline_list::page_json(&sources), Syntax::Json)
            } else {
                (guideline_list::page(&sources), Syntax::Plain)
            }
        }
        GuidelinesCommand::List(GuidelineListArgs { read }) => {
            let flags = read.shape.overrides();
            let (from, all) = app::list_guidelines(&read.request(), &flags, &around, &never)?;
            let from = from.as_deref();
            if read.is_json() {
                (guideline_list::list_json(from, &all), Syntax::Json)
            } else {
                (guideline_list::list(from, &all), Syntax::Plain)
            }
        }
    };
    console.write_data(text.as_bytes(), syntax)?;
    Ok(ExitCode::SUCCESS)
}
