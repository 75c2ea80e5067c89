//! How a conversation ended, as a journal has it. Main type: [`End`].

use std::fmt;

use crate::domain::review::Ended;

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum End {
    /// The engine's.
    Ended { ended: Ended, why: Option<String> },
    /// A second look's.
    Verdict { state: String, why: String, broken_off: bool },
}

impl End {
    /// How the engine ended, and why.
    pub(in crate::review) fn words(self) -> (Ended, String) {
        match self {
            Self::Ended { ended, why } => (ended, why.unwrap_or_default()),
            // Only second looks have verdicts.
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
