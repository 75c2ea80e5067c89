//! Index of changed lines, for checking many places of a file. Main type: [`ReachableLines`].

use crate::domain::change::FileChange;
use crate::domain::place::{DiffSide, LineRange};

/// The changed lines of one side of a file, and the lines around a deletion, in order.
pub(super) struct ReachableLines {
    ranges: Vec<LineRange>,
    /// For each range, the maximum last line up to it.
    reach: Vec<u32>,
}

impl ReachableLines {
    /// Agrees with [`FileChange::touches`], but looks up in logarithmic time: a quote can be at a million places.
    pub(super) fn of(file: &FileChange, side: DiffSide) -> Self {
        let spans = file.runs().map(|run| match side {
            DiffSide::Old => run.old,
            DiffSide::New => run.new,
        });
        let around = |start: u32| LineRange::new(start.max(1), start.saturating_add(1)).ok();
        let mut ranges: Vec<LineRange> = spans.filter_map(|span| span.range().or_else(|| around(span.start))).collect();
        ranges.sort_unstable();
        let mut last = 0;
        let reach = ranges.iter().map(|range| {
            last = last.max(range.end());
            last
        });
        let reach = reach.collect();
        Self { ranges, reach }
    }

    /// Checks whether any of `lines` is touched.
    pub(super) fn touches(&self, lines: LineRange) -> bool {
        let begun = self.ranges.partition_point(|range| range.start() <= lines.end());
        begun.checked_sub(1).is_some_and(|last| self.reach[last] >= lines.start())
    }

    /// Returns up to three touched places that are nearest to `lines`, in order.
    pub(super) fn nearest(&self, lines: LineRange) -> Vec<LineRange> {
        let at = self.ranges.partition_point(|range| range.start() < lines.start());
        let mut near = self.ranges[at.saturating_sub(2)..].to_vec();
        near.truncate(4);
        near.sort_by_key(|range| range.start().abs_diff(lines.start()));
        near.truncate(3);
        near.sort_unstable();
        near
    }
}
