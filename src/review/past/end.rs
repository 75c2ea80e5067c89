//! Recorded end of a conversation. Main type: [`End`].

use std::fmt;

use crate::domain::review::Ended;

/// Recorded end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum End {
    /// The engine's.
    Ended { ended: Ended, why: Option<String> },
    /// End of a verification.
    Verdict { state: String, why: String, broken_off: bool },
}

impl End {
    /// Returns the reason for the end, and its explanation.
    pub(in crate::review) fn words(self) -> (Ended, String) {
        match self {
            Self::Ended { ended, why } => (ended, why.unwrap_or_default()),
            // Only verifications have verdicts.
            Self::Verdict { why, .. } => (Ended::Interrupted, why),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { ended, why: None } => out.write_str(ended.word()),
            Self::Ended { ended, why: Some(why) } => write!(out, "{}: {why}", ended.word()),
            Self::Verdict { state, why, .. } => write!(out, "{state}: {why}"),
        }
    }
}
