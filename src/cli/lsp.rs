//! `review lsp`: serves an editor.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::args::values;
use super::console::Console;
use crate::app::{AppError, Overrides, ProcessEnv};
use crate::lsp;

/// Time limit for saving reviews that are still running when the server ends.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review lsp                        serve the editor that starts this program
  review lsp --no-model             use only the built-in rules for reviews that it starts
  review lsp --model openai/MODEL   use this model for them

The editor starts it and says which folders are open. It shows the findings of the newest saved
review of each one, whoever made it. Standard output carries the protocol and nothing else.
docs/editors.md has the configuration of editors, all commands and their arguments.")]
pub(super) struct LspArgs {
    /// Model for reviews that the editor starts
    #[arg(short, long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true, conflicts_with = "no_model")]
    model: Option<String>,
    /// Use only the built-in rules for reviews that the editor starts
    #[arg(long)]
    no_model: bool,
    /// Use standard input and output, which is all there is; editors add it
    #[arg(long, hide = true)]
    stdio: bool,
    /// The process of the editor, which `initialize` names too; editors add it
    #[arg(long = "clientProcessId", value_name = "PID", hide = true)]
    client_process: Option<u32>,
}

pub(super) fn run(args: LspArgs, console: &Console) -> Result<ExitCode, AppError> {
    let model = if args.no_model { Some("none".to_owned()) } else { args.model };
    let flags = Overrides { model, ..Overrides::default() };
    let env = ProcessEnv::of_this_process()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(8).enable_all().build()?;
    let ended = runtime.block_on(lsp::serve(env, flags, console.logs(), GRACE));
    // A thread that waits for standard input forever must not keep the process alive.
    runtime.shutdown_background();
    Ok(if ended? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
