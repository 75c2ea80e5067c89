//! Many reviews by one command: branches, commits or pull requests, in one or many repositories. Main function: [`run_batch`].
//!
//! Choosing the changes belongs in `select`, one review of them in `item`, its place among the conversations in `places` and `admission`,
//! what may be served from the store in `identity` and `saved`, the files in `output`, and joining the indexes of shards in `merge`. Each
//! review is one of `app::review`: nothing but the limits on what may be spent, the rate limiters and the opened repository is shared.

mod admission;
mod breaker;
mod error;
mod identity;
mod item;
mod merge;
mod output;
mod places;
mod saved;
mod select;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use error::BatchError;
pub use merge::merge_batches;
pub use output::{FORMATS, write_index};
pub use select::BatchSelection;

pub(in crate::app) use self::breaker::is_provider_fault;
use self::identity::ReviewerDigest;
use self::item::SharedState;
pub(in crate::app) use self::item::{BatchRun, IS_TARGET, ItemEnd};
use self::places::ConversationPlaces;
use self::saved::SavedIdentities;
pub(in crate::app) use self::select::{BatchItem, select};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::model::{self, ChosenModel};
use crate::app::context::settings;
use crate::app::runner::Runner;
use crate::config::{Flags, ResolvedSettings, SettingOrigin};
use crate::domain::batch::{BatchEntry, BatchEvent, BatchEventSink, BatchIndex, BatchOutcome, LeftOutChange, Shard};
use crate::domain::money::Money;
use crate::domain::queue::QueueBudget;
use crate::domain::request::{Compare, Previous};
use crate::review::{BudgetPool, BudgetSource, EngineError, NotAdmitted};
use crate::sys::blocking;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::clock;

/// The time limit of a review whose turns go by message batches: each may take a day.
const ECONOMY_TIME: &str = "7d";

/// The request for a batch.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    /// The folder of the repository, and the one that a list's repositories are relative to.
    pub directory: PathBuf,
    /// The changes to review.
    pub selection: BatchSelection,
    /// The base of the comparison; found for each branch if `None`.
    pub target: Option<String>,
    /// The age beyond which a change is left out.
    pub since: Option<Duration>,
    /// The number of reviews that are in conversation with a model at a time, at least one; of reviews at a time in a worker.
    pub jobs: usize,
    /// The part to review.
    pub shard: Option<Shard>,
    /// The settings from the command line. Its limits of tokens, money and time are those of the batch.
    pub flags: Flags,
    /// The choice of the previous reviews.
    pub compare: Compare,
    /// `true` to review again what is unchanged.
    pub force: bool,
    /// `true` to resume runs that were interrupted.
    pub resume: bool,
    /// `true` to let turns go by message batches of the provider, at half the price.
    pub economy: bool,
    /// The folder for the index and a folder for each review.
    pub output: Option<PathBuf>,
    /// The formats of the files there, besides those of the index.
    pub formats: Vec<String>,
}

impl BatchRequest {
    /// A request for a choice of changes, with nothing else.
    pub fn choosing(directory: PathBuf, selection: BatchSelection) -> Self {
        Self {
            directory,
            selection,
            target: None,
            since: None,
            jobs: 1,
            shard: None,
            flags: Flags::default(),
            compare: Compare { with: Previous::default(), full: false },
            force: false,
            resume: true,
            economy: false,
            output: None,
            formats: Vec::new(),
        }
    }
}

