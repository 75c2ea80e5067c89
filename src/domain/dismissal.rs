//! Findings that people decided not to hear again. Main type: [`Dismissal`].

use super::finding::FindingId;

/// A finding that somebody dismissed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dismissal {
    /// The finding.
    pub id: FindingId,
    /// Why, one line.
    pub reason: String,
}
