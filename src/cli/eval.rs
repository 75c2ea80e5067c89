//! `review eval`: measures how well the configured engine reviews.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::args::{ReviewerArgs, values};
use super::console::Console;
use crate::app::{self, AppError, Cancel, EvalJob, Overrides, ProcessEnv};
use crate::cli::GRACE;
use crate::domain::eval::{EvalThresholds, Figures, compare};
use crate::domain::event::EventSink;
use crate::present::Syntax;
use crate::present::eval::{Report, json, table};

const EXAMPLES: &str = "\
Examples:
  review eval cases --no-model                      benchmark the built-in rules
  review eval cases --model anthropic --repeat 3    benchmark a model
  review eval cases --output json=now.json          save the numbers
  review eval cases --compare before.json           compare with saved numbers
  review eval cases --floor recall=0.8,clean=1      fail if they are too low

Limits of turns, tokens, money and time are those of each case.

Exit codes:
  0 every case reviewed, no floor broken      1 below a floor, or worse than --compare beyond noise
  2 usage, settings, or a badly written case  3 a case was not fully reviewed
  4 the provider failed in every case         5 the file of --output was not written
  130 interrupted

docs/eval.md says how a case is written and what each number means.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct EvalArgs {
    /// The folder with the cases, one folder each
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Only cases whose names match
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Number of runs per case: a model answers differently each time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Number of reviews at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    at_once: u8,
    /// Cases may name repositories in this folder [default: DIR]
    #[arg(long, value_name = "FOLDER")]
    repositories: Option<PathBuf>,
    /// Save each run (review, journal) as FOLDER/CASE/N
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Who reviews")]
    reviewer: ReviewerArgs,
    /// Time limit per case (90s, 5m) [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = values::time(), help_heading = "Who reviews")]
    timeout: Option<String>,
    /// Leave out findings below this severity
    #[arg(long, value_name = "SEVERITY", value_parser = values::severity(), ignore_case = true, help_heading = "Who reviews")]
    min_severity: Option<String>,
    /// Leave out model findings below this confidence (1 to 10)
    #[arg(long, value_name = "N", help_heading = "Who reviews")]
    min_confidence: Option<String>,
    /// Exit with 1 if a measure is below: recall, precision, clean, location, quoted (recall=0.8,clean=1)
    #[arg(long, value_name = "FLOORS", value_parser = |text: &str| text.parse::<EvalThresholds>(), help_heading = "Output")]
    floor: Option<EvalThresholds>,
    /// Compare with the numbers in FILE; exit with 1 if it is worse beyond noise
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    compare: Option<PathBuf>,
    /// Print the numbers as a table for people, or as JSON
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal", help_heading = "Output")]
    format: String,
    /// Also write them to a file (json=now.json)
    #[arg(short, long, value_name = "json=FILE", value_parser = parse_output, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Print only errors on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

fn parse_output(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix("json=") {
        Some(file) if !file.is_empty() && file != "-" => Ok(PathBuf::from(file)),
        _ => Err("write json=FILE; --format json prints it".to_owned()),
    }
}

pub(super) fn run(args: EvalArgs, console: &Console) -> Result<ExitCode, AppError> {
    // Before any budget is spent.
    let earlier = args.compare.as_deref().map(app::earlier_evaluation).transpose()?;
    let job = EvalJob {
        flags: args.reviewer.overrides(Overrides {
            timeout: args.timeout,
            min_severity: args.min_severity,
            min_confidence: args.min_confidence,
            ..Overrides::default()
        }),
        folder: args.folder,
        only: args.only,
        repeat: args.repeat,
        at_once: usize::from(args.at_once),
        repositories: args.repositories,
        keep: args.keep,
    };
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.progress(args.quiet));
    let sink: Arc<dyn EventSink> = progress.clone();
    let cancel = Cancel::never();
    let work = app::evaluate(job, around, Arc::clone(&sink), cancel.clone());
    let ended = app::run_command(&cancel, &*sink, GRACE, work);
    progress.finish();
    let evaluation = ended?;

    let comparison = earlier.map(|earlier| compare(&earlier, &evaluation));
    let broken = args.floor.map(|floors| floors.find_violations(&Figures::of(&evaluation))).unwrap_or_default();
    let report = Report { evaluation: &evaluation, comparison: comparison.as_ref(), broken: &broken };
    match args.format.as_str() {
        "json" => console.write_data(&json(&report), Syntax::Json)?,
        _ => console.write_data(table(&report).as_bytes(), Syntax::Plain)?,
    }
    let below = !broken.is_empty() || comparison.as_ref().is_some_and(crate::domain::eval::EvalComparison::is_worse);
    if let Some(file) = &args.output
        && let Err(error) = app::write_evaluation(file, &json(&report))
    {
        console.print_to_stderr(&format!("error: {error}"));
        // As with a review: a worse result takes precedence over a missing output.
        let code = evaluation.exit_code(below);
        return Ok(ExitCode::from(if code == 0 { 5 } else { code }));
    }
    Ok(ExitCode::from(evaluation.exit_code(below)))
}
