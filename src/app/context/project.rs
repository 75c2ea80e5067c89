//! The project's review settings, and notes on changes to them. Main function: [`project_settings`].
//!
//! Merging them with the user's settings belongs in `subject`, dismissals in `dismissed`.

use super::error::AppError;
use super::on_disk::read_plain_file;
use crate::config::SettingsDocument;
use crate::domain::change::ChangeSet;
use crate::domain::id::CommitId;
use crate::domain::place::WorkspaceAt;
use crate::git::ResolvedRange;
use crate::sys::files;
use crate::sys::files::FileError;
use crate::sys::repo::Repo;
use crate::sys::tree;
use std::path::PathBuf;

/// The project's settings file, at the root of its tree.
const PROJECT_SETTINGS: &str = ".review.toml";
/// Maximum size in bytes of a settings file in the working tree.
const MAX_SETTINGS: u64 = 1 << 20;

/// The folder that identifies a repository on this machine: the working tree, or the git folder of a bare one, without links.
pub(in crate::app) fn folder_of(repo: &Repo) -> Option<PathBuf> {
    files::real_path(repo.workdir().unwrap_or_else(|| repo.git_dir())).ok()
}

/// Reads the project's settings from the working tree or from a commit; `None` if there are none.
pub(in crate::app) fn project_settings(
    repo: &Repo,
    at: Option<CommitId>,
    from_worktree: bool,
) -> Result<Option<SettingsDocument>, AppError> {
    if from_worktree {
        let Some(root) = repo.workdir() else { return Ok(None) };
        let found = read_plain_file(root, PROJECT_SETTINGS, MAX_SETTINGS)
            .map_err(|source| AppError::Input(FileError { verb: "read", path: root.join(PROJECT_SETTINGS), source }))?;
        return Ok(found.map(|bytes| SettingsDocument::from_bytes(PROJECT_SETTINGS, &bytes)).transpose()?);
    }
    let Some(commit) = at else { return Ok(None) };
    let found = tree::find(repo, repo.tree_of(commit)?, PROJECT_SETTINGS.as_bytes())?;
    let Some(tree::TreeLookup::File(_, blob)) = found else { return Ok(None) };
    Ok(Some(SettingsDocument::from_bytes(&format!("{PROJECT_SETTINGS} at {}", commit.short()), &repo.blob(blob)?)?))
}

/// Notes that the settings file on disk is not the one that is used. The change itself does not touch it: [`changed_settings`] reports that.
pub(in crate::app) fn unused_settings(repo: &Repo, at: Option<CommitId>) -> Option<String> {
    let (root, commit) = (repo.workdir()?, at?);
    let on_disk = read_plain_file(root, PROJECT_SETTINGS, MAX_SETTINGS).ok()?;
    let used = match tree::find(repo, repo.tree_of(commit).ok()?, PROJECT_SETTINGS.as_bytes()).ok()? {
        Some(tree::TreeLookup::File(_, blob)) => Some(repo.blob(blob).ok()?),
        _ => None,
    };
    let is_other = on_disk.is_some() && on_disk != used;
    is_other.then(|| {
        let short = commit.short();
        format!("{PROJECT_SETTINGS} on disk is not used: it differs from that of the target, {short} (--settings worktree uses it)")
    })
}

/// Notes that the change touches the project's review configuration, and which version was used.
///
/// Also if the settings exclude that file from the review: a change of the configuration must not be able to hide itself.
pub(in crate::app) fn changed_settings(
    repo: &Repo,
    range: &ResolvedRange,
    change: &ChangeSet,
    from_worktree: bool,
) -> Result<Option<String>, AppError> {
    let of_settings = |path: &[u8]| path == PROJECT_SETTINGS.as_bytes() || path.starts_with(b".review/");
    let listed = change.files.iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]);
    let mut changed = listed.flatten().any(|path| of_settings(path.as_bytes()));
    if let (WorkspaceAt::Revision(old), WorkspaceAt::Revision(new)) = (range.old_at, range.new_at) {
        for name in [PROJECT_SETTINGS, ".review"] {
            let at = |commit| -> Result<_, AppError> { Ok(tree::find(repo, repo.tree_of(commit)?, name.as_bytes())?) };
            changed = changed || at(old)? != at(new)?;
        }
    }
    let followed = match (from_worktree, range.settings_at) {
        (true, _) => "of the disk".to_owned(),
        (false, Some(commit)) => format!("at {}", commit.short()),
        (false, None) => return Ok(None),
    };
    Ok(changed
        .then(|| format!("The change touches the project's review settings; this review followed those {followed}.")))
}
