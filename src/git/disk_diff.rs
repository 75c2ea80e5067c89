//! The files on the disk against a tree. Main function: [`diff_disk`].
//!
//! The library tells which paths may differ (it keeps git's rules of what is ignored and git's cache of file times). What a file holds is
//! read in `disk`.

use std::collections::BTreeMap;
use std::io;

use git2::{
    AttrCheckFlags, AttrValue, Delta as Status, DiffOptions, IndexEntryExtendedFlag, IndexEntryFlag, ObjectType, Oid,
};

use crate::domain::change::{FileMode, Omission};
use crate::domain::id::{BlobId, TreeId};
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;
use crate::sys::contained_folder::Kind;
use crate::sys::repo::{Repo, object_id, raw_id};
use crate::sys::repo_error::RepoError;
use crate::sys::repository_layout::refuse_unreadable;
use crate::sys::tree::{self, TreeLookup as InTree};

use super::disk::{MAX_EQUAL, native, read, size};
use super::entries::{ChangedEntry, TreeDifferences, display_path};
use super::{GitError, nested};

/// Compares the working tree, with untracked and without ignored files, with a tree (`None`: with nothing).
pub(super) fn diff_disk(repo: &Repo, old: Option<TreeId>, cancel: &Cancel) -> Result<TreeDifferences, GitError> {
    refuse_unreadable_ignores(repo)?;
    let mut candidates = candidates(repo, old)?;
    let keeps_modes = repo.raw().config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
    let mut found = TreeDifferences::default();
    nested::expand_non_repositories(repo, &mut candidates, &mut found.omissions, cancel)?;
    for (path, submodule) in candidates {
        cancel.check()?;
        if let Some(folder) = path.strip_suffix(b"/") {
            found.omissions.push(Omission {
                path: Some(display_path(folder)),
                reason: "not read: a repository of its own inside this one that is not a submodule".to_owned(),
                unseen: false,
            });
            continue;
        }
        let before = match old.map(|tree| tree::find(repo, tree, &path)).transpose()?.flatten() {
            Some(InTree::File(mode, id)) => Some(ChangedEntry { mode, id: Some(id) }),
            Some(InTree::Folder(_)) | None => None,
        };
        let Ok(repo_path) = RepoPath::from_bytes(&path) else {
            found.push(&path, before, None);
            continue;
        };
        if sparse(repo, &path) {
            continue;
        }
        match on_disk(repo, &repo_path, before, submodule, keeps_modes) {
            Ok(after) => {
                if (before.is_some() || after.is_some()) && differs(repo, &repo_path, before, after) {
                    found.push(&path, before, after);
                    found.omissions.extend(filtered(repo, &repo_path, after));
                }
            }
            Err(error) => found.omissions.push(Omission {
                path: Some(repo_path.to_string()),
                reason: format!("cannot be read from the disk: {error}"),
                unseen: true,
            }),
        }
    }
    found.omissions.extend(passed_over(repo, cancel)?);
    Ok(found)
}

/// Refuses pipes, devices and very large files in the place of what the library reads first. Others, in folders further down, it meets all the same.
pub(super) fn refuse_unreadable_ignores(repo: &Repo) -> Result<(), RepoError> {
    let Some(root) = repo.workdir() else { return Ok(()) };
    let files = [".gitattributes", ".gitignore"].map(|name| root.join(name));
    Ok(files.iter().try_for_each(|file| refuse_unreadable(file))?)
}

/// The most files that are named because git passes over them; the others are counted.
const MOST_PASSED_OVER: usize = 50;

/// Files that differ on the disk although the index says not to look: git, too, leaves them out of every commit.
fn passed_over(repo: &Repo, cancel: &Cancel) -> Result<Vec<Omission>, GitError> {
    let (mut omissions, mut others) = (Vec::new(), 0_usize);
    for entry in repo.raw().index()?.iter() {
        let mark = if IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_skip_worktree() {
            "skip-worktree"
        } else if IndexEntryFlag::from_bits_retain(entry.flags).is_valid() {
            "assume-unchanged"
        } else {
            continue;
        };
        cancel.check()?;
        let Ok(path) = RepoPath::from_bytes(&entry.path) else { continue };
        if !is_rewritten(repo, &path, &entry) {
            continue;
        }
        if omissions.len() == MOST_PASSED_OVER {
            others += 1;
            continue;
        }
        omissions.push(Omission {
            path: Some(path.to_string()),
            reason: format!(
                "not reviewed: it differs on the disk, but is marked {mark} in the index, so git passes over it, too (`git update-index \
                 --no-{mark}` ends that)"
            ),
            unseen: false,
        });
    }
    if others > 0 {
        let reason =
            format!("not reviewed: {others} more files that the index marks to be passed over differ on the disk");
        omissions.push(Omission { path: None, reason, unseen: false });
    }
    Ok(omissions)
}

