//! Outcome of an engine. Main type: [`EngineOutcome`].

use crate::domain::review::StopReason;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::CancelReason;

/// Outcome of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineOutcome {
    /// The model finished.
    Done,
    /// It was stopped.
    Stopped(CancelReason),
    /// It ended without saying that it was done.
    Short {
        /// Reason for the end.
        ended: StopReason,
        /// One sentence for people.
        why: String,
    },
}

impl EngineOutcome {
    /// Restores a recorded outcome.
    pub(in crate::review) fn from_recorded(ended: StopReason, why: String) -> Self {
        let stopped = [CancelReason::Interrupted, CancelReason::DeadlinePassed].map(Self::Stopped);
        let is_it = |stopped: &Self| stopped.stop_reason() == ended && stopped.reason().as_ref() == Some(&why);
        match ended {
            StopReason::Finished => Self::Done,
            ended => stopped.into_iter().find(is_it).unwrap_or(Self::Short { ended, why }),
        }
    }

    pub(in crate::review) fn stop_reason(&self) -> StopReason {
        match self {
            Self::Done => StopReason::Finished,
            Self::Stopped(CancelReason::Interrupted) => StopReason::Interrupted,
            Self::Stopped(CancelReason::DeadlinePassed) => StopReason::Deadline,
            Self::Short { ended, .. } => *ended,
        }
    }

    pub(in crate::review) fn reason(&self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Stopped(stopped) => Some(format!("the review was stopped: {stopped}")),
            Self::Short { why, .. } => Some(why.clone()),
        }
    }

    /// Returns the outcome of an engine a part of which did not return.
    pub(in crate::review) fn abandoned(lost: &BlockingFailure) -> Self {
        let ended = match lost {
            BlockingFailure::Abandoned { why: CancelReason::Interrupted, .. } => StopReason::Interrupted,
            BlockingFailure::Abandoned { why: CancelReason::DeadlinePassed, .. }
            | BlockingFailure::NoThread { .. }
            | BlockingFailure::Memory { .. }
            | BlockingFailure::Crowded { .. }
            | BlockingFailure::Panicked { .. } => StopReason::Deadline,
        };
        Self::Short { ended, why: lost.to_string() }
    }
}