/// Reviews every chosen change, and writes the files of each. A change that cannot be reviewed is a row of the index and holds nothing else up; only
/// an error that every review would have is returned.
///
/// An interrupt ends the running reviews: what they found is saved, and what was not begun is named.
pub async fn run_batch(
    mut request: BatchRequest,
    mut around: ProcessEnv,
    events: Arc<dyn BatchEventSink>,
    cancel: Cancel,
) -> Result<BatchIndex, AppError> {
    let (started_at, started) = (clock::now(), Instant::now());
    let limited = share_time(&mut request.flags, &around, &cancel)?;
    let (tokens, cost) = share_limits(&mut request.flags, &around)?;
    around.providers.pool = (tokens.is_some() || cost.is_some()).then(|| BudgetPool::new(tokens, cost));
    use_batches(&mut request, &mut around)?;
    let batches = around.providers.batches.clone();
    let shared = SharedState::new(&around);
    let (reviewer, has_model) = check_reviewer(&request, &around, &shared, events.as_ref())?;
    let (items, mut left_out) = select(&request, &around, &limited).await?;
    let saved = {
        let (around, force) = (around.clone(), request.force);
        blocking::run("looking for saved reviews", &limited, move || SavedIdentities::load(&around, force)).await??
    };
    events.emit_batch(BatchEvent::Planned { total: items.len() });
    if let Some(output) = &request.output {
        output::create(output)?;
    }

    let conversations = has_model.then(|| ConversationPlaces::new(request.jobs));
    let runner = Runner::new(conversations.as_ref().map_or(request.jobs, ConversationPlaces::reviews));
    let shard = request.shard;
    let run = Arc::new(BatchRun {
        request: Arc::new(request),
        around,
        events: Arc::clone(&events),
        limited: limited.clone(),
        reviewer,
        saved: Some(Arc::new(saved)),
        conversations,
        shared,
    });
    let items: Arc<[BatchItem]> = items.into();
    let queue = (0..items.len()).map(|at| {
        let (run, items) = (Arc::clone(&run), Arc::clone(&items));
        async move { run.review_item(at, &items[at]).await }
    });
    let mut entries: Vec<(usize, BatchEntry)> = Vec::with_capacity(items.len());
    let ended = |at: usize, result: Result<ItemEnd, AppError>| {
        let item = &items[at];
        let entry = match result {
            Ok(ItemEnd::LeftOut(reason)) => {
                left_out.push(LeftOutChange { repository: item.repository.clone(), name: item.name.clone(), reason });
                None
            }
            Ok(ItemEnd::Entry(entry)) => Some(entry),
            Ok(ItemEnd::Busy) => Some(Box::new(item.row(BatchOutcome::NotBegun, "another process reviews it", 3))),
            Err(error) => Some(Box::new(item.not_made(&error))),
        };
        events.emit_batch(BatchEvent::Ended { at, entry: entry.clone() });
        entries.extend(entry.map(|entry| (at, *entry)));
    };
    runner.run_queue(queue, &limited, ended).await;
    let savings = match batches {
        Some(batches) => Some(batches.finish().await),
        None => None,
    };

    entries.sort_by_key(|(at, _)| *at);
    left_out.sort_by(|a, b| (&a.repository, &a.name).cmp(&(&b.repository, &b.name)));
    Ok(BatchIndex {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        shard,
        interrupted: cancel.check() == Err(CancelReason::Interrupted),
        savings,
        entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        left_out,
    })
}

/// Prepares the reviews of a worker, which gets its changes one by one. Each looks for saved runs anew, and one that was interrupted is resumed.
/// The pool has the worker's own limits, and is filled from `source`; the reviews use it if the worker has limits.
pub(in crate::app) fn begin_worker(
    mut request: BatchRequest,
    mut around: ProcessEnv,
    events: Arc<dyn BatchEventSink>,
    source: Box<dyn BudgetSource>,
    cancel: &Cancel,
) -> Result<(BatchRun, BudgetPool), AppError> {
    // The time limit of a worker stays that of each review.
    let (limited, (tokens, cost)) = (cancel.clone(), share_limits(&mut request.flags, &around)?);
    let pool = BudgetPool::with_source(tokens, cost, Some(source));
    around.providers.pool = (tokens.is_some() || cost.is_some()).then(|| pool.clone());
    use_batches(&mut request, &mut around)?;
    let shared = SharedState::new(&around);
    let (reviewer, _) = check_reviewer(&request, &around, &shared, events.as_ref())?;
    let request = Arc::new(BatchRequest { resume: true, ..request });
    Ok((BatchRun { request, around, events, limited, reviewer, saved: None, conversations: None, shared }, pool))
}

impl BatchRun {
    /// Returns the run with reviews that spend from `pool`, each of them at most what the budget of the queue has.
    pub(in crate::app) fn limited_by(&self, budget: &QueueBudget, pool: &BudgetPool) -> Result<Self, AppError> {
        let (mut request, mut around) = (BatchRequest::clone(&self.request), self.around.clone());
        around.providers.pool = Some(pool.clone());
        let one = settings::resolve(None, &request.flags, &around)?.settings;
        if let Some(most) = budget.max_tokens {
            request.flags.max_tokens = Some(most.min(one.max_tokens).max(1).to_string());
        }
        if let Some(most) = budget.max_cost {
            request.flags.max_cost = Some(plain_dollars(one.max_cost.map_or(most, |own| own.min(most))));
        }
        choose_reviewers(&request, &around)?;
        Ok(Self { request: Arc::new(request), around, ..self.clone() })
    }
}

/// Limits of tokens and money of all reviews together.
type CommonLimits = (Option<u64>, Option<Money>);

/// Makes the time limit of the command line that of the whole batch, and returns the cancellation of the batch.
fn share_time(flags: &mut Flags, around: &ProcessEnv, cancel: &Cancel) -> Result<Cancel, AppError> {
    let timeout = settings::resolve(None, flags, around)?.settings.timeout;
    Ok(if flags.timeout.take().is_some() { cancel.with_deadline(timeout) } else { cancel.clone() })
}

/// Makes the other limits of the command line those of all reviews together, and returns them. Each review keeps the limits of the other
/// settings, as far as they are lower.
fn share_limits(flags: &mut Flags, around: &ProcessEnv) -> Result<CommonLimits, AppError> {
    let all = settings::resolve(None, flags, around)?.settings;
    let (tokens, cost) = (flags.max_tokens.take(), flags.max_cost.take());
    let one = settings::resolve(None, flags, around)?.settings;
    if tokens.is_some() {
        flags.max_tokens = Some(all.max_tokens.min(one.max_tokens).to_string());
    }
    if let (Some(_), Some(most)) = (&cost, all.max_cost) {
        flags.max_cost = Some(plain_dollars(one.max_cost.map_or(most, |own| own.min(most))));
    }
    Ok((tokens.map(|_| all.max_tokens), all.max_cost.filter(|_| cost.is_some())))
}

