//! Background reviews of a server: start, wait, stop. Main types: [`StartReview`], [`ReviewSnapshot`].
//!
//! The state of a running review belongs in `run`, finding those that ended in `lookup`. At most [`AT_ONCE`] run concurrently: a further
//! one is refused with the ids of those, because the client can wait, while a queue would hide the delay.

mod lookup;
mod run;

use crate::app::context::{project, settings};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

pub use lookup::{DismissFault, FindFault, ReviewListing};
pub use run::{FinishedRun, ReviewSnapshot, ReviewState, RunningReview};

use self::run::{RangeCommits, ReviewQuestion, ServiceRun};
use super::Service;
use super::fault::for_client;
use super::notifier::{ChangeNotice, Notifier};
use super::pulls::PullFault;
use crate::app::context::error::AppError;
use crate::app::context::model;
use crate::app::review::job::{ReviewJob, review};
use crate::app::runner::{Runner, RunnerPlace, RunnerRefusal, run_job};
use crate::config::ModelChoice;
use crate::domain::event::EventSink;
use crate::domain::forge::PullSpecifier;
use crate::domain::request::{Compare, InvalidScope, ReviewRequest, ReviewScope};
use crate::domain::run::RunId;
use crate::git::{self, GitError};
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Limit on concurrent reviews.
pub const AT_ONCE: usize = 2;
/// Limit on ended reviews in memory; older ones are read from the store.
const REMEMBERED: usize = 32;
/// Minimum interval between progress notifications.
const PACE: Duration = Duration::from_millis(500);
/// Maximum interval between messages to a waiting client, which takes silence for a failure.
const BEAT: Duration = Duration::from_secs(10);
/// Minimum interval between messages to a waiting client.
const BREATH: Duration = Duration::from_secs(1);

/// The request to start a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartReview {
    /// The repository's folder, absolute or relative to the server's start folder; the start folder if `None`.
    pub repo: Option<String>,
    /// The base of the comparison; found automatically if `None`.
    pub target: Option<String>,
    /// The scope: a revision, `A..B`, `A...B`, `staged` or `uncommitted` (also allowed in `target`), or a pull request; `HEAD` if `None`.
    pub at: Option<String>,
    /// `true` to use no model, whatever the settings say.
    pub rules_only: bool,
}

/// A review that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedReview {
    /// Its run.
    pub id: RunId,
    /// `true` if the same review was already running.
    pub joined: bool,
}

/// An error in starting a review.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StartFault {
    #[error(transparent)]
    Scope(#[from] InvalidScope),
    /// No base of the comparison was found.
    #[error(
        "nothing was found to compare {head} with: name a branch or a commit as target, or review what is not committed with at: uncommitted"
    )]
    NoTarget { head: String },
    /// The limit of concurrent reviews is reached.
    #[error("{} reviews are running already ({}): wait for one of them or stop it, then ask again", ids.len(), listed(ids))]
    TooMany { ids: Vec<RunId> },
    /// The scope is a pull request, and they are not available here.
    #[error("{message}; {action}", message = .0.message, action = .0.action)]
    Pull(#[from] PullFault),
    #[error("the server is shutting down")]
    ShuttingDown,
    /// Any other error.
    #[error("{}", for_client(.0, "at").1)]
    App(#[from] AppError),
}

fn listed(ids: &[RunId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl From<RepoError> for StartFault {
    fn from(error: RepoError) -> Self {
        Self::App(error.into())
    }
}

impl From<GitError> for StartFault {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NoTarget { head } | GitError::TargetIsHead { branch: head, .. } => Self::NoTarget { head },
            error => Self::App(error.into()),
        }
    }
}

/// The reviews of a service: the running ones, and the latest that ended.
pub(super) struct ReviewRuns {
    runner: Runner,
    known: Mutex<KnownRuns>,
    /// Serializes dismissals: each writes the whole review.
    writing: Mutex<()>,
}

#[derive(Default)]
struct KnownRuns {
    runs: BTreeMap<RunId, Arc<ServiceRun>>,
    /// The number of starts, to order runs by age.
    started: u64,
}

impl Default for ReviewRuns {
    fn default() -> Self {
        Self { runner: Runner::new(AT_ONCE), known: Mutex::default(), writing: Mutex::default() }
    }
}

impl ReviewRuns {
    fn known(&self) -> MutexGuard<'_, KnownRuns> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, id: RunId) -> Option<Arc<ServiceRun>> {
        self.known().runs.get(&id).cloned()
    }

    fn all(&self) -> Vec<Arc<ServiceRun>> {
        self.known().runs.values().cloned().collect()
    }

    /// Drops the oldest ended runs.
    fn forget(&self) {
        let mut known = self.known();
        let mut over: Vec<(u64, RunId)> =
            known.runs.values().filter(|run| run.is_over()).map(|run| (run.number, run.id)).collect();
        over.sort_unstable();
        for (_, id) in over.iter().take(over.len().saturating_sub(REMEMBERED)) {
            known.runs.remove(id);
        }
    }
}

