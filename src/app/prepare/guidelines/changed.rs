//! Detects changes to the guidelines of the review itself. Main function: [`list_changed`].
//!
//! The changed text itself is only a diff; the note says which version was used.

use std::collections::BTreeSet;

use super::super::change::PreparedChange;
use super::super::diff_source::DiffOrigin;
use super::super::target_tree::TargetTree;
use super::find::{by_name, find_candidates};
use super::gather::{GuidelineRequest, paths};
use crate::app::context::error::AppError;
use crate::domain::change::ChangeSet;
use crate::domain::guideline::Guidelines;
use crate::domain::path::{RepoPath, display_path};
use crate::domain::place::WorkspaceAt;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;

/// Limit on the files named in a note.
const NAMED: usize = 6;

/// Notes that the change touches guidelines, and which version a model follows; `None` if it does not, or if none apply.
///
/// Also if the settings exclude such a file from the review: a change of the guidelines must not be able to hide itself.
pub(in crate::app) fn list_changed(
    subject: &PreparedChange,
    guidelines: &Guidelines,
    from_worktree: bool,
    is_model: bool,
) -> Result<Option<String>, AppError> {
    let asked = GuidelineRequest::of(&subject.settings);
    let (DiffOrigin::Repository(pool), false) = (&subject.diffs, asked.is_nothing_wanted()) else { return Ok(None) };
    let change = &subject.change;
    let is_one = |path: &RepoPath| {
        let known = by_name(path.as_bytes()).is_some_and(|found| asked.kinds.contains(&found.kind));
        known || asked.named.contains(path) || guidelines.by_path(path).is_some()
    };
    let mut touched: BTreeSet<Vec<u8>> =
        change.files.iter().flat_map(paths).filter(|path| is_one(path)).map(|path| path.as_bytes().to_vec()).collect();
    let repo = pool.acquire()?;
    touched.extend(between(&repo, change, asked, guidelines, &subject.cancel)?);
    if touched.is_empty() {
        return Ok(None);
    }
    let followed = match (from_worktree, subject.settings_at) {
        (true, _) => "this review follows them as they are on the disk".to_owned(),
        (false, Some(commit)) => format!("this review follows them as they are at {}", commit.short()),
        (false, None) => return Ok(None),
    };
    let followed = if is_model { followed } else { "the built-in rules do not read them".to_owned() };
    let names: Vec<String> = touched.iter().take(NAMED).map(|path| display_path(path).into_owned()).collect();
    let more = touched.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Ok(Some(format!("The change touches the project's guidelines ({}{more}); {followed}.", names.join(", "))))
}

/// Lists the guidelines that differ between the two commits of a change.
fn between(
    repo: &Repo,
    change: &ChangeSet,
    asked: GuidelineRequest<'_>,
    guidelines: &Guidelines,
    cancel: &Cancel,
) -> Result<Vec<Vec<u8>>, AppError> {
    let (WorkspaceAt::Revision(old), WorkspaceAt::Revision(new)) = (change.old_at, change.new_at) else {
        return Ok(Vec::new());
    };
    let (old, new) = (TargetTree::at(repo, old)?, TargetTree::at(repo, new)?);
    let mut names: BTreeSet<Vec<u8>> = asked
        .named
        .iter()
        .chain(guidelines.texts.iter().map(|text| &text.path))
        .map(|path| path.as_bytes().to_vec())
        .collect();
    for ground in [&old, &new] {
        let found = find_candidates(ground, change.files.iter().flat_map(paths), asked.kinds, cancel)?;
        names.extend(found.all.into_iter().map(|found| found.path));
    }
    let mut differing = Vec::new();
    for name in names {
        if old.object(&name)? != new.object(&name)? {
            differing.push(name);
        }
    }
    Ok(differing)
}
