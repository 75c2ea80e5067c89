//! Places in files: sides of a change, line ranges, and the trees a file can be read from.

use serde::{Deserialize, Serialize};

use super::id::CommitId;

/// Which side of the change a line belongs to.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Side")]
pub enum DiffSide {
    /// Before the change (the merge base).
    Old,
    /// After the change (the head).
    #[default]
    New,
}

/// Lines of a file, 1-indexed, both ends included, never empty. Kept as `[start, end]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "[u32; 2]", try_from = "[u32; 2]")]
pub struct LineRange {
    start: u32,
    end: u32,
}

/// A range that starts at line 0 or ends before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lines {start}-{end} are not a range: lines count from 1 and the end is included")]
pub struct InvalidRange {
    /// The first line that was asked for.
    pub start: u32,
    /// The last line that was asked for.
    pub end: u32,
}

impl From<LineRange> for [u32; 2] {
    fn from(lines: LineRange) -> Self {
        [lines.start, lines.end]
    }
}

impl TryFrom<[u32; 2]> for LineRange {
    type Error = InvalidRange;

    fn try_from([start, end]: [u32; 2]) -> Result<Self, InvalidRange> {
        Self::new(start, end)
    }
}

impl LineRange {
    /// Checks a range.
    pub fn new(start: u32, end: u32) -> Result<Self, InvalidRange> {
        if start == 0 || end < start { Err(InvalidRange { start, end }) } else { Ok(Self { start, end }) }
    }

    /// One line; line 0 is taken as line 1.
    pub fn line(line: u32) -> Self {
        Self { start: line.max(1), end: line.max(1) }
    }

    /// The first line.
    pub fn start(self) -> u32 {
        self.start
    }

    /// The last line.
    pub fn end(self) -> u32 {
        self.end
    }

    /// Returns the number of lines it covers (at least 1).
    pub fn count(self) -> u32 {
        self.end - self.start + 1
    }

    /// Checks whether the two share a line.
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Checks whether `line` is in it.
    pub fn contains(self, line: u32) -> bool {
        self.start <= line && line <= self.end
    }
}

/// The tree that the files of one side are read from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceAt {
    /// A commit, straight from the object database.
    Revision(CommitId),
    /// The staged files: the blobs of the index, not the disk.
    Index,
    /// The files on the disk, untracked ones included and ignored ones left out.
    Worktree,
    /// Only what a patch text shows; there is no repository.
    PatchOnly,
    /// The state before the first commit: no files at all.
    Empty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_never_empty() {
        assert!(LineRange::new(0, 3).is_err());
        assert!(LineRange::new(4, 3).is_err());
        assert_eq!(LineRange::new(3, 3).unwrap().count(), 1);
    }

    #[test]
    fn ranges_overlap_at_a_shared_line() {
        let range = |a, b| LineRange::new(a, b).unwrap();
        assert!(range(1, 3).overlaps(range(3, 9)));
        assert!(!range(1, 3).overlaps(range(4, 9)));
    }
}
