//! `review trust`: lets the tools run that the repository here declares.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::DirectoryArgs;
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv};
use crate::domain::text::{count_noun, strip_line};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cat .review/build.toml && review trust     read what would run, then trust it

Trust is by content: any change of the file ends it. docs/build.md has the details.")]
pub(super) struct TrustArgs {
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: &TrustArgs, console: &Console) -> Result<ExitCode, AppError> {
    let directory: &PathBuf = &args.place.directory;
    let trusted = app::trust(&app::build_root(directory)?, &ProcessEnv::of_this_process()?)?;
    for (name, command) in &trusted.tools {
        console.print_to_stderr(&format!("  {}: {}", strip_line(name), strip_line(command)));
    }
    let count = count_noun(trusted.tools.len(), "tool");
    console.print_to_stderr(&format!("review: trusts {count} of {}, as they are now", trusted.file.display()));
    Ok(ExitCode::SUCCESS)
}
