//! The repositories that a worker reviews: those below a folder, or below an address, from which they are fetched. Main type: [`WorkerRepos`].

use std::path::{Path, PathBuf};

use super::error::QueueUseError;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::pull::SIGNING_IN;
use crate::domain::id::CommitId;
use crate::domain::request::ReviewScope;
use crate::domain::secret::Secret;
use crate::domain::text::strip_line;
use crate::git::{self, BranchFetch, RepositoryBase};
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::{blocking, files};

/// The place of the repositories that a worker may review.
#[derive(Debug, Clone)]
pub(super) enum WorkerRepos {
    /// Those below this folder.
    Below(PathBuf),
    /// Those below an address, each fetched into a mirror.
    Fetched(Box<BranchFetch>),
    /// Any of this machine: whoever can write to the queue's file can read them.
    Any,
}

/// A repository of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundRepository {
    pub(super) directory: PathBuf,
    /// `true` if something was fetched into it just now.
    pub(super) is_fetched: bool,
}

/// The change that a repository must have.
#[derive(Debug, Clone)]
pub(super) struct NeededChange {
    pub(super) scope: ReviewScope,
    /// The commits that it had when the job was added.
    pub(super) commits: Vec<String>,
}

impl NeededChange {
    fn is_in(&self, repo: &Repo) -> bool {
        let has = |commit: &String| commit.parse().is_ok_and(|id| git::committed_at(repo, CommitId(id)).is_ok());
        self.commits.iter().all(has) && git::resolve(repo, &self.scope).is_ok()
    }
}

impl WorkerRepos {
    /// Decides which repositories a worker may review: `repos` is a folder or an address.
    pub(super) fn new(repos: Option<PathBuf>, is_server: bool, around: &ProcessEnv) -> Result<Self, AppError> {
        let Some(place) = repos else {
            return if is_server { Err(QueueUseError::NoFolder.into()) } else { Ok(Self::Any) };
        };
        let Some(base) = place.to_str().and_then(RepositoryBase::parse).transpose()? else {
            return Ok(Self::Below(files::real_path(&place).map_err(QueueUseError::from)?));
        };
        let (mirrors, environment) = (around.state.join("repositories"), around.forge.programs().clone());
        Ok(Self::Fetched(Box::new(BranchFetch { base, mirrors, authorization: None, environment })))
    }

    /// Returns the folder of a repository. One below an address is fetched unless its mirror has the change; without one, always.
    pub(super) async fn find(
        &self,
        name: &str,
        needed: Option<NeededChange>,
        around: &ProcessEnv,
        cancel: &Cancel,
    ) -> Result<FoundRepository, AppError> {
        let (mut repos, name, limit) = (self.clone(), name.to_owned(), cancel.clone());
        if let Self::Fetched(fetch) = &mut repos {
            fetch.authorization = login(&fetch.base, around, cancel).await?;
        }
        let work = move || match &repos {
            Self::Fetched(fetch) => {
                let has_all = |repo: &Repo| needed.as_ref().is_some_and(|needed| needed.is_in(repo));
                let (directory, is_fetched) = git::fetch_branches(fetch, &name, has_all, &limit)?;
                Ok(FoundRepository { directory, is_fetched })
            }
            Self::Below(_) | Self::Any => Ok(FoundRepository { directory: repos.find_here(&name)?, is_fetched: false }),
        };
        blocking::run("looking for the repository", cancel, work).await?
    }

    /// Returns the folder of a repository on this machine.
    fn find_here(&self, name: &str) -> Result<PathBuf, QueueUseError> {
        let fault = |why: &str| QueueUseError::Repository { name: strip_line(name), why: why.to_owned() };
        match self {
            Self::Any if Path::new(name).is_absolute() => Ok(PathBuf::from(name)),
            Self::Any => Err(fault("is not an absolute path: start the worker with --repos DIR")),
            Self::Below(root) => {
                let root = files::real_path(root)?;
                let path = files::real_path(&root.join(name))?;
                let is_below = path.starts_with(&root) && path != root;
                if is_below { Ok(path) } else { Err(fault("is not below the worker's --repos")) }
            }
            Self::Fetched(_) => Err(fault("is not on this machine")),
        }
    }
}

/// Returns the login for an address: the forge's own, if it is on the forge's server.
async fn login(base: &RepositoryBase, around: &ProcessEnv, cancel: &Cancel) -> Result<Option<Secret>, AppError> {
    if !base.takes_login() {
        return Ok(None);
    }
    let (forge, asked) = (around.forge.clone(), cancel.clone());
    let Ok(github) = blocking::run(SIGNING_IN, cancel, move || forge.client(&asked)).await? else { return Ok(None) };
    let is_forge = git::host_of(github.server().reveal()) == git::host_of(base.server());
    Ok(if is_forge { github.within(cancel).git_secret().await? } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_outside_of_the_folder_is_not_reviewed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["repos/a", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("outside"), folder.path().join("repos/link")).unwrap();
        let repos = WorkerRepos::Below(folder.path().join("repos"));
        assert!(repos.find_here("a").unwrap().ends_with("repos/a"));
        let outside = folder.path().join("outside").to_string_lossy().into_owned();
        for name in ["", ".", "..", "../outside", "link", "missing", "a\0b", outside.as_str()] {
            assert!(repos.find_here(name).is_err(), "{name:?}");
        }
        assert!(WorkerRepos::Any.find_here("relative").is_err());
    }
}
