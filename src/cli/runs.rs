//! `review list`, `review show` and `review prune`: saved runs.

use std::process::ExitCode;

use clap::Args;

use super::args::format_names;
use super::console::Console;
use super::review::render_options;
use crate::app::{self, AppError, Surroundings};
use crate::config::Colour;
use crate::domain::text::counted;
use crate::present::{Syntax, presenter, runs};

#[derive(Debug, Args)]
pub(super) struct ListArgs {}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The id of a run, the beginning of one, or `last`
    #[arg(default_value = "last")]
    run: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = format_names(), default_value = "terminal")]
    format: String,
}

#[derive(Debug, Args)]
pub(super) struct PruneArgs {}

pub(super) fn show(args: &ShowArgs, console: &Console) -> Result<ExitCode, AppError> {
    let review = app::show(&Surroundings::of_this_process()?, &args.run)?;
    let options = render_options(console, Colour::Auto, None);
    if let Some(presenter) = presenter(&args.format) {
        console.data(&(presenter.render)(&review, &options), presenter.syntax)?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(_: &ListArgs, console: &Console) -> Result<ExitCode, AppError> {
    let kept = app::list(&Surroundings::of_this_process()?)?;
    console.data(runs::table(&kept).as_bytes(), Syntax::Plain)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(_: &PruneArgs, console: &Console) -> Result<ExitCode, AppError> {
    let removed = app::prune(&Surroundings::of_this_process()?)?;
    console.say(&format!("review: removed {}", counted(removed, "run")));
    Ok(ExitCode::SUCCESS)
}
