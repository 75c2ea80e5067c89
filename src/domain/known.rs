//! What a patch shows of a file when there is no repository to read the rest from. Main type: [`KnownFile`].
//!
//! How a patch is read belongs in `git`; how such a file is shown belongs in `workspace`.

use super::path::RepoPath;
use super::place::Side;

/// The lines of one side of one file that a patch shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// The side.
    pub side: Side,
    /// The path on that side.
    pub path: RepoPath,
    /// Runs of known lines: the number of the first (1-indexed) and the lines without their endings, ascending, not overlapping.
    pub segments: Vec<(u32, Vec<String>)>,
    /// The numbers of the known lines on which a secret was masked, ascending.
    pub masked: Vec<u32>,
    /// Whether that is the whole file (it was added or deleted as a whole).
    pub whole: bool,
}
