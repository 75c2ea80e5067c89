//! The lines of a file that a patch shows, for patches without a repository. Main type: [`KnownFile`].
//!
//! Parsing patches belongs in `git`; reading such files, in `workspace`.

use super::path::RepoPath;
use super::place::DiffSide;

/// The lines of one side of one file that a patch shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// The side.
    pub side: DiffSide,
    /// The path on that side.
    pub path: RepoPath,
    /// Runs of known lines: the number of the first (1-indexed) and the lines without their endings, ascending, not overlapping.
    pub segments: Vec<(u32, Vec<String>)>,
    /// The numbers of the known lines on which a secret was masked, ascending.
    pub masked: Vec<u32>,
    /// `true` if that is the whole file (it was added or deleted as a whole).
    pub whole: bool,
}
