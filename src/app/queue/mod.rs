//! Jobs that several workers share: adding them, and the worker that reviews them. Main functions: [`add_jobs`], [`run_worker`].
//!
//! The queue itself is [`crate::queue`]; the review of one change is that of a batch (`app::batch`), so a job that was begun by a worker that died
//! is resumed, and a change that was reviewed is served.

mod add;
mod budget;
mod error;
mod job;
mod metrics;
mod repos;
mod schedule;
mod webhook;
mod worker;

pub use add::{AddRequest, AddedJobs, add_jobs};
pub use error::QueueUseError;
pub use metrics::WorkerMetrics;
pub use schedule::{ScheduleRequest, set_schedule};
pub use webhook::{WebhookAnswer, WebhookDelivery, WebhookReceiver, WebhookSetupError};
pub use worker::{WorkerEvent, WorkerEventSink, WorkerReport, WorkerRequest, run_worker, worker_name};

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::app::context::error::AppError;
use crate::domain::queue::{JobId, JobRecord, JobState, NewJob, QueueBudget, QueueStatus, ScheduleRecord};
use crate::queue::{JobQueue, QueueError};
use crate::sys::blocking::Workers;
use crate::sys::cancel::Cancel;
use crate::sys::database::DatabaseAddress;

/// The number of calls that a server makes to its queue at once; others wait their turn.
const CALLS: usize = 8;
/// The time for which the queue is asked by a check of health.
const HEALTH: Duration = Duration::from_secs(3);
/// The time for which a count of the jobs is shown again: a stranger may ask as often as he likes.
const RECENT: Duration = Duration::from_secs(1);

/// A queue in the hands of its operator. Calls block, but for those of a server.
#[derive(Debug, Clone)]
pub struct QueueHandle {
    jobs: JobQueue,
    workers: Workers,
    counted: Arc<Mutex<Option<LastCount>>>,
}

/// The time of the last count for a server, and the count; `None` if the queue was away.
type LastCount = (Instant, Option<QueueStatus>);

impl QueueHandle {
    /// Opens the queue at an address: `postgres://…`, or the path of a file, which is created.
    pub fn open(address: &str) -> Result<Self, AppError> {
        let address = DatabaseAddress::parse(address).map_err(QueueUseError::from)?;
        let jobs = JobQueue::open(&address).map_err(QueueUseError::from)?;
        Ok(Self { jobs, workers: Workers::new(CALLS), counted: Arc::default() })
    }

    /// Counts the jobs.
    pub fn status(&self) -> Result<QueueStatus, AppError> {
        Ok(self.jobs.status().map_err(QueueUseError::from)?)
    }

    /// Returns the numbers of the last second; `None` if the queue is away. However many ask, it is asked once.
    pub async fn recent_status(&self) -> Option<QueueStatus> {
        let mut counted = self.counted.lock().await;
        if let Some((at, status)) = &*counted
            && at.elapsed() < RECENT
        {
            return status.clone();
        }
        let jobs = self.jobs.clone();
        let answer = self.workers.run("counting the jobs", &Cancel::after(HEALTH), move || jobs.status()).await;
        let status = answer.ok().and_then(Result::ok);
        *counted = Some((Instant::now(), status.clone()));
        status
    }

    /// Adds the job of a delivery, or lets a dead one wait again with `revive`; returns how many will be reviewed, `None` if the delivery was
    /// taken before. One that breaks off in between is taken when it is repeated.
    async fn deliver(&self, id: String, job: NewJob, revive: bool, cancel: &Cancel) -> Result<Option<u64>, AppError> {
        let jobs = self.jobs.clone();
        let work = move || {
            if jobs.is_delivered(&id)? {
                return Ok(None);
            }
            let mut waiting = jobs.add(slice::from_ref(&job))?;
            if waiting == 0 && revive {
                waiting = jobs.revive(&job.key)?;
            }
            jobs.remember_delivery(&id)?;
            Ok(Some(waiting))
        };
        let delivered: Result<_, QueueError> = self.workers.run("adding a job", cancel, work).await?;
        Ok(delivered.map_err(QueueUseError::from)?)
    }

    /// Lists jobs, those that changed last first.
    pub fn list(&self, state: Option<JobState>, most: u32) -> Result<Vec<JobRecord>, AppError> {
        Ok(self.jobs.list(state, most).map_err(QueueUseError::from)?)
    }

    /// Lets workers take dead or canceled jobs again, all dead ones if none is named; returns their number.
    pub fn retry(&self, ids: &[JobId]) -> Result<u64, AppError> {
        Ok(self.jobs.retry(ids).map_err(QueueUseError::from)?)
    }

    /// Cancels jobs; returns their number.
    pub fn cancel(&self, ids: &[JobId]) -> Result<u64, AppError> {
        Ok(self.jobs.cancel(ids).map_err(QueueUseError::from)?)
    }

    /// Stops workers from taking jobs, or lets them take jobs again.
    pub fn drain(&self, on: bool) -> Result<(), AppError> {
        Ok(self.jobs.drain(on).map_err(QueueUseError::from)?)
    }

    /// Lists the schedules, those that are due first first.
    pub fn schedules(&self) -> Result<Vec<ScheduleRecord>, AppError> {
        Ok(self.jobs.schedules().map_err(QueueUseError::from)?)
    }

    /// Removes a schedule.
    pub fn remove_schedule(&self, name: &str) -> Result<(), AppError> {
        let is_there = self.jobs.remove_schedule(name).map_err(QueueUseError::from)?;
        if is_there { Ok(()) } else { Err(QueueUseError::UnknownSchedule(name.to_owned()).into()) }
    }

    /// Sets the budget that all workers share, or removes it.
    pub fn set_budget(&self, budget: Option<&QueueBudget>) -> Result<(), AppError> {
        Ok(self.jobs.set_budget(budget).map_err(QueueUseError::from)?)
    }

    /// Removes jobs that ended at least this long ago; returns their number.
    pub fn purge(&self, age: Duration) -> Result<u64, AppError> {
        Ok(self.jobs.purge(age).map_err(QueueUseError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_count_is_shown_again_until_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let queue = QueueHandle::open(folder.path().join("q.db").to_str().unwrap()).unwrap();
        let drained = QueueStatus { is_drained: true, ..QueueStatus::default() };
        // From a time to come, so that it is recent on any machine.
        *queue.counted.lock().await = Some((Instant::now() + Duration::from_hours(1), Some(drained.clone())));
        assert_eq!(queue.recent_status().await.as_ref(), Some(&drained));
        *queue.counted.lock().await = Some((Instant::now().checked_sub(RECENT).unwrap(), Some(drained)));
        assert_eq!(queue.recent_status().await, Some(QueueStatus::default()));
    }
}
