//! A worker: it takes jobs of a queue, reviews them side by side, and keeps their leases. Main function: [`run_worker`].
//!
//! An interrupt drains it: it takes no more jobs, the running reviews save what they have, and their jobs go back to the queue.

use std::convert::Infallible;
use std::future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::task::JoinSet;

use super::budget::{BudgetGate, WorkerShare};
use super::error::QueueUseError;
use super::job::{EndedJob, run_job};
use super::metrics::WorkerMetrics;
use super::repos::WorkerRepos;
use crate::app::batch::{BatchRequest, BatchRun, begin_worker, is_provider_fault};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::batch::{BatchEntry, BatchEvent, BatchEventSink, BatchOutcome};
use crate::domain::event::Event;
use crate::domain::id::hex;
use crate::domain::queue::{JobId, JobState};
use crate::domain::text::strip_line;
use crate::queue::{ActiveWorkers, JobEnd, JobQueue, LeaseState, LeasedJob, QueueError};
use crate::review::BudgetPool;
use crate::sys::cancel::Cancel;
use crate::sys::database::DatabaseAddress;
use crate::sys::{blocking, clock};

/// The delay before an empty queue is looked at again.
const IDLE: Duration = Duration::from_millis(500);
/// The delay before the schedules and the leases that ended are looked at again.
const SCHEDULES: Duration = Duration::from_secs(1);
/// The time for which the end of a job is written on, also after an interrupt.
const END: Duration = Duration::from_secs(90);

/// The notice of a worker that takes no jobs because of the budget of its queue.
const CLOSED: &str = "the budget of the queue is used up: jobs are left waiting (see `review queue status`)";

/// The request for a worker.
#[derive(Debug, Clone)]
pub struct WorkerRequest {
    /// The address of the queue.
    pub queue: String,
    /// The folder or the address below which the repositories are.
    pub repos: Option<PathBuf>,
    /// The name under which the worker has its jobs.
    pub name: String,
    /// How long a lease lasts that is not renewed.
    pub lease: Duration,
    /// `true` to end when no job waits or runs.
    pub until_empty: bool,
    /// The settings of the reviews, and how many run at a time; its choice of changes is not used.
    pub reviews: BatchRequest,
}

/// Something that a worker did. Texts of others are stripped to one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    /// It began.
    Started {
        /// Its name.
        worker: String,
        /// The queue, without its password.
        queue: String,
        /// The number of reviews at a time.
        jobs: usize,
    },
    /// It took a job.
    Taken {
        /// The job.
        job: JobId,
        /// The change.
        name: String,
        /// How often it was taken.
        attempt: i64,
    },
    /// A job ended, or goes back to the queue.
    Ended {
        /// The job.
        job: JobId,
        /// `done`, `dead`, `retry`, `released`, `canceled` or `lost`.
        end: &'static str,
        /// The outcome of the review.
        outcome: Option<&'static str>,
        /// How the review came about.
        source: Option<&'static str>,
        /// The reason, if it is not done.
        reason: Option<String>,
        /// Wall time in milliseconds.
        took_ms: u64,
    },
    /// Something to know.
    Notice {
        /// The text.
        text: String,
    },
    /// It takes no more jobs.
    Draining,
}

/// A listener of a worker. It must not block.
pub trait WorkerEventSink: Send + Sync {
    /// Takes one event.
    fn emit_worker(&self, event: WorkerEvent);
}

/// The sums of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerReport {
    /// Jobs that were reviewed.
    pub done: u64,
    /// Jobs that cannot be reviewed.
    pub dead: u64,
    /// Jobs that went back to the queue.
    pub returned: u64,
    /// `true` if it ended because it had spent what it may.
    pub is_out_of_budget: bool,
}

/// Passes warnings of reviews on; what else happens in a review stays in its journal.
struct ReviewEvents(Arc<dyn WorkerEventSink>);

impl BatchEventSink for ReviewEvents {
    fn emit_batch(&self, event: BatchEvent) {
        if let BatchEvent::Whole(Event::Warning { text } | Event::Notice { text }) = event {
            self.0.emit_worker(WorkerEvent::Notice { text: strip_line(&text) });
        }
    }
}

