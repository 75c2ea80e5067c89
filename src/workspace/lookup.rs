//! Looking a path up in the list of files, and saying why what stands there has no text.

use super::content::READ_LIMIT;
use super::{TreeEntry, WorkspaceError};
use crate::domain::change::FileMode;
use crate::domain::path::RepoPath;

/// The error for a path behind a link, which is never part of the tree.
pub(super) const BEHIND_LINK: &str = "it lies behind a symbolic link, and links are not followed";

pub(super) fn folder_error(path: &RepoPath) -> WorkspaceError {
    WorkspaceError::NotText { path: path.clone(), what: "a folder (list_files shows what is in it)" }
}

pub(super) fn submodule(path: &RepoPath) -> WorkspaceError {
    WorkspaceError::NotText { path: path.clone(), what: "a submodule: a commit of another repository" }
}

pub(super) fn binary(path: &RepoPath) -> WorkspaceError {
    WorkspaceError::NotText { path: path.clone(), what: "a binary file" }
}

pub(super) fn too_large(path: &RepoPath, size: u64) -> WorkspaceError {
    WorkspaceError::TooLarge { path: path.clone(), size, limit: READ_LIMIT }
}

pub(super) fn entry_at<'e>(files: &'e [TreeEntry], path: &RepoPath) -> Option<&'e TreeEntry> {
    files.binary_search_by(|entry| entry.path.cmp(path)).ok().map(|at| &files[at])
}

/// Checks whether some file lies under `path`.
pub(super) fn is_folder(files: &[TreeEntry], path: &RepoPath) -> bool {
    let prefix = [path.as_bytes(), b"/"].concat();
    let at = files.partition_point(|entry| entry.path.as_bytes() < prefix.as_slice());
    files.get(at).is_some_and(|entry| entry.path.as_bytes().starts_with(&prefix))
}

/// A link on the way to `path`.
pub(super) fn link_above<'e>(files: &'e [TreeEntry], path: &RepoPath) -> Option<&'e TreeEntry> {
    let bytes = path.as_bytes();
    let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut above = slashes.filter_map(|(at, _)| entry_at(files, &RepoPath::from_bytes(&bytes[..at]).ok()?));
    above.find(|entry| entry.mode == FileMode::Link)
}