/// Lets turns go by message batches, if that was asked for. A review then has [`ECONOMY_TIME`], unless somebody set a time limit.
fn use_batches(request: &mut BatchRequest, around: &mut ProcessEnv) -> Result<(), AppError> {
    if !request.economy {
        return Ok(());
    }
    around.providers.use_batches(around.state.join("message_batches"));
    let resolved = settings::resolve(None, &request.flags, around)?;
    let is_set = |(key, _, origin): &(&str, _, SettingOrigin)| *key == "timeout" && *origin != SettingOrigin::BuiltIn;
    if !resolved.origins.iter().any(is_set) {
        request.flags.timeout = Some(ECONOMY_TIME.to_owned());
    }
    Ok(())
}

/// Formats an amount as `--max-cost` takes it.
fn plain_dollars(money: Money) -> String {
    let nanos = money.nanos();
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Checks the settings of the reviewer once, because a defect would make every review fail; returns the hash of all that it depends on,
/// and whether it has a model.
fn check_reviewer(
    request: &BatchRequest,
    around: &ProcessEnv,
    shared: &SharedState,
    events: &dyn BatchEventSink,
) -> Result<(ReviewerDigest, bool), AppError> {
    let ChosenReviewers { resolved, chosen, second } = choose_reviewers(request, around)?;
    for text in chosen.iter().chain(&second).flat_map(|chosen| &chosen.notices) {
        shared.warn(text, events);
    }
    let digest = ReviewerDigest::new(&resolved, chosen.as_ref(), second.as_ref(), &request.compare)?;
    Ok((digest, chosen.is_some()))
}

/// The models of a batch, and the settings that name them.
struct ChosenReviewers {
    resolved: ResolvedSettings,
    chosen: Option<ChosenModel>,
    second: Option<ChosenModel>,
}

fn choose_reviewers(request: &BatchRequest, around: &ProcessEnv) -> Result<ChosenReviewers, AppError> {
    let resolved = settings::resolve(None, &request.flags, around)?;
    let chosen = model::choose(&resolved, &around.providers)?;
    let second = model::choose_verifier(&resolved, &around.providers, chosen.as_ref())?;
    model::priced(&resolved.settings, chosen.iter().chain(&second))?;
    Ok(ChosenReviewers { resolved, chosen, second })
}

impl BatchItem {
    /// The row of a review that could not be made.
    pub(super) fn not_made(&self, error: &AppError) -> BatchEntry {
        // Whatever it did when the stop came: a review that has begun keeps what it found, and is no error.
        let (outcome, reason) = match (error.stopped(), error) {
            (Some(CancelReason::Interrupted), _) => (BatchOutcome::NotBegun, "interrupted".to_owned()),
            (Some(CancelReason::DeadlinePassed), _) => {
                let reason = "the time of the batch was up (raise it with --timeout)";
                (BatchOutcome::NotBegun, reason.to_owned())
            }
            (None, AppError::Engine(EngineError::NotAdmitted(NotAdmitted::Refused(reason)))) => {
                (BatchOutcome::NotBegun, (*reason).to_owned())
            }
            (None, error) => (BatchOutcome::Error, error.to_string()),
        };
        self.row(outcome, &reason, error.exit_code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::request::ReviewScope;
    use crate::forge::ForgeError;
    use crate::git::{FetchError, GitError};
    use crate::workspace::WorkspaceError;

    #[test]
    fn what_is_interrupted_before_it_has_a_finding_is_not_begun() {
        let item =
            BatchItem::new("r".to_owned(), "b".to_owned(), "b".to_owned(), PathBuf::from("r"), Ok(ReviewScope::Staged));
        let entry = |error: AppError| item.not_made(&error);
        let collecting = entry(AppError::Git(GitError::Stopped(CancelReason::Interrupted)));
        assert_eq!((collecting.outcome, collecting.exit_code), (BatchOutcome::NotBegun, 130));
        let stopped = CancelReason::DeadlinePassed;
        for late in [
            stopped.into(),
            GitError::Stopped(stopped).into(),
            FetchError::Stopped(stopped).into(),
            WorkspaceError::Stopped(stopped).into(),
            ForgeError::from(stopped).into(),
            AppError::Engine(NotAdmitted::Stopped(stopped).into()),
        ] {
            let late = entry(late);
            assert_eq!((late.outcome, late.exit_code), (BatchOutcome::NotBegun, 3), "{:?}", late.reason);
        }
        assert_eq!(entry(AppError::NotARepository { folder: "r".to_owned() }).outcome, BatchOutcome::Error);
    }
}
