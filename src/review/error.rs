//! Errors of engines. Main type: [`EngineError`].
//!
//! Everything else that goes wrong leaves a review behind, which says so.

use super::admission::NotAdmitted;
use super::journal::ReplayDivergence;
use crate::prompt::PromptError;
use crate::sys::blocking::BlockingFailure;

/// Reasons why there is no review: an internal error, or an error of the user's templates.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A template cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A run that is resumed or replayed differs from its recording.
    #[error(transparent)]
    Diverged(#[from] Box<ReplayDivergence>),
    /// A part of the program did not end, or panicked.
    #[error(transparent)]
    Unfinished(#[from] BlockingFailure),
    /// The review was prepared, and its conversation did not begin.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
}

impl From<ReplayDivergence> for EngineError {
    fn from(diverged: ReplayDivergence) -> Self {
        Self::Diverged(Box::new(diverged))
    }
}
