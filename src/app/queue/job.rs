//! One job in a worker: its change is found, reviewed and posted. Main function: [`run_job`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::QueueUseError;
use super::repos::{NeededChange, WorkerRepos};
use super::schedule::add_scheduled;
use crate::app::batch::{BatchItem, BatchRun, ItemEnd};
use crate::app::context::error::AppError;
use crate::app::post::{PostOptions, PostOutcome, post};
use crate::domain::batch::{BatchEntry, BatchOutcome};
use crate::domain::event::{Event, EventSink};
use crate::domain::queue::{JobRequest, JobWork};
use crate::domain::request::ReviewScope;
use crate::domain::review::StopReason;
use crate::domain::text::strip_line;
use crate::present::batch;
use crate::queue::{JobEnd, JobQueue, LeasedJob, MOST_ATTEMPTS};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;

/// The delay before a job that failed is tried again; it doubles with each attempt up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_mins(10);
/// The delay before a job is tried again whose change another process reviews.
const BUSY_DELAY: Duration = Duration::from_secs(5);

/// The end of a job, with the row of its review.
pub(super) struct EndedJob {
    pub(super) end: JobEnd,
    pub(super) entry: Option<Box<BatchEntry>>,
}

/// Reviews the change of a job. It ends early, and what it has is saved, when `run`'s cancellation stops.
pub(super) async fn run_job(
    run: Arc<BatchRun>,
    queue: JobQueue,
    job: LeasedJob,
    repos: WorkerRepos,
    cancel: Cancel,
) -> EndedJob {
    let request = match &job.work {
        Ok(JobWork::Review(request)) => request,
        Ok(JobWork::Add(selection)) => {
            let added = Box::pin(add_scheduled(queue, selection, &repos, run.for_posting().1, &cancel)).await;
            let end = added.map(|outcome| JobEnd::Done(serde_json::json!({ "outcome": outcome })));
            return EndedJob { end: end.unwrap_or_else(|error| failed(&error, job.attempts)), entry: None };
        }
        Err(reason) => return dead(reason),
    };
    let item = match item(request, &repos, &run, &cancel).await {
        Ok(item) => item,
        Err(error) => return EndedJob { end: failed(&error, job.attempts), entry: None },
    };
    let reviewed = Arc::clone(&run).review_item(0, &item).await;
    let entry = match reviewed {
        ItemEnd::Busy => return EndedJob { end: JobEnd::Release(BUSY_DELAY), entry: None },
        ItemEnd::LeftOut(reason) => {
            let row = serde_json::json!({ "left_out": strip_line(&reason) });
            return EndedJob { end: JobEnd::Done(row), entry: None };
        }
        ItemEnd::Entry(entry) => entry,
    };
    let end = end_of(&entry, job.attempts, run.is_budget_exhausted() || run.is_budget_refused());
    let end = match (end, &entry.run) {
        (JobEnd::Done(_), Some(id)) if request.post && !cancel.is_stopped() => {
            match post_run(Arc::clone(&run), id.to_string(), cancel.clone()).await {
                Ok(()) => JobEnd::Done(batch::row(&entry)),
                // A complete review is served by the next attempt, which only posts; another would be paid again.
                Err(reason) if entry.outcome == BatchOutcome::Complete => {
                    JobEnd::Retry(format!("the review was not posted: {reason}"), delay(job.attempts))
                }
                Err(reason) => {
                    JobEnd::Dead(format!("the review was not posted (`review post {id}` does it): {reason}"))
                }
            }
        }
        (end, _) => end,
    };
    EndedJob { end, entry: Some(entry) }
}

fn dead(reason: &str) -> EndedJob {
    EndedJob { end: JobEnd::Dead(strip_line(reason)), entry: None }
}

/// Decides what an error before the review means for its job.
fn failed(error: &AppError, attempts: i64) -> JobEnd {
    let reason = strip_line(&error.to_string());
    let is_passing = matches!(error.exit_code(), 3 | 130);
    if is_passing { JobEnd::Retry(reason, delay(attempts)) } else { JobEnd::Dead(reason) }
}

async fn item(
    request: &JobRequest,
    repos: &WorkerRepos,
    run: &BatchRun,
    cancel: &Cancel,
) -> Result<BatchItem, AppError> {
    let directory = match &request.scope {
        ReviewScope::Pull(_) => PathBuf::from("/"),
        scope @ (ReviewScope::Branch { .. } | ReviewScope::Commit(_) | ReviewScope::Range { .. }) => {
            let needed = NeededChange { scope: scope.clone(), commits: request.commits.clone() };
            let found = repos.find(&request.repository, Some(needed), run.for_posting().1, cancel).await?;
            if found.is_fetched {
                run.forget_repository(&found.directory);
            }
            found.directory
        }
        ReviewScope::Staged
        | ReviewScope::Uncommitted
        | ReviewScope::BranchWithWorktree { .. }
        | ReviewScope::Patch(_) => return Err(QueueUseError::NoCommits.into()),
    };
    let home = Some(PathBuf::from(&request.repository)).filter(|name| !name.as_os_str().is_empty());
    let (repository, name) = (strip_line(&request.repository), strip_line(&request.name));
    Ok(BatchItem { home, ..BatchItem::new(repository, name, String::new(), directory, Ok(request.scope.clone())) })
}