impl Service {
    /// Checks that the named model, if any, can be used: its provider, key and address. Nothing is sent.
    pub fn check_model(&self) -> Result<(), AppError> {
        let resolved = settings::resolve(None, &self.options.flags, &self.around)?;
        model::check(&resolved, &self.around.providers)
    }

    /// Returns the note that the built-in rules review because no model is named and no key reaches this process; `None` if a model reviews, or
    /// the settings say that none does.
    pub fn keyless_note(&self) -> Option<&'static str> {
        let resolved = settings::resolve(None, &self.options.flags, &self.around).ok()?;
        let is_auto = matches!(resolved.settings.model, ModelChoice::Auto);
        let none = || matches!(model::choose(&resolved, &self.around.providers), Ok(None));
        (is_auto && none()).then_some(
            "No key of a model is in this server's environment, so the built-in rules reviewed: `review mcp install` shows how to pass one on.",
        )
    }

    /// Starts a review, or joins a running one of the same commits. Errors of the request are returned now, errors of the settings by the
    /// run. It reads the repository, so it is called off the async threads, but inside their runtime.
    pub fn start_review(self: &Arc<Self>, start: &StartReview) -> Result<StartedReview, StartFault> {
        let runtime = Handle::try_current().map_err(|_| AppError::Broken)?;
        let scope = ReviewScope::from_name(start.target.as_deref(), start.at.as_deref())?;
        let (folder, commits) = self.place(start.repo.as_deref(), &scope)?;
        let question = ReviewQuestion { folder: folder.clone(), commits, rules_only: start.rules_only };
        let (run, place) = {
            let mut known = self.reviews.known();
            let running: Vec<&Arc<ServiceRun>> = known.runs.values().filter(|run| !run.is_over()).collect();
            let same = running.iter().find(|run| run.matches(&question));
            let cancel = Cancel::never();
            let place = match (self.reviews.runner.try_enter(&cancel), same) {
                (Err(RunnerRefusal::Closed), _) => return Err(StartFault::ShuttingDown),
                (_, Some(same)) => {
                    return Ok(StartedReview { id: same.id, joined: true });
                }
                (Err(RunnerRefusal::Full), None) => {
                    return Err(StartFault::TooMany { ids: running.iter().map(|run| run.id).collect() });
                }
                (Ok(place), None) => place,
            };
            known.started += 1;
            let run = Arc::new(ServiceRun::new(known.started, question, cancel));
            known.runs.insert(run.id, Arc::clone(&run));
            (run, place)
        };
        let mut flags = self.options.flags.clone();
        if start.rules_only {
            flags.model = Some("none".to_owned());
        }
        let request = ReviewRequest { directory: folder, scope, settings_from_worktree: false };
        // A review requested by name is complete; known findings keep their ids.
        let compare = Compare { full: true, ..Compare::default() };
        let job = ReviewJob { run: run.id, compare, ..ReviewJob::new(request, flags) };
        let id = run.id;
        self.notifier().notify(ChangeNotice::List);
        runtime.spawn(Arc::clone(self).carry(job, run, place));
        Ok(StartedReview { id, joined: false })
    }

    /// Determines the folder and the commits, if already known: the commits of a pull request are fetched first.
    fn place(&self, named: Option<&str>, scope: &ReviewScope) -> Result<(PathBuf, Option<RangeCommits>), StartFault> {
        if let ReviewScope::Pull(ask) = scope {
            self.check_forge_access()?;
            let found = self.repository(named).map(|(folder, _)| folder);
            // A pull request with a full name needs no clone.
            let folder = match (found, ask) {
                (Err(AppError::NotARepository { .. }), PullSpecifier::Whole { .. }) => {
                    self.roots().folder(named.map(Path::new)).map_err(AppError::from)?
                }
                (found, _) => found?,
            };
            return Ok((folder, None));
        }
        let (folder, repo) = self.repository(named)?;
        let range = git::resolve(&repo, scope)?;
        Ok((folder, range.head.map(|head| (range.base, range.merge_base, head))))
    }

    /// The folder that identifies a repository, and the repository; refused outside of the allowed folders.
    fn repository(&self, named: Option<&str>) -> Result<(PathBuf, Repo), AppError> {
        let repo = self.roots().open(&self.roots().folder(named.map(Path::new))?).map_err(|error| match error {
            AppError::Repo(RepoError::NotARepository(folder)) => {
                AppError::NotARepository { folder: folder.display().to_string() }
            }
            error => error,
        })?;
        let whole = project::folder_of(&repo).unwrap_or_else(|| repo.git_dir().to_owned());
        Ok((self.roots().folder(Some(&whole))?, repo))
    }

    /// Executes a run to its end.
    async fn carry(self: Arc<Self>, job: ReviewJob, run: Arc<ServiceRun>, place: RunnerPlace) {
        let sink: Arc<dyn EventSink> = Arc::clone(&run) as Arc<dyn EventSink>;
        let work = run_job(review(job, self.around.clone(), sink, run.cancel.clone()));
        let ended = tokio::select! {
            ended = work => ended.flatten(),
            never = tell(&run, self.notifier()) => match never {},
        };
        if let Ok(delivered) = &ended {
            run.note_uncommitted(delivered.review.coverage.uncommitted as usize);
        }
        // Whoever learns of the end may start another one.
        drop(place);
        run.end(ended);
        self.reviews.forget();
        self.notifier().notify(ChangeNotice::Review(run.id));
        self.notifier().notify(ChangeNotice::List);
    }

    /// Waits until a review ends, or for `limit`, and reports progress meanwhile. `None` if this process does not know it.
    pub async fn wait_review(
        &self,
        id: RunId,
        limit: Duration,
        say: impl Fn(String) + Send + Sync,
    ) -> Option<ReviewSnapshot> {
        let run = self.reviews.run(id)?;
        let (mut news, mut end) = (run.watch(), run.watch());
        let listen = async {
            let (mut last, mut warned) = (String::new(), 0);
            loop {
                let heard = match &*news.borrow_and_update() {
                    ReviewState::Running(running) => Some((running.line(), running.warnings.clone())),
                    ReviewState::Ended(_) | ReviewState::Failed { .. } => None,
                };
                let Some((line, warnings)) = heard else { return };
                for warning in warnings.iter().skip(warned) {
                    say(warning.clone());
                }
                warned = warnings.len();
                if line != last {
                    say(line.clone());
                    last = line;
                }
                if timeout(BREATH, end.wait_for(ReviewState::is_over)).await.is_ok() {
                    return;
                }
                let _ = timeout(BEAT.saturating_sub(BREATH), news.changed()).await;
            }
        };
        // After the time limit, the current state is returned.
        let _ = timeout(limit, listen).await;
        Some(run.snapshot())
    }

    /// Interrupts a review: it ends soon, and its findings so far are saved. Returns `true` if it was running.
    pub fn stop_review(&self, id: RunId) -> bool {
        let Some(run) = self.reviews.run(id).filter(|run| !run.is_over()) else { return false };
        run.cancel.interrupt();
        true
    }

    /// The state of a review that is running, or ended recently in this process.
    pub fn snapshot(&self, id: RunId) -> Option<ReviewSnapshot> {
        self.reviews.run(id).map(|run| run.snapshot())
    }

    /// Interrupts the running reviews and waits until they are saved, for at most `grace`. No further review can start.
    pub async fn shut_down(&self, grace: Duration) {
        let all = async {
            self.reviews.runner.shut_down(grace).await;
            // A review gives its place back just before its state says that it ended.
            for run in self.reviews.all() {
                let _ = run.watch().wait_for(ReviewState::is_over).await;
            }
        };
        let _ = timeout(grace, all).await;
        if let Some(window) = self.editor() {
            let _ = timeout(grace, window.close()).await;
        }
    }
}

/// Notifies of a running review's progress, at a limited rate, and after the last event too.
async fn tell(run: &ServiceRun, changes: &Notifier) -> Infallible {
    loop {
        run.news.notified().await;
        changes.notify(ChangeNotice::Review(run.id));
        sleep(PACE).await;
    }
}
