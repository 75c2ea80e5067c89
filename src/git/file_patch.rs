//! The rest of a diff that was cut, from any hunk on. Main function: [`file_patch`].

use crate::domain::change::{ChangeSet, FileChange, FileMode};
use crate::domain::id::BlobId;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide as Which, WorkspaceAt};
use crate::sys::charset;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

use super::entries::{ChangedEntry, ReadError, SideContent};
use super::patch_text::{PatchSide, PatchTextLimits, RenderedLines, render};
use super::{GitError, compare};

pub use super::patch_text::DiffPosition;

/// Part of a file's diff, secrets masked, lines over 2 000 characters shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// Hunk headers and lines.
    pub text: String,
    /// The position to continue from; `None` at the end.
    pub next: Option<DiffPosition>,
    /// The number of remaining lines of the diff from there.
    pub lines_left: u32,
    /// The number of over-long lines that were shortened.
    pub shortened_lines: u32,
    /// The number of hunks the file has.
    pub hunks: usize,
}

impl FilePatch {
    pub(super) fn new(rendered: RenderedLines, hunks: usize) -> Self {
        Self {
            text: rendered.text,
            next: rendered.next,
            lines_left: rendered.left,
            shortened_lines: rendered.shortened,
            hunks,
        }
    }
}

/// Writes the diff of `file` from a position on, at most `max_lines` lines and `max_bytes` bytes.
///
/// The contents are read again, from where `change` says. A collapsed file is shown too. A position behind the end gives nothing.
pub fn file_patch(
    repo: &Repo,
    change: &ChangeSet,
    file: &FileChange,
    from: DiffPosition,
    max_lines: usize,
    max_bytes: usize,
) -> Result<FilePatch, GitError> {
    if file.hunks.is_empty() {
        // Nothing was cut: a submodule's two lines, or nothing at all.
        let text = file.patch.text.to_string();
        return Ok(FilePatch { text, next: None, lines_left: 0, shortened_lines: 0, hunks: 0 });
    }
    let old_path = file.path_at(Which::Old);
    let old = content(repo, change.old_at, old_path, file.old_mode, file.old_blob)?;
    let new = content(repo, change.new_at, &file.path, file.new_mode, file.new_blob)?;
    if change.new_at == WorkspaceAt::Worktree && file.new_blob.is_none() && file.new_mode.is_some() {
        let runs = compare::change_runs(&old, &new)?;
        let binary = charset::is_binary(new.bytes());
        if binary || !runs.iter().eq(file.runs()) {
            return Err(GitError::Moved { path: file.path.to_string() });
        }
    }
    let limits = PatchTextLimits { chars: usize::MAX, bytes: max_bytes, lines: max_lines };
    let (mut old, mut new) = (PatchSide::of_bytes(old.bytes()), PatchSide::of_bytes(new.bytes()));
    Ok(FilePatch::new(render(&mut old, &mut new, &file.hunks, from, limits), file.hunks.len()))
}

fn content<'r>(
    repo: &'r Repo,
    at: WorkspaceAt,
    path: &RepoPath,
    mode: Option<FileMode>,
    id: Option<BlobId>,
) -> Result<SideContent<'r>, GitError> {
    let entry = mode.map(|mode| ChangedEntry { mode, id });
    // Only the disk has contents without an object.
    let readable = at == WorkspaceAt::Worktree || id.is_some();
    SideContent::read(repo, path, entry.filter(|_| readable)).map_err(|error| match error {
        ReadError::Repo(error) => error.into(),
        ReadError::Disk(error) => RepoError::Git(format!("{path} cannot be read from the disk: {error}")).into(),
    })
}
