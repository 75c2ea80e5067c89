//! The tree that guidelines and rules of a project are read from: a commit, or the working tree if requested. Main type: [`TargetTree`].
//!
//! Nothing outside of it can be reached, and no link is followed here: `guidelines::resolve` does so, within the tree.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::app::context::error::AppError;
use crate::domain::change::FileMode;
use crate::domain::id::{CommitId, TreeId};
use crate::sys::contained_folder::{self, ContainedFolder, ReadFile};
use crate::sys::files::FileError;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;
use crate::sys::tree::{self, TreeLookup};

/// Limit on the names in a folder of the working tree; a larger one is not listed.
const MOST_NAMES: usize = 100_000;
/// Limit in bytes on a link's target; a longer one is invalid.
const LONGEST_LINK: u64 = 4 << 10;

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum EntryKind {
    File,
    Link,
    Folder,
    /// A submodule, a pipe, a device.
    Other,
}

/// A tree.
pub(in crate::app) enum TargetTree<'r> {
    /// The tree of a commit.
    Commit {
        repo: &'r Repo,
        commit: CommitId,
        /// Cache of folders.
        folders: RefCell<HashMap<Vec<u8>, Option<TreeId>>>,
    },
    /// The working tree.
    Disk {
        beneath: ContainedFolder,
        /// The repository it belongs to.
        repo: &'r Repo,
    },
}

impl<'r> TargetTree<'r> {
    /// Opens the tree that the project's configuration is read from; `None` if there is none.
    pub(in crate::app) fn of(
        repo: &'r Repo,
        at: Option<CommitId>,
        from_worktree: bool,
    ) -> Result<Option<Self>, AppError> {
        if from_worktree {
            let Some(root) = repo.workdir() else { return Ok(None) };
            let beneath = ContainedFolder::new(root)
                .map_err(|source| AppError::Input(FileError { verb: "read", path: root.to_owned(), source }))?;
            return Ok(Some(Self::Disk { beneath, repo }));
        }
        at.map(|commit| Self::at(repo, commit)).transpose()
    }

    /// The tree of a commit.
    pub(in crate::app) fn at(repo: &'r Repo, commit: CommitId) -> Result<Self, AppError> {
        let root = repo.tree_of(commit)?;
        let folders = RefCell::new(HashMap::from([(Vec::new(), Some(root))]));
        Ok(Self::Commit { repo, commit, folders })
    }

    /// Describes the source of the tree.
    pub(in crate::app) fn describe(&self) -> String {
        match self {
            Self::Commit { commit, .. } => format!("at {}", commit.short()),
            Self::Disk { .. } => "on the disk".to_owned(),
        }
    }

