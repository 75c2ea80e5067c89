//! `review open`: a saved review in a browser.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use tokio_util::sync::CancellationToken;

use super::DirectoryArgs;
use super::candidates;
use super::console::Console;
use super::worker::local;
use crate::app::{self, AppError, Cancel, LiveReport, ProcessEnv};
use crate::domain::event::NullEventSink;
use crate::domain::run::RunId;
use crate::present::Syntax;
use crate::web;

/// Time limit for answers in flight after an interrupt.
const GRACE: Duration = Duration::from_secs(12);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  review open                the newest review of this repository\n  review open 1a2b3c4d       another one: the beginning of its id\n  review open --live         follow the newest one, also while it is running"
)]
pub(super) struct OpenArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last", add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Print the path of the page, and open nothing
    #[arg(long)]
    print: bool,
    /// Serve the page on this machine until Ctrl-C, and follow a review that is running
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    place: DirectoryArgs,
}

pub(super) fn run(args: &OpenArgs, console: &Console) -> Result<ExitCode, AppError> {
    if args.live {
        return follow(args, console);
    }
    let report = app::open_report(&ProcessEnv::of_this_process()?, &args.run, &args.place.directory, args.print)?;
    if let Some(reason) = &report.not_opened {
        console.print_to_stderr(&format!("review: not opened: {reason}; open this file in a browser:"));
    }
    if args.print || report.not_opened.is_some() {
        console.write_data(format!("{}\n", report.file.display()).as_bytes(), Syntax::Plain)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn follow(args: &OpenArgs, console: &Console) -> Result<ExitCode, AppError> {
    let report = LiveReport::new(ProcessEnv::of_this_process()?, &args.run, args.place.directory.clone());
    // A wrong name is an error here, and not in the browser.
    report.page()?;
    let cancel = Cancel::never();
    let work = async {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = web::listen(wanted).await.map_err(|error| AppError::Serve(error.to_string()))?;
        let at = local(&listener, wanted);
        let word = RunId::random().to_string();
        let address = format!("http://{at}/{word}/");
        console.write_data(format!("{address}\n").as_bytes(), Syntax::Plain)?;
        if !args.print
            && let Err(error) = app::open_in_browser(address.as_ref())
        {
            console.print_to_stderr(&format!("review: not opened: {error}; open the address above in a browser"));
        }
        console.print_to_stderr("review: serving the page until Ctrl-C");
        let stop = CancellationToken::new();
        let server = tokio::spawn({
            let stop = stop.clone();
            async move { web::serve_report(listener, at, &word, Arc::new(report), stop).await }
        });
        cancel.until_stopped().await;
        stop.cancel();
        let _ = server.await;
        Ok(ExitCode::SUCCESS)
    };
    app::run_command(&cancel, &NullEventSink, GRACE, work)
}
