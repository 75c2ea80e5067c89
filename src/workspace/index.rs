//! The staged files: the blobs of the index, as they are when it is opened.

use super::WorkspaceError;
use super::object_db::ObjectDb;
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::id::BlobId;
use crate::domain::path::RepoPath;
use crate::sys::repo::{Repo, RepoPool, object_id};
use crate::sys::repo_error::RepoError;

/// `git add -N`: the path is announced, its contents are not staged (`CE_INTENT_TO_ADD` in git's `read-cache-ll.h`).
const INTENT_TO_ADD: u16 = 1 << 13;

/// The stage of an entry in its flags: 0 is merged, 2 is ours, 3 is theirs (`CE_STAGESHIFT`).
const STAGE_SHIFT: u16 = 12;

/// A path of the index with its kind and blob.
pub(super) type StagedEntry = (Vec<u8>, FileMode, Option<BlobId>);

/// The staged files.
pub(super) fn open(pool: &RepoPool, filter: PathFilter) -> Result<ObjectDb, WorkspaceError> {
    let repo = pool.acquire()?;
    let (files, omissions) = staged(&repo)?;
    drop(repo);
    Ok(ObjectDb::from_blobs(pool.clone(), files, filter, omissions))
}

/// The entries of the index sorted by path, and what is odd about them.
pub(super) fn staged(repo: &Repo) -> Result<(Vec<StagedEntry>, Vec<Omission>), RepoError> {
    let index = repo.raw().index()?;
    let mut files: Vec<StagedEntry> = Vec::with_capacity(index.len());
    let mut omissions = Vec::new();
    let mut conflicts: Vec<StagedEntry> = Vec::new();
    for entry in index.iter() {
        if entry.flags_extended & INTENT_TO_ADD != 0 {
            continue;
        }
        let mode = match entry.mode & 0o170_000 {
            0o120_000 => FileMode::Link,
            0o160_000 => FileMode::Submodule,
            0o100_000 if entry.mode & 0o100 != 0 => FileMode::Executable,
            0o100_000 => FileMode::File,
            // A folder of a sparse index.
            _ => continue,
        };
        let stage = entry.flags >> STAGE_SHIFT & 3;
        let found = (entry.path, mode, Some(BlobId(object_id(entry.id))));
        match stage {
            0 => files.push(found),
            // Ours, or theirs where we have none.
            2 | 3 if conflicts.last().is_none_or(|last| last.0 != found.0) => conflicts.push(found),
            _ => {}
        }
    }
    for (path, ..) in &conflicts {
        let path = RepoPath::from_bytes(path).ok().map(|path| path.display_name().into_owned());
        let reason = "it has conflicts in the index; our side is read".to_owned();
        omissions.push(Omission { path, reason, unseen: false });
    }
    files.append(&mut conflicts);
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((files, omissions))
}
