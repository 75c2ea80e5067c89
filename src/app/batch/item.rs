//! One review of a batch: its commits are resolved, then it is served, resumed or made. Main type: [`BatchRun`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::breaker::{self, ProviderBreaker};
use super::identity::ReviewerDigest;
use super::output;
use super::places::ConversationPlaces;
use super::saved::SavedIdentities;
use super::select::BatchItem;
use super::{BatchRequest, ChosenReviewers};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::{project, saved_runs, settings};
use crate::app::prepare::instructions::TrustLevel;
use crate::app::prepare::pull::{self, FetchedPull};
use crate::app::review::deliver::{DeliveredReview, OutputFile, write_outputs};
use crate::app::review::job::{KnownInputs, ReviewJob, review_with};
use crate::app::review::resume::{ResumeRequest, reason_to_review_anew, resume};
use crate::config::{Flags, Settings};
use crate::domain::batch::{
    BatchEntry, BatchEvent, BatchEventSink, BatchOutcome, BatchSavings, ReviewSource, SpentTokens,
};
use crate::domain::event::{Event, EventSink};
use crate::domain::money::Money;
use crate::domain::request::{Compare, ReviewRequest, ReviewScope};
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::run::{Engine, RunId};
use crate::domain::text::strip_line;
use crate::git::{self, GitError, ResolvedRange};
use crate::llm::RateLimit;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::clock;
use crate::sys::repo::{Repo, RepoPool};

/// The reason why the branch that others are compared with needs no review.
pub(in crate::app) const IS_TARGET: &str = "it is the target of the comparison";

/// The number of pauses after which a batch begins no more reviews with a provider that is dead.
const MOST_PAUSES: u32 = 3;
/// Repositories that are kept open, each with its packs in memory.
const MOST_OPEN: usize = 16;

/// A batch in progress, or a worker of a queue. Cloning it shares what its reviews share.
#[derive(Clone)]
pub(in crate::app) struct BatchRun {
    pub(super) request: Arc<BatchRequest>,
    pub(super) around: ProcessEnv,
    pub(super) events: Arc<dyn BatchEventSink>,
    /// The cancellation of the batch, with its deadline; in a worker, that of one job.
    pub(super) limited: Cancel,
    pub(super) reviewer: ReviewerDigest,
    /// The saved runs, read once for a batch; `None` in a worker, which looks for each job anew.
    pub(super) saved: Option<Arc<SavedIdentities>>,
    /// The places of its conversations; `None` without a model, and in a worker, which takes no job that it cannot go on with.
    pub(super) conversations: Option<ConversationPlaces>,
    /// The state that its reviews share.
    pub(super) shared: Arc<SharedState>,
}

/// The state that all reviews of a process share.
pub(super) struct SharedState {
    /// The opened repositories, so that all reviews of one share its object cache.
    repositories: Mutex<HashMap<PathBuf, RepoPool>>,
    /// The warnings that were shown: all reviews are sent to the same provider.
    warned: Mutex<HashSet<String>>,
    /// The reviews that the provider failed.
    breaker: Mutex<ProviderBreaker>,
    /// The saved runs as a worker has last read them.
    saved: Mutex<Option<Arc<SavedIdentities>>>,
}

impl SharedState {
    pub(super) fn new(around: &ProcessEnv) -> Arc<Self> {
        let first = around.providers.test_wait().map_or(breaker::FIRST, |wait| wait * 10);
        let breaker = Mutex::new(ProviderBreaker::new(first));
        Arc::new(Self { repositories: Mutex::default(), warned: Mutex::default(), breaker, saved: Mutex::default() })
    }

    /// Returns the saved runs: as they were read before if a complete review of this identity was among them, and otherwise as they are
    /// now. So an unchanged branch costs no list, and a run that another worker left is always found.
    fn saved(&self, around: &ProcessEnv, force: bool, identity: &str) -> Result<Arc<SavedIdentities>, AppError> {
        let kept = || self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(saved) = kept().as_ref().filter(|saved| saved.complete(identity).is_some()) {
            return Ok(Arc::clone(saved));
        }
        let saved = Arc::new(SavedIdentities::load(around, force)?);
        *kept() = Some(Arc::clone(&saved));
        Ok(saved)
    }

