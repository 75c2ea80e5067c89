//! `review completions SHELL`.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};

use super::Cli;
use super::console::Console;
use crate::app::AppError;
use crate::present::Syntax;

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &CompletionsArgs, console: &Console) -> Result<ExitCode, AppError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "review", &mut script);
    // The script is ours, and a shell reads it.
    console.write_data(&script, Syntax::Commands)?;
    Ok(ExitCode::SUCCESS)
}
