//! `review list`, `review show` and `review prune`: saved runs.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::args::format_names;
use super::console::Console;
use super::review::{render_options, write_review};
use crate::app::{self, AppError, ProcessEnv};
use crate::config::Colour;
use crate::domain::text::count_noun;
use crate::present::{RenderOptions, Syntax, runs};

#[derive(Debug, Args)]
pub(super) struct RunListArgs {}

#[derive(Debug, Args)]
pub(super) struct RunShowArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last")]
    run: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = format_names(), default_value = "terminal")]
    format: String,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Show also why the verification judged a finding as it did (terminal and markdown)
    #[arg(long)]
    why: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunPruneArgs {}

pub(super) fn show(args: &RunShowArgs, console: &Console) -> Result<ExitCode, AppError> {
    let review = app::show(&ProcessEnv::of_this_process()?, &args.run, Path::new("."))?;
    let names_run = args.run != "last";
    let options = RenderOptions { why: args.why, names_run, ..render_options(console, Colour::Auto, None) };
    write_review(&review, &args.format, &options, !args.no_pager, console)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(_: &RunListArgs, console: &Console) -> Result<ExitCode, AppError> {
    let kept = app::list(&ProcessEnv::of_this_process()?)?;
    console.write_data(runs::table(&kept).as_bytes(), Syntax::Plain)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(_: &RunPruneArgs, console: &Console) -> Result<ExitCode, AppError> {
    let removed = app::prune(&ProcessEnv::of_this_process()?)?;
    console.print_to_stderr(&format!("review: removed {}", count_noun(removed, "run")));
    Ok(ExitCode::SUCCESS)
}
