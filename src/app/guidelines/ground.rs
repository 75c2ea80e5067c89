//! The tree that guidelines are read from: a commit, or the disk where somebody asks for it. Main type: [`Ground`].
//!
//! Nothing outside of it can be reached, and no link is followed here: that is `resolve`'s, which stays inside.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::app::error::AppError;
use crate::domain::change::FileMode;
use crate::domain::id::{CommitId, TreeId};
use crate::sys::beneath::{self, Beneath, ReadFile};
use crate::sys::files::FileError;
use crate::sys::repo::{Repo, RepoError};
use crate::sys::tree::{self, Found};

/// A folder with more names on the disk is not listed.
const MOST_NAMES: usize = 100_000;
/// A longer place that a link points to is none, in bytes.
const LONGEST_LINK: u64 = 4 << 10;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Kind {
    File,
    Link,
    Folder,
    /// A submodule, a pipe, a device.
    Other,
}

/// A tree.
pub(in crate::app) enum Ground<'r> {
    /// That of a commit.
    Commit {
        repo: &'r Repo,
        commit: CommitId,
        /// The folders that were looked for.
        folders: RefCell<HashMap<Vec<u8>, Option<TreeId>>>,
    },
    /// The folder that is checked out.
    Disk {
        /// The folder.
        beneath: Beneath,
        /// Whose it is.
        repo: &'r Repo,
    },
}

impl<'r> Ground<'r> {
    /// The tree that what the project says is read from; `None` where there is none.
    pub(in crate::app) fn of(
        repo: &'r Repo,
        at: Option<CommitId>,
        from_worktree: bool,
    ) -> Result<Option<Self>, AppError> {
        if from_worktree {
            let Some(root) = repo.workdir() else { return Ok(None) };
            let beneath = Beneath::new(root)
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

    /// Where it is, in words.
    pub(in crate::app) fn words(&self) -> String {
        match self {
            Self::Commit { commit, .. } => format!("at {}", commit.short()),
            Self::Disk { .. } => "on the disk".to_owned(),
        }
    }

    /// What stands at a path; `None` where nothing does, or a link or a file is on the way.
    pub(in crate::app) fn kind(&self, path: &[u8]) -> Result<Option<Kind>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(beneath.kind(path).ok().map(Kind::from)),
            Self::Commit { repo, .. } => Ok(self.found(repo, path)?.map(|found| match found {
                Found::Folder(_) => Kind::Folder,
                Found::File(mode, _) => Kind::from(mode),
            })),
        }
    }

    /// The names in a folder in their order, and what stands there; none where it is no folder.
    pub(in crate::app) fn list(&self, folder: &[u8]) -> Result<Vec<(Vec<u8>, Kind)>, RepoError> {
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
                    .map(|entry| (entry.name.to_vec(), entry.mode.map_or(Kind::Folder, Kind::from)))
                    .collect())
            }
        }
    }

    /// Which of these names stand in a folder.
    pub(in crate::app) fn these(&self, folder: &[u8], names: &[&str]) -> Result<Vec<Option<Kind>>, RepoError> {
        match self {
            Self::Disk { .. } => names.iter().map(|name| self.kind(&join(folder, name.as_bytes()))).collect(),
            // One look at the folder is enough for all.
            Self::Commit { repo, .. } => {
                let Some(tree) = self.folder(repo, folder)? else { return Ok(vec![None; names.len()]) };
                let data = repo.tree(tree)?;
                let entries = tree::entries(&data).ok_or(RepoError::Damaged(tree.0))?;
                let kind = |name: &&str| {
                    let entry = entries.iter().find(|entry| entry.name == name.as_bytes())?;
                    Some(entry.mode.map_or(Kind::Folder, Kind::from))
                };
                Ok(names.iter().map(kind).collect())
            }
        }
    }

    /// The bytes of a plain file, or how many they are where there are more than `most`; `None` where it has none.
    pub(in crate::app) fn read(&self, path: &[u8], most: u64) -> Result<Option<Result<Vec<u8>, u64>>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(match beneath.read(path, most, &mut Vec::new()) {
                Ok(ReadFile::Bytes(bytes)) => Some(Ok(bytes.to_vec())),
                Ok(ReadFile::TooLarge(size)) => Some(Err(size)),
                Ok(ReadFile::NotPlain(_)) | Err(_) => None,
            }),
            Self::Commit { repo, .. } => match self.found(repo, path)? {
                Some(Found::File(FileMode::File | FileMode::Executable, blob)) => {
                    Ok(Some(repo.with_blob_within(blob, most, <[u8]>::to_vec)?))
                }
                _ => Ok(None),
            },
        }
    }

    /// The place that a link points to, as it is written there; `None` where it is no link.
    pub(in crate::app) fn link(&self, path: &[u8]) -> Result<Option<Vec<u8>>, RepoError> {
        match self {
            Self::Disk { beneath, .. } => Ok(beneath.read_link(path).ok()),
            Self::Commit { repo, .. } => match self.found(repo, path)? {
                Some(Found::File(FileMode::Link, blob)) => {
                    Ok(repo.with_blob_within(blob, LONGEST_LINK, <[u8]>::to_vec)?.ok())
                }
                _ => Ok(None),
            },
        }
    }

    /// Whether a file is none of the repository's though it stands on the disk: git ignores it, or another repository holds it.
    pub(in crate::app) fn is_apart(&self, path: &[u8]) -> Result<bool, RepoError> {
        let Self::Disk { beneath, repo } = self else { return Ok(false) };
        let folders = memchr::memchr_iter(b'/', path).map(|slash| &path[..slash]);
        let is_within = folders.into_iter().any(|folder| beneath.kind(&join(folder, b".git")).is_ok());
        Ok(is_within || repo.leaves_out(path)?)
    }

    /// What git calls what stands at a path of a commit; `None` where nothing does, and for the disk.
    pub(in crate::app) fn object(&self, path: &[u8]) -> Result<Option<Found>, RepoError> {
        match self {
            Self::Commit { repo, .. } => self.found(repo, path),
            Self::Disk { .. } => Ok(None),
        }
    }

    fn found(&self, repo: &Repo, path: &[u8]) -> Result<Option<Found>, RepoError> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        let Some(tree) = self.folder(repo, folder)? else { return Ok(None) };
        tree::find(repo, tree, name)
    }

    /// The tree of a folder. Each is looked for once, from the one that holds it.
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
                    Some(Found::Folder(tree)) => Some(tree),
                    Some(Found::File(..)) | None => None,
                },
                None => None,
            };
            folders.borrow_mut().insert(path[..end].to_vec(), tree);
            known = end;
        }
        Ok(tree)
    }
}

/// Where each component of a path ends; none for the root.
fn ends(path: &[u8]) -> impl Iterator<Item = usize> {
    let slashes = memchr::memchr_iter(b'/', path);
    slashes.chain((!path.is_empty()).then_some(path.len()))
}

/// A name in a folder, which is empty for the root.
pub(in crate::app) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

impl From<beneath::Kind> for Kind {
    fn from(kind: beneath::Kind) -> Self {
        match kind {
            beneath::Kind::File { .. } => Self::File,
            beneath::Kind::Link => Self::Link,
            beneath::Kind::Folder => Self::Folder,
            beneath::Kind::Special => Self::Other,
        }
    }
}

impl From<FileMode> for Kind {
    fn from(mode: FileMode) -> Self {
        match mode {
            FileMode::File | FileMode::Executable => Self::File,
            FileMode::Link => Self::Link,
            FileMode::Submodule => Self::Other,
        }
    }
}
