//! The one comment that says it all: how the review ended, what it found, where that stands, and what was not looked at.
//!
//! Main types: [`SummaryParts`], [`Rendered`]. The same input gives the same bytes, so that bringing it up to date changes nothing where nothing
//! changed. It is never longer than a forge takes; what it has no room for is named in [`Rendered::in_artefact`].

use super::draft::{Beside, Limits};
use super::guard::Guard;
use crate::domain::finding::{FindingId, Severity};
use crate::domain::forge::Verdict;
use crate::domain::id::CommitId;
use crate::domain::review::Review;

/// A finding of an earlier review, or of this one, by what is known of its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its name.
    pub finding: FindingId,
    /// How bad.
    pub severity: Severity,
    /// Its title; untrusted text, not Markdown.
    pub title: String,
    /// Where: `src/a.rs:12`; untrusted text.
    pub place: String,
}

/// What the summary says beside the review itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryParts {
    /// What the review as a whole says.
    pub verdict: Verdict,
    /// Findings of this review that stand on their lines, new or from before.
    pub on_lines: Vec<FindingId>,
    /// Findings of this review that do not, and why.
    pub beside: Vec<Beside>,
    /// Found earlier, not found this time, and nothing shows that they are gone.
    pub still_open: Vec<Earlier>,
    /// Found earlier and gone; their threads are resolved.
    pub fixed: Vec<Earlier>,
    /// Found earlier and gone; their threads could not be resolved.
    pub not_resolved: Vec<Earlier>,
    /// Were fixed and are back; they count among those on lines or beside too.
    pub reopened: Vec<Earlier>,
    /// Found again, but somebody else resolved their threads: not raised again.
    pub by_others: Vec<Earlier>,
    /// Found now on code that an earlier, complete review saw as it is: not raised.
    pub late: Vec<Earlier>,
    /// The head that an earlier review was about.
    pub since: Option<CommitId>,
    /// The head now, where that is not the commit that was reviewed.
    pub moved: Option<CommitId>,
    /// What was done differently, or could not be done: one sentence each; untrusted text.
    pub notes: Vec<String>,
}

impl Default for SummaryParts {
    fn default() -> Self {
        Self {
            verdict: Verdict::Comment,
            on_lines: Vec::new(),
            beside: Vec::new(),
            still_open: Vec::new(),
            fixed: Vec::new(),
            not_resolved: Vec::new(),
            reopened: Vec::new(),
            by_others: Vec::new(),
            late: Vec::new(),
            since: None,
            moved: None,
            notes: Vec::new(),
        }
    }
}

/// The summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Markdown; its mark is the last line.
    pub body: String,
    /// Findings of this review that stand neither on lines nor here: only the kept review has them.
    pub in_artefact: Vec<FindingId>,
}

/// Writes the summary.
pub fn summary(_review: &Review, _parts: &SummaryParts, _limits: &Limits, _guard: &Guard) -> Rendered {
    Rendered { body: String::new(), in_artefact: Vec::new() }
}

/// The text of the review of a pull request, whose comments are the findings on lines; `head` is the commit that it is posted on.
pub fn review_body(_review: &Review, _parts: &SummaryParts, _head: CommitId, _guard: &Guard) -> String {
    String::new()
}
