//! Sources for the rest of a truncated diff: the repository, or the patch. Main type: [`Diffs`].

use std::sync::Arc;

use crate::domain::change::{ChangeSet, FileChange};
use crate::git::{self, FilePatch, GitError, PatchChange, Position};
use crate::sys::repo::RepoPool;
use crate::tools::{DiffError, DiffPart, DiffPlace, DiffSource};

/// The source for the rest of a truncated diff.
#[derive(Clone)]
pub(super) enum Diffs {
    /// The repository.
    Repository(RepoPool),
    /// The patch alone, which was read completely.
    Patch(Arc<PatchChange>),
}

impl Diffs {
    /// Returns the source that the tools use.
    pub(super) fn source(&self, change: &Arc<ChangeSet>) -> Arc<dyn DiffSource> {
        match self {
            Self::Repository(pool) => Arc::new(FromGit { pool: pool.clone(), change: Arc::clone(change) }),
            Self::Patch(patch) => Arc::new(FromPatch(Arc::clone(patch))),
        }
    }
}

/// Diffs recomputed from the repository.
struct FromGit {
    pool: RepoPool,
    change: Arc<ChangeSet>,
}

impl DiffSource for FromGit {
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        let repo = self.pool.take().map_err(|error| DiffError::Git(error.to_string()))?;
        match git::file_patch(&repo, &self.change, file, position(from), lines, bytes) {
            Ok(patch) => Ok(part(patch)),
            Err(GitError::Stopped(stopped)) => Err(stopped.into()),
            Err(error) => Err(DiffError::Git(error.to_string())),
        }
    }
}

/// Diffs from a patch that was read completely.
struct FromPatch(Arc<PatchChange>);

impl DiffSource for FromPatch {
    fn part(&self, file: &FileChange, from: DiffPlace, lines: usize, bytes: usize) -> Result<DiffPart, DiffError> {
        Ok(part(self.0.file_patch(file, position(from), lines, bytes)))
    }
}

fn position(place: DiffPlace) -> Position {
    Position { hunk: place.hunk, line: place.line }
}

fn part(patch: FilePatch) -> DiffPart {
    DiffPart {
        text: patch.text,
        next: patch.next.map(|next| DiffPlace { hunk: next.hunk, line: next.line }),
        lines_left: patch.lines_left,
        shortened_lines: patch.shortened_lines,
    }
}