    fn breaker(&self) -> MutexGuard<'_, ProviderBreaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows a warning that was not shown before.
    pub(super) fn warn(&self, text: &str, events: &dyn BatchEventSink) {
        let is_new = self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
        if is_new {
            events.emit_batch(BatchEvent::Whole(Event::Warning { text: text.to_owned() }));
        }
    }
}

/// The end of one change of a batch.
pub(in crate::app) enum ItemEnd {
    /// The row of its review.
    Entry(Box<BatchEntry>),
    /// It needs no review, for this reason.
    LeftOut(String),
    /// Another process reviews it at this moment; never in a batch.
    Busy,
}

/// The decision on a change whose commits are known.
enum ReviewDecision {
    LeaveOut(String),
    Wait,
    Serve(Box<(Review, Settings)>),
    Make(Box<PlannedReview>),
}

/// A review that is to be made.
struct PlannedReview {
    identity: String,
    pulled: Option<FetchedPull>,
    repository: Option<RepoPool>,
    /// The run to resume.
    unfinished: Option<RunId>,
    /// The folder of the repository on this machine.
    directory: PathBuf,
    /// The saved runs.
    saved: Arc<SavedIdentities>,
}

impl BatchRun {
    /// Returns the run with another cancellation: that of one job.
    pub(in crate::app) fn within(&self, cancel: Cancel) -> Arc<Self> {
        Arc::new(Self { limited: cancel, ..self.clone() })
    }

    /// Checks whether the budget that several workers share has refused a turn.
    pub(in crate::app) fn is_budget_refused(&self) -> bool {
        self.around.providers.pool.as_ref().is_some_and(crate::review::BudgetPool::is_refused)
    }

    /// Checks whether the reviews have spent what they may.
    pub(in crate::app) fn is_budget_exhausted(&self) -> bool {
        self.around.providers.pool.as_ref().is_some_and(crate::review::BudgetPool::is_exhausted)
    }

    /// Ends when the message batches that nobody waits for are canceled; returns what the others saved.
    pub(in crate::app) async fn finish_batches(&self) -> Option<BatchSavings> {
        Some(self.around.providers.batches.as_ref()?.finish().await)
    }

    /// Opens a repository anew the next time: one that was opened before a fetch may not see what it brought.
    pub(in crate::app) fn forget_repository(&self, directory: &Path) {
        self.shared.repositories.lock().unwrap_or_else(PoisonError::into_inner).remove(directory);
    }

    /// Divides the rate limits of the settings among this many processes.
    pub(in crate::app) fn share_rates(&self, sharers: u32) {
        self.around.providers.share_rates(sharers);
    }

    /// Checks whether the settings limit the rate of requests or tokens.
    pub(in crate::app) fn is_rate_limited(&self) -> Result<bool, AppError> {
        let ChosenReviewers { chosen, second, .. } = super::choose_reviewers(&self.request, &self.around)?;
        Ok(chosen.iter().chain(&second).any(|chosen| chosen.access.rate != RateLimit::default()))
    }

    /// Returns what posting a review of this run needs.
    pub(in crate::app) fn for_posting(&self) -> (&Flags, &ProcessEnv) {
        (&self.request.flags, &self.around)
    }

    /// Reviews one change.
    pub(in crate::app) async fn review_item(self: Arc<Self>, at: usize, item: &BatchItem) -> ItemEnd {
        // Dropped after the provider's failure is counted: only then may another review take the place.
        let begun = match self.begin_item(at, item).await {
            Ok(begun) => begun,
            Err(stopped) => return ItemEnd::Entry(Box::new(item.not_made(&stopped.into()))),
        };
        self.events.emit_batch(BatchEvent::Begun { at, name: item.name.clone() });
        let ended = match &item.change {
            Err((outcome, reason, code)) => Ok(ItemEnd::Entry(Box::new(item.row(*outcome, reason, *code)))),
            Ok(scope) => Box::pin(self.review_scope(at, item, scope, &begun.around)).await,
        };
        let mut entry = match ended {
            Ok(ItemEnd::Entry(entry)) => entry,
            Ok(ended @ (ItemEnd::LeftOut(_) | ItemEnd::Busy)) => return ended,
            Err(error) => Box::new(item.not_made(&error)),
        };
        entry.took_ms = begun.took_ms();
        let pause = self.shared.breaker().end(&item.breaker_name(), &entry, Instant::now());
        if let Some(pause) = pause {
            let text = format!("the provider failed review after review: none is begun for {} s", pause.as_secs());
            self.events.emit_batch(BatchEvent::Whole(Event::Warning { text }));
        }
        ItemEnd::Entry(entry)
    }

