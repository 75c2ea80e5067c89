//! The index against a tree. Main function: [`diff_index`].

use std::cmp::Ordering;
use std::collections::HashSet;

use git2::{IndexEntryExtendedFlag, IndexEntryFlag};

use crate::domain::change::{FileMode, Omission};
use crate::domain::id::{BlobId, TreeId};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, object_id};
use crate::sys::tree::{TreeFile, TreeWalk, WalkError};

use super::GitError;
use super::entries::{ChangedEntry, TreeDifferences, display_path};

/// Compares the staged files: the blobs of the index against a tree (`None`: against nothing).
pub(super) fn diff_index(repo: &Repo, tree: Option<TreeId>, cancel: &Cancel) -> Result<TreeDifferences, GitError> {
    let index = repo.raw().index()?;
    let mut found = TreeDifferences::default();
    let mut staged: Vec<TreeFile> = Vec::new();
    let mut conflicts: HashSet<Vec<u8>> = HashSet::new();
    for entry in index.iter() {
        if IndexEntryExtendedFlag::from_bits_truncate(entry.flags_extended).is_intent_to_add() {
            continue;
        }
        // The upper bits of the flags hold the stage; other than 0 it is one version of a path in conflict.
        let stage = (entry.flags & IndexEntryFlag::from_bits_retain(0x3000).bits()) >> 12;
        if stage != 0 {
            if !conflicts.contains(&entry.path) {
                found.omissions.push(Omission {
                    path: Some(display_path(&entry.path)),
                    reason: "not reviewed: it has merge conflicts that are not resolved (`git add` it when they are)"
                        .to_owned(),
                    unseen: true,
                });
                conflicts.insert(entry.path);
            }
            continue;
        }
        let id = BlobId(object_id(entry.id));
        staged.push(TreeFile { path: entry.path, mode: mode_of(entry.mode), id });
    }
    match tree {
        Some(tree) => {
            let mut committed = TreeWalk::new(repo, tree, b"", cancel);
            merge(&mut found, &mut committed, &staged)?;
            // Files that were not read cannot be told from new ones.
            if let Some(reason) = committed.left_out().reason() {
                found.omissions.push(Omission { path: None, reason, unseen: true });
            }
        }
        None => merge(&mut found, &mut std::iter::empty(), &staged)?,
    }
    found.deltas.retain(|delta| !conflicts.contains(delta.path.stored()));
    Ok(found)
}

fn mode_of(mode: u32) -> FileMode {
    match mode & 0o170_000 {
        0o120_000 => FileMode::Link,
        0o160_000 => FileMode::Submodule,
        _ if mode & 0o100 != 0 => FileMode::Executable,
        _ => FileMode::File,
    }
}

/// Both are in the order of the bytes of their paths. The old one is never held whole.
fn merge(
    found: &mut TreeDifferences,
    old: &mut dyn Iterator<Item = Result<TreeFile, WalkError>>,
    new: &[TreeFile],
) -> Result<(), GitError> {
    let entry = |file: &TreeFile| Some(ChangedEntry { mode: file.mode, id: Some(file.id) });
    let (mut one, mut rest) = (old.next().transpose()?, new.iter().peekable());
    while !found.is_full() {
        let step = match (&one, rest.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.path.cmp(&other.path),
        };
        let before =
            if step == Ordering::Greater { None } else { std::mem::replace(&mut one, old.next().transpose()?) };
        let after = if step == Ordering::Less { None } else { rest.next() };
        let is_same =
            matches!((&before, after), (Some(one), Some(other)) if (one.mode, one.id) == (other.mode, other.id));
        if let Some(path) = before.as_ref().or(after).map(|file| &file.path)
            && !is_same
        {
            found.push(path, before.as_ref().and_then(entry), after.and_then(entry));
        }
    }
    Ok(())
}
