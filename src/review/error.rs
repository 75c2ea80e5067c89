//! Why an engine makes no review. Main type: [`EngineError`].
//!
//! Whatever else goes wrong leaves a review behind, and is said in it.

use super::past::Diverged;
use crate::prompt::PromptError;
use crate::sys::blocking::Unfinished;

/// Why there is no review: a fault of this program or of the user's templates.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A template cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A run that is taken up or told again is not what it was.
    #[error(transparent)]
    Diverged(#[from] Box<Diverged>),
    /// A part of the program did not end, or panicked.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// The program contradicts itself.
    #[error("a part of the program failed unexpectedly; this is a defect of review, please report it")]
    Broken,
}

impl From<Diverged> for EngineError {
    fn from(diverged: Diverged) -> Self {
        Self::Diverged(Box::new(diverged))
    }
}
