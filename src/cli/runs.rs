//! `review list`, `review show` and `review prune`: saved runs.

use std::process::ExitCode;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::args::{format_names, values};
use super::candidates;
use super::console::Console;
use super::review::{render_options, write_review};
use crate::app::{self, AppError, ProcessEnv};
use crate::config::Colour;
use crate::domain::text::count_noun;
use crate::present::{RenderOptions, Syntax, runs};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review list                      the reviews of this repository; outside of one, all
  review list --all -n 5           the five newest of this machine
  review list --repo uv            those of repositories with this in their name
  review list --format json        for programs")]
pub(super) struct RunListArgs {
    /// List the reviews of all repositories
    #[arg(long, conflicts_with = "repo")]
    all: bool,
    /// List the reviews of repositories with this in their name
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// List at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print a table for people, or JSON
    #[arg(short, long, value_name = "FORMAT", value_parser = ["terminal", "json"], default_value = "terminal")]
    format: String,
    #[command(flatten)]
    place: DirectoryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  review show                              the newest review of this repository
  review show 1a2b3c4d --format markdown   another one, as Markdown")]
pub(super) struct RunShowArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last", add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// The format
    #[arg(short, long, value_name = "FORMAT", value_parser = format_names(), default_value = "terminal")]
    format: String,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
    /// Show also why the verification judged a finding as it did (terminal and markdown)
    #[arg(long)]
    why: bool,
    /// Color the output: auto, always or never
    #[arg(long = "color", alias = "colour", value_name = "WHEN", value_parser = values::colour(), ignore_case = true, hide_possible_values = true)]
    colour: Option<String>,
    #[command(flatten)]
    place: DirectoryArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  review prune        remove what is older than the setting keep_runs")]
pub(super) struct RunPruneArgs {}

pub(super) fn show(args: &RunShowArgs, console: &Console) -> Result<ExitCode, AppError> {
    let review = app::show(&ProcessEnv::of_this_process()?, &args.run, &args.place.directory)?;
    let colour = match args.colour.as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("always") => Colour::Always,
        Some("never") => Colour::Never,
        _ => Colour::Auto,
    };
    let names_run = args.run != "last";
    let options = RenderOptions { why: args.why, names_run, ..render_options(console, colour, None) };
    write_review(&review, &args.format, &options, !args.no_pager, console)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(args: &RunListArgs, console: &Console) -> Result<ExitCode, AppError> {
    let around = ProcessEnv::of_this_process()?;
    let is_any = args.all || args.repo.is_some();
    let (mut kept, is_one) =
        if is_any { (app::list(&around)?, false) } else { app::list_here(&around, &args.place.directory)? };
    if let Some(name) = &args.repo {
        let wanted = name.to_lowercase();
        kept.retain(|run| run.repository().is_some_and(|known| known.to_lowercase().contains(&wanted)));
    }
    let hidden = kept.len().saturating_sub(args.limit);
    kept.truncate(args.limit);
    if args.format == "json" {
        console.write_data(&runs::json(&kept), Syntax::Json)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Nothing is cut that goes to a file or another program.
    let width = console.stdout_is_terminal.then_some(console.width);
    console.write_data(runs::table(&kept, is_one, width, &app::local_minute).as_bytes(), Syntax::Plain)?;
    if hidden > 0 {
        console.print_to_stderr(&format!("review: {hidden} more: --limit {}", kept.len() + hidden));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(_: &RunPruneArgs, console: &Console) -> Result<ExitCode, AppError> {
    let removed = app::prune(&ProcessEnv::of_this_process()?)?;
    console.print_to_stderr(&format!("review: removed {}", count_noun(removed, "run")));
    Ok(ExitCode::SUCCESS)
}
