//! One file of a patch, as it was parsed. Main type: [`ParsedFile`].

use crate::domain::change::{FileMode, Hunk};
use crate::domain::path::RepoPath;

/// One file of a patch.
#[derive(Debug, Default)]
pub(super) struct ParsedFile<'a> {
    /// The start of its diff.
    pub(super) line: usize,
    pub(super) old_path: Option<RepoPath>,
    pub(super) new_path: Option<RepoPath>,
    pub(super) old_mode: Option<FileMode>,
    pub(super) new_mode: Option<FileMode>,
    pub(super) renamed: bool,
    pub(super) binary: bool,
    pub(super) hunks: Vec<Hunk>,
    /// The lines of the hunks with what stands before them: ` `, `-` or `+`.
    pub(super) body: Vec<(u8, &'a [u8])>,
    pub(super) open: OpenEnds,
}

/// The sides of a file that do not end in a line feed.
#[derive(Debug, Default)]
pub(super) struct OpenEnds {
    pub(super) old: bool,
    pub(super) new: bool,
}
