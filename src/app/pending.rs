//! Uncommitted changes, for tools that read `HEAD` and did not find what they looked for. Main types: [`NotCommitted`], [`Asking`].

use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::git::{self, Pending};
use crate::sys::repo::RepoPool;
use crate::tools::{NotAtHead, Uncommitted};

/// The way in which the caller of a tool requests uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// By a field of the call.
    ByField,
    /// By a flag of the command.
    ByFlag,
}

/// A checkout whose `HEAD` may be the commit that the tools read.
pub(super) struct NotCommitted {
    /// The repository.
    pub(super) pool: RepoPool,
    /// The commit that the tools read.
    pub(super) commit: CommitId,
    /// The paths that may be read.
    pub(super) filter: PathFilter,
    /// The way to request uncommitted changes.
    pub(super) asking: Asking,
}

impl Uncommitted for NotCommitted {
    fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead> {
        if path.is_some_and(|path| !self.filter.allows(path)) {
            return None;
        }
        // This is a hint beside a result: if the repository fails, it is omitted.
        let repo = self.pool.take().ok()?;
        if repo.commit("HEAD").ok()? != self.commit {
            return None;
        }
        let found = git::pending(&repo, path).ok()??;
        let place = match found {
            Pending::OnDisk => "on the disk",
            Pending::InIndex => "in the index",
        };
        let ask = match (self.asking, found) {
            (Asking::ByField, Pending::OnDisk) => "`at: \"uncommitted\"`",
            (Asking::ByField, Pending::InIndex) => "`at: \"staged\"`",
            (Asking::ByFlag, Pending::OnDisk) => "--uncommitted",
            (Asking::ByFlag, Pending::InIndex) => "--staged",
        };
        Some(NotAtHead { place, ask })
    }
}