/// All that the jobs of a worker need.
struct Worker {
    queue: JobQueue,
    /// The token of this worker, which no other has.
    token: String,
    reviews: BatchRun,
    /// The budget that its reviews spend from.
    pool: BudgetPool,
    repos: WorkerRepos,
    events: Arc<dyn WorkerEventSink>,
    metrics: Arc<WorkerMetrics>,
    lease: Duration,
    name: String,
    /// Stops when the worker is to drain.
    cancel: Cancel,
}

/// Takes and reviews jobs until `cancel` stops, or until there are none with `until_empty`.
pub async fn run_worker(
    request: WorkerRequest,
    around: ProcessEnv,
    events: Arc<dyn WorkerEventSink>,
    metrics: Arc<WorkerMetrics>,
    cancel: Cancel,
) -> Result<WorkerReport, AppError> {
    let address = DatabaseAddress::parse(&request.queue).map_err(QueueUseError::from)?;
    let repos = WorkerRepos::new(request.repos, address.is_server(), &around)?;
    let shown = address.to_string();
    let queue = blocking::run("opening the queue", &cancel, move || JobQueue::open(&address)).await?;
    let queue = queue.map_err(QueueUseError::from)?;
    let jobs = request.reviews.jobs.max(1);
    let token = hex(uuid::Uuid::new_v4().as_bytes());
    let share = Box::new(WorkerShare::new(queue.clone(), token.clone()));
    let sink = Arc::new(ReviewEvents(Arc::clone(&events)));
    let (reviews, pool) = begin_worker(request.reviews, around, sink, share, &cancel)?;
    events.emit_worker(WorkerEvent::Started { worker: request.name.clone(), queue: shown, jobs });
    let (lease, name) = (request.lease, request.name);
    let worker = Worker { queue, token, reviews, pool, repos, events, metrics, lease, name, cancel: cancel.clone() };
    let worker = Arc::new(worker);
    worker.join_others().await?;
    let beats = tokio::spawn(Arc::clone(&worker).keep_beating());
    let report = Arc::clone(&worker).take_jobs(jobs, request.until_empty).await;
    beats.abort();
    let token = worker.token.clone();
    worker.ask("leaving the queue", move |queue| queue.leave(&token)).await;
    report
}

impl Worker {
    /// Takes and reviews jobs until it is to end, and waits for those that run.
    async fn take_jobs(self: Arc<Self>, jobs: usize, until_empty: bool) -> Result<WorkerReport, AppError> {
        let mut gate = BudgetGate::new(self.reviews.clone(), self.pool.clone());
        let (mut report, mut running, mut is_closed) = (WorkerReport::default(), JoinSet::new(), false);
        let (mut ended, mut looked) = (Ok(()), None::<Instant>);
        while !self.cancel.is_stopped() {
            if self.reviews.is_budget_exhausted() {
                self.say("the budget is used up, so no more jobs are taken (raise it with --max-tokens or --max-cost)");
                report.is_out_of_budget = true;
                break;
            }
            while running.len() >= jobs {
                count(&mut report, running.join_next().await.as_ref());
            }
            if looked.is_none_or(|at| at.elapsed() >= SCHEDULES) {
                self.ask("looking at the schedules", JobQueue::add_due).await;
                // Those whose workers died again and again are dead, and somebody has to say so.
                report.dead += self.ask("looking for ended leases", JobQueue::free_expired).await.unwrap_or(0);
                looked = Some(Instant::now());
            }
            let budget = self.ask("reading the budget", JobQueue::budget).await;
            let reviews = match budget.map(|budget| gate.open(budget)).transpose() {
                Ok(reviews) => reviews,
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            };
            if reviews.as_ref().is_some_and(|reviews| reviews.is_none() != is_closed) {
                is_closed = !is_closed;
                self.say(if is_closed { CLOSED } else { "jobs are taken again" });
            }
            let reviews = reviews.flatten();
            let may_take = reviews.is_some() && self.reviews.provider_pause().is_none();
            let job = if may_take { self.take().await } else { None };
            match (job, reviews) {
                (Some(job), Some(reviews)) => drop(running.spawn(Arc::clone(&self).work_on(job, reviews))),
                _ if until_empty && running.is_empty() && (is_closed || self.is_empty().await) => {
                    report.is_out_of_budget = is_closed && !self.is_empty().await;
                    break;
                }
                _ => {
                    let idle = blocking::unless_stopped(&self.cancel, tokio::time::sleep(IDLE));
                    tokio::select! {
                        ended = running.join_next(), if !running.is_empty() => count(&mut report, ended.as_ref()),
                        _ = idle => {}
                    }
                }
            }
        }
        if self.cancel.is_stopped() {
            self.events.emit_worker(WorkerEvent::Draining);
        }
        while let Some(ended) = running.join_next().await {
            count(&mut report, Some(&ended));
        }
        if let Some(savings) = self.reviews.finish_batches().await {
            self.say(&savings.to_string());
        }
        ended.map(|()| report)
    }

