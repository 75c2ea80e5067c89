//! The hidden comments by which we know again what we wrote. Main types: [`FindingMark`], [`SummaryMark`], [`RunMark`].
//!
//! A mark proves nothing by itself, anybody can write one: it counts only in a text that the forge says our own account wrote. It stands at the
//! end of a text; a text that has two of a kind has none.

use crate::domain::finding::{Category, FindingId, Fingerprint, Severity};
use crate::domain::id::CommitId;
use crate::domain::run::RunId;

/// In an inline comment: the finding that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingMark {
    /// Its name when it was posted.
    pub id: FindingId,
    /// What it is about.
    pub fingerprint: Fingerprint,
    /// The hash of the lines it is about (12 hexadecimal digits; see [`quote_hash`]), and how many they are.
    pub quote: (String, u32),
    /// How bad.
    pub severity: Severity,
    /// What kind.
    pub category: Category,
}

/// In the summary: what was reviewed last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryMark {
    /// The run.
    pub run: RunId,
    /// The commit that was reviewed.
    pub head: CommitId,
    /// Where it met the target.
    pub merge_base: CommitId,
    /// Whether that review was complete.
    pub complete: bool,
}

/// In the text of a review: the run that it comes from, so that a lost answer does not post it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMark {
    /// The run.
    pub run: RunId,
    /// The head when it was posted.
    pub head: CommitId,
}
