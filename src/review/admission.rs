//! Admission of a prepared review to the conversation with its model. Main type: [`Admission`].

use std::time::Duration;

use crate::llm::BoxFuture;
use crate::sys::cancel::{Cancel, CancelReason};

/// The gate between the preparations of a review and its conversations with a model.
pub trait Admission: Send + Sync {
    /// Waits until the conversations may begin, and returns the cancellation from then on. `left` is the time that the review has; waiting takes
    /// none of it.
    fn admit(&self, left: Option<Duration>) -> BoxFuture<'_, Result<Cancel, NotAdmitted>>;

    /// Lets another review begin. It is not called if the provider failed: who counts the failures knows of it only when the review is saved.
    fn leave(&self);
}

/// The reason why a prepared review does not begin its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// It was stopped while it waited.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    /// It may never begin.
    #[error("{0}")]
    Refused(&'static str),
}