    async fn review_scope(
        self: &Arc<Self>,
        at: usize,
        item: &BatchItem,
        scope: &ReviewScope,
        around: &ProcessEnv,
    ) -> Result<ItemEnd, AppError> {
        let folder = self.request.output.as_ref().map(|output| (output::folder_name(item), output));
        let outputs = match &folder {
            Some((name, output)) => output::review_files(&output.join(name), &self.request.formats),
            None => Vec::new(),
        };
        let create = || folder.as_ref().map_or(Ok(()), |(name, output)| output::create(&output.join(name)));
        let (delivered, source) = match self.decide(item, scope).await? {
            ReviewDecision::LeaveOut(reason) => return Ok(ItemEnd::LeftOut(reason)),
            ReviewDecision::Wait => return Ok(ItemEnd::Busy),
            ReviewDecision::Serve(served) => {
                create()?;
                let (review, settings) = *served;
                let failures = write_outputs(&review, &outputs, settings.fail_on);
                let delivered = DeliveredReview::served(review, settings, failures);
                (delivered, ReviewSource::Unchanged)
            }
            ReviewDecision::Make(planned) => {
                if let Some(reason) = self.reason_not_to_begin() {
                    return Ok(ItemEnd::Entry(Box::new(item.row(BatchOutcome::NotBegun, reason, 3))));
                }
                // In a batch, the admission waits for it.
                if self.conversations.is_none() && self.begin_with_provider(&item.breaker_name()).is_err() {
                    return Ok(ItemEnd::Busy);
                }
                create()?;
                let made = self.make(at, item, scope, *planned, outputs, around).await;
                if let (Err(_), Some((name, output))) = (&made, &folder) {
                    output::remove_empty(&output.join(name));
                }
                made?
            }
        };
        let mut entry = entry(item, &delivered, source);
        entry.folder = folder.map(|(name, _)| name);
        Ok(ItemEnd::Entry(Box::new(entry)))
    }

