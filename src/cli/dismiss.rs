//! `review dismiss`: dismisses a finding for the project, with a reason.

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::candidates;
use super::console::Console;
use crate::app::{self, AppError, DismissAsk, ProcessEnv};
use crate::domain::day::Day;
use crate::domain::text::strip_line;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review dismiss 5aaf74257db7 --reason 'the clock is mocked here'
  review dismiss 5aaf7 --reason 'until the driver is replaced' --until 2027-03-31
  review dismiss 5aaf7 --reason 'fixtures are broken on purpose' --path 'fixtures/**'

It writes .review/dismissed.toml in the checkout. Commit it: it applies to changes into every
branch that contains it, and a change cannot dismiss its own findings. docs/dismissals.md explains
which findings an entry covers.")]
pub(super) struct DismissArgs {
    /// The id of the finding, or a prefix of it
    #[arg(value_parser = NonEmptyStringValueParser::new(), add = ArgValueCandidates::new(candidates::findings))]
    id: String,
    /// The reason, one line; every review that leaves the finding out shows it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,
    /// The last day of the dismissal (2027-01-31, UTC) [default: forever]
    #[arg(long, value_name = "DATE", value_parser = |text: &str| text.parse::<Day>())]
    until: Option<Day>,
    /// Dismiss it in every file that matches, not only in its own
    #[arg(long, value_name = "GLOB")]
    path: Option<String>,
    /// The run with the finding: its id, a prefix of one, or `last` [default: the newest of this repository]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: DismissArgs, console: &Console) -> Result<ExitCode, AppError> {
    let DismissArgs { id, reason, until, path, run, place } = args;
    let ask = DismissAsk { directory: place.directory, run, finding: id, reason, until, glob: path };
    let written = app::dismiss_for_project(&ProcessEnv::of_this_process()?, &ask)?;
    let title = strip_line(&written.finding.title);
    let what = if written.again { "changed the entry of" } else { "dismissed" };
    console.print_to_stderr(&format!("review: {what} {} ({title})", written.finding.id));
    let file = strip_line(&written.file.display().to_string());
    console.print_to_stderr(&format!("review: commit {file}: it holds for changes into every branch that has it"));
    if let Some(why) = written.not_marked {
        console.print_to_stderr(&format!(
            "review: the kept review {} could not be marked: {}",
            written.run,
            strip_line(&why)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
