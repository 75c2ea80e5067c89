//! Wire types of a changed file in `change.json`. Main type: [`StoredFile`]. Nothing else knows these field names.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::id::StoredId;
use crate::domain::change::{self, ChangeRun, FileMode, FileStatus, Generated, Hunk, PatchCut, PatchId, PatchText};
use crate::domain::id::BlobId;
use crate::domain::language;
use crate::domain::path::RepoPath;

/// The stored form of a [`change::FileChange`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFile {
    path: RepoPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old_path: Option<RepoPath>,
    status: FileStatus,
    old_mode: Option<StoredFileMode>,
    new_mode: Option<StoredFileMode>,
    old_blob: Option<StoredId>,
    new_blob: Option<StoredId>,
    additions: u32,
    deletions: u32,
    binary: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated: Option<StoredGenerated>,
    /// Each entry holds the lines at the merge base, the lines at the head, and the runs, likewise; all as `[start, count]`.
    hunks: Vec<([StoredSpan; 2], Vec<[StoredSpan; 2]>)>,
    patch: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut: Option<StoredPatchCut>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch_id: Option<String>,
}

/// The stored form of a [`FileMode`], as git writes it.
#[derive(Serialize, Deserialize)]
enum StoredFileMode {
    #[serde(rename = "100644")]
    File,
    #[serde(rename = "100755")]
    Executable,
    #[serde(rename = "120000")]
    Link,
    #[serde(rename = "160000")]
    Submodule,
}

/// The stored form of a [`Generated`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredGenerated {
    Attribute,
    Vendored,
    LockFile,
    Name,
}

/// The stored form of a span: `[start, count]`.
#[derive(Serialize, Deserialize)]
struct StoredSpan(u32, u32);

/// The stored form of a [`PatchCut`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPatchCut {
    first_unseen_hunk: usize,
    lines: u32,
    shortened_lines: u32,
}

impl StoredFile {
    pub(super) fn of(file: &change::FileChange) -> Self {
        let change::FileChange {
            path,
            old_path,
            status,
            old_mode,
            new_mode,
            old_blob,
            new_blob,
            additions,
            deletions,
            binary,
            language,
            generated,
            hunks,
            patch: PatchText { text, cut },
            patch_id,
        } = file;
        let hunks = hunks.iter().map(|Hunk { old, new, runs }| {
            (pair(*old, *new), runs.iter().map(|ChangeRun { old, new }| pair(*old, *new)).collect())
        });
        Self {
            path: path.clone(),
            old_path: old_path.clone(),
            status: *status,
            old_mode: old_mode.map(StoredFileMode::of),
            new_mode: new_mode.map(StoredFileMode::of),
            old_blob: old_blob.map(|blob| StoredId(blob.0)),
            new_blob: new_blob.map(|blob| StoredId(blob.0)),
            additions: *additions,
            deletions: *deletions,
            binary: *binary,
            language: language.map(str::to_owned),
            generated: generated.map(StoredGenerated::of),
            hunks: hunks.collect(),
            patch: Arc::clone(text),
            cut: cut.map(|PatchCut { first_unseen_hunk, lines, shortened_lines }| StoredPatchCut {
                first_unseen_hunk,
                lines,
                shortened_lines,
            }),
            patch_id: patch_id.as_ref().map(|id| id.0.clone()),
        }
    }

    pub(super) fn into_domain(self) -> change::FileChange {
        let run = |[old, new]: [StoredSpan; 2]| ChangeRun { old: old.into_domain(), new: new.into_domain() };
        let hunks = self.hunks.into_iter().map(|([old, new], runs)| Hunk {
            old: old.into_domain(),
            new: new.into_domain(),
            runs: runs.into_iter().map(run).collect(),
        });
        let cut = self.cut.map(|StoredPatchCut { first_unseen_hunk, lines, shortened_lines }| PatchCut {
            first_unseen_hunk,
            lines,
            shortened_lines,
        });
        change::FileChange {
            path: self.path,
            old_path: self.old_path,
            status: self.status,
            old_mode: self.old_mode.map(StoredFileMode::into_domain),
            new_mode: self.new_mode.map(StoredFileMode::into_domain),
            old_blob: self.old_blob.map(|id| BlobId(id.0)),
            new_blob: self.new_blob.map(|id| BlobId(id.0)),
            additions: self.additions,
            deletions: self.deletions,
            binary: self.binary,
            language: self.language.as_deref().and_then(language::from_name),
            generated: self.generated.map(StoredGenerated::into_domain),
            hunks: hunks.collect(),
            patch: PatchText { text: self.patch, cut },
            patch_id: self.patch_id.map(PatchId),
        }
    }
}

fn pair(old: change::HunkSpan, new: change::HunkSpan) -> [StoredSpan; 2] {
    [StoredSpan(old.start, old.count), StoredSpan(new.start, new.count)]
}

impl StoredSpan {
    fn into_domain(self) -> change::HunkSpan {
        change::HunkSpan { start: self.0, count: self.1 }
    }
}

impl StoredFileMode {
    fn of(mode: FileMode) -> Self {
        match mode {
            FileMode::File => Self::File,
            FileMode::Executable => Self::Executable,
            FileMode::Link => Self::Link,
            FileMode::Submodule => Self::Submodule,
        }
    }

    fn into_domain(self) -> FileMode {
        match self {
            Self::File => FileMode::File,
            Self::Executable => FileMode::Executable,
            Self::Link => FileMode::Link,
            Self::Submodule => FileMode::Submodule,
        }
    }
}

impl StoredGenerated {
    fn of(generated: Generated) -> Self {
        match generated {
            Generated::Attribute => Self::Attribute,
            Generated::Vendored => Self::Vendored,
            Generated::LockFile => Self::LockFile,
            Generated::Name => Self::Name,
        }
    }

    fn into_domain(self) -> Generated {
        match self {
            Self::Attribute => Generated::Attribute,
            Self::Vendored => Generated::Vendored,
            Self::LockFile => Generated::LockFile,
            Self::Name => Generated::Name,
        }
    }
}
