//! What is not committed, for tools that looked at `HEAD` and did not find it there. Main types: [`NotCommitted`], [`Asking`].

use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::git::{self, Pending};
use crate::sys::repo::RepoPool;
use crate::tools::{NotAtHead, Uncommitted};

/// How whoever calls a tool asks for what is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// In a field of the call.
    ByField,
    /// With a flag of the command.
    ByFlag,
}

/// A checkout whose `HEAD` may be what the tools look at.
pub(super) struct NotCommitted {
    /// The repository.
    pub(super) pool: RepoPool,
    /// The commit that the tools look at.
    pub(super) commit: CommitId,
    /// What may be read.
    pub(super) filter: PathFilter,
    /// How to ask.
    pub(super) asking: Asking,
}

impl Uncommitted for NotCommitted {
    fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead> {
        if path.is_some_and(|path| !self.filter.allows(path)) {
            return None;
        }
        // It is a hint beside an answer: where the repository fails, there is none.
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
