//! Source of diff text. Main type: the trait [`DiffSource`].
//!
//! Computing a diff belongs in `git`.

use crate::domain::change::FileChange;
use crate::sys::cancel::CancelReason;

/// A line of a diff: a hunk, and a line within it, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiffPlace {
    /// The hunk.
    pub hunk: usize,
    /// The line of the hunk, its header not counted.
    pub line: usize,
}

/// Part of a file's diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffPart {
    /// Hunk headers and lines as a unified diff writes them; secrets masked, over-long lines shortened.
    pub text: String,
    /// Place to continue from; `None` at the end.
    pub next: Option<DiffPlace>,
    /// Number of lines of the diff left from there.
    pub lines_left: u32,
    /// Number of lines that were shortened.
    pub shortened_lines: u32,
}

/// Reasons why a diff is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// The repository failed, with this message.
    #[error("{0}")]
    Git(String),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

/// Gives parts of diffs.
pub trait DiffSource: Send + Sync {
    /// Returns the diff of `file` from a place on: at most this many lines and bytes, but always at least one line if there is one.
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError>;
}
