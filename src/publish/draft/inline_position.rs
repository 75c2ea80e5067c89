//! The positions in the diff where a finding may be placed. Main types: [`ChangedFiles`], [`InlinePosition`].
//!
//! A forge takes a comment on lines that lie in one hunk, on the side where they are: on the new side added lines and context, on the old side
//! removed lines and context.

use std::collections::HashMap;

use super::SummaryOnlyReason;
use crate::domain::change::{ChangeSet, FileChange, FileMode, Hunk};
use crate::domain::finding::{Anchor, Finding};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::is_distinctive;

/// The files of a change by their paths on each side.
pub(super) struct ChangedFiles<'c> {
    files: HashMap<(DiffSide, &'c RepoPath), &'c FileChange>,
}

/// A place of the diff where a finding may stand.
pub(super) struct InlinePosition<'c> {
    /// The file; its path at the head is the one that a forge knows.
    pub(super) file: &'c FileChange,
    pub(super) side: DiffSide,
    /// The lines; all in the hunk.
    pub(super) lines: LineRange,
    pub(super) hunk: &'c Hunk,
    /// The index of the hunk in its file.
    pub(super) hunk_index: usize,
    /// The index of the finding's anchor.
    pub(super) anchor: usize,
    /// `true` if the anchor's lines are not in the diff, and these are the nearest that are.
    pub(super) is_near: bool,
}

impl InlinePosition<'_> {
    /// Checks whether the comment stands on other lines than those that the finding quotes.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.is_near || self.anchor > 0
    }

    /// Returns the place in the commented file whose lines decide whether the finding is fixed: those of the change, for unchanged lines stay.
    pub(super) fn decisive_anchor<'f>(&self, finding: &'f Finding) -> Option<&'f Anchor> {
        let is_changed = |anchor: &&Anchor| {
            anchor.side == self.side
                && anchor.path == *self.file.path_at(self.side)
                && anchor.lines.is_some_and(|lines| self.file.touches(self.side, lines))
        };
        let own = finding.anchors.get(self.anchor);
        own.filter(is_changed).or_else(|| finding.anchors.iter().find(is_changed)).or(own)
    }
}

impl<'c> ChangedFiles<'c> {
    pub(super) fn from_change(change: &'c ChangeSet) -> Self {
        let sides =
            |file: &'c FileChange| [DiffSide::Old, DiffSide::New].map(|side| ((side, file.path_at(side)), file));
        Self { files: change.files.iter().flat_map(sides).collect() }
    }

    /// The first anchor, if it may stand. If only a related one may, the lines of the diff that are nearest to the first, or else that one;
    /// where none may, why the first may not.
    pub(super) fn find_place(&self, finding: &Finding) -> Result<InlinePosition<'c>, SummaryOnlyReason> {
        let mut first = None;
        for (at, anchor) in finding.anchors.iter().enumerate() {
            match self.stand(anchor) {
                Ok(spot) => {
                    // In another file, whose lines the fix need not touch, its thread would stay open.
                    let is_own_file =
                        |first: &&Anchor| at > 0 && first.path == anchor.path && first.side == anchor.side;
                    let near = finding.anchors.first().filter(is_own_file).and_then(|first| self.nearest(first));
                    return Ok(near.unwrap_or(InlinePosition { anchor: at, ..spot }));
                }
                // What is about a whole file would mislead on lines of another.
                Err(SummaryOnlyReason::WholeFile) if at == 0 => return Err(SummaryOnlyReason::WholeFile),
                Err(why) => {
                    first.get_or_insert(why);
                }
            }
        }
        Err(first.unwrap_or(SummaryOnlyReason::Unplaced))
    }

    /// The file of an anchor with lines, if the forge takes comments on it.
    fn commented_file(&self, anchor: &Anchor) -> Result<(&'c FileChange, LineRange), SummaryOnlyReason> {
        let lines = anchor.lines.ok_or(SummaryOnlyReason::WholeFile)?;
        let file = *self.files.get(&(anchor.side, &anchor.path)).ok_or(SummaryOnlyReason::NotInDiff)?;
        if [file.old_mode, file.new_mode].contains(&Some(FileMode::Submodule)) {
            return Err(SummaryOnlyReason::Submodule);
        }
        if !can_be_sent(&file.path) {
            return Err(SummaryOnlyReason::OddPath);
        }
        if !file.reviewable() {
            return Err(SummaryOnlyReason::NoLines);
        }
        Ok((file, lines))
    }

    /// The line of the diff of an anchor's file that is nearest to its lines.
    fn nearest(&self, anchor: &Anchor) -> Option<InlinePosition<'c>> {
        let (file, lines) = self.commented_file(anchor).ok()?;
        let side = anchor.side;
        let near = |(hunk_index, hunk): (usize, &'c Hunk)| {
            let range = span(hunk, side).range()?;
            let line = lines.start().clamp(range.start(), range.end());
            let lines = LineRange::line(line);
            Some(InlinePosition { file, side, lines, hunk, hunk_index, anchor: 0, is_near: true })
        };
        let found = file.hunks.iter().enumerate().filter_map(near);
        found.min_by_key(|spot| {
            let line = spot.lines.start();
            lines.start().saturating_sub(line).max(line.saturating_sub(lines.end()))
        })
    }

    fn stand(&self, anchor: &Anchor) -> Result<InlinePosition<'c>, SummaryOnlyReason> {
        let (file, lines) = self.commented_file(anchor)?;
        let side = anchor.side;
        // The first hunk that does not end before the lines.
        let from = file.hunks.partition_point(|hunk| {
            let span = span(hunk, side);
            span.start.saturating_add(span.count) <= lines.start()
        });
        let mut overlapped = false;
        for (hunk_index, hunk) in file.hunks.iter().enumerate().skip(from) {
            let Some(range) = span(hunk, side).range() else { continue };
            if range.start() > lines.end() {
                break;
            }
            let Some(part) = common(range, lines) else { continue };
            overlapped = true;
            if part == lines || (file.touches(side, part) && tells(anchor, lines, part)) {
                return Ok(InlinePosition { file, side, lines: part, hunk, hunk_index, anchor: 0, is_near: false });
            }
        }
        Err(if overlapped { SummaryOnlyReason::AcrossHunks } else { SummaryOnlyReason::NotInDiff })
    }
}

pub(super) fn span(hunk: &Hunk, side: DiffSide) -> crate::domain::change::HunkSpan {
    match side {
        DiffSide::Old => hunk.old,
        DiffSide::New => hunk.new,
    }
}

pub(super) fn common(a: LineRange, b: LineRange) -> Option<LineRange> {
    LineRange::new(a.start().max(b.start()), a.end().min(b.end())).ok()
}

/// Checks whether the first line of the quote that tells one place from another is in `part`.
fn tells(anchor: &Anchor, lines: LineRange, part: LineRange) -> bool {
    let told = (lines.start()..=lines.end()).zip(anchor.quote.lines()).find(|(_, line)| is_distinctive(line));
    told.is_some_and(|(number, _)| part.contains(number))
}

/// Checks whether a path can stand in a request: JSON has no bytes that are not text, a control character is never meant, and the forge knows no masked one.
fn can_be_sent(path: &RepoPath) -> bool {
    !path.is_masked() && std::str::from_utf8(path.as_bytes()).is_ok_and(|path| !path.chars().any(char::is_control))
}
