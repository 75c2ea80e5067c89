//! `review post`: posts a saved review to its pull request.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use super::DirectoryArgs;
use super::args::{PostingArgs, values};
use super::candidates;
use super::console::Console;
use super::report::report;
use crate::app::{self, AppError, Cancel, DryRun, Overrides, PostOutcome, ProcessEnv};
use crate::cli::GRACE;
use crate::domain::forge::PullSpecifier;
use crate::domain::id::{CommitId, ObjectId};
use crate::present::{Syntax, delivery};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  review post                       post the newest review of this repository\n  review post 1a2b3c4d --dry-run    print the requests instead of sending them"
)]
pub(super) struct PostArgs {
    /// The id of a run, a prefix of one, or `last`: the newest of the repository here, or of all where there is none
    #[arg(default_value = "last", add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Post the review in this folder, the artifact of an untrusted job, after checking it against the pull request
    #[arg(long, value_name = "FOLDER", conflicts_with = "run")]
    from: Option<PathBuf>,
    /// With --from: the commit that the artifact has to be of [default: the head of the pull request now]
    #[arg(long, value_name = "SHA", requires = "from", value_parser = |text: &str| text.parse::<ObjectId>().map(CommitId))]
    head: Option<CommitId>,
    #[command(flatten)]
    place: DirectoryArgs,
    /// The pull request, where the review does not say: its number, owner/repo#number, or the URL
    #[arg(long, value_name = "PR", value_parser = |text: &str| text.parse::<PullSpecifier>())]
    pr: Option<PullSpecifier>,
    #[command(flatten)]
    how: PostingArgs,
    /// Stop after this long (90s, 5m) [default: 20m]
    #[arg(long, value_name = "TIME", value_parser = values::time())]
    timeout: Option<String>,
    /// Print only errors on standard error
    #[arg(short, long)]
    quiet: bool,
}

/// Exits with 0, with 5 if some of it could not be delivered, and with 2 if there is nothing to deliver, or no pull request.
pub(super) fn run(args: &PostArgs, console: &Console) -> Result<ExitCode, AppError> {
    let options = args.how.options(args.pr.clone());
    let flags = Overrides {
        request_changes_on: args.how.request_changes_on.clone(),
        comment_on: args.how.comment_on.clone(),
        max_comments: args.how.max_comments.clone(),
        timeout: args.timeout.clone(),
        ..Overrides::default()
    };
    let around = ProcessEnv::of_this_process()?;
    let progress = Arc::new(console.progress(args.quiet));
    let cancel = Cancel::never();
    let directory = args.place.directory.clone();
    let work = async {
        let Some(folder) = &args.from else {
            return app::post(&args.run, directory, &options, &flags, &around, &*progress, &cancel).await;
        };
        let (pull, head) = (args.pr.as_ref(), args.head);
        let expected = app::expected_artefact(folder, pull, head, &directory, &around, &cancel).await?;
        let work = app::post_artefact(folder, expected, &options, &flags, &around, &*progress, &cancel);
        Box::pin(work).await
    };
    let ended = app::run_command(&cancel, &*progress, GRACE, work);
    progress.finish();
    let ended = match ended {
        // Whatever the error was, an interrupt is not reported as a refusal by the forge.
        Err(error) if cancel.is_stopped() => {
            report(&error, console);
            return Ok(ExitCode::from(130));
        }
        ended => ended?,
    };
    match ended {
        PostOutcome::Dry(dry) => console.write_data(&dry_run(&dry), Syntax::Json)?,
        PostOutcome::Done(receipt) => {
            console.write_data(format!("{}\n", delivery::lines(&receipt)).as_bytes(), Syntax::Plain)?;
            for failure in &receipt.failures {
                console.print_to_stderr(&format!("error: {failure}"));
            }
            if !receipt.is_complete() {
                return Ok(ExitCode::from(if cancel.is_stopped() { 130 } else { 5 }));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Renders the output of a dry run.
pub(super) fn dry_run(dry: &DryRun) -> Vec<u8> {
    delivery::requests(&dry.requests, &dry.items, &dry.notes, dry.verdict)
}
