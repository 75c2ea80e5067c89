//! The index against a tree. Main function: [`diff_index`].

use std::cmp::Ordering;
use std::collections::HashSet;

use git2::{IndexEntryExtendedFlag, IndexEntryFlag};

use crate::domain::change::{FileMode, Omission};
use crate::domain::id::{BlobId, TreeId};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, object_id};
use crate::sys::tree::{TreeFile, TreeWalk};

use super::GitError;
use super::entries::{Entry, Found, spelled};

/// What is staged: the blobs of the index against a tree (`None`: against nothing).
pub(super) fn diff_index(repo: &Repo, tree: Option<TreeId>, cancel: &Cancel) -> Result<Found, GitError> {
    let index = repo.raw().index()?;
    let mut found = Found::default();
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
                    path: Some(spelled(&entry.path)),
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
    let mut committed: Vec<TreeFile> = Vec::new();
    if let Some(tree) = tree {
        for file in TreeWalk::new(repo, tree, b"")? {
            cancel.check()?;
            committed.push(file?);
        }
    }
    merge(&mut found, &committed, &staged);
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

/// Both lists are in the order of the bytes of their paths.
fn merge(found: &mut Found, old: &[TreeFile], new: &[TreeFile]) {
    let entry = |file: &TreeFile| Some(Entry { mode: file.mode, id: Some(file.id) });
    let (mut a, mut b) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let step = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.path.cmp(&other.path),
        };
        match step {
            Ordering::Less => {
                if let Some(one) = a.next() {
                    found.push(&one.path, entry(one), None);
                }
            }
            Ordering::Greater => {
                if let Some(other) = b.next() {
                    found.push(&other.path, None, entry(other));
                }
            }
            Ordering::Equal => {
                if let (Some(one), Some(other)) = (a.next(), b.next())
                    && (one.mode, one.id) != (other.mode, other.id)
                {
                    found.push(&one.path, entry(one), entry(other));
                }
            }
        }
    }
}
