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
  review doctor                            look at everything, and ask the model that would review
  review doctor --model ollama/qwen3       the same with another model
  review doctor --offline                  ask nobody over the network
  review doctor --format json              for machines

The model gets four to seven short questions, made of our own words: no code is sent. docs/doctor.md
lists what is looked at.

Exit codes:
  0 a review would work            2 settings or this machine keep it from that
  4 the provider of the model does 130 interrupted";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    place: DirectoryArgs,
    /// Ask this model: PROVIDER/NAME, or a PROVIDER alone [default: the one that would review]
    #[arg(long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true, conflicts_with = "no_model")]
    model: Option<String>,
    /// Look as for a review by the built-in rules
    #[arg(long)]
    no_model: bool,
    /// Look also at this model, which takes the second look
    #[arg(long, value_name = "MODEL", value_parser = values::ModelParser, hide_possible_values = true)]
    verify_model: Option<String>,
    /// Ask nobody over the network: neither the model nor the forge
    #[arg(long)]
    offline: bool,
    /// Compare with this branch or commit [default: the remote's default branch]
    #[arg(long, visible_alias = "target-branch", value_name = "REF", value_parser = NonEmptyStringValueParser::new())]
    target: Option<String>,
    /// Take the project's settings from the target tip, or from the disk
    #[arg(long, value_name = "WHERE", value_parser = ["target", "worktree"], default_value = "target")]
    settings: String,
    /// Give all questions together so long (90s, 5m)
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = parse_duration)]
    timeout: Duration,
    /// Tell it for people, or as JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
    /// Colour the output: auto, always or never
    #[arg(long, visible_alias = "color", value_name = "WHEN", value_parser = ["auto", "always", "never"], default_value = "auto")]
    colour: String,
    /// Say nothing on standard error but errors
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
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let work = app::doctor(ask, Arc::clone(&sink), cancel.clone());
    let ended = runtime.block_on(app::interruptible(&cancel, &*sink, GRACE, work));
    // A `gh` process or file system that does not respond must not keep the process alive.
    runtime.shutdown_background();
    progress.finish();
    let checkup = ended?;
    match args.format.as_str() {
        "json" => console.write_data(&json(&checkup), Syntax::Json)?,
        _ => console.write_data(&page(&checkup, &render_options(console, colour, None)), Syntax::Plain)?,
    }
    Ok(ExitCode::from(checkup.exit_code()))
}
