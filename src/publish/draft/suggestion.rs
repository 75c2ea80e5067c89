//! A suggestion that can be committed with one click. Main type: [`SuggestedLines`].
//!
//! It replaces exactly the lines of its comment, so those are worked out here from what stands on them; where that is not known to the letter
//! there is no offer, and the suggestion is shown as a small diff.

use super::inline_position::{InlinePosition, common, span};
use crate::domain::change::LINE_SHORTENED;
use crate::domain::finding::{Finding, Suggestion};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::{MASK_PREFIX, strip_block};
use crate::publish::guard::SecretGuard;

/// Lines to stand instead of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuggestedLines {
    /// Those that go: the lines of the comment.
    pub(super) lines: LineRange,
    /// Those that come; none deletes.
    pub(super) replacement: Vec<String>,
}

/// The finding's suggestion for the place where it stands.
pub(super) fn render_suggestion(
    finding: &Finding,
    spot: &InlinePosition<'_>,
    guard: &SecretGuard,
) -> Option<SuggestedLines> {
    let suggestion = finding.suggestion.as_ref()?;
    let anchor = finding.anchors.get(spot.anchor)?;
    let anchored = anchor.lines?;
    if spot.side != DiffSide::New || suggestion.path != spot.file.path {
        return None;
    }
    let shared = common(anchored, suggestion.lines)?;
    let within = common(span(spot.hunk, DiffSide::New).range()?, suggestion.lines)? == suggestion.lines;
    let hidden = finding.anchors.iter().any(|anchor| {
        anchor.masked
            && anchor.path == suggestion.path
            && anchor.lines.is_none_or(|lines| lines.overlaps(suggestion.lines))
    });
    if !within
        || hidden
        || (shared != anchored && shared != suggestion.lines)
        || !is_clean(&suggestion.replacement, guard)
    {
        return None;
    }
    let old = replaced(finding, spot, suggestion)?;
    if old.iter().any(|line| line.contains(MASK_PREFIX)) {
        return None;
    }
    trimmed(suggestion, &old)
}

/// Checks whether the text arrives as it is: no secret, nothing that is shown differently from what it is.
fn is_clean(text: &str, guard: &SecretGuard) -> bool {
    !text.contains(MASK_PREFIX) && strip_block(text) == text && guard.clean(text).1 == 0
}

/// Returns the lines to be replaced, from the quote or from the diff.
fn replaced<'f>(finding: &'f Finding, spot: &InlinePosition<'f>, suggestion: &Suggestion) -> Option<Vec<&'f str>> {
    let lines = suggestion.lines;
    let anchor = finding.anchors.get(spot.anchor)?;
    let anchored = anchor.lines?;
    let quoted: Vec<&str> = anchor.quote.split('\n').collect();
    if common(anchored, lines) == Some(lines) && quoted.len() == usize::try_from(anchored.count()).ok()? {
        let from = usize::try_from(lines.start() - anchored.start()).ok()?;
        let count = usize::try_from(lines.count()).ok()?;
        return quoted.get(from..from + count).map(<[_]>::to_vec);
    }
    let patch = &spot.file.patch;
    if patch.cut.is_some_and(|cut| cut.first_unseen_hunk <= spot.hunk_index || cut.shortened_lines > 0) {
        return None;
    }
    let mut number = spot.hunk.new.start;
    let mut found = Vec::new();
    let body = patch.text.lines().scan(None, |hunk: &mut Option<usize>, line| {
        if line.starts_with("@@") {
            *hunk = Some(hunk.map_or(0, |at| at + 1));
        }
        Some((*hunk, line))
    });
    for (_, line) in body.filter(|(hunk, line)| *hunk == Some(spot.hunk_index) && !line.starts_with("@@")) {
        let Some(text) = line.strip_prefix([' ', '+']) else { continue };
        if lines.contains(number) {
            found.push(text);
        }
        number = number.saturating_add(1);
    }
    let whole = found.len() == usize::try_from(lines.count()).ok()?;
    (whole && !found.iter().any(|line| line.contains(LINE_SHORTENED))).then_some(found)
}

/// The offer without the lines at its ends that stay as they are; a forge wants one line at least, so an insertion keeps one.
fn trimmed(suggestion: &Suggestion, old: &[&str]) -> Option<SuggestedLines> {
    let new: Vec<&str> =
        if suggestion.replacement.is_empty() { Vec::new() } else { suggestion.replacement.split('\n').collect() };
    let same = |(old, new): &(&&str, &&str)| old.trim_end_matches('\r') == new.trim_end_matches('\r');
    let mut head = old.iter().zip(&new).take_while(same).count();
    let mut tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    if head + tail == old.len() {
        if head + tail == new.len() {
            return None;
        }
        if head > 0 {
            head -= 1;
        } else {
            tail = tail.checked_sub(1)?;
        }
    }
    let start = suggestion.lines.start().checked_add(u32::try_from(head).ok()?)?;
    let end = suggestion.lines.end().checked_sub(u32::try_from(tail).ok()?)?;
    let kept = new.get(head..new.len().checked_sub(tail)?)?;
    Some(SuggestedLines {
        lines: LineRange::new(start, end).ok()?,
        replacement: kept.iter().map(|line| (*line).to_owned()).collect(),
    })
}
