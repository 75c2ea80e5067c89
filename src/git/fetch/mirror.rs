//! Mirrors: repositories of our own in the user's cache, for pull requests of repositories that one does not stand in. Main type: [`Mirror`].
//!
//! A mirror may be deleted at any time. Git never tidies it up on its own: what a review reads must not go away meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::forge::RepoName;
use crate::domain::id::CommitId;
use crate::sys::cancel::Cancel;
use crate::sys::files::{self, FileLock};
use crate::sys::repo::{Repo, raw_id};

use super::error::FetchError;
use super::remotes::host_of;
use super::scratch;

/// The number of attempts at a lock that another run holds.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// A mirror that no other run fetches into as long as this lives.
pub(super) struct Mirror {
    pub(super) folder: PathBuf,
    _held: FileLock,
}

/// Returns the path of a repository's mirror, which may not exist: `<mirrors>/<host>/<owner>/<name>.git`, in lower case, as forges ignore case.
pub fn mirror_path(mirrors: &Path, server: &str, repo: &RepoName) -> PathBuf {
    // Windows takes no colon.
    let host = host_of(server).replace(':', "+");
    let (owner, name) = (repo.owner().to_ascii_lowercase(), repo.name().to_ascii_lowercase());
    mirrors.join(host).join(owner).join(format!("{name}.git"))
}

impl Mirror {
    /// Takes a mirror; it is made where there is none, or one that cannot be read.
    pub(super) fn open_or_create(folder: PathBuf, cancel: &Cancel) -> Result<Self, FetchError> {
        if let Some(parent) = folder.parent() {
            files::private_folder(parent)?;
        }
        let lock = folder.with_extension("git.lock");
        let held = loop {
            if let Some(held) = files::try_lock(&lock)? {
                break held;
            }
            cancel.check()?;
            std::thread::sleep(TRY_AGAIN);
        };
        let mirror = Self { folder, _held: held };
        if mirror.open().is_err() {
            mirror.recreate()?;
        } else {
            // Whatever was written into its settings since.
            scratch::create_bare(&mirror.folder, "")?;
        }
        Ok(mirror)
    }

    /// Begins it anew.
    pub(super) fn recreate(&self) -> Result<(), FetchError> {
        files::remove_folder(&self.folder)?;
        Ok(scratch::create_bare(&self.folder, "")?)
    }

    /// Opens it, and not a repository that it happens to lie in.
    pub(super) fn open(&self) -> Result<Repo, FetchError> {
        let repo = Repo::open(&self.folder)?;
        if files::real_path(repo.git_dir())? == files::real_path(&self.folder)? {
            return Ok(repo);
        }
        Err(crate::sys::repo_error::RepoError::NotARepository(self.folder.clone()).into())
    }
}

/// Keeps both commits from being tidied away by whoever runs `git gc` in a mirror.
pub(super) fn protect_commits(repo: &Repo, under: &str, base: CommitId, head: CommitId) -> Result<(), FetchError> {
    for (end, commit) in [("base", base), ("head", head)] {
        let name = format!("{under}/{end}");
        let kept = repo.raw().reference(&name, raw_id(commit.0), true, "review");
        kept.map_err(crate::sys::repo_error::RepoError::from)?;
    }
    Ok(())
}
