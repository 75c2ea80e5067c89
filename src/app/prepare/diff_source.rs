//! Sources for the rest of a truncated diff: the repository, or the patch. Main type: [`DiffOrigin`].

use std::sync::Arc;

use crate::domain::change::{ChangeSet, FileChange};
use crate::git::{self, DiffPosition, FilePatch, GitError, PatchChange};
use crate::sys::repo::RepoPool;
use crate::tools::{DiffError, DiffPart, DiffPlace, DiffSource};

/// The source for the rest of a truncated diff.
#[derive(Clone)]
pub(in crate::app) enum DiffOrigin {
    Repository(RepoPool),
    /// The patch alone, which was read completely.
    Patch(Arc<PatchChange>),
}

impl DiffOrigin {
    /// Returns the source that the tools use.
    pub(in crate::app) fn source(&self, change: &Arc<ChangeSet>) -> Arc<dyn DiffSource> {
        match self {
            Self::Repository(pool) => Arc::new(GitDiffs { pool: pool.clone(), change: Arc::clone(change) }),
            Self::Patch(patch) => Arc::new(PatchDiffs(Arc::clone(patch))),
        }
    }
}

/// Diffs recomputed from the repository.
struct GitDiffs {
    pool: RepoPool,
    change: Arc<ChangeSet>,
}

impl DiffSource for GitDiffs {
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        let repo = self.pool.acquire().map_err(|error| DiffError::Git(error.to_string()))?;
        match git::file_patch(&repo, &self.change, file, position(from), lines, bytes) {
            Ok(patch) => Ok(part(patch)),
            Err(GitError::Stopped(stopped)) => Err(stopped.into()),
            Err(error) => Err(DiffError::Git(error.to_string())),
        }
    }
}

/// Diffs from a patch that was read completely.
struct PatchDiffs(Arc<PatchChange>);

impl DiffSource for PatchDiffs {
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        Ok(part(self.0.file_patch(file, position(from), lines, bytes)))
    }
}

fn position(place: DiffPlace) -> DiffPosition {
    DiffPosition { hunk: place.hunk, line: place.line }
}

fn part(patch: FilePatch) -> DiffPart {
    DiffPart {
        text: patch.text,
        next: patch.next.map(|next| DiffPlace { hunk: next.hunk, line: next.line }),
        lines_left: patch.lines_left,
        shortened_lines: patch.shortened_lines,
    }
}
