//! A review of one head put onto another: every finding is looked up again by its quote. Main function: [`reanchor`].
//!
//! Findings that still apply are posted at their current position; others are reported as being about the old commit. Nothing that came after the review counts
//! as reviewed.

use std::collections::HashSet;

use crate::domain::finding::{Anchor, AnchorMatch, Finding, FindingId};
use crate::domain::place::DiffSide;
use crate::domain::review::Review;
use crate::evidence::{QuoteLocation, locate};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::Workspace;

/// A review on another head than it was made on.
#[derive(Debug, Clone)]
pub struct Reanchored {
    /// The findings in their original order; those that still apply have their current places.
    pub review: Review,
    /// Those whose lines are not there any more, or are at several places.
    pub gone: HashSet<FindingId>,
}

/// Looks every finding up in two trees: of the head as it is now, and of what that is compared with. What was reviewed stays what it was.
pub fn reanchor(
    review: &Review,
    new: &dyn Workspace,
    old: &dyn Workspace,
    cancel: &Cancel,
) -> Result<Reanchored, CancelReason> {
    let mut moved = Reanchored { review: review.clone(), gone: HashSet::new() };
    for finding in &mut moved.review.findings {
        cancel.check()?;
        match standing(finding, new, old) {
            Some(found) => *finding = found,
            None => {
                moved.gone.insert(finding.id.clone());
            }
        }
    }
    Ok(moved)
}

/// The finding with the places it has now; `None` where its own place is not there. Related places that are gone are left out.
fn standing(finding: &Finding, new: &dyn Workspace, old: &dyn Workspace) -> Option<Finding> {
    let look = |anchor: &Anchor| {
        let tree = match anchor.side {
            DiffSide::New => new,
            DiffSide::Old => old,
        };
        place_now(anchor, tree)
    };
    let (first, others) = finding.anchors.split_first()?;
    let now = look(first)?;
    let mut found = finding.clone();
    found.suggestion = finding.suggestion.clone().and_then(|mut suggestion| {
        // It replaces exactly the lines that were found again, or nothing proves it. With another indentation it would not fit.
        let is_whole =
            suggestion.path == first.path && Some(suggestion.lines) == first.lines && first.side == DiffSide::New;
        let is_same = now.quote.lines().map(str::trim_end).eq(first.quote.lines().map(str::trim_end));
        suggestion.lines = now.lines.filter(|_| is_whole && is_same)?;
        Some(suggestion)
    });
    found.anchors = std::iter::once(now).chain(others.iter().filter_map(look)).collect();
    Some(found)
}

fn place_now(anchor: &Anchor, tree: &dyn Workspace) -> Option<Anchor> {
    let text = tree.read(&anchor.path).ok()?;
    if anchor.lines.is_none() {
        return Some(anchor.clone());
    }
    let (lines, matched) = match locate(&text, &anchor.quote, anchor.lines) {
        QuoteLocation::Exact(lines) => (lines, anchor.matched),
        QuoteLocation::Moved(lines) => (lines, AnchorMatch::Moved),
        QuoteLocation::Ambiguous(_)
        | QuoteLocation::NotDistinctive { .. }
        | QuoteLocation::Nowhere { .. }
        | QuoteLocation::Empty => return None,
    };
    Some(Anchor::at_lines(anchor.path.clone(), anchor.side, lines, &text, matched))
}

#[cfg(test)]
mod tests;
