//! Mirrors: repositories of our own in the user's cache, for pull requests of repositories that one does not stand in. Main type: [`Mirror`].
//!
//! A mirror may be deleted at any time. Many fetches leave many small packs and loose objects: they are joined, and none is removed, since
//! what a review reads must not go away meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::forge::RepoName;
use crate::domain::id::CommitId;
use crate::sys::cancel::Cancel;
use crate::sys::files::{self, FileLock};
use crate::sys::process::Environment;
use crate::sys::repo::{Repo, raw_id};

use super::error::FetchError;
use super::remotes::host_of;
use super::scratch::{self, MOST_SAID, ScratchRepository};
use super::settings;

/// The number of attempts at a lock that another run holds.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Packs and loose objects beyond which they are joined: the defaults of `gc.autoPackLimit` and, for one folder of 256, `gc.auto`.
const MOST_PACKS: usize = 50;
const MOST_LOOSE: usize = 6_700 / 256;

/// A mirror that no other run fetches into as long as this lives.
pub(super) struct Mirror {
    pub(super) folder: PathBuf,
    settings: String,
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
    /// Takes a mirror; it is made where there is none, or one that cannot be read. With the `address` of its repository it says which one of the
    /// forge it is.
    pub(super) fn open_or_create(folder: PathBuf, address: Option<&str>, cancel: &Cancel) -> Result<Self, FetchError> {
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
        let remote = |address| format!("[remote \"origin\"]\n\turl = {}\n", settings::quoted(address));
        let mirror = Self { folder, settings: address.map(remote).unwrap_or_default(), _held: held };
        if mirror.open().is_err() {
            mirror.recreate()?;
        } else {
            // Whatever was written into its settings since.
            scratch::create_bare(&mirror.folder, &mirror.settings)?;
        }
        Ok(mirror)
    }

    /// Begins it anew.
    fn recreate(&self) -> Result<(), FetchError> {
        files::remove_folder(&self.folder)?;
        Ok(scratch::create_bare(&self.folder, &self.settings)?)
    }

    /// Fetches into it, and once more into a new one if something in it is damaged: it is only a copy. Then its packs are joined.
    pub(super) fn fill<T>(
        &self,
        environment: &Environment,
        cancel: &Cancel,
        fetch: impl Fn() -> Result<T, FetchError>,
    ) -> Result<T, FetchError> {
        let fetched = match fetch() {
            Err(FetchError::Failed { .. } | FetchError::Repo(_) | FetchError::Branches { is_refused: false, .. }) => {
                self.recreate()?;
                fetch()
            }
            ended => ended,
        }?;
        // If that fails, the next fetch tries it again.
        let _ = self.join_packs(environment, cancel);
        Ok(fetched)
    }

    /// Joins its packs and loose objects, where there are many.
    fn join_packs(&self, environment: &Environment, cancel: &Cancel) -> Result<(), FetchError> {
        let count = |folder: &str, ending: &str| {
            let Ok(entries) = std::fs::read_dir(self.folder.join("objects").join(folder)) else { return 0 };
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(ending)).count()
        };
        if count("pack", ".pack") > MOST_PACKS || count("17", "") > MOST_LOOSE {
            let scratch = ScratchRepository::borrowing_objects(&self.open()?, environment, cancel)?;
            // Unreachable objects stay with it, unlike with `git gc`.
            let arguments = ["repack", "-d", "--geometric=2", "--quiet"];
            scratch.in_folder(&self.folder).git(arguments, MOST_SAID, cancel)?;
        }
        Ok(())
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
