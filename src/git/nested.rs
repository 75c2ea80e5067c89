//! The files of folders that hold a `.git` and are no repositories. Main function: [`expand_non_repositories`].
//!
//! The library passes over every folder that holds something called `.git`. Git looks into that, and takes the files if it is no other repository.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::domain::change::Omission;
use crate::domain::id::BlobId;
use crate::domain::limits::{LIMITS, OmissionList, RemainingLimit};
use crate::sys::cancel::Cancel;
use crate::sys::contained_folder::Kind;
use crate::sys::nested::is_repository;
use crate::sys::repo::Repo;

use super::GitError;
use super::disk::native;
use super::entries::display_path;

/// Puts the untracked files of each listed folder (its path ends in a slash) in its place, unless the folder is a repository.
pub(super) fn expand_non_repositories(
    repo: &Repo,
    paths: &mut BTreeMap<Vec<u8>, Option<BlobId>>,
    omissions: &mut OmissionList,
    cancel: &Cancel,
) -> Result<(), GitError> {
    let Some(root) = repo.workdir() else { return Ok(()) };
    let mut folders: Vec<Vec<u8>> = paths.keys().filter(|path| path.ends_with(b"/")).cloned().collect();
    let mut room = PathAllowance::default();
    while let Some(folder) = folders.pop() {
        cancel.check()?;
        if is_other_repository(repo, &root.join(native(&folder))) {
            paths.entry(folder).or_default();
            continue;
        }
        paths.remove(&folder);
        // It was told; what remains are folders that are not to be taken for repositories.
        if room.is_full {
            continue;
        }
        let entries = match list(repo, &folder) {
            Ok(entries) => entries,
            Err(error) => {
                let reason = format!("cannot be read from the disk: {error}");
                omissions.push(Omission { path: Some(display_path(&folder)), reason, unseen: true });
                continue;
            }
        };
        for (name, kind) in entries {
            cancel.check()?;
            if name.eq_ignore_ascii_case(b".git") {
                continue;
            }
            let mut path = [folder.as_slice(), name.as_slice()].concat();
            if kind == Kind::Folder {
                path.push(b'/');
            }
            if repo.raw().is_path_ignored(native(&path)).unwrap_or(false) {
                continue;
            }
            if !room.takes(&path) {
                omissions.push(full());
                break;
            }
            if kind == Kind::Folder {
                folders.push(path);
            } else {
                paths.entry(path).or_default();
            }
        }
    }
    Ok(())
}

/// Checks whether git takes a folder for a repository other than this one. It takes the files of a folder whose `.git` is a link to this one's git
/// folder (`treat_directory` in its dir.c), but not of one with a `.git` file that names it.
fn is_other_repository(repo: &Repo, folder: &Path) -> bool {
    let leads_back = || {
        let own = repo.git_dir().canonicalize();
        own.is_ok_and(|own| folder.join(".git").canonicalize().is_ok_and(|place| place == own))
    };
    is_repository(folder) && !leads_back()
}

/// Lists a folder of the checkout; its path ends in a slash.
fn list(repo: &Repo, folder: &[u8]) -> io::Result<Vec<(Vec<u8>, Kind)>> {
    let checkout = repo.checkout()?;
    // Of a folder that may be listed and not entered nothing can be looked at, and every name would be passed over.
    checkout.kind(&[folder, b"."].concat())?;
    let most = usize::try_from(LIMITS.changed_files).unwrap_or(usize::MAX);
    checkout.list(folder.strip_suffix(b"/").unwrap_or(folder), most)
}

/// Room for the paths that are found: the library did not count these.
struct PathAllowance {
    files: RemainingLimit,
    path_bytes: RemainingLimit,
    is_full: bool,
}

impl Default for PathAllowance {
    fn default() -> Self {
        let (files, path_bytes) =
            (RemainingLimit::of(LIMITS.changed_files), RemainingLimit::of(LIMITS.changed_path_bytes));
        Self { files, path_bytes, is_full: false }
    }
}

impl PathAllowance {
    /// Folders count, too: each is kept until it is listed.
    fn takes(&mut self, path: &[u8]) -> bool {
        self.is_full |= !(self.files.charge(1) && self.path_bytes.charge(path.len() as u64));
        !self.is_full
    }
}

fn full() -> Omission {
    let (files, mebibytes) = (LIMITS.changed_files, LIMITS.changed_path_bytes >> 20);
    let reason = format!(
        "not all files of folders with a .git that is no repository are listed ({files} at most, with {mebibytes} MiB of paths); remove that \
         .git, or have git ignore the folder"
    );
    Omission { path: None, reason, unseen: true }
}