/// Checks whether a file is on the disk and not as the index has it.
fn is_rewritten(repo: &Repo, path: &RepoPath, entry: &git2::IndexEntry) -> bool {
    let kind = repo.checkout().and_then(|checkout| absent(checkout.kind(path.stored())));
    let mode = match kind {
        Ok(Some(Kind::File { size, .. })) if size > MAX_EQUAL => return true,
        Ok(Some(Kind::File { .. })) => FileMode::File,
        Ok(Some(Kind::Link)) => FileMode::Link,
        Ok(Some(Kind::Folder | Kind::Special) | None) | Err(_) => return false,
    };
    let stored = read(repo, path, mode).ok().and_then(|bytes| Oid::hash_object(ObjectType::Blob, &bytes).ok());
    (entry.mode & 0o170_000 == 0o120_000) != (mode == FileMode::Link) || stored != Some(entry.id)
}

/// The paths that may differ; with the commit that is checked out where it is a submodule.
fn candidates(repo: &Repo, old: Option<TreeId>) -> Result<BTreeMap<Vec<u8>, Option<BlobId>>, GitError> {
    let tree = match old {
        Some(id) => Some(repo.raw().find_tree(raw_id(id.0)).map_err(|error| repo.object_error(&error, id.0))?),
        None => None,
    };
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_typechange(true).include_unreadable(true);
    let diff = repo.raw().diff_tree_to_workdir_with_index(tree.as_ref(), Some(&mut options))?;
    let mut paths = BTreeMap::new();
    for delta in diff.deltas() {
        if matches!(delta.status(), Status::Unmodified | Status::Ignored) {
            continue;
        }
        let new = delta.new_file();
        let submodule =
            (new.mode() == git2::FileMode::Commit && !new.id().is_zero()).then(|| BlobId(object_id(new.id())));
        for path in [delta.old_file().path_bytes(), new.path_bytes()].into_iter().flatten() {
            let known = paths.entry(path.to_vec()).or_insert(submodule);
            *known = known.or(submodule);
        }
    }
    Ok(paths)
}

/// Checks whether a sparse checkout leaves the file out: that it is not on the disk is no change.
fn sparse(repo: &Repo, path: &[u8]) -> bool {
    let Ok(index) = repo.raw().index() else { return false };
    let Some(entry) = index.get_path(&native(path), 0) else { return false };
    let skipped = IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_skip_worktree();
    skipped && repo.checkout().is_ok_and(|checkout| matches!(absent(checkout.kind(path)), Ok(None)))
}

/// Nothing at a path, or a link or a file on the way to it, is no fault: git, too, sees nothing there.
fn absent(kind: io::Result<Kind>) -> io::Result<Option<Kind>> {
    match kind {
        Ok(kind) => Ok(Some(kind)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the entry at a path of the disk; `None` for nothing and for what git does not store.
fn on_disk(
    repo: &Repo,
    path: &RepoPath,
    before: Option<ChangedEntry>,
    submodule: Option<BlobId>,
    keeps_modes: bool,
) -> io::Result<Option<ChangedEntry>> {
    let Some(kind) = absent(repo.checkout()?.kind(path.stored()))? else { return Ok(None) };
    Ok(match kind {
        Kind::Link => Some(ChangedEntry { mode: FileMode::Link, id: None }),
        Kind::File { executable, .. } => {
            let before = before.filter(ChangedEntry::is_plain).map(|entry| entry.mode);
            let mode = match before {
                Some(mode) if !keeps_modes => mode,
                _ if executable => FileMode::Executable,
                _ => FileMode::File,
            };
            Some(ChangedEntry { mode, id: None })
        }
        Kind::Folder => match (submodule, before) {
            (Some(id), _) => Some(ChangedEntry { mode: FileMode::Submodule, id: Some(id) }),
            // A submodule that is not checked out is an empty folder.
            (None, Some(entry)) if entry.mode == FileMode::Submodule => Some(entry),
            _ => None,
        },
        Kind::Special => None,
    })
}

/// A file whose attributes name a program that rewrites it (`filter=lfs`): the program is not run.
fn filtered(repo: &Repo, path: &RepoPath, after: Option<ChangedEntry>) -> Option<Omission> {
    after.filter(|entry| entry.is_plain() && entry.id.is_none())?;
    let value = repo.raw().get_attr_bytes(&native(path.stored()), "filter", AttrCheckFlags::FILE_THEN_INDEX).ok()?;
    let AttrValue::String(name) = AttrValue::from_bytes(value) else { return None };
    Some(Omission {
        path: Some(path.to_string()),
        reason: format!("compared as it lies on the disk: the filter {name:?} of its attributes is not run"),
        unseen: false,
    })
}

/// Checks whether the disk holds something else than the tree: the library only suspects it.
fn differs(repo: &Repo, path: &RepoPath, before: Option<ChangedEntry>, after: Option<ChangedEntry>) -> bool {
    if let (Some(one), Some(other)) = (before, after)
        && one.mode == other.mode
    {
        return match (one.id, other.id) {
            (Some(one), Some(other)) => one != other,
            // The library compared it by its hash already; only line ends could make it the same, and a giant is told anyway.
            (Some(_), None) if size(repo, path).is_ok_and(|size| size > MAX_EQUAL) => true,
            (Some(id), None) => match (repo.blob(id), read(repo, path, other.mode)) {
                (Ok(one), Ok(other)) => one != other,
                _ => true,
            },
            _ => true,
        };
    }
    true
}
