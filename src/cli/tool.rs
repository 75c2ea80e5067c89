//! `review tool`: calls one tool.

use std::process::ExitCode;

use clap::Args;

use super::DirectoryArgs;
use super::args::{ScopeArgs, ShapeArgs};
use super::console::Console;
use crate::app::{self, AppError, ManualToolCall, ProcessEnv};
use crate::domain::request::ReviewRequest;
use crate::present::Syntax;
use crate::tools::TOOLS;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review tool read_file_part '{\"file_path\": \"src/main.rs\", \"start_line\": 1, \"end_line\": 20}'
  review tool search_in_files '{\"pattern\": \"fn main\", \"file_pattern\": \"*.rs\"}' --at v1.0
  review tool list_files '{\"directory\": \"src\"}'
  review tool read_diff '{\"file_path\": \"src/main.rs\"}' --target main

Exits with 2 if the result is an error.")]
pub(super) struct ToolArgs {
    /// The tool
    #[arg(value_parser = TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>())]
    name: String,
    /// Its input, a JSON object
    #[arg(default_value = "{}", hide_default_value = true)]
    input: String,
    /// Read this revision instead of HEAD
    #[arg(long, value_name = "REV", conflicts_with_all = ["head", "scope"])]
    at: Option<String>,
    /// Print the text that a model reads instead of JSON
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    place: DirectoryArgs,
    #[command(flatten, next_help_heading = "The change it applies to")]
    scope: ScopeArgs,
    #[command(flatten, next_help_heading = "Settings")]
    shape: ShapeArgs,
}

pub(super) fn run(args: ToolArgs, console: &Console) -> Result<ExitCode, AppError> {
    let flags = args.shape.overrides();
    let request = ReviewRequest {
        directory: args.place.directory,
        settings_from_worktree: args.shape.settings_from_worktree(),
        scope: args.scope.scope_at(args.at),
    };
    let call = ManualToolCall { name: args.name, input: args.input, request, flags };
    let around = ProcessEnv::of_this_process()?;
    let limit = app::time_limit(&call.flags, &around)?;
    let cancel = app::Cancel::after(limit);
    let outcome = app::with_time_limit("the tool", limit, move || app::call_tool(&call, &around, &cancel))?;
    let (text, syntax) =
        if args.text { (outcome.text.trim_end(), Syntax::Plain) } else { (outcome.json(), Syntax::Json) };
    console.write_data(format!("{text}\n").as_bytes(), syntax)?;
    Ok(if outcome.is_error { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
