//! Hashes that detect changes of a reviewed patch or working tree. Main type: [`ContentHashes`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::change::ChangeSet;
use crate::domain::id::hex;
use crate::domain::path::RepoPath;
use crate::domain::place::WorkspaceAt;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::workspace::{Workspace, WorkspaceError};

/// Hashes of the reviewed files; empty for commits and the index, whose objects have ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct ContentHashes {
    /// SHA-256 of the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    /// SHA-256 of the text of each changed file in the working tree, or the reason why it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<RepoPath, String>,
}

impl ContentHashes {
    /// Hashes a patch.
    pub(in crate::app) fn of_patch(bytes: &[u8]) -> Self {
        Self { patch: Some(hex(&Sha256::digest(bytes))), files: BTreeMap::new() }
    }

    /// Hashes the changed files, if they are in the working tree.
    pub(in crate::app) fn of(change: &ChangeSet, new: &dyn Workspace, cancel: &Cancel) -> Result<Self, CancelReason> {
        let mut contents = Self::default();
        if change.new_at != WorkspaceAt::Worktree {
            return Ok(contents);
        }
        for file in change.files.iter().filter(|file| file.new_mode.is_some()) {
            cancel.check()?;
            let state = match new.read(&file.path) {
                Ok(text) => hex(&Sha256::digest(text.text())),
                Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
                Err(error) => error.to_string(),
            };
            contents.files.insert(file.path.clone(), state);
        }
        Ok(contents)
    }

    /// Lists the changed files, in order.
    pub(in crate::app) fn changed_paths<'c>(&'c self, now: &'c Self) -> Vec<&'c RepoPath> {
        let either = self.files.iter().filter(|(path, was)| now.files.get(*path) != Some(was)).map(|(path, _)| path);
        let new = now.files.keys().filter(|path| !self.files.contains_key(*path));
        let mut paths: Vec<_> = either.chain(new).collect();
        paths.sort();
        paths
    }

    /// `true` if the patch differs.
    pub(in crate::app) fn is_other_patch(&self, now: &Self) -> bool {
        self.patch != now.patch
    }
}
