//! Jobs that several workers share: adding them, and the worker that reviews them. Main functions: [`add_jobs`], [`run_worker`].
//!
//! The queue itself is [`crate::queue`]; the review of one change is that of a batch (`app::batch`), so a job that was begun by a worker that died
//! is resumed, and a change that was reviewed is served.

mod add;
mod error;
mod job;
mod metrics;
mod webhook;
mod worker;

pub use add::{AddRequest, AddedJobs, add_jobs};
pub use error::QueueUseError;
pub use metrics::WorkerMetrics;
pub use webhook::{WebhookAnswer, WebhookDelivery, WebhookReceiver, WebhookSetupError};
pub use worker::{WorkerEvent, WorkerEventSink, WorkerReport, WorkerRequest, run_worker, worker_name};

use std::time::Duration;

use crate::app::context::error::AppError;
use crate::domain::queue::{JobId, JobRecord, JobState, NewJob, QueueStatus};
use crate::queue::JobQueue;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::database::DatabaseAddress;

/// A queue in the hands of its operator. Calls block.
#[derive(Debug, Clone)]
pub struct QueueHandle(JobQueue);

impl QueueHandle {
    /// Opens the queue at an address: `postgres://…`, or the path of a file, which is created.
    pub fn open(address: &str) -> Result<Self, AppError> {
        Ok(Self(JobQueue::open(&DatabaseAddress::parse(address)).map_err(QueueUseError::from)?))
    }

    /// Counts the jobs.
    pub fn status(&self) -> Result<QueueStatus, AppError> {
        Ok(self.0.status().map_err(QueueUseError::from)?)
    }

    /// Counts the jobs, on a thread that may wait, unless `cancel` stops first.
    pub async fn status_within(&self, cancel: &Cancel) -> Result<QueueStatus, AppError> {
        let own = self.clone();
        blocking::run("counting the jobs", cancel, move || own.status()).await?
    }

    /// Adds the job of a delivery; returns how many are new, `None` if the delivery was taken before. One that breaks off in between is taken when it is repeated.
    fn deliver(&self, id: &str, job: NewJob) -> Result<Option<u64>, AppError> {
        if self.0.is_delivered(id).map_err(QueueUseError::from)? {
            return Ok(None);
        }
        let added = self.0.add(&[job]).map_err(QueueUseError::from)?;
        self.0.remember_delivery(id).map_err(QueueUseError::from)?;
        Ok(Some(added))
    }

    /// Lists jobs, those that changed last first.
    pub fn list(&self, state: Option<JobState>, most: u32) -> Result<Vec<JobRecord>, AppError> {
        Ok(self.0.list(state, most).map_err(QueueUseError::from)?)
    }

    /// Lets workers take dead or canceled jobs again, all dead ones if none is named; returns their number.
    pub fn retry(&self, ids: &[JobId]) -> Result<u64, AppError> {
        Ok(self.0.retry(ids).map_err(QueueUseError::from)?)
    }

    /// Cancels jobs; returns their number.
    pub fn cancel(&self, ids: &[JobId]) -> Result<u64, AppError> {
        Ok(self.0.cancel(ids).map_err(QueueUseError::from)?)
    }

    /// Stops workers from taking jobs, or lets them take jobs again.
    pub fn drain(&self, on: bool) -> Result<(), AppError> {
        Ok(self.0.drain(on).map_err(QueueUseError::from)?)
    }

    /// Removes jobs that ended at least this long ago; returns their number.
    pub fn purge(&self, age: Duration) -> Result<u64, AppError> {
        Ok(self.0.purge(age).map_err(QueueUseError::from)?)
    }
}
