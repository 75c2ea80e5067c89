//! The changed paths, before their contents are compared. Main types: [`Delta`], [`ChangedEntry`], [`SideContent`].

use std::collections::HashSet;

use crate::domain::change::{FileMode, FileStatus, Omission};
use crate::domain::id::BlobId;
use crate::domain::limits::{LIMITS, OmissionList, RemainingLimit};
use crate::domain::path::{RepoPath, quote};
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

use super::disk;

/// One side of a changed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChangedEntry {
    pub(super) mode: FileMode,
    /// Its object (a commit for a submodule); `None` for what lies on the disk.
    pub(super) id: Option<BlobId>,
}

/// One changed path, or two that are one file moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) path: RepoPath,
    /// Set by the rename pass.
    pub(super) old_path: Option<RepoPath>,
    pub(super) old: Option<ChangedEntry>,
    pub(super) new: Option<ChangedEntry>,
}

/// The bytes of a path that is none which an omission shows.
const MOST_SHOWN: usize = 4096;

/// The differences between two trees.
#[derive(Debug)]
pub(super) struct TreeDifferences {
    /// By path.
    pub(super) deltas: Vec<Delta>,
    pub(super) omissions: OmissionList,
    files: RemainingLimit,
    path_bytes: RemainingLimit,
    is_full: bool,
}

impl Default for TreeDifferences {
    fn default() -> Self {
        let (files, path_bytes) =
            (RemainingLimit::of(LIMITS.changed_files), RemainingLimit::of(LIMITS.changed_path_bytes));
        Self { deltas: Vec::new(), omissions: OmissionList::default(), files, path_bytes, is_full: false }
    }
}

impl ChangedEntry {
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.mode, FileMode::File | FileMode::Executable)
    }

    /// Checks whether both are of a kind that can be compared line by line without becoming something else.
    pub(super) fn same_kind(&self, other: &Self) -> bool {
        self.mode == other.mode || (self.is_plain() && other.is_plain())
    }
}

impl Delta {
    pub(super) fn status(&self) -> FileStatus {
        match (&self.old, &self.new) {
            (None, _) => FileStatus::Added,
            (_, None) => FileStatus::Deleted,
            (Some(_), Some(_)) if self.old_path.is_some() => FileStatus::Renamed,
            (Some(old), Some(new)) if !old.same_kind(new) => FileStatus::TypeChanged,
            (Some(_), Some(_)) => FileStatus::Modified,
        }
    }
}

impl TreeDifferences {
    /// Takes one difference; a path that no checkout could hold is told, not reviewed, and so is one for which there is no room.
    pub(super) fn push(&mut self, path: &[u8], old: Option<ChangedEntry>, new: Option<ChangedEntry>) {
        if self.is_full {
            return;
        }
        match RepoPath::from_bytes(path) {
            Ok(path) if self.files.charge(1) && self.path_bytes.charge(path.as_bytes().len() as u64) => {
                self.deltas.push(Delta { path, old_path: None, old, new });
            }
            Ok(_) => {
                self.is_full = true;
                let (files, mebibytes) = (LIMITS.changed_files, LIMITS.changed_path_bytes >> 20);
                self.omissions.push(Omission {
                    path: None,
                    reason: format!(
                        "only the first {} changed files are listed ({files} at most, with {mebibytes} MiB of paths); review a smaller range",
                        self.deltas.len()
                    ),
                    unseen: true,
                });
            }
            Err(error) => self.omissions.push(Omission {
                // One that is longer than any real one says enough by how it begins.
                path: Some(quote(&path[..path.len().min(MOST_SHOWN)])),
                reason: format!("not read: {error}"),
                unseen: true,
            }),
        }
    }

    /// Checks whether there is no room for another difference, which was told.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Leaves one file of each path. Two whose names differ in a secret alone read the same, and one would be taken for the other.
    pub(super) fn drop_duplicates(&mut self) {
        let mut seen = HashSet::new();
        let Self { deltas, omissions, .. } = self;
        if !deltas.iter().any(|delta| delta.path.is_masked()) {
            return;
        }
        deltas.retain(|delta| {
            let is_first = seen.insert(delta.path.clone());
            if !is_first {
                let reason =
                    "not read: its name differs from that of another changed file in a secret alone".to_owned();
                omissions.push(Omission { path: Some(delta.path.to_string()), reason, unseen: true });
            }
            is_first
        });
    }
}

/// A path as it is spelled everywhere; in quotes where it is none that the tree could have.
pub(super) fn display_path(path: &[u8]) -> String {
    RepoPath::from_bytes(path).map_or_else(|_| quote(path), |path| path.to_string())
}

/// The bytes of one side.
pub(super) enum SideContent<'r> {
    /// Nothing is there.
    Nothing,
    /// An object; the library compares two of them without hashing them again.
    Blob(git2::Blob<'r>),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl<'r> SideContent<'r> {
    /// Reads one side of a file.
    pub(super) fn read(repo: &'r Repo, path: &RepoPath, entry: Option<ChangedEntry>) -> Result<Self, ReadError> {
        let Some(entry) = entry else { return Ok(Self::Nothing) };
        match (entry.mode, entry.id) {
            // What git puts in the place of a submodule's contents (`diff_populate_gitlink` in its diff.c).
            (FileMode::Submodule, Some(id)) => Ok(Self::Bytes(format!("Subproject commit {id}\n").into_bytes())),
            (FileMode::Submodule, None) => Ok(Self::Nothing),
            (_, Some(id)) => Ok(Self::Blob(repo.find_blob(id)?)),
            (mode, None) => Ok(Self::Bytes(disk::read(repo, path, mode)?)),
        }
    }

    /// Returns the number of bytes one side has, without reading them where that can be known.
    pub(super) fn size(repo: &Repo, path: &RepoPath, entry: ChangedEntry) -> Result<u64, ReadError> {
        match (entry.mode, entry.id) {
            (FileMode::Submodule, _) => Ok(0),
            (_, Some(id)) => Ok(repo.blob_size(id)?),
            (_, None) => Ok(disk::size(repo, path)?),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::Blob(blob) => blob.content(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The reason why the contents of one file could not be read; the others still can.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error(transparent)]
    Repo(#[from] RepoError),
    #[error("cannot be read from the disk: {0}")]
    Disk(#[from] std::io::Error),
}
