//! `review replay`: replays a run offline.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::args::format_names;
use super::console::Console;
use super::review::render_options;
use crate::app::{self, AppError, Cancel, ComparisonOptions, ProcessEnv, RequestComparison};
use crate::config::Colour;
use crate::domain::text::{count_noun, strip_block};
use crate::present::{Syntax, presenter};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review replay                             replay and check the newest run
  review replay 1a2b3c4d --format json      the same, as the document
  review replay last --prompts my-prompts   which requests other prompts would change
  review replay last --rules my-rules       the same for rule packs: python.yml replaces
                                            the built-in one, python-house.yml adds one

Exit codes: 0 identical, 1 different (differences are shown), 2 cannot be replayed

docs/replay.md explains what is saved of a run, and what a difference means.")]
pub(super) struct ReplayArgs {
    /// The id of a run, a prefix of one, or `last`
    #[arg(default_value = "last")]
    run: String,
    /// Print the review in this format
    #[arg(short, long, value_name = "FORMAT", value_parser = format_names(), default_value = "terminal", conflicts_with_all = ["prompts", "rules"])]
    format: String,
    /// Show which requests these prompts would change: a folder with system.md, change.md, …
    #[arg(long, value_name = "DIR")]
    prompts: Option<PathBuf>,
    /// Show which requests these rule packs would change; needs the reviewed commits
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
}

pub(super) fn run(args: &ReplayArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let cancel = Cancel::never();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let with = ComparisonOptions { prompts: args.prompts.clone(), rules: args.rules.clone() };
    if with.prompts.is_some() || with.rules.is_some() {
        let compared = runtime.block_on(app::compare(&around, &args.run, with, &cancel))?;
        return print_comparison(&compared, console);
    }
    let replayed = runtime.block_on(app::replay(&around, &args.run, &cancel))?;
    let options = render_options(console, Colour::Auto, None);
    if let Some(presenter) = presenter(&args.format) {
        console.write_data(&(presenter.render)(&replayed.review, &options), presenter.syntax)?;
    }
    let id = replayed.review.id;
    let Some(difference) = replayed.difference else {
        console.print_to_stderr(&format!("review: the run {id} came to the same review, byte for byte"));
        return Ok(ExitCode::SUCCESS);
    };
    console.print_to_stderr(&strip_block(&format!(
        "review: the run {id} came to another review than the one that was kept:\n{difference}"
    )));
    let because = replayed.because.unwrap_or_else(|| {
        "a finding that was dismissed since differs so; otherwise the files of the run, or this program, are not what they were".to_owned()
    });
    console.print_to_stderr(&format!("review: {because}"));
    Ok(ExitCode::from(1))
}

/// Prints the requests that would differ, and their number.
fn print_comparison(compared: &RequestComparison, console: &Console) -> Result<ExitCode, AppError> {
    let mut text = String::new();
    for request in &compared.changed {
        for piece in &request.pieces {
            text.push_str(&format!("{}, turn {}: {}\n{}\n", request.unit, request.turn, piece.name, piece.diff));
        }
    }
    console.write_data(strip_block(&text).as_bytes(), Syntax::Plain)?;
    let (all, changed) = (u64::from(compared.requests), compared.changed.len());
    let requests = count_noun(usize::try_from(all).unwrap_or(usize::MAX), "request");
    if changed == 0 {
        console.print_to_stderr(&format!("review: all {requests} of the run {} would be the same", compared.run));
        return Ok(ExitCode::SUCCESS);
    }
    console.print_to_stderr(&format!(
        "review: {changed} of {requests} of the run {} would differ; text that later turns repeat is shown once. The model's answers to them are \
         unknown: after the first difference, the recorded ones are used",
        compared.run
    ));
    Ok(ExitCode::from(1))
}
