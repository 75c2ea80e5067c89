//! Bound on the conversations of several reviews. Main type: [`ConversationGate`].
//!
//! A batch prepares the next changes while its models are busy, so more reviews are under way than converse.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sys::blocking::unless_stopped;
use crate::sys::cancel::{Cancel, CancelReason};

/// The number of reviews whose models may be asked at the same time. Clones share it.
#[derive(Debug, Clone)]
pub struct ConversationGate(Arc<Semaphore>);

impl ConversationGate {
    /// Lets this many pass at the same time.
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// Waits for a place, which is free again when it is dropped; `None` if no gate bounds the reviews.
    pub(in crate::review) async fn enter(
        gate: Option<&Self>,
        cancel: &Cancel,
    ) -> Result<Option<OwnedSemaphorePermit>, CancelReason> {
        let Some(gate) = gate else { return Ok(None) };
        // It is never closed.
        Ok(unless_stopped(cancel, Arc::clone(&gate.0).acquire_owned()).await?.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_waited_for_until_it_is_free_or_the_review_stops() {
        let gate = ConversationGate::new(1);
        let cancel = Cancel::never();
        assert!(ConversationGate::enter(None, &cancel).await.unwrap().is_none());
        let place = ConversationGate::enter(Some(&gate), &cancel).await.unwrap();
        let stopped = Cancel::stopped(CancelReason::Interrupted);
        let refused = ConversationGate::enter(Some(&gate), &stopped).await;
        assert_eq!(refused.map(|_| ()), Err(CancelReason::Interrupted));
        drop(place);
        assert!(ConversationGate::enter(Some(&gate), &cancel).await.unwrap().is_some());
    }
}
