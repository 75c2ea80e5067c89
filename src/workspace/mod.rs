//! The reviewed tree: read and list files of one side of the change, from wherever that side is.
//!
//! Main type: the trait [`Workspace`]. Nothing outside the tree is reachable through it. What a model may ask of it belongs in `tools`.

use std::sync::Arc;

use crate::domain::change::FileMode;
use crate::domain::id::BlobId;
use crate::domain::path::{PathError, RepoPath};
use crate::domain::text::FileText;
use crate::sys::cancel::{Cancel, Stopped};
use crate::sys::repo::RepoError;

pub mod memory;

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub mode: FileMode,
    /// Its blob, where it has one (not on the disk).
    pub blob: Option<BlobId>,
}

/// Why a file could not be read or listed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// No such file; `near` are names like it.
    #[error("file not found: {path}")]
    NotFound {
        /// What was asked for.
        path: RepoPath,
        /// Up to five paths with names like it.
        near: Vec<RepoPath>,
    },
    /// It is there but has no text: binary, a submodule, a folder, a link that leaves the tree.
    #[error("{path} is not text: {what}")]
    NotText {
        /// What was asked for.
        path: RepoPath,
        /// What it is instead.
        what: &'static str,
    },
    /// It is too large to hold.
    #[error("{path} has {size} bytes, more than the {limit} that are read")]
    TooLarge {
        /// What was asked for.
        path: RepoPath,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// `--include`/`--exclude` leave it out.
    #[error("{0} is excluded by --include/--exclude or the project's settings")]
    Excluded(RepoPath),
    /// The path is not one of this tree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The repository failed.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The disk failed.
    #[error("cannot read {path}: {source}")]
    Disk {
        /// What was asked for.
        path: RepoPath,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// One side of the change as a tree of files. Shared by all threads of a run; contents are kept under a cap.
pub trait Workspace: Send + Sync {
    /// All files, sorted by the bytes of their paths, excluded ones left out.
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError>;

    /// The text of a file, decoded and masked. A link reads as the place it points to.
    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError>;
}
