//! `review apply`: applies verified suggestions to the working tree.

use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::DirectoryArgs;
use super::console::Console;
use crate::app::{self, AppError, ApplyAsk, ApplyResult, Cancel, ProcessEnv};
use crate::domain::text::{strip_block, strip_line};
use crate::present::{Syntax, suggestion_diff};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review apply 5aaf74257db7                   apply the suggestion of a finding
  review apply 5aaf7 c4012 --check            show the changes as a diff
  review apply 5aaf7 --check | git apply --cached

A suggestion is applied only if the lines that it replaces are unchanged since the review and occur
once. Of several suggestions for one file, all are applied or none.

Exit codes:
  0 all applied (or applicable)               2 a file was not changed, with the reason
  5 a file could not be written               130 interrupted")]
pub(super) struct ApplyArgs {
    /// The ids of findings, or prefixes of them
    #[arg(required = true, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    ids: Vec<String>,
    /// The run with the findings: its id, a prefix of one, or `last` [default: the newest of this repository]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Print the changes as a diff without writing them
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: ApplyArgs, console: &Console) -> Result<ExitCode, AppError> {
    let ApplyArgs { ids, run, check, place } = args;
    let ask = ApplyAsk { directory: place.directory, run, findings: ids, check };
    let applied = app::apply(&ProcessEnv::of_this_process()?, &ask, &Cancel::never())?;
    if check {
        diff(&applied, console)?;
    }
    let verb = if check { "would replace" } else { "replaced" };
    for file in &applied.files {
        for finding in &file.findings {
            let title = strip_line(&finding.title);
            let place = suggestion_diff::place(&file.path, finding.lines);
            console.print_to_stderr(&format!("review: {verb} {place} for {} ({title})", finding.id));
        }
    }
    for refused in &applied.refused {
        let why = strip_line(&refused.why.to_string());
        console.print_to_stderr(&format!("review: error: {} was left as it is: {why}", refused.path));
    }
    Ok(ExitCode::from(applied.exit_code()))
}

fn diff(applied: &ApplyResult, console: &Console) -> Result<(), AppError> {
    let diffs = applied.files.iter().map(|file| suggestion_diff::diff(&file.path, &file.texts[0], &file.texts[1]));
    let all: String = diffs.collect();
    // Another program gets every byte, a terminal nothing that it would obey.
    let all = if console.stdout_is_terminal && !all.is_empty() { format!("{}\n", strip_block(&all)) } else { all };
    console.write_data(all.as_bytes(), Syntax::Plain)?;
    Ok(())
}
