//! End of a verification, and its statistics. Main type: [`Judged`].

use super::verdict::Verdict;
use crate::domain::review::Usage;
use crate::prompt::PromptError;
use crate::review::journal::Landing;
use crate::review::past::{Diverged, End};
use crate::review::tally::Lost;
use crate::sys::blocking::Unfinished;
use crate::sys::cancel::Stopped;

/// Recorded state of a finding without a verdict.
const UNCHECKED: &str = "unchecked";

/// Statistics of a verification.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) turns: u32,
    pub(super) usage: Usage,
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts with unreported cost.
    pub(super) broken_off: Lost,
    /// Results that were taken out of the conversation to make room.
    pub(super) taken_out: u32,
    /// Last model, by its index in the list.
    pub(super) at: u32,
}

/// End of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// With a verdict.
    Verdict(Verdict),
    /// Without one: why, a clause.
    Unchecked(String),
    /// Likewise, because it was interrupted: another session may continue it.
    BrokenOff(String),
}

/// Internal error that ended a verification.
pub(super) enum Broken {
    Prompt(PromptError),
    Unfinished(Unfinished),
    Diverged(Diverged),
}

impl From<Diverged> for Broken {
    fn from(diverged: Diverged) -> Self {
        Self::Diverged(diverged)
    }
}

impl From<PromptError> for Broken {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}

impl From<Unfinished> for Broken {
    fn from(work: Unfinished) -> Self {
        Self::Unfinished(work)
    }
}

impl Judged {
    /// Returns the journal record.
    pub(super) fn end(&self) -> End {
        let (state, why, broken_off) = match self {
            Self::Verdict(verdict) => (verdict.word.word(), verdict.rationale.clone(), false),
            Self::Unchecked(why) => (UNCHECKED, why.clone(), false),
            Self::BrokenOff(why) => (UNCHECKED, why.clone(), true),
        };
        End::Verdict { state: state.to_owned(), why, broken_off }
    }

    /// Restores a recorded end. A verdict comes from the response that gave it, never from here.
    pub(super) fn told(end: End) -> Self {
        match end {
            End::Verdict { why, broken_off: true, .. } => Self::BrokenOff(why),
            End::Verdict { why, .. } => Self::Unchecked(why),
            End::Ended { why, .. } => Self::BrokenOff(why.unwrap_or_default()),
        }
    }
}

pub(super) fn unchecked(why: impl Into<String>) -> Judged {
    Judged::Unchecked(why.into())
}

pub(super) fn no_verdict(landing: Option<Landing>) -> Judged {
    unchecked(landing.map_or_else(
        || "the model gave no verdict".to_owned(),
        |landing| format!("the model gave no verdict before {}", landing.words),
    ))
}

pub(super) fn stopped_words(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Interrupted => "it was interrupted",
        Stopped::DeadlinePassed => "its time was used up (raise it with --timeout)",
    }
}
