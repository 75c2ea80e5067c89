//! The part of a text that a change affects, as line numbers. Main type: [`ScanFocus`].
//!
//! Code on the other lines is the same on both sides of the change, so a match there that depends on nothing around it is the same match
//! on both. Reading the lines of a file belongs in `rules::target`.

use tree_sitter::Node;

use super::kinds::GrammarKinds;
use super::scopes::name_node;
use crate::domain::change::{FileChange, HunkSpan};
use crate::domain::place::DiffSide;

/// The changed lines of one side of a file, and the points between lines where the other side has more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanFocus {
    /// First and last position of each, ascending and disjoint: line `n` is at `2 n`, the point after it at `2 n + 1`.
    spans: Vec<(u64, u64)>,
    /// `true` for the head: of the base, matches in functions without a change are needed to know that they are not new.
    skips_scopes: bool,
}

impl ScanFocus {
    /// Collects the changed lines of `file` on `side`.
    pub fn of(file: &FileChange, side: DiffSide) -> Self {
        let position = |span: HunkSpan| match span.range() {
            Some(lines) => (2 * u64::from(lines.start()), 2 * u64::from(lines.end())),
            None => (2 * u64::from(span.start) + 1, 2 * u64::from(span.start) + 1),
        };
        let mut spans: Vec<(u64, u64)> = file.runs().map(|run| position(run.on(side))).collect();
        spans.sort_unstable();
        Self { spans, skips_scopes: side == DiffSide::New }
    }

    /// Adds lines that the change affects as well, each from a first to a last one.
    #[must_use]
    pub fn with(self, lines: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut spans = self.spans;
        spans.extend(lines.into_iter().map(|(first, last)| (2 * u64::from(first), 2 * u64::from(last))));
        spans.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
        for (first, last) in spans {
            match joined.last_mut().filter(|before| first <= before.1) {
                Some(before) => before.1 = before.1.max(last),
                None => joined.push((first, last)),
            }
        }
        Self { spans: joined, ..self }
    }

    /// Checks whether a line from `first` to `last` changed, or the change is between two of them.
    pub fn affects(&self, first: u32, last: u32) -> bool {
        self.is_within(2 * u64::from(first), 2 * u64::from(last))
    }

    /// Checks whether the change affects one of these lines, or the line before or after them: on the other side it may be between them.
    pub(super) fn touches(&self, first: u32, last: u32) -> bool {
        self.is_within((2 * u64::from(first)).saturating_sub(2), 2 * u64::from(last) + 2)
    }

    /// Checks whether nothing in a function or type can be a match that the change made. What was deleted after its last line may have been
    /// a part of it.
    pub(super) fn skips(&self, node: &Node<'_>, kinds: &GrammarKinds) -> bool {
        if !self.skips_scopes || name_node(node, kinds).is_none() {
            return false;
        }
        let (first, last) = lines(node);
        !self.is_within(2 * u64::from(first), 2 * u64::from(last) + 1)
    }

    /// Checks whether the change affects the lines of a node.
    pub(super) fn affects_node(&self, node: &Node<'_>) -> bool {
        let (first, last) = lines(node);
        self.affects(first, last)
    }

    fn is_within(&self, first: u64, last: u64) -> bool {
        let from = self.spans.partition_point(|span| span.1 < first);
        self.spans.get(from).is_some_and(|span| span.0 <= last)
    }
}

/// Returns the first and the last line of a node.
fn lines(node: &Node<'_>) -> (u32, u32) {
    let line = |row: usize| u32::try_from(row).unwrap_or(u32::MAX - 1) + 1;
    (line(node.start_position().row), line(node.end_position().row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::{ChangeRun, Hunk};
    use crate::domain::path::RepoPath;

    #[test]
    fn a_line_beside_the_change_is_not_affected_and_lines_around_it_are() {
        let span = |start, count| HunkSpan { start, count };
        let runs = vec![ChangeRun { old: span(2, 2), new: span(1, 0) }, ChangeRun { old: span(6, 0), new: span(5, 3) }];
        let path = RepoPath::parse("a.rs").unwrap();
        let file = FileChange { hunks: vec![Hunk { runs, ..Hunk::default() }], ..FileChange::modified(path) };
        let (old, new) = (ScanFocus::of(&file, DiffSide::Old), ScanFocus::of(&file, DiffSide::New));
        let affected = |focus: &ScanFocus| (1..=9).filter(|line| focus.affects(*line, *line)).collect::<Vec<_>>();
        assert_eq!((affected(&old), affected(&new)), (vec![2, 3], vec![5, 6, 7]));
        // Lines 1 and 4 of the base are neighbors at the head.
        assert!(new.affects(1, 2) && !new.affects(2, 4));
        assert!(old.affects(6, 7) && !old.affects(4, 6) && !old.affects(7, 9));
    }

    #[test]
    fn lines_that_are_added_join_those_that_are_there() {
        let span = |start, count| HunkSpan { start, count };
        let runs = vec![ChangeRun { old: span(2, 2), new: span(1, 0) }, ChangeRun { old: span(6, 0), new: span(5, 3) }];
        let path = RepoPath::parse("a.rs").unwrap();
        let file = FileChange { hunks: vec![Hunk { runs, ..Hunk::default() }], ..FileChange::modified(path) };
        let affected = |more: &[(u32, u32)]| {
            let focus = ScanFocus::of(&file, DiffSide::New).with(more.iter().copied());
            (1..=14).filter(|line| focus.affects(*line, *line)).collect::<Vec<_>>()
        };
        assert_eq!(affected(&[]), [5, 6, 7]);
        assert_eq!(affected(&[(1, 2), (4, 6), (6, 6), (7, 9), (12, 12)]), [1, 2, 4, 5, 6, 7, 8, 9, 12]);
    }
}
