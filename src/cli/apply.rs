//! `review apply`: applies verified suggestions to the working tree.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::candidates;
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
  review apply --interactive                  show one after the other, and ask
  review apply --all                          apply every suggestion of the newest review

A suggestion is applied only if the lines that it replaces are unchanged since the review and occur
once. Of several suggestions for one file, all are applied or none.

Exit codes:
  0 all applied (or applicable)               2 a file was not changed, with the reason
  5 a file could not be written               130 interrupted")]
pub(super) struct ApplyArgs {
    /// The ids of findings, or prefixes of them
    #[arg(required_unless_present_any = ["all", "interactive"], value_name = "ID", value_parser = NonEmptyStringValueParser::new(), add = ArgValueCandidates::new(candidates::findings))]
    ids: Vec<String>,
    /// Apply the suggestions of all open findings
    #[arg(long, conflicts_with_all = ["ids", "interactive"])]
    all: bool,
    /// Show each suggestion as a diff, and ask whether to apply it
    #[arg(short, long, conflicts_with = "ids")]
    pub(super) interactive: bool,
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
    let ApplyArgs { mut ids, all, interactive, run, check, place } = args;
    if all || interactive {
        let around = ProcessEnv::of_this_process()?;
        let open = app::applicable(&around, &place.directory, run.as_deref())?;
        if open.is_empty() {
            console.print_to_stderr("review: no open finding of this review has a suggestion");
            return Ok(ExitCode::SUCCESS);
        }
        ids = open.iter().map(|finding| finding.id.to_string()).collect();
    }
    if interactive {
        let ask = ApplyAsk { directory: place.directory.clone(), run: run.clone(), findings: Vec::new(), check: true };
        ids = choose(&ask, ids, console)?;
        if ids.is_empty() {
            console.print_to_stderr("review: nothing was applied");
            return Ok(ExitCode::SUCCESS);
        }
    }
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
        console.print_to_stderr(&format!("error: {} was left as it is: {why}", refused.path));
    }
    Ok(ExitCode::from(applied.exit_code()))
}

/// Shows each suggestion and asks for it; returns the chosen ones. The answers come from a terminal alone.
fn choose(ask: &ApplyAsk, ids: Vec<String>, console: &Console) -> Result<Vec<String>, AppError> {
    if !io::stdin().is_terminal() {
        let text = "--interactive asks on a terminal, and standard input is none: name the findings, or use --all";
        return Err(AppError::Unusable(text.to_owned()));
    }
    let around = ProcessEnv::of_this_process()?;
    let mut chosen = Vec::new();
    for id in ids {
        let shown = app::apply(&around, &ApplyAsk { findings: vec![id.clone()], ..ask.clone() }, &Cancel::never())?;
        for refused in &shown.refused {
            console
                .print_to_stderr(&format!("review: {id} cannot be applied: {}", strip_line(&refused.why.to_string())));
        }
        if shown.files.is_empty() {
            continue;
        }
        diff(&shown, console)?;
        let titles = shown.files.iter().flat_map(|file| &file.findings).map(|finding| strip_line(&finding.title));
        let title = titles.collect::<Vec<_>>().join(", ");
        console.print_to_stderr(&format!("Apply {id} ({title})? [y]es, [n]o, [q]uit"));
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => chosen.push(id),
            "q" | "quit" => break,
            _ if read == 0 => break,
            _ => {}
        }
    }
    Ok(chosen)
}

fn diff(applied: &ApplyResult, console: &Console) -> Result<(), AppError> {
    let diffs = applied.files.iter().map(|file| suggestion_diff::diff(&file.path, &file.texts[0], &file.texts[1]));
    let all: String = diffs.collect();
    // Another program gets every byte, a terminal nothing that it would obey.
    let all = if console.stdout_is_terminal && !all.is_empty() { format!("{}\n", strip_block(&all)) } else { all };
    console.write_data(all.as_bytes(), Syntax::Plain)?;
    Ok(())
}
