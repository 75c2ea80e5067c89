//! `review action`: runs as a step of a GitHub workflow.

use std::process::ExitCode;
use std::sync::Arc;

use super::console::Console;
use super::report::report;
use super::review::render_options;
use crate::app::action::{ActionResult, ActionVariables, mask, run_action};
use crate::app::{AppError, Cancel, ProcessEnv};
use crate::cli::GRACE;
use crate::config::Colour;
use crate::present::{Syntax, presenter};

/// Exits as the review does; the table of `docs/gate.md` says when a step passes.
pub(super) fn run(console: &Console) -> Result<ExitCode, AppError> {
    let given = ActionVariables::of_this_process();
    // First of all: from here on the runner masks the key.
    console.write_data(mask(&given).as_bytes(), Syntax::Commands)?;
    let around = ProcessEnv::of_this_process();
    let progress = Arc::new(console.progress(false));
    let cancel = Cancel::never();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let acted = runtime.block_on(run_action(&given, around, progress.clone(), cancel, GRACE));
    // A task that waits for an unresponsive server must not keep the process alive.
    runtime.shutdown_background();
    progress.finish();
    show(&acted, given.is_runner(), console)?;
    Ok(ExitCode::from(acted.verdict.code))
}

fn show(acted: &ActionResult, is_runner: bool, console: &Console) -> Result<(), AppError> {
    if let (Some(delivered), Some(terminal)) = (&acted.delivered, presenter("terminal")) {
        let options = render_options(console, Colour::Auto, None);
        console.write_data(&(terminal.render)(&delivered.review, &options), terminal.syntax)?;
    }
    console.write_data(acted.commands.as_bytes(), Syntax::Commands)?;
    // A runner shows its commands in the log too: everything would appear twice there.
    if !is_runner {
        for failure in acted.delivered.iter().flat_map(|delivered| &delivered.failures) {
            console.print_to_stderr(&format!("error: {failure}"));
        }
        if let Some(error) = &acted.error {
            report(error, console);
        }
    }
    for line in &acted.said {
        console.print_to_stderr(line);
    }
    Ok(())
}
