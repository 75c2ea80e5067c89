//! A claim: what an engine says is wrong, before anything about it was checked.
//!
//! Main type: [`Claim`]. A claim becomes a [`Finding`](super::finding::Finding) only through `evidence`.

use serde::{Deserialize, Serialize};

use super::finding::{Category, Confidence, FindingOrigin, Severity};
use super::path::RepoPath;
use super::place::{DiffSide, LineRange};

/// Something an engine reports, with the evidence it offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// One line.
    pub title: String,
    /// The failure, its conditions and the remedy: Markdown.
    pub body: String,
    /// The severity.
    pub severity: Severity,
    /// The category.
    pub category: Category,
    /// The engine's confidence, if stated.
    pub confidence: Option<Confidence>,
    /// The place it is about.
    pub place: ClaimedPlace,
    /// Other places that prove the effect.
    pub related: Vec<ClaimedPlace>,
    /// Text to stand instead of the quoted lines of `place`.
    pub replacement: Option<String>,
    /// Its origin.
    pub origin: FindingOrigin,
}

/// A place as it is claimed: a quote, perhaps with the lines it is said to stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedPlace {
    /// The file.
    pub path: RepoPath,
    /// The side of the change.
    pub side: DiffSide,
    /// Verbatim lines; `None` claims something about the whole file.
    pub quote: Option<String>,
    /// The claimed lines of the quote.
    pub lines: Option<LineRange>,
    /// The reason why this place matters, for related ones.
    pub note: Option<String>,
}
