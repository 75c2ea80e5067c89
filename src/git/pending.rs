//! Uncommitted changes. Main function: [`read_pending`].
//!
//! Only whether there is something, for whoever looked at `HEAD` and did not find it. What it is belongs in `disk_diff` and `index`.

use git2::{Status, StatusOptions};

use super::GitError;
use super::disk::native;
use super::disk_diff::refuse_unreadable_ignores;
use crate::domain::path::RepoPath;
use crate::sys::repo::Repo;

/// The location of changes that are not in `HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// On the disk, and perhaps in the index too.
    OnDisk,
    /// In the index alone: the disk is as `HEAD` is, or has nothing there.
    InIndex,
}

/// Checks whether a file, or something below a folder (`None`: anywhere), is not as `HEAD` has it. What git ignores does not count, and neither
/// does a repository of its own. No link is followed; nothing is where nothing is checked out.
pub fn read_pending(repo: &Repo, path: Option<&RepoPath>) -> Result<Option<Pending>, GitError> {
    let Some(root) = repo.workdir() else { return Ok(None) };
    refuse_unreadable_ignores(repo)?;
    let mut options = StatusOptions::new();
    options.include_ignored(false).include_untracked(true).exclude_submodules(true);
    if let Some(path) = path {
        // Without this only the folder above would be told of a file in a folder that git does not know.
        options.recurse_untracked_dirs(true).disable_pathspec_match(true).pathspec(native(path.stored()));
    }
    let mut found = None;
    for entry in repo.raw().statuses(Some(&mut options))?.iter() {
        let folder = entry.path_bytes().strip_suffix(b"/");
        if folder.is_some_and(|folder| root.join(native(folder)).join(".git").symlink_metadata().is_ok()) {
            continue;
        }
        match pending_of(entry.status()) {
            Some(Pending::OnDisk) => return Ok(Some(Pending::OnDisk)),
            Some(Pending::InIndex) => found = Some(Pending::InIndex),
            None => {}
        }
    }
    Ok(found)
}

fn pending_of(status: Status) -> Option<Pending> {
    if status.is_empty() || status.contains(Status::IGNORED) {
        return None;
    }
    // What was added and is gone again, and what only the index lost.
    let index_alone = status.contains(Status::INDEX_NEW | Status::WT_DELETED)
        || status.contains(Status::INDEX_DELETED | Status::WT_NEW);
    Some(if index_alone { Pending::InIndex } else { Pending::OnDisk })
}
