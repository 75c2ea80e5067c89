//! `review open`: a saved review in a browser.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::present::Syntax;

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last")]
    run: String,
    /// Print the path of the page, and open nothing
    #[arg(long)]
    print: bool,
}

pub(super) fn run(args: &OpenArgs, console: &Console) -> Result<ExitCode, AppError> {
    let report = app::open_report(&ProcessEnv::of_this_process()?, &args.run, Path::new("."), args.print)?;
    if let Some(reason) = &report.not_opened {
        console.print_to_stderr(&format!("review: not opened: {reason}; open this file in a browser:"));
    }
    if args.print || report.not_opened.is_some() {
        console.write_data(format!("{}\n", report.file.display()).as_bytes(), Syntax::Plain)?;
    }
    Ok(ExitCode::SUCCESS)
}
