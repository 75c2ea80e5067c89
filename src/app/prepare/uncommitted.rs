//! Uncommitted changes, for tools that read `HEAD` and did not find what they looked for. Main types: [`UncommittedCheck`], [`UncommittedRequest`].

use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::git::{self, Pending};
use crate::sys::repo::RepoPool;
use crate::tools::{NotAtHead, Uncommitted};

/// The way in which the caller of a tool requests uncommitted changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum UncommittedRequest {
    /// By a field of the call.
    ByField,
    /// By a flag of the command.
    ByFlag,
}

/// A checkout whose `HEAD` may be the commit that the tools read.
pub(in crate::app) struct UncommittedCheck {
    /// The repository.
    pub(in crate::app) pool: RepoPool,
    /// The commit that the tools read.
    pub(in crate::app) commit: CommitId,
    /// The paths that may be read.
    pub(in crate::app) filter: PathFilter,
    /// The way to request uncommitted changes.
    pub(in crate::app) asking: UncommittedRequest,
}

impl Uncommitted for UncommittedCheck {
    fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead> {
        if path.is_some_and(|path| !self.filter.allows(path)) {
            return None;
        }
        // This is a hint beside a result: if the repository fails, it is omitted.
        let repo = self.pool.acquire().ok()?;
        if repo.commit("HEAD").ok()? != self.commit {
            return None;
        }
        let found = git::read_pending(&repo, path).ok()??;
        let place = match found {
            Pending::OnDisk => "on the disk",
            Pending::InIndex => "in the index",
        };
        let ask = match (self.asking, found) {
            (UncommittedRequest::ByField, Pending::OnDisk) => "`at: \"uncommitted\"`",
            (UncommittedRequest::ByField, Pending::InIndex) => "`at: \"staged\"`",
            (UncommittedRequest::ByFlag, Pending::OnDisk) => "--uncommitted",
            (UncommittedRequest::ByFlag, Pending::InIndex) => "--staged",
        };
        Some(NotAtHead { place, ask })
    }
}
