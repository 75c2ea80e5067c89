//! `review doctor`: checks whether a review would work here, and gives advice.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::DirectoryArgs;
use super::args::values;
use super::console::Console;
use super::review::render_options;
use crate::app::{self, AppError, Cancel, DoctorAsk, Overrides};
use crate::cli::GRACE;
use crate::config::{Colour, parse_duration};
use crate::domain::event::EventSink;
use crate::present::Syntax;
use crate::present::doctor::{json, page};

const EXAMPLES: &str = "\
Examples:
  review doctor                            check everything, and test the model that would review
  review doctor --model ollama/qwen3       the same with another model
  review doctor --offline                  make no network requests
  review doctor --format json              for machines

The model gets four to seven short test questions without any code of yours. docs/doctor.md lists the
checks.

Exit codes:
  0 reviews work                   2 settings or this machine prevent them
  4 the model provider does        130 interrupted";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    place: DirectoryArgs,
    /// Test this model: PROVIDER/NAME, or a PROVIDER alone [default: the one that would review]
    #[arg(short, long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true, conflicts_with = "no_model")]
    model: Option<String>,
    /// Check for a review with the built-in rules only
    #[arg(long)]
    no_model: bool,
    /// Also test this model, which verifies findings
    #[arg(long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true)]
    verify_model: Option<String>,
    /// Make no network requests, neither to the model nor to the forge
    #[arg(long)]
    offline: bool,
    /// Compare with this branch or commit [default: the remote's default branch]
    #[arg(short, long, visible_alias = "base", alias = "target-branch", value_name = "REF", value_parser = NonEmptyStringValueParser::new())]
    target: Option<String>,
    /// Read the project's settings from the target tip or from the disk
    #[arg(long, value_name = "WHERE", value_parser = ["target", "worktree"], default_value = "target")]
    settings: String,
    /// Total time limit of the model tests (90s, 5m)
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    timeout: Duration,
    /// Print it for people, or as JSON
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
    /// Color the output: auto, always or never
    #[arg(long = "color", alias = "colour", value_name = "WHEN", value_parser = ["auto", "always", "never"], default_value = "auto")]
    colour: String,
    /// Print only errors on standard error
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: DoctorArgs, console: &Console) -> Result<ExitCode, AppError> {
    let colour = match args.colour.as_str() {
        "always" => Colour::Always,
        "never" => Colour::Never,
        _ => Colour::Auto,
    };
    let flags = Overrides {
        model: if args.no_model { Some("none".to_owned()) } else { args.model },
        verify_model: args.verify_model,
        ..Overrides::default()
    };
    let ask = DoctorAsk {
        directory: args.place.directory,
        target: args.target,
        settings_from_worktree: args.settings == "worktree",
        flags,
        offline: args.offline,
        limit: args.timeout,
        terminal: console.terminal(colour),
    };
    let progress = Arc::new(console.progress(args.quiet));
    let sink: Arc<dyn EventSink> = progress.clone();
    let cancel = Cancel::never();
    let work = app::doctor(ask, Arc::clone(&sink), cancel.clone());
    let ended = app::run_command(&cancel, &*sink, GRACE, work);
    progress.finish();
    let checkup = ended?;
    match args.format.as_str() {
        "json" => console.write_data(&json(&checkup), Syntax::Json)?,
        _ => console.write_data(&page(&checkup, &render_options(console, colour, None)), Syntax::Plain)?,
    }
    Ok(ExitCode::from(checkup.exit_code()))
}
