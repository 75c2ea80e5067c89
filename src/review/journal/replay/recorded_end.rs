//! Recorded end of a conversation. Main type: [`RecordedEnd`].

use std::fmt;

use crate::domain::review::StopReason;

/// Recorded end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum RecordedEnd {
    /// The engine's.
    Ended { ended: StopReason, why: Option<String> },
    /// End of a verification.
    Verdict { state: String, why: String, broken_off: bool },
}

impl RecordedEnd {
    /// Returns the reason for the end, and its explanation.
    pub(in crate::review) fn into_reason(self) -> (StopReason, String) {
        match self {
            Self::Ended { ended, why } => (ended, why.unwrap_or_default()),
            // Only verifications have verdicts.
            Self::Verdict { why, .. } => (StopReason::Interrupted, why),
        }
    }
}

impl fmt::Display for RecordedEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { ended, why: None } => out.write_str(ended.as_str()),
            Self::Ended { ended, why: Some(why) } => write!(out, "{}: {why}", ended.as_str()),
            Self::Verdict { state, why, .. } => write!(out, "{state}: {why}"),
        }
    }
}