    /// The type of the entry at a path; `None` if there is none, or if the path leads through a link or a file.
    pub(in crate::app) fn kind(&self, path: &[u8]) -> Result<Option<EntryKind>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(beneath.kind(path).ok().map(EntryKind::from)),
            Self::Commit { repo, .. } => Ok(self.found(repo, path)?.map(|found| match found {
                TreeLookup::Folder(_) => EntryKind::Folder,
                TreeLookup::File(mode, _) => EntryKind::from(mode),
            })),
        }
    }

    /// Lists a folder in order, with the types of its entries; empty if it is no folder.
    pub(in crate::app) fn list(&self, folder: &[u8]) -> Result<Vec<(Vec<u8>, EntryKind)>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => {
                let listed = beneath.list(folder, MOST_NAMES).unwrap_or_default();
                Ok(listed.into_iter().map(|(name, kind)| (name, kind.into())).collect())
            }
            Self::Commit { repo, .. } => {
                let Some(tree) = self.folder(repo, folder)? else { return Ok(Vec::new()) };
                let data = repo.tree(tree)?;
                let entries = tree::entries(&data).ok_or(RepoError::Damaged(tree.0))?;
                Ok(entries
                    .iter()
                    .map(|entry| (entry.name.to_vec(), entry.mode.map_or(EntryKind::Folder, EntryKind::from)))
                    .collect())
            }
        }
    }

    /// Looks up these names in a folder.
    pub(in crate::app) fn kinds(&self, folder: &[u8], names: &[&str]) -> Result<Vec<Option<EntryKind>>, RepoError> {
        match self {
            Self::Disk { .. } => names.iter().map(|name| self.kind(&join(folder, name.as_bytes()))).collect(),
            // One lookup of the folder serves all names.
            Self::Commit { repo, .. } => {
                let Some(tree) = self.folder(repo, folder)? else { return Ok(vec![None; names.len()]) };
                let data = repo.tree(tree)?;
                let entries = tree::entries(&data).ok_or(RepoError::Damaged(tree.0))?;
                let kind = |name: &&str| {
                    let entry = entries.iter().find(|entry| entry.name == name.as_bytes())?;
                    Some(entry.mode.map_or(EntryKind::Folder, EntryKind::from))
                };
                Ok(names.iter().map(kind).collect())
            }
        }
    }

    /// Reads a plain file; returns its size instead if it exceeds `most` bytes, and `None` if there is none.
    pub(in crate::app) fn read(&self, path: &[u8], most: u64) -> Result<Option<Result<Vec<u8>, u64>>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(match beneath.read(path, most, &mut Vec::new()) {
                Ok(ReadFile::Bytes(bytes)) => Some(Ok(bytes.to_vec())),
                Ok(ReadFile::TooLarge(size)) => Some(Err(size)),
                Ok(ReadFile::NotPlain(_)) | Err(_) => None,
            }),
            Self::Commit { repo, .. } => match self.found(repo, path)? {
                Some(TreeLookup::File(FileMode::File | FileMode::Executable, blob)) => {
                    Ok(Some(repo.with_blob_within(blob, most, <[u8]>::to_vec)?))
                }
                _ => Ok(None),
            },
        }
    }

    /// The target of a link as written; `None` if it is no link.
    pub(in crate::app) fn link(&self, path: &[u8]) -> Result<Option<Vec<u8>>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(beneath.read_link(path).ok()),
            Self::Commit { repo, .. } => match self.found(repo, path)? {
                Some(TreeLookup::File(FileMode::Link, blob)) => {
                    Ok(repo.with_blob_within(blob, LONGEST_LINK, <[u8]>::to_vec)?.ok())
                }
                _ => Ok(None),
            },
        }
    }

    /// Checks whether a file in the working tree is not part of the repository: ignored by git, or in a nested repository.
    pub(in crate::app) fn is_foreign(&self, path: &[u8]) -> Result<bool, RepoError> {
        let Self::Disk { beneath, repo } = self else { return Ok(false) };
        let folders = memchr::memchr_iter(b'/', path).map(|slash| &path[..slash]);
        let is_within = folders.into_iter().any(|folder| beneath.kind(&join(folder, b".git")).is_ok());
        Ok(is_within || repo.is_excluded(path)?)
    }

    /// The git object at a path of a commit; `None` if there is none, and for the working tree.
    pub(in crate::app) fn object(&self, path: &[u8]) -> Result<Option<TreeLookup>, RepoError> {
        match self {
            Self::Commit { repo, .. } => self.found(repo, path),
            Self::Disk { .. } => Ok(None),
        }
    }

    fn found(&self, repo: &Repo, path: &[u8]) -> Result<Option<TreeLookup>, RepoError> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        let Some(tree) = self.folder(repo, folder)? else { return Ok(None) };
        tree::find(repo, tree, name)
    }

    /// Finds the tree of a folder. Each is looked up once, in its parent.
    fn folder(&self, repo: &Repo, path: &[u8]) -> Result<Option<TreeId>, RepoError> {
        let Self::Commit { folders, .. } = self else { return Ok(None) };
        let mut known = 0;
        let mut tree = folders.borrow().get(&b""[..]).copied().flatten();
        for end in ends(path) {
            if let Some(there) = folders.borrow().get(&path[..end]) {
                (known, tree) = (end, *there);
                continue;
            }
            let name = path[known..end].strip_prefix(b"/").unwrap_or(&path[known..end]);
            tree = match tree {
                Some(above) => match tree::find(repo, above, name)? {
                    Some(TreeLookup::Folder(tree)) => Some(tree),
                    Some(TreeLookup::File(..)) | None => None,
                },
                None => None,
            };
            folders.borrow_mut().insert(path[..end].to_vec(), tree);
            known = end;
        }
        Ok(tree)
    }
}

/// The end offset of each component of a path; none for the root.
fn ends(path: &[u8]) -> impl Iterator<Item = usize> {
    let slashes = memchr::memchr_iter(b'/', path);
    slashes.chain((!path.is_empty()).then_some(path.len()))
}

/// Joins a name to a folder, which is empty for the root.
pub(in crate::app) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

impl From<contained_folder::Kind> for EntryKind {
    fn from(kind: contained_folder::Kind) -> Self {
        match kind {
            contained_folder::Kind::File { .. } => Self::File,
            contained_folder::Kind::Link => Self::Link,
            contained_folder::Kind::Folder => Self::Folder,
            contained_folder::Kind::Special => Self::Other,
        }
    }
}

impl From<FileMode> for EntryKind {
    fn from(mode: FileMode) -> Self {
        match mode {
            FileMode::File | FileMode::Executable => Self::File,
            FileMode::Link => Self::Link,
            FileMode::Submodule => Self::Other,
        }
    }
}
