//! What a patch text shows of files that cannot be read otherwise. Main types: [`PatchFile`], [`KnownLines`].

use super::path::RepoPath;
use super::place::Side;

/// One file of a patch, with the lines that the patch shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFile {
    /// Its path after the patch; for a deletion, its path before.
    pub path: RepoPath,
    /// Its path before the patch, where that differs.
    pub old_path: Option<RepoPath>,
    /// The lines it had before, as far as they are shown.
    pub old: KnownLines,
    /// The lines it has after, as far as they are shown.
    pub new: KnownLines,
    /// The side that is shown whole: the new one of an added file, the old one of a deleted file.
    pub whole: Option<Side>,
}

/// Some lines of a file, secrets masked, without line ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownLines {
    /// Ascending, not overlapping.
    segments: Vec<Segment>,
    /// Whether the last of them is the last of the file and no line feed follows it.
    open_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Segment {
    /// Line number of the first, 1-indexed.
    start: u32,
    lines: Vec<String>,
}

impl PatchFile {
    /// Its path on one side.
    pub fn path_at(&self, side: Side) -> &RepoPath {
        match side {
            Side::Old => self.old_path.as_ref().unwrap_or(&self.path),
            Side::New => &self.path,
        }
    }

    /// The known lines of one side.
    pub fn side(&self, side: Side) -> &KnownLines {
        match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        }
    }
}

impl KnownLines {
    /// Adds lines that begin at `start` (1-indexed) and lie behind all that are known; others are left out.
    pub fn push(&mut self, start: u32, lines: Vec<String>) {
        if !lines.is_empty() && start > self.last() {
            self.segments.push(Segment { start: start.max(1), lines });
        }
    }

    /// Says that no line feed follows the last line.
    pub fn set_open_end(&mut self) {
        self.open_end = true;
    }

    /// Whether the last known line is the last of the file and no line feed follows it.
    pub fn has_open_end(&self) -> bool {
        self.open_end
    }

    /// The number of the last known line; 0 where there is none.
    pub fn last(&self) -> u32 {
        self.segments.last().map_or(0, |segment| {
            segment.start.saturating_sub(1).saturating_add(u32::try_from(segment.lines.len()).unwrap_or(u32::MAX))
        })
    }

    /// One line (1-indexed), where it is known.
    pub fn line(&self, number: u32) -> Option<&str> {
        let after = self.segments.partition_point(|segment| segment.start <= number);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        segment.lines.get(usize::try_from(number - segment.start).ok()?).map(String::as_str)
    }

    /// All known lines with their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        self.segments.iter().flat_map(|segment| (segment.start..).zip(segment.lines.iter().map(String::as_str)))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_where_they_were_shown() {
        let mut known = KnownLines::default();
        known.push(3, vec!["c".into(), "d".into()]);
        known.push(4, vec!["overlaps".into()]);
        known.push(9, vec!["i".into()]);
        assert_eq!(known.line(4), Some("d"));
        assert_eq!((known.line(2), known.line(5), known.line(0)), (None, None, None));
        assert_eq!(known.lines().map(|(number, _)| number).collect::<Vec<_>>(), [3, 4, 9]);
        assert_eq!(known.last(), 9);
    }
}