    /// Returns the reason why no more reviews are begun.
    pub(super) fn reason_not_to_begin(&self) -> Option<&'static str> {
        if self.is_budget_exhausted() {
            return Some("the budget of the batch was used up (raise it with --max-tokens or --max-cost)");
        }
        let breaker = self.shared.breaker();
        // A worker keeps trying, and the rules need no provider.
        let is_dead = self.conversations.is_some() && breaker.pauses() > MOST_PAUSES;
        (is_dead && breaker.pause(Instant::now()).is_some())
            .then_some("the provider failed review after review (see the rows before)")
    }

    /// Begins a review, unless the provider is dead: then it returns the time after which to ask again.
    pub(super) fn begin_with_provider(&self, name: &str) -> Result<(), Duration> {
        self.shared.breaker().begin(name, Instant::now())
    }

    /// Returns the time for which no review is begun because the provider is dead.
    pub(in crate::app) fn provider_pause(&self) -> Option<Duration> {
        self.shared.breaker().pause(Instant::now())
    }

    /// Resolves the commits of a change, and looks for a saved review of them.
    async fn decide(self: &Arc<Self>, item: &BatchItem, scope: &ReviewScope) -> Result<ReviewDecision, AppError> {
        let pulled = match scope {
            ReviewScope::Pull(ask) => {
                let github = pull::sign_in(&self.around, &self.limited).await?;
                Some(pull::fetch(ask, &item.directory, &github, &self.around, &self.limited).await?)
            }
            _ => None,
        };
        let directory = pulled.as_ref().map_or_else(|| item.directory.clone(), |pulled| pulled.directory.clone());
        let (run, scope, home) = (Arc::clone(self), scope.clone(), item.home.clone());
        let work = move || run.decide_here(directory, home, scope, pulled);
        blocking::run("looking at the commits", &self.limited, work).await?
    }

    fn decide_here(
        &self,
        directory: PathBuf,
        home: Option<PathBuf>,
        scope: ReviewScope,
        pulled: Option<FetchedPull>,
    ) -> Result<ReviewDecision, AppError> {
        // One that was opened before a fetch may not see what it brought.
        let pool = match &pulled {
            Some(_) => RepoPool::new(Repo::open(&directory)?),
            None => self.repository(&directory)?,
        };
        let repo = pool.acquire()?;
        let resolved = match &pulled {
            Some(FetchedPull { base, head, pull, .. }) => {
                git::of_pull(&repo, *base, *head, &pull.base_ref, &pull.head_ref)
            }
            None => git::resolve(&repo, &scope),
        };
        let range = match resolved {
            Err(GitError::TargetIsHead { .. }) => {
                return Ok(ReviewDecision::LeaveOut(IS_TARGET.to_owned()));
            }
            resolved => resolved?,
        };
        if let Some(reason) = self.reason_to_leave_out(&repo, &scope, &range)? {
            return Ok(ReviewDecision::LeaveOut(reason));
        }
        let of = pulled.as_ref().map(|pulled| &pulled.of);
        let home = home.or_else(|| project::folder_of(&repo));
        let identity = self.reviewer.identity(home.as_deref(), &range, of);
        let saved = match &self.saved {
            Some(saved) => Arc::clone(saved),
            None => self.shared.saved(&self.around, self.request.force, &identity)?,
        };
        if self.saved.is_none() && saved.is_running(&identity) {
            return Ok(ReviewDecision::Wait);
        }
        if let Some(id) = saved.complete(&identity)
            && let Ok(review) = saved_runs::read(&self.around, id)
            && review.outcome == ReviewOutcome::Complete
        {
            let request = ReviewRequest { directory, scope, settings_from_worktree: false };
            let settings = settings::settings_for(&repo, &range, &request, &self.request.flags, &self.around)?;
            return Ok(ReviewDecision::Serve(Box::new((review, settings))));
        }
        let unfinished = saved.unfinished(&identity).filter(|_| self.request.resume);
        let repository = pulled.is_none().then(|| pool.clone());
        Ok(ReviewDecision::Make(Box::new(PlannedReview { identity, pulled, repository, unfinished, directory, saved })))
    }

    /// Returns the pool of the repository around a folder; it is opened once.
    fn repository(&self, directory: &PathBuf) -> Result<RepoPool, AppError> {
        let known = |pools: &HashMap<PathBuf, RepoPool>| pools.get(directory).cloned();
        if let Some(pool) = known(&self.shared.repositories.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(pool);
        }
        // Opened without the lock: one that hangs must not hold up the others.
        let opened = RepoPool::new(Repo::open(directory)?);
        let mut pools = self.shared.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        if pools.len() >= MOST_OPEN {
            // Reviews that go on keep theirs.
            pools.clear();
        }
        Ok(pools.entry(directory.clone()).or_insert(opened).clone())
    }

    fn reason_to_leave_out(
        &self,
        repo: &Repo,
        scope: &ReviewScope,
        range: &ResolvedRange,
    ) -> Result<Option<String>, AppError> {
        if matches!(scope, ReviewScope::Branch { .. }) && range.merge_base == range.head {
            return Ok(Some(format!("it has no commits that {} has not", strip_line(&range.target))));
        }
        let (Some(since), Some(head)) = (self.request.since, range.head) else { return Ok(None) };
        let age = clock::unix_seconds().saturating_sub(git::committed_at(repo, head)?);
        let is_older = u64::try_from(age).is_ok_and(|age| age > since.as_secs());
        Ok(is_older.then(|| "it has no commit in the period of --since".to_owned()))
    }

    /// Resumes or makes a review.
    async fn make(
        self: &Arc<Self>,
        at: usize,
        item: &BatchItem,
        scope: &ReviewScope,
        planned: PlannedReview,
        outputs: Vec<OutputFile>,
        around: &ProcessEnv,
    ) -> Result<(DeliveredReview, ReviewSource), AppError> {
        let sink: Arc<dyn EventSink> = Arc::new(ItemSink { run: Arc::clone(self), at });
        let flags = self.request.flags.clone();
        if let Some(id) = planned.unfinished {
            let (run, outputs) = (id.to_string(), outputs.clone());
            let ask = ResumeRequest {
                run,
                as_recorded: false,
                flags: flags.clone(),
                directory: Some(planned.directory.clone()),
                outputs,
            };
            let ready = |_: &ReviewScope| Ok(());
            let resumed = resume(ask, ready, around.clone(), Arc::clone(&sink), self.limited.clone());
            match Box::pin(resumed).await {
                Ok(resumed) => return Ok((resumed.delivered, ReviewSource::Resumed)),
                Err(error) => match reason_to_review_anew(&error) {
                    Some(why) => {
                        let text = format!("{}: reviewed anew, because {}", item.name, strip_line(&why));
                        self.events.emit_batch(BatchEvent::Whole(Event::Notice { text }));
                    }
                    None => return Err(error),
                },
            }
        }
        let request =
            ReviewRequest { directory: item.directory.clone(), scope: scope.clone(), settings_from_worktree: false };
        // Files that an earlier review covered would be left out otherwise.
        let compare = Compare { full: self.request.compare.full || self.request.force, ..self.request.compare.clone() };
        let job = ReviewJob { outputs, compare, ..ReviewJob::new(request, flags) };
        let PlannedReview { identity, pulled, repository, saved, .. } = planned;
        let known = KnownInputs { pulled, repository, saved: Some(Arc::clone(&saved.list)), identity: Some(identity) };
        let cancel = self.limited.clone();
        let made = review_with(job, TrustLevel::User, known, around.clone(), sink, cancel);
        Ok((Box::pin(made).await?, ReviewSource::Reviewed))
    }
}

