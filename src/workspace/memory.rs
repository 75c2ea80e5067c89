//! A tree held in memory: for tests, for the empty side of a first commit, and for contents that came with a patch.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{TreeEntry, Workspace, WorkspaceError};
use crate::domain::change::FileMode;
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;

/// Files by path.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    files: BTreeMap<RepoPath, Arc<FileText>>,
}

impl MemoryTree {
    /// Puts a file there, masked as every other text.
    pub fn insert(&mut self, path: RepoPath, text: &str) {
        self.files.insert(path, Arc::new(FileText::new(text, "UTF-8")));
    }
}

impl Workspace for MemoryTree {
    fn files(&self, _: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        let entry = |path: &RepoPath| TreeEntry { path: path.clone(), mode: FileMode::File, blob: None };
        Ok(self.files.keys().map(entry).collect())
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        if let Some(text) = self.files.get(path) {
            return Ok(text.clone());
        }
        Err(WorkspaceError::NotFound(path.clone()))
    }
}
