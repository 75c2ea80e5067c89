//! End of a verification, and its statistics. Main type: [`VerificationEnd`].

use super::verdict::VerificationVerdict;
use crate::domain::run::Usage;
use crate::prompt::PromptError;
use crate::review::journal::FinalTurn;
use crate::review::replay::{RecordedEnd, ReplayDivergence};
use crate::review::stats::UnbilledAttempts;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::CancelReason;

/// Recorded state of a finding without a verdict.
const UNCHECKED: &str = "unchecked";

/// Statistics of a verification.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct VerificationStats {
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts with unreported cost.
    pub(super) broken_off: UnbilledAttempts,
    /// Results that were taken out of the conversation to make room.
    pub(super) taken_out: u32,
    /// Last model, by its index in the list.
    pub(super) at: u32,
}

/// End of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VerificationEnd {
    /// With a verdict.
    Verdict(VerificationVerdict),
    /// Without one: why, a clause.
    Unchecked(String),
    /// Likewise, because it was interrupted: another session may continue it.
    BrokenOff(String),
}

/// Internal error that ended a verification.
pub(super) enum VerificationFailure {
    Prompt(PromptError),
    Unfinished(BlockingFailure),
    Diverged(ReplayDivergence),
}

impl From<ReplayDivergence> for VerificationFailure {
    fn from(diverged: ReplayDivergence) -> Self {
        Self::Diverged(diverged)
    }
}

impl From<PromptError> for VerificationFailure {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}

impl From<BlockingFailure> for VerificationFailure {
    fn from(work: BlockingFailure) -> Self {
        Self::Unfinished(work)
    }
}

impl VerificationEnd {
    /// Returns the journal record.
    pub(super) fn end(&self) -> RecordedEnd {
        let (state, why, broken_off) = match self {
            Self::Verdict(verdict) => (verdict.word.word(), verdict.rationale.clone(), false),
            Self::Unchecked(why) => (UNCHECKED, why.clone(), false),
            Self::BrokenOff(why) => (UNCHECKED, why.clone(), true),
        };
        RecordedEnd::Verdict { state: state.to_owned(), why, broken_off }
    }

    /// Restores a recorded end. A verdict comes from the response that gave it, never from here.
    pub(super) fn from_recorded(end: RecordedEnd) -> Self {
        match end {
            RecordedEnd::Verdict { why, broken_off: true, .. } => Self::BrokenOff(why),
            RecordedEnd::Verdict { why, .. } => Self::Unchecked(why),
            RecordedEnd::Ended { why, .. } => Self::BrokenOff(why.unwrap_or_default()),
        }
    }
}

pub(super) fn unchecked_end(why: impl Into<String>) -> VerificationEnd {
    VerificationEnd::Unchecked(why.into())
}

pub(super) fn no_verdict_end(landing: Option<FinalTurn>) -> VerificationEnd {
    unchecked_end(landing.map_or_else(
        || "the model gave no verdict".to_owned(),
        |landing| format!("the model gave no verdict before {}", landing.words),
    ))
}

pub(super) fn describe_stop(stopped: CancelReason) -> &'static str {
    match stopped {
        CancelReason::Interrupted => "it was interrupted",
        CancelReason::DeadlinePassed => "its time was used up (raise it with --timeout)",
    }
}
