//! `review prompt`: findings as a task for a coding agent.

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::DirectoryArgs;
use super::console::Console;
use crate::app::{self, AppError, ProcessEnv, TaskAsk};
use crate::domain::text::strip_block;
use crate::present::Syntax;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review prompt 5aaf7                          print a finding as a task
  review prompt 5aaf7 c4012 | claude -p        give two of them to an assistant
  review prompt --all --run last > task.md     all unresolved findings of a run

Nothing is sent anywhere. Text of the finding and of the code is marked as data.")]
pub(super) struct PromptArgs {
    /// The ids of findings, or prefixes of them
    #[arg(required_unless_present = "all", value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    ids: Vec<String>,
    /// Print all unresolved findings of the run
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// The run with the findings: its id, a prefix of one, or `last`: the newest of this repository
    #[arg(long, value_name = "RUN", default_value = "last")]
    run: String,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: PromptArgs, console: &Console) -> Result<ExitCode, AppError> {
    let ask = TaskAsk { directory: args.place.directory, run: args.run, findings: args.ids };
    let task = app::task_for_agent(&ProcessEnv::of_this_process()?, &ask)?;
    console.write_data(format!("{}\n", strip_block(&task).trim_end()).as_bytes(), Syntax::Plain)?;
    Ok(ExitCode::SUCCESS)
}
