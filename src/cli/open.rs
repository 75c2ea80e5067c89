//! `review open`: a saved review in a browser.

use std::process::ExitCode;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::candidates;
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::present::Syntax;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  review open                the newest review of this repository\n  review open 1a2b3c4d       another one: the beginning of its id"
)]
pub(super) struct OpenArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last", add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Print the path of the page, and open nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: &OpenArgs, console: &Console) -> Result<ExitCode, AppError> {
    let report = app::open_report(&ProcessEnv::of_this_process()?, &args.run, &args.place.directory, args.print)?;
    if let Some(reason) = &report.not_opened {
        console.print_to_stderr(&format!("review: not opened: {reason}; open this file in a browser:"));
    }
    if args.print || report.not_opened.is_some() {
        console.write_data(format!("{}\n", report.file.display()).as_bytes(), Syntax::Plain)?;
    }
    Ok(ExitCode::SUCCESS)
}
