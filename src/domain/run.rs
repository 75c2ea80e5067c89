//! Runs: one execution of the program that produced (or tried to produce) a review.

use std::fmt;
use std::str::FromStr;

/// The id of a run: a random UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RunId(uuid::Uuid);

/// Text that is not the id of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a run id: {0:?} (a UUID such as `review list` prints)")]
pub struct InvalidRunId(pub String);

impl RunId {
    /// A new random id.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(Self).map_err(|_| InvalidRunId(text.to_owned()))
    }
}