    fn say(&self, text: &str) {
        self.events.emit_worker(WorkerEvent::Notice { text: text.to_owned() });
    }

    /// Says that this worker is at work, and divides the rate limits among all that are.
    async fn beat(&self) -> Option<ActiveWorkers> {
        let (token, lease) = (self.token.clone(), self.lease);
        let active = self.ask("counting the workers", move |queue| queue.beat(&token, lease)).await;
        if let Some(active) = active {
            self.reviews.share_rates(active.count);
        }
        active
    }

    /// Joins the other workers. With a rate limit, waits until they know of this one: it takes its part of what they have.
    async fn join_others(&self) -> Result<(), AppError> {
        let is_limited = self.reviews.is_rate_limited()?;
        while self.beat().await.is_some_and(|active| active.unaware > 0) && is_limited && !self.cancel.is_stopped() {
            let _ = blocking::unless_stopped(&self.cancel, tokio::time::sleep(IDLE)).await;
        }
        Ok(())
    }

    async fn keep_beating(self: Arc<Self>) {
        loop {
            tokio::time::sleep(self.lease / 3).await;
            self.beat().await;
        }
    }

    /// Runs a call of the queue on a thread that may wait. Also after an interrupt: a job that ended must be written down.
    async fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        call: impl FnOnce(&JobQueue) -> Result<T, QueueError> + Send + 'static,
    ) -> Option<T> {
        let queue = self.queue.clone();
        let answer = blocking::run(what, &Cancel::after(END), move || call(&queue)).await;
        let error = match answer {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        self.metrics.queue_error();
        self.events.emit_worker(WorkerEvent::Notice { text: format!("{what}: {}", strip_line(&error)) });
        None
    }

    async fn take(&self) -> Option<LeasedJob> {
        let (name, lease) = (self.name.clone(), self.lease);
        self.ask("taking a job", move |queue| queue.lease(&name, lease)).await.flatten()
    }

    /// Checks whether no job waits and none runs anywhere. In a drained queue waiting jobs do not count: no worker may take them.
    async fn is_empty(&self) -> bool {
        let status = self.ask("counting the jobs", JobQueue::status).await;
        status.is_some_and(|status| {
            let has = |state| status.jobs.contains_key(&state);
            !has(JobState::Running) && (status.is_drained || !has(JobState::Waiting))
        })
    }

    /// Reviews a job while its lease is renewed, and writes its end down; returns the state that the queue has.
    async fn work_on(self: Arc<Self>, job: LeasedJob, reviews: BatchRun) -> Option<JobState> {
        let name = job.work.as_ref().map_or_else(|_| "?".to_owned(), |work| strip_line(&work.name()));
        self.events.emit_worker(WorkerEvent::Taken { job: job.id.clone(), name, attempt: job.attempts });
        self.metrics.running(1);
        let started = Instant::now();
        let stop = Cancel::never();
        let reviews = reviews.within(stop.clone());
        let review = Box::pin(run_job(reviews, self.queue.clone(), job.clone(), self.repos.clone(), stop.clone()));
        let (EndedJob { end, entry }, lease) = self.keep_lease(&job, &stop, review).await;
        let end = match end {
            _ if lease == LeaseState::Canceled => JobEnd::Canceled,
            _ if stop.is_stopped() => JobEnd::Release(Duration::ZERO),
            // The provider is dead, whatever it is asked. Another job tries it the next time.
            JobEnd::Retry(..) if entry.as_deref().is_some_and(is_provider_fault) => match self.reviews.provider_pause()
            {
                Some(pause) => JobEnd::Release(pause * 2),
                None => end,
            },
            end => end,
        };
        let pool = self.pool.clone();
        let _ = blocking::run("settling the budget", &Cancel::after(END), move || pool.settle()).await;
        let (own, written) = (job.clone(), end.clone());
        let state = self.ask("ending a job", move |queue| queue.end(&own, &written)).await.flatten();
        let took = started.elapsed();
        self.metrics.running(-1);
        self.note(&job, &end, entry.as_deref(), state, took);
        state
    }

    /// Runs a review, and renews the lease meanwhile; a worker that drains, a canceled job and a lost lease stop it.
    async fn keep_lease(
        &self,
        job: &LeasedJob,
        stop: &Cancel,
        review: BoxFuture<'static, EndedJob>,
    ) -> (EndedJob, LeaseState) {
        let state = Mutex::new(LeaseState::Held);
        // Beside the review, which goes on while a renewal waits for a queue that is away.
        let renewals = async {
            loop {
                tokio::time::sleep(self.lease / 3).await;
                let (own, lease) = (job.clone(), self.lease);
                // A queue that is away says nothing; the end of the job will find out.
                let renewed = self.ask("renewing a lease", move |queue| queue.renew(&own, lease)).await;
                if let Some(now @ (LeaseState::Canceled | LeaseState::Lost)) = renewed {
                    *state.lock().unwrap_or_else(PoisonError::into_inner) = now;
                    stop.interrupt();
                    break future::pending::<Infallible>().await;
                }
            }
        };
        let draining = async {
            self.cancel.until_stopped().await;
            stop.interrupt();
            future::pending::<Infallible>().await
        };
        let ended = tokio::select! {
            ended = review => ended,
            never = renewals => match never {},
            never = draining => match never {},
        };
        (ended, state.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts and shows the end of a job. `state` is that of the queue; `None` if another worker has the job, or the queue is away.
    fn note(&self, job: &LeasedJob, end: &JobEnd, entry: Option<&BatchEntry>, state: Option<JobState>, took: Duration) {
        let word = match (state, end) {
            (None, _) => "lost",
            (Some(JobState::Waiting), JobEnd::Release(_)) => "released",
            (Some(JobState::Waiting | JobState::Running), _) => "retry",
            (Some(state @ (JobState::Done | JobState::Dead | JobState::Canceled)), _) => state.as_str(),
        };
        let reason = match end {
            JobEnd::Dead(reason) | JobEnd::Retry(reason, _) if state.is_some() => Some(strip_line(reason)),
            _ => None,
        };
        match state {
            None => self.metrics.lost(),
            Some(JobState::Dead) => self.metrics.dead(),
            Some(JobState::Waiting) if matches!(end, JobEnd::Retry(..)) => self.metrics.retry(),
            Some(JobState::Done) if entry.is_none() => self.metrics.left_out(),
            Some(_) => {}
        }
        // A review that goes on later is counted then, with all that it cost.
        let is_final = matches!(state, Some(JobState::Done | JobState::Dead));
        if let Some(entry) = entry.filter(|entry| is_final || entry.outcome == BatchOutcome::Complete) {
            self.metrics.review(entry, took);
        }
        self.events.emit_worker(WorkerEvent::Ended {
            job: job.id.clone(),
            end: word,
            outcome: entry.map(|entry| entry.outcome.as_str()),
            source: entry.map(|entry| entry.source.as_str()),
            reason,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

/// Counts a job by the state in which the queue has it now.
fn count(report: &mut WorkerReport, ended: Option<&Result<Option<JobState>, tokio::task::JoinError>>) {
    match ended {
        Some(Ok(Some(JobState::Done))) => report.done += 1,
        Some(Ok(Some(JobState::Dead))) => report.dead += 1,
        // One that panicked, or whose end could not be written, keeps its lease until that ends, and is taken over.
        Some(Ok(Some(JobState::Waiting | JobState::Running | JobState::Canceled) | None) | Err(_)) => {
            report.returned += 1;
        }
        None => {}
    }
}

/// Returns a name for a worker of this process: the host and a number of its own.
pub fn worker_name() -> String {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    format!(
        "{}-{}-{}",
        if host.is_empty() { "worker" } else { &host },
        std::process::id(),
        clock::unix_seconds() % 10_000
    )
}
