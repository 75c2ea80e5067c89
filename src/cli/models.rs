//! `review models`: lists the available models and their capabilities.

use std::process::ExitCode;

use clap::Args;

use super::console::Console;
use crate::app::{self, AppError, ModelsAsk, ProcessEnv};
use crate::domain::provider_info::{ProviderInfo, ProviderModels};
use crate::domain::text::strip_line;
use crate::present::{Syntax, model_list};

/// Examples in the help text.
const EXAMPLES: &str = "\
Examples:
  review models                      what can be used now, and what the other providers need
  review models --all                every provider, with all details of its models
  review models openai               one, with all details of its models
  review models ollama --check       also query it for its models
  review models --format json        for programs";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ModelsArgs {
    /// Only this provider, with all details of its models
    #[arg(value_name = "PROVIDER")]
    provider: Option<String>,
    /// Show all details of every provider and its models
    #[arg(long, conflicts_with = "provider")]
    all: bool,
    /// Print it in this format
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
    /// Query the providers for their models, for ten seconds at most; sends keys and nothing else
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &ModelsArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let ask = ModelsAsk { provider: args.provider.clone(), check: args.check };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let all = runtime.block_on(app::models(&ask, &around))?;
    // A DNS lookup in progress must not delay the end.
    runtime.shutdown_background();
    let assistants = if args.provider.is_some() { Vec::new() } else { app::installed_assistants() };
    let (text, syntax) = if args.format == "json" {
        (model_list::json(&all, &assistants), Syntax::Json)
    } else {
        let is_whole = args.all || args.provider.is_some() || args.check;
        let text = if is_whole {
            model_list::page(&all, args.all || args.provider.is_some(), console.width)
        } else {
            model_list::summary(&all, &assistants)
        };
        (text, Syntax::Plain)
    };
    console.write_data(text.as_bytes(), syntax)?;
    Ok(match all.as_slice() {
        [one] if args.provider.is_some() && args.check => exit_code(one, console),
        _ => ExitCode::SUCCESS,
    })
}

/// Returns the exit code for one requested provider: 2 if the user can fix the problem, 4 if the provider fails.
fn exit_code(offer: &ProviderInfo, console: &Console) -> ExitCode {
    match (&offer.lacks, &offer.there) {
        (Some(lacks), _) => {
            console.print_to_stderr(&format!("review: {} was not queried: {}", offer.name, strip_line(lacks)));
            ExitCode::from(2)
        }
        (None, Some(ProviderModels::Fault(_))) => ExitCode::from(4),
        (None, _) => ExitCode::SUCCESS,
    }
}