/// The row of a review.
fn entry(item: &BatchItem, delivered: &DeliveredReview, source: ReviewSource) -> BatchEntry {
    let review = &delivered.review;
    let outcome = match review.outcome {
        ReviewOutcome::Complete => BatchOutcome::Complete,
        ReviewOutcome::Incomplete => BatchOutcome::Incomplete,
        ReviewOutcome::Failed => BatchOutcome::Failed,
    };
    let reasons: Vec<&str> = review.reasons.iter().chain(&delivered.failures).map(String::as_str).collect();
    let not_kept = delivered.not_kept.as_ref().map(|why| format!("This review could not be kept: {why}"));
    let reason = [&reasons[..], &not_kept.as_deref().into_iter().collect::<Vec<_>>()].concat().join(" ");
    let findings: BTreeMap<_, _> = review
        .by_severity()
        .into_iter()
        .map(|(severity, count)| (severity, u32::try_from(count).unwrap_or(u32::MAX)))
        .collect();
    let usage = &review.provenance.usage;
    let (cost, tokens) = match (source, review.provenance.engine) {
        (_, Engine::Rules) => (None, None),
        (ReviewSource::Unchanged, Engine::Model) => (Some(Money::NOTHING), Some(SpentTokens::default())),
        (ReviewSource::Reviewed | ReviewSource::Resumed, Engine::Model) => {
            let tokens = usage.input_tokens.zip(usage.output_tokens);
            (usage.cost, tokens.map(|(input, output)| SpentTokens { input, output }))
        }
    };
    BatchEntry {
        repository: item.repository.clone(),
        name: item.name.clone(),
        target: Some(strip_line(&review.change.target)),
        outcome,
        reason: Some(strip_line(&reason)).filter(|reason| !reason.is_empty()),
        source,
        exit_code: delivered.exit_code(),
        ended: Some(review.ended),
        findings,
        engine: Some(review.provenance.engine),
        cost,
        tokens,
        head: review.change.head.map(|head| head.to_string()),
        base: review.change.base.map(|base| base.to_string()),
        run: Some(review.id),
        folder: None,
        took_ms: 0,
    }
}

/// Passes on the events of one review; a warning about a provider is shown once.
struct ItemSink {
    run: Arc<BatchRun>,
    at: usize,
}

impl EventSink for ItemSink {
    fn emit(&self, event: Event) {
        if let Event::Warning { text } = &event {
            self.run.shared.warn(text, self.run.events.as_ref());
            return;
        }
        self.run.events.emit_batch(BatchEvent::Review { at: self.at, event });
    }
}
