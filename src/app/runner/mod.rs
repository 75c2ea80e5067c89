//! Runs jobs: how many at a time, in which order, and how they are stopped. Main type: [`Runner`].
//!
//! Reviews of an evaluation, of a batch and of a server run here, and the one job of a command ([`command`]). The queue is in memory. What
//! a job does belongs above; limits on what reviews spend together, in `context::model`.

pub(in crate::app) mod command;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, watch};

use crate::app::context::error::AppError;
use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

/// Runs a bounded number of jobs side by side. Cloning it shares the bound.
#[derive(Clone)]
pub(in crate::app) struct Runner {
    at_once: usize,
    places: Arc<Semaphore>,
    /// The cancellation of each running job, by a number of its own.
    running: Arc<watch::Sender<BTreeMap<u64, Cancel>>>,
}

/// The place of a running job, given back when it is dropped.
pub(in crate::app) struct RunnerPlace {
    running: Arc<watch::Sender<BTreeMap<u64, Cancel>>>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

/// The reason why a job may not start at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum RunnerRefusal {
    /// All places are taken.
    Full,
    /// The runner was shut down.
    Closed,
}

impl Drop for RunnerPlace {
    fn drop(&mut self) {
        self.running.send_modify(|running| drop(running.remove(&self.number)));
    }
}

impl Runner {
    /// Creates a runner of at most `at_once` concurrent jobs, at least one.
    pub(in crate::app) fn new(at_once: usize) -> Self {
        let at_once = at_once.max(1);
        Self { at_once, places: Arc::new(Semaphore::new(at_once)), running: Arc::default() }
    }

    /// Takes a place, if one is free, for a job that `cancel` stops.
    pub(in crate::app) fn try_enter(&self, cancel: &Cancel) -> Result<RunnerPlace, RunnerRefusal> {
        let permit = Arc::clone(&self.places).try_acquire_owned().map_err(|refused| match refused {
            TryAcquireError::NoPermits => RunnerRefusal::Full,
            TryAcquireError::Closed => RunnerRefusal::Closed,
        })?;
        Ok(self.enter_with(permit, cancel))
    }

    /// Waits for a place, unless `cancel` stops first.
    async fn enter(&self, cancel: &Cancel) -> Result<RunnerPlace, AppError> {
        cancel.check()?;
        let permit = unless_stopped(cancel, Arc::clone(&self.places).acquire_owned()).await?;
        // A runner that was shut down begins nothing more, like one that was interrupted.
        let permit = permit.map_err(|_| CancelReason::Interrupted)?;
        Ok(self.enter_with(permit, cancel))
    }

    fn enter_with(&self, permit: OwnedSemaphorePermit, cancel: &Cancel) -> RunnerPlace {
        let mut number = 0;
        self.running.send_modify(|running| {
            number = running.last_key_value().map_or(0, |(last, _)| last + 1);
            running.insert(number, cancel.clone());
        });
        RunnerPlace { running: Arc::clone(&self.running), number, _permit: permit }
    }

    /// Runs every job of a queue in its order, as places become free; `ended` gets the number and the result of each one as it ends.
    ///
    /// A job that was not begun when `cancel` stopped ends as [`AppError::Stopped`], one that panics as [`AppError::Broken`]: others go on.
    pub(in crate::app) async fn run_queue<W>(
        &self,
        queue: impl IntoIterator<Item = W>,
        cancel: &Cancel,
        mut ended: impl FnMut(usize, Result<W::Output, AppError>),
    ) where
        W: Future<Output: Send + 'static> + Send + 'static,
    {
        let jobs = queue.into_iter().enumerate().map(|(at, work)| async move {
            let result = match self.enter(cancel).await {
                Ok(_place) => run_job(work).await,
                Err(error) => Err(error),
            };
            (at, result)
        });
        let mut jobs = std::pin::pin!(stream::iter(jobs).buffer_unordered(self.at_once));
        while let Some((at, result)) = jobs.next().await {
            ended(at, result);
        }
    }

    /// Begins no further job, interrupts the running ones, and waits until they have ended, for at most `grace`.
    pub(in crate::app) async fn shut_down(&self, grace: Duration) {
        self.places.close();
        for cancel in self.running.borrow().values() {
            cancel.interrupt();
        }
        let mut running = self.running.subscribe();
        let _ = tokio::time::timeout(grace, running.wait_for(BTreeMap::is_empty)).await;
    }
}

/// Runs a job as a task of its own, so that a panic ends as an error.
pub(in crate::app) async fn run_job<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, AppError> {
    tokio::spawn(work).await.map_err(|_| AppError::Broken)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_run_at_once_than_there_are_places_and_each_ends_once() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let queue = (0..20).map(|number| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                number
            }
        });
        let mut done = Vec::new();
        Runner::new(3).run_queue(queue, &Cancel::never(), |at, result| done.push((at, result.unwrap()))).await;
        done.sort_unstable();
        assert_eq!(done, (0..20).map(|at| (at, at)).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_panic_and_an_interrupt_are_results() {
        let cancel = Cancel::never();
        let stop = cancel.clone();
        let queue = (0..3).map(|number| {
            let stop = stop.clone();
            async move {
                match number {
                    0 => std::panic::resume_unwind(Box::new("a defect")),
                    _ => stop.interrupt(),
                }
            }
        });
        let mut done = Vec::new();
        Runner::new(1).run_queue(queue, &cancel, |_, result| done.push(result)).await;
        assert!(matches!(done[0], Err(AppError::Broken)), "{done:?}");
        assert!(matches!(done[1], Ok(())), "{done:?}");
        assert!(matches!(done[2], Err(AppError::Stopped(CancelReason::Interrupted))), "{done:?}");
    }

    #[tokio::test]
    async fn a_runner_that_is_full_or_shut_down_says_so() {
        let (runner, cancel) = (Runner::new(1), Cancel::never());
        let place = runner.try_enter(&cancel).unwrap();
        assert_eq!(runner.try_enter(&cancel).err(), Some(RunnerRefusal::Full));
        drop(place);
        let place = runner.try_enter(&cancel).unwrap();
        let end = async {
            cancel.until_stopped().await;
            drop(place);
        };
        tokio::join!(runner.shut_down(Duration::from_mins(1)), end);
        assert_eq!(runner.try_enter(&cancel).err(), Some(RunnerRefusal::Closed));
    }
}
