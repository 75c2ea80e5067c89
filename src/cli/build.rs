//! `review build`: runs a tool of the project, and shows logs of its runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::console::Console;
use super::{DirectoryArgs, LONGEST_LOOK};
use crate::app::{self, AppError, BuildAsk, BuildOutcome, BuildUseError, Cancel, CancelReason, ProcessEnv};
use crate::config::parse_duration;
use crate::domain::text::{count_noun, strip_line};
use crate::present::{Syntax, build};

/// The interval at which a long run says that it is one.
const SAY_AGAIN: Duration = Duration::from_secs(10);
/// Time limit for the processes of a tool to end after an interrupt.
const END: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  review build list                          the tools that apply here
  review build cargo.test                    run the tests, and show what failed and where
  review build npm.test -- --runInBand       with arguments of its own
  review build npm.install --confirm         a tool that changes files
  review build log 6f1c... --start 100       lines of the log of a run
  review build raw 6f1c... --offset 4096     bytes of it

Exit codes: 0 passed, 1 failed, 2 not run (no such tool, not confirmed, wrong folder),
3 not run to its end (time limit), 130 interrupted. docs/build.md has the details.";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub(super) struct BuildArgs {
    #[command(subcommand)]
    action: Option<BuildCommand>,
    /// The tool, as `review build list` names it
    #[arg(required = true)]
    tool: Option<String>,
    /// Arguments for the tool, behind its own
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
    /// Run in this folder of the repository
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    cwd: PathBuf,
    /// Agree that the tool changes files of the project
    #[arg(long)]
    confirm: bool,
    /// Let the tool use the network
    #[arg(long)]
    network: bool,
    /// End the tool after this time [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum BuildCommand {
    /// List the tools that apply here
    #[command(after_help = "Example:\n  review build list")]
    List {
        #[command(flatten)]
        place: DirectoryArgs,
        /// List all that are known
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show lines of the log of a run, also of one that still runs
    #[command(after_help = "Example:\n  review build log 1a2b3c4d --start -50")]
    Log {
        /// The run
        run: String,
        /// The first line
        #[arg(long, value_name = "LINE", default_value_t = 1, allow_negative_numbers = true)]
        start: i64,
        /// How many lines; at most 500
        #[arg(long, value_name = "LINES", default_value_t = 50, allow_negative_numbers = true)]
        count: i64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show bytes of the log of a run
    #[command(after_help = "Example:\n  review build raw 1a2b3c4d")]
    Raw {
        /// The run
        run: String,
        /// The first byte
        #[arg(long, value_name = "BYTE", default_value_t = 0)]
        offset: u64,
        /// How many bytes; at most 65536
        #[arg(long, value_name = "BYTES", default_value_t = 4096)]
        length: i64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: BuildArgs, console: &Console) -> Result<ExitCode, AppError> {
    let own = console.clone();
    match args.action {
        Some(BuildCommand::List { place, all, json }) => {
            app::with_time_limit("listing the tools", LONGEST_LOOK, move || list(&place.directory, all, json, &own))
        }
        Some(BuildCommand::Log { run, start, count, json }) => {
            app::with_time_limit("reading the log", LONGEST_LOOK, move || {
                let page =
                    app::build_log(&ProcessEnv::of_this_process()?, &run, start, count).map_err(BuildUseError::from)?;
                print(json, &page, || build::log(&page), &own)
            })
        }
        Some(BuildCommand::Raw { run, offset, length, json }) => {
            app::with_time_limit("reading the log", LONGEST_LOOK, move || {
                let page = app::build_raw(&ProcessEnv::of_this_process()?, &run, offset, length)
                    .map_err(BuildUseError::from)?;
                print(json, &page, || page.data.clone(), &own)
            })
        }
        None => execute(args, console),
    }
}

fn list(directory: &Path, all: bool, json: bool, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let root = app::build_root(directory)?;
    let list = app::list_tools(directory, &root, all, &around)?;
    print(json, &list, || build::tools(&list), console)
}

fn print<T: serde::Serialize>(
    json: bool,
    value: &T,
    text: impl Fn() -> String,
    console: &Console,
) -> Result<ExitCode, AppError> {
    if json {
        let line = serde_json::to_string(value).map_err(std::io::Error::from)?;
        console.write_data(format!("{line}\n").as_bytes(), Syntax::Json)?;
    } else {
        console.write_data(text().as_bytes(), Syntax::Plain)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn execute(args: BuildArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let timeout = args.timeout.unwrap_or(app::BUILD_TIMEOUT);
    let ask = BuildAsk {
        tool: args.tool.unwrap_or_default(),
        arguments: args.arguments,
        root: app::build_root(&args.cwd)?,
        directory: std::path::absolute(&args.cwd)?,
        is_confirmed: args.confirm,
        network: args.network,
        timeout,
    };
    let (progress, cancel) = (console.progress(args.quiet), Cancel::never());
    let (name, quiet, own) = (ask.tool.clone(), args.quiet, console.clone());
    if !quiet {
        console.print_to_stderr(&format!("review: running {}", strip_line(&name)));
    }
    let (mut lines, mut said) = (0_usize, Instant::now());
    let on_line = move |_: &str| {
        lines += 1;
        if !quiet && said.elapsed() >= SAY_AGAIN {
            own.print_to_stderr(&format!("review: still running, {} so far", count_noun(lines, "line")));
            said = Instant::now();
        }
    };
    let work = app::run_build(ask, around, cancel.clone(), on_line);
    let ended = app::run_command(&cancel, &progress, END, work);
    progress.finish();
    let report = ended?;
    for note in &report.answer.notes {
        console.print_to_stderr(&format!("review: {note}"));
    }
    print(args.json, &report.answer, || build::answer(&name, &report.answer), console)?;
    Ok(match report.outcome {
        _ if cancel.check() == Err(CancelReason::Interrupted) => ExitCode::from(130),
        BuildOutcome::Passed => ExitCode::SUCCESS,
        BuildOutcome::Failed => ExitCode::from(1),
        BuildOutcome::Refused => ExitCode::from(2),
        BuildOutcome::Unfinished => ExitCode::from(3),
    })
}
