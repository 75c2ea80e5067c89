//! The count of uncommitted files. Main function: [`count_uncommitted`].

use crate::domain::change::FileMode;
use crate::domain::client_files::CLIENT_FILES;
use crate::domain::filter::PathFilter;
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

use super::GitError;
use super::disk;
use super::disk_diff::diff_disk;
use super::entries::Delta;

/// Limit on the size in bytes of a client's file that is looked into.
const MOST: u64 = 64 << 10;

/// Returns the number of files that a review of uncommitted changes with this filter would have, renames counted as two; none in a bare repository.
///
/// The library looks at every file that is checked out in one call, which hears of `cancel` only afterwards.
pub fn count_uncommitted(repo: &Repo, filter: &PathFilter, cancel: &Cancel) -> Result<usize, GitError> {
    if repo.workdir().is_none() {
        return Ok(0);
    }
    let tree = if repo.is_unborn() { None } else { Some(repo.tree_of(repo.commit("HEAD")?)?) };
    let is_counted =
        |delta: &&Delta| filter.allows(&delta.path) && !(delta.old.is_none() && names_this_server(repo, &delta.path));
    Ok(diff_disk(repo, tree, cancel)?.deltas.iter().filter(is_counted).count())
}

/// Checks whether a new file is one with which a client is set up to start this program: `review mcp install` made it, and it is no work of the
/// branch.
fn names_this_server(repo: &Repo, path: &RepoPath) -> bool {
    let is_known = CLIENT_FILES.iter().any(|file| file.as_bytes() == path.as_bytes());
    if !is_known || disk::size(repo, path).is_ok_and(|size| size > MOST) {
        return false;
    }
    let text = disk::read(repo, path, FileMode::File).unwrap_or_default();
    [&b"\"mcp\""[..], b"review"].iter().all(|word| memchr::memmem::find(&text, word).is_some())
}