/// Decides what the row of a review means for its job. Only what another attempt can mend is tried again: a resumed run
/// goes on where it was, with the time that is left of its limit.
fn end_of(entry: &BatchEntry, attempts: i64, is_budget_exhausted: bool) -> JobEnd {
    use StopReason::{CostLimit, Interrupted, ProviderFault, RequestRefused, TokenLimit};
    let reason = || entry.reason.clone().unwrap_or_else(|| entry.outcome.as_str().to_owned());
    let retry = || JobEnd::Retry(reason(), delay(attempts));
    match (entry.outcome, entry.ended) {
        // Nothing is wrong with the job: it waits for another budget, and is resumed.
        (BatchOutcome::Incomplete | BatchOutcome::Failed, Some(TokenLimit | CostLimit)) if is_budget_exhausted => {
            JobEnd::Release(BUSY_DELAY)
        }
        (BatchOutcome::Incomplete, Some(Interrupted | ProviderFault | RequestRefused)) if attempts < MOST_ATTEMPTS => {
            retry()
        }
        (BatchOutcome::Complete | BatchOutcome::Incomplete, _) => JobEnd::Done(batch::row(entry)),
        (BatchOutcome::Failed, None | Some(Interrupted | ProviderFault | RequestRefused)) => retry(),
        // Interrupted, or the worker has spent what it may.
        (BatchOutcome::NotBegun, _) => JobEnd::Release(BUSY_DELAY),
        // What a later attempt may find otherwise: time-outs and servers that are away.
        (BatchOutcome::Error, _) if entry.exit_code == 3 || entry.exit_code == 130 => retry(),
        (BatchOutcome::Failed | BatchOutcome::Error, _) => JobEnd::Dead(reason()),
    }
}

fn delay(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(1, 10) - 1).unwrap_or(0);
    (FIRST_DELAY * 2_u32.pow(doublings)).min(LONGEST_DELAY)
}

/// Posts a saved review to its pull request.
async fn post_run(run: Arc<BatchRun>, id: String, cancel: Cancel) -> Result<(), String> {
    struct PostingEvents;
    impl EventSink for PostingEvents {
        fn emit(&self, _: Event) {}
    }
    let (flags, around) = run.for_posting();
    let options = PostOptions::default();
    let (flags, around) = (flags.clone(), around.clone());
    let (runtime, limit) = (tokio::runtime::Handle::current(), cancel.clone());
    // On a thread of its own: posting borrows across its requests, which a task of the runtime cannot.
    let work = move || {
        let posting = post(&id, PathBuf::from("/"), &options, &flags, &around, &PostingEvents, &limit);
        runtime.block_on(posting)
    };
    let posted = match blocking::run("posting the review", &cancel, work).await {
        Ok(posted) => posted,
        Err(error) => return Err(strip_line(&error.to_string())),
    };
    let failures = |posted: &PostOutcome| posted.failures().join("; ");
    match posted {
        Ok(posted) if posted.failures().is_empty() => Ok(()),
        Ok(posted) => Err(strip_line(&failures(&posted))),
        Err(error) => Err(strip_line(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_reviewed_is_dead_and_what_failed_is_tried_again() {
        let row = |outcome, code| BatchEntry::without_review("r", "n", outcome, "why".to_owned(), code);
        let end = |row: &BatchEntry, attempts| end_of(row, attempts, false);
        assert!(matches!(end(&row(BatchOutcome::Complete, 1), 1), JobEnd::Done(_)));
        assert_eq!(end(&row(BatchOutcome::Error, 2), 1), JobEnd::Dead("why".to_owned()));
        let retry = |seconds| JobEnd::Retry("why".to_owned(), Duration::from_secs(seconds));
        assert_eq!(end(&row(BatchOutcome::Failed, 4), 1), retry(5));
        assert_eq!(end(&row(BatchOutcome::Error, 3), 3), retry(20));
        assert_eq!(end(&row(BatchOutcome::Failed, 4), 30), retry(600));
        assert_eq!(end(&row(BatchOutcome::NotBegun, 3), 1), JobEnd::Release(BUSY_DELAY));
    }

    #[test]
    fn a_review_is_tried_again_only_if_another_attempt_can_mend_it() {
        use BatchOutcome::{Failed, Incomplete};
        let row = |outcome, ended| {
            let row = BatchEntry::without_review("r", "n", outcome, "why".to_owned(), 3);
            BatchEntry { ended: Some(ended), ..row }
        };
        let retry = JobEnd::Retry("why".to_owned(), FIRST_DELAY);
        for ended in [StopReason::ProviderFault, StopReason::RequestRefused] {
            assert_eq!(end_of(&row(Incomplete, ended), 1, false), retry, "{ended:?}");
            assert_eq!(end_of(&row(Failed, ended), 1, false), retry, "{ended:?}");
            let last = end_of(&row(Incomplete, ended), MOST_ATTEMPTS, false);
            assert!(matches!(last, JobEnd::Done(_)), "what there is counts in the end: {last:?}");
        }
        for ended in [StopReason::Refused, StopReason::Deadline, StopReason::LeakedMarkup, StopReason::Finished] {
            assert!(matches!(end_of(&row(Incomplete, ended), 1, false), JobEnd::Done(_)), "{ended:?}");
            assert_eq!(end_of(&row(Failed, ended), 1, false), JobEnd::Dead("why".to_owned()), "{ended:?}");
        }
        let limited = row(Incomplete, StopReason::CostLimit);
        assert_eq!(end_of(&limited, 1, true), JobEnd::Release(BUSY_DELAY));
        assert!(matches!(end_of(&limited, 1, false), JobEnd::Done(_)), "its own limit stays the same");
    }
}
