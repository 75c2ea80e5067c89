//! The places of a batch's conversations: as many reviews as there are jobs talk to the model at a time, and a few more are prepared or
//! saved meanwhile. Main type: [`ConversationPlaces`].

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

/// The places of the conversations, and the order of the preparations. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct ConversationPlaces {
    jobs: usize,
    places: Arc<Semaphore>,
    /// The number of reviews that are prepared, or ended before.
    prepared: Arc<watch::Sender<usize>>,
}

impl ConversationPlaces {
    pub(super) fn new(jobs: usize) -> Self {
        let jobs = jobs.max(1);
        Self { jobs, places: Arc::new(Semaphore::new(jobs)), prepared: Arc::default() }
    }

    /// Returns the number of reviews that are prepared at a time, or wait for a place. More would only wait and take memory.
    fn ahead(&self) -> usize {
        1 + self.jobs / 4
    }

    /// Returns the number of reviews in progress at a time: those that are saved count as well.
    pub(super) fn reviews(&self) -> usize {
        self.jobs + 2 * self.ahead()
    }

    /// Waits until the review of this number may be prepared: the reviews of a single job talk to the model in their order.
    pub(super) async fn begin(&self, at: usize, cancel: &Cancel) -> Result<(), CancelReason> {
        let ahead = self.ahead();
        let mut prepared = self.prepared.subscribe();
        let ready = async { prepared.wait_for(|prepared| prepared + ahead > at).await.is_ok() };
        unless_stopped(cancel, ready).await?;
        cancel.check()
    }

    /// Waits for a place among the conversations.
    pub(super) async fn enter(&self, cancel: &Cancel) -> Result<OwnedSemaphorePermit, CancelReason> {
        let place = unless_stopped(cancel, Arc::clone(&self.places).acquire_owned()).await?;
        place.map_err(|_| CancelReason::Interrupted)
    }

    /// Lets another review be prepared.
    pub(super) fn end_preparing(&self) {
        self.prepared.send_modify(|prepared| *prepared += 1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn one_review_is_prepared_ahead_of_a_single_job_and_in_its_order() {
        let (places, cancel) = (ConversationPlaces::new(1), Cancel::never());
        let begins = |at| places.begin(at, &cancel).now_or_never();
        assert_eq!((begins(0), begins(1), begins(2)), (Some(Ok(())), None, None));
        places.end_preparing();
        assert_eq!((begins(1), begins(2)), (Some(Ok(())), None));
        let stopped = Cancel::stopped(CancelReason::Interrupted);
        assert_eq!(places.begin(2, &stopped).now_or_never(), Some(Err(CancelReason::Interrupted)));
        assert_eq!([0, 1, 4, 16].map(|jobs| ConversationPlaces::new(jobs).reviews()), [3, 3, 8, 26]);
    }
}
