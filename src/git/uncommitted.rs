//! The count of uncommitted files. Main function: [`count_uncommitted`].

use crate::domain::filter::PathFilter;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

use super::GitError;
use super::disk_diff::diff_disk;

/// Returns the number of files that a review of uncommitted changes with this filter would have, renames counted as two; none in a bare repository.
///
/// The library looks at every file that is checked out in one call, which hears of `cancel` only afterwards.
pub fn count_uncommitted(repo: &Repo, filter: &PathFilter, cancel: &Cancel) -> Result<usize, GitError> {
    if repo.workdir().is_none() {
        return Ok(0);
    }
    let tree = if repo.is_unborn() { None } else { Some(repo.tree_of(repo.commit("HEAD")?)?) };
    Ok(diff_disk(repo, tree, cancel)?.deltas.iter().filter(|delta| filter.allows(&delta.path)).count())
}
