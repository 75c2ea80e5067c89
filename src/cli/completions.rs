//! `review completions SHELL` and `review man DIR`; and the completion itself, which the scripts ask this program for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory as _};
use clap_complete::env::Shells;

use super::Cli;
use super::console::Console;
use crate::app::AppError;
use crate::present::Syntax;

/// The variable in which a script names its shell when it asks for completions.
pub(super) const VARIABLE: &str = "_REVIEW_COMPLETE";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(review completions bash)                              in ~/.bashrc
  source <(review completions zsh)                               in ~/.zshrc
  review completions fish > ~/.config/fish/completions/review.fish

The script asks `review` itself, so branches, runs, findings, rules and models are completed too.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(Shells::builtins().names()))]
    shell: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  review man target/man          write review.1, review-list.1 and the others")]
pub(super) struct ManArgs {
    /// The folder, which is created
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &CompletionsArgs, console: &Console) -> Result<ExitCode, AppError> {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&args.shell) {
        shell.write_registration(VARIABLE, "review", "review", "review", &mut script)?;
    }
    // The script is ours, and a shell reads it.
    console.write_data(&script, Syntax::Commands)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a script that asks for completions: `words` are those after `--`.
pub(super) fn complete(shell: &str, words: Vec<OsString>, console: &Console) -> Result<ExitCode, AppError> {
    let known = Shells::builtins();
    let Some(shell) = known.completer(shell) else { return Ok(ExitCode::from(2)) };
    let mut found = Vec::new();
    let here = std::env::current_dir().ok();
    shell.write_complete(&mut Cli::command(), words, here.as_deref(), &mut found)?;
    console.write_data(&found, Syntax::Commands)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for each command.
pub(super) fn manual(args: &ManArgs, console: &Console) -> Result<ExitCode, AppError> {
    std::fs::create_dir_all(&args.folder)?;
    clap_mangen::generate_to(Cli::command(), &args.folder)?;
    console.print_to_stderr(&format!("review: wrote the manual pages to {}", args.folder.display()));
    Ok(ExitCode::SUCCESS)
}
