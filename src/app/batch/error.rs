//! Errors of a batch. Main type: [`BatchError`].

use std::path::PathBuf;

use crate::app::context::error::UseCaseError;
use crate::present::batch::IndexParseError;
use crate::sys::files::FileError;

/// The reason why a batch cannot start, or why indexes cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The command line names no change.
    #[error(
        "nothing to review was named: give patterns for branches ('feature/*'), --all-branches, --remote NAME, --each-commit A..B, --prs open, \
         or - for a list on standard input"
    )]
    NoSelection,
    /// A list on standard input beside other changes.
    #[error(
        "- reads all changes from standard input: leave out the other patterns, --all-branches, --remote and --target"
    )]
    ListAndMore,
    /// A glob for branches.
    #[error("{pattern:?} is not a pattern for branches: {why}")]
    Pattern {
        /// The given pattern.
        pattern: String,
        /// The defect.
        why: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The index of a folder cannot be read.
    #[error("{}: {source}", file.display())]
    Index {
        /// The file.
        file: PathBuf,
        /// The defect.
        source: IndexParseError,
    },
    /// Two indexes do not belong to one batch.
    #[error("{} and {} do not belong together: {why}", one.display(), other.display())]
    Mixed {
        /// One folder.
        one: PathBuf,
        /// Another folder.
        other: PathBuf,
        /// The reason.
        why: String,
    },
    /// The folder for the joined index is one of those to join.
    #[error("{} cannot be the output as well: it is one of the folders to join", .0.display())]
    SameFolder(PathBuf),
}

impl UseCaseError for BatchError {}
