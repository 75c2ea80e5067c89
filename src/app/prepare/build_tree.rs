//! The files on which the project's tools run for a review. Main type: [`BuildTree`].

use std::path::{Path, PathBuf};

use super::change::PreparedChange;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::{AppError, UseCaseError};
use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::place::WorkspaceAt;
use crate::git;
use crate::sys::files;
use crate::sys::repo::Repo;
use crate::sys::temporary::TemporaryFolder;

/// The change has no files to run anything on.
#[derive(Debug, thiserror::Error)]
#[error("--allow-build needs a commit, and --check a repository: there are no files here that a tool could run on")]
pub(in crate::app) struct NoBuildTree;

impl UseCaseError for NoBuildTree {}

/// The files on which tools run: the checkout, if it is the reviewed state and the user's own, and otherwise a throw-away copy of the reviewed
/// commit.
pub(super) struct BuildTree {
    /// The folder, without links.
    pub(super) folder: PathBuf,
    /// The folder of the copy, which goes with it.
    copy: Option<TemporaryFolder>,
}

/// The folder of the copied files in their temporary folder.
const COPY: &str = "tree";
/// The folder of copies below the state folder: not where other programs keep sockets and temporary files.
const COPIES: &str = "checks";

/// A commit to copy.
pub(super) struct CopiedCommit {
    head: CommitId,
    /// The folder of its repository.
    pub(super) repository: PathBuf,
}

impl CopiedCommit {
    /// Returns the reviewed commit, if a commit is reviewed.
    pub(super) fn of(subject: &PreparedChange) -> Result<Self, NoBuildTree> {
        let change = &subject.change;
        let is_commit = matches!(change.new_at, WorkspaceAt::Revision(_));
        match (change.head.filter(|_| is_commit), &subject.repository) {
            (Some(head), Some(repository)) => Ok(Self { head, repository: repository.clone() }),
            _ => Err(NoBuildTree),
        }
    }
}

impl BuildTree {
    pub(super) fn open(subject: &PreparedChange, around: &ProcessEnv) -> Result<Self, AppError> {
        let change = &subject.change;
        if let Some(root) = subject.root.as_ref().filter(|_| change.pull.is_none()) {
            let repo = Repo::open(root)?;
            // What is not committed would be checked in place of the commit.
            let is_commit = matches!(change.new_at, WorkspaceAt::Revision(_));
            if !is_commit || git::count_uncommitted(&repo, &PathFilter::all(), &subject.cancel)? == 0 {
                return Ok(Self { folder: real(root)?, copy: None });
            }
        }
        Self::copy(&CopiedCommit::of(subject)?, around)
    }

    /// Makes a copy of a commit, without its git folder: what runs there reaches nothing of the checkout.
    pub(super) fn copy(commit: &CopiedCommit, around: &ProcessEnv) -> Result<Self, AppError> {
        let repo = Repo::open(&commit.repository)?;
        let copies = around.state.join(COPIES);
        files::private_folder(&copies).map_err(AppError::Input)?;
        let copy = TemporaryFolder::within(&copies).map_err(AppError::Input)?;
        let tree = copy.path().join(COPY);
        files::private_folder(&tree).map_err(AppError::Input)?;
        git::materialize(&repo, commit.head, &tree)?;
        Ok(Self { folder: real(&tree)?, copy: Some(copy) })
    }

    /// Checks whether it is a copy. A stranger's code runs there in a sandbox that holds, or not at all.
    pub(super) fn is_copy(&self) -> bool {
        self.copy.is_some()
    }
}

fn real(folder: &Path) -> Result<PathBuf, AppError> {
    files::real_path(folder).map_err(AppError::Input)
}
