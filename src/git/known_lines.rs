//! The lines that a patch text shows of a file. Main types: [`PatchFile`], [`KnownLines`].
//!
//! Kept as the patch has them, carriage returns included: they may be what changed. What readers of the tree get is
//! [`KnownFile`].

use crate::domain::known_file::KnownFile;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;

/// One file of a patch, with the lines that the patch shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchFile {
    /// Its path after the patch; for a deletion, its path before.
    pub(super) path: RepoPath,
    /// Its path before the patch, where that differs.
    pub(super) old_path: Option<RepoPath>,
    /// The lines it had before, as far as they are shown.
    pub(super) old: KnownLines,
    /// The lines it has after, as far as they are shown.
    pub(super) new: KnownLines,
}

/// Some lines of a file, secrets masked, without line ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownLines {
    /// Ascending, not overlapping.
    segments: Vec<Segment>,
    /// The numbers of those on which a secret was masked, ascending.
    masked: Vec<u32>,
    /// `true` if the last of them is the last of the file and no line feed follows it.
    open_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    /// Line number of the first, 1-indexed.
    start: u32,
    lines: Vec<String>,
}

impl PatchFile {
    /// Both sides as readers of the tree get them; a side that does not exist or is not shown is left out.
    pub(super) fn known_files(&self, whole: impl Fn(DiffSide) -> bool) -> Vec<KnownFile> {
        let side = |side: DiffSide, path: &RepoPath, known: &KnownLines| {
            let without = |line: &String| line.strip_suffix('\r').unwrap_or(line).to_owned();
            let segment = |segment: &Segment| (segment.start, segment.lines.iter().map(without).collect());
            let segments: Vec<(u32, Vec<String>)> = known.segments.iter().map(segment).collect();
            let masked = known.masked.clone();
            let file = KnownFile { side, path: path.clone(), segments, masked, whole: whole(side) };
            (!file.segments.is_empty() || file.whole).then_some(file)
        };
        let old_path = self.old_path.as_ref().unwrap_or(&self.path);
        side(DiffSide::Old, old_path, &self.old).into_iter().chain(side(DiffSide::New, &self.path, &self.new)).collect()
    }
}

impl KnownLines {
    /// Adds lines that begin at `start` (1-indexed) and lie behind all that are known; others are left out.
    ///
    /// `masked` are the numbers of those on which a secret was masked.
    pub(super) fn push(&mut self, start: u32, lines: Vec<String>, masked: impl Iterator<Item = u32>) {
        if !lines.is_empty() && start > self.last() {
            self.masked.extend(masked);
            self.segments.push(Segment { start: start.max(1), lines });
        }
    }

    /// Says that no line feed follows the last line.
    pub(super) fn set_open_end(&mut self) {
        self.open_end = true;
    }

    /// Checks whether the last known line is the last of the file and no line feed follows it.
    pub(super) fn has_open_end(&self) -> bool {
        self.open_end
    }

    /// The number of the last known line; 0 where there is none.
    pub(super) fn last(&self) -> u32 {
        self.segments.last().map_or(0, |segment| {
            segment.start.saturating_sub(1).saturating_add(u32::try_from(segment.lines.len()).unwrap_or(u32::MAX))
        })
    }

    /// One line (1-indexed), where it is known.
    pub(super) fn line(&self, number: u32) -> Option<&str> {
        let after = self.segments.partition_point(|segment| segment.start <= number);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        segment.lines.get(usize::try_from(number - segment.start).ok()?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_where_they_were_shown() {
        let mut known = KnownLines::default();
        known.push(3, vec!["c".into(), "d".into()], std::iter::once(4));
        known.push(4, vec!["overlaps".into()], std::iter::once(4));
        known.push(9, vec!["i".into()], std::iter::empty());
        assert_eq!(known.line(4), Some("d"));
        assert_eq!((known.line(2), known.line(5), known.line(0)), (None, None, None));
        assert_eq!((known.line(9), known.line(10)), (Some("i"), None));
        assert_eq!(known.last(), 9);
    }
}
