//! Tracking of files and lines between two states of a branch. Main functions: [`find_moved`], [`changed_lines`].
//!
//! For finding something again that was said about the earlier state; the change under review belongs in `collect`.

use std::collections::{BTreeMap, BTreeSet};

use super::GitError;
use super::compare::{change_runs, has_too_many_lines};
use super::entries::SideContent;
use super::renames;
use super::tree_diff::diff_trees;
use crate::domain::change::ChangeRun;
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Finds the files of one commit in another, by their path there: those of `gone` that are one with a file of `come`, as renames are found.
pub fn find_moved(
    repo: &Repo,
    from: CommitId,
    to: CommitId,
    gone: &BTreeSet<RepoPath>,
    come: &BTreeSet<RepoPath>,
    cancel: &Cancel,
) -> Result<BTreeMap<RepoPath, RepoPath>, GitError> {
    if gone.is_empty() || come.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut found = diff_trees(repo, Some(repo.tree_of(from)?), Some(repo.tree_of(to)?), cancel)?;
    // The branch may have been moved onto a target that changed a million files: they are nobody's concern here.
    found.deltas.retain(|delta| match (delta.old, delta.new) {
        (Some(_), None) => gone.contains(&delta.path),
        (None, Some(_)) => come.contains(&delta.path),
        (Some(_), Some(_)) | (None, None) => false,
    });
    renames::pair_renames(repo, &mut found, cancel)?;
    Ok(found.deltas.into_iter().filter_map(|delta| Some((delta.old_path?, delta.path))).collect())
}

/// The runs of changed lines between two texts; `None` if they are too large to be compared.
pub fn changed_lines(old: &str, new: &str) -> Result<Option<Vec<ChangeRun>>, GitError> {
    if has_too_many_lines(old.as_bytes(), new.as_bytes()).is_some() {
        return Ok(None);
    }
    let content = |text: &str| SideContent::Bytes(text.as_bytes().to_vec());
    Ok(Some(change_runs(&content(old), &content(new))?))
}
