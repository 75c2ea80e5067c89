//! Writes the files of a commit into an empty folder, for programs that need files. Main function: [`materialize`].
//!
//! The folder is no checkout: it has no `.git`, and neither the index nor the checkout of the repository is touched. Filters of the
//! repository (`filter=`) do not run: they would be programs.

use std::path::Path;

use git2::build::CheckoutBuilder;

use super::GitError;
use crate::domain::id::CommitId;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Writes the tree of a commit into `folder`, which is there and empty.
pub fn materialize(repo: &Repo, commit: CommitId, folder: &Path) -> Result<(), GitError> {
    let tree = repo.find_commit(commit)?.tree().map_err(RepoError::from)?;
    let mut options = CheckoutBuilder::new();
    options.target_dir(folder).force().update_index(false).disable_filters(true).refresh(false);
    let written = repo.raw().checkout_tree(tree.as_object(), Some(&mut options));
    written.map_err(RepoError::from)?;
    Ok(())
}
