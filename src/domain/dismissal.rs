//! Findings that people decided not to hear again. Main type: [`Dismissal`].
//!
//! The file format belongs in `config`; matching them to findings, in `review`.

use super::day::Day;
use super::filter::PathFilter;
use super::finding::{FindingFingerprint, FindingId, Severity};
use super::path::RepoPath;

/// The path of a project's dismissals, from the root of its tree.
pub const DISMISSED_FILE: &str = ".review/dismissed.toml";

/// A reason is at most so long, in characters.
pub const LONGEST_REASON: usize = 500;

/// A finding that a project dismissed, and why. It holds for this finding in this file, or wherever its glob says; for no other one.
#[derive(Debug, Clone)]
pub struct Dismissal {
    /// The name it had: tells it from others with the same fingerprint in the same file.
    pub id: FindingId,
    /// Its subject.
    pub fingerprint: FindingFingerprint,
    /// The finding's title, for readers of the file.
    pub title: String,
    /// The severity, if a model set it: what is said to be worse is not this finding, whatever it quotes.
    pub severity: Option<Severity>,
    /// The file in which it stood.
    pub path: RepoPath,
    /// Other files in which it is dismissed; `None` if only in that file.
    pub glob: Option<DismissalGlob>,
    /// Why, one line.
    pub reason: String,
    /// The last day on which it holds, in UTC.
    pub until: Option<Day>,
    /// The day on which it was dismissed.
    pub on: Option<Day>,
}

/// Files that a pattern names.
#[derive(Debug, Clone)]
pub struct DismissalGlob {
    /// As it was written.
    pub pattern: String,
    /// The compiled pattern.
    pub filter: PathFilter,
}

impl Dismissal {
    /// Checks whether its last day has passed.
    pub fn has_lapsed(&self, today: Day) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}
