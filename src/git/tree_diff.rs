//! The difference of two trees, over their raw bytes. Main function: [`diff_trees`].
//!
//! Folders with the same id are never opened, so the cost is that of what changed.

use std::cmp::Ordering;

use crate::domain::id::{BlobId, TreeId};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoError};
use crate::sys::tree::{self, RawEntry, TreeWalk};

use super::GitError;
use super::entries::{Entry, Found};

/// No checkout has folders nested as deep; a tree that does is hostile.
const MAX_DEPTH: usize = 512;

/// What differs between two trees, `None` being an empty one.
pub(super) fn diff_trees(
    repo: &Repo,
    old: Option<TreeId>,
    new: Option<TreeId>,
    cancel: &Cancel,
) -> Result<Found, GitError> {
    let mut walk = Walk { repo, cancel, path: Vec::new(), depth: 0, found: Found::default() };
    match (old, new) {
        (Some(old), Some(new)) if old != new => walk.folders(old, new)?,
        (Some(old), None) => walk.one_side(old, true)?,
        (None, Some(new)) => walk.one_side(new, false)?,
        _ => {}
    }
    let mut found = walk.found;
    found.deltas.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct Walk<'a> {
    repo: &'a Repo,
    cancel: &'a Cancel,
    path: Vec<u8>,
    depth: usize,
    found: Found,
}

impl Walk<'_> {
    fn folders(&mut self, old: TreeId, new: TreeId) -> Result<(), GitError> {
        self.cancel.check()?;
        if self.depth == MAX_DEPTH {
            return Err(RepoError::Git(format!("folders are nested more than {MAX_DEPTH} deep")).into());
        }
        self.depth += 1;
        let (old_data, new_data) = (self.repo.tree(old)?, self.repo.tree(new)?);
        let old_entries = tree::entries(&old_data).ok_or(RepoError::Damaged(old.0))?;
        let new_entries = tree::entries(&new_data).ok_or(RepoError::Damaged(new.0))?;
        let (mut a, mut b) = (old_entries.iter().peekable(), new_entries.iter().peekable());
        loop {
            let step = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => tree::order(one, other),
            };
            let one = if step == Ordering::Greater { None } else { a.next() };
            let other = if step == Ordering::Less { None } else { b.next() };
            self.pair(one, other)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn pair(&mut self, old: Option<&RawEntry<'_>>, new: Option<&RawEntry<'_>>) -> Result<(), GitError> {
        let Some(name) = old.or(new).map(|entry| entry.name) else { return Ok(()) };
        if let (Some(one), Some(other)) = (old, new)
            && one.id == other.id
            && one.mode == other.mode
        {
            return Ok(());
        }
        let length = self.path.len();
        self.path.extend_from_slice(name);
        // The order makes a file and a folder of one name two entries, so both are folders here or neither is.
        let folder = old.or(new).is_some_and(RawEntry::is_folder);
        let done = if folder {
            self.path.push(b'/');
            match (old, new) {
                (Some(one), Some(other)) => self.folders(TreeId(one.id), TreeId(other.id)),
                (Some(one), None) => self.one_side(TreeId(one.id), true),
                (None, Some(other)) => self.one_side(TreeId(other.id), false),
                (None, None) => Ok(()),
            }
        } else {
            self.found.push(&self.path, old.and_then(entry_of), new.and_then(entry_of));
            Ok(())
        };
        self.path.truncate(length);
        done
    }

    fn one_side(&mut self, tree: TreeId, is_old: bool) -> Result<(), GitError> {
        for file in TreeWalk::new(self.repo, tree, &self.path)? {
            self.cancel.check()?;
            let file = file?;
            let entry = Some(Entry { mode: file.mode, id: Some(file.id) });
            let (old, new) = if is_old { (entry, None) } else { (None, entry) };
            self.found.push(&file.path, old, new);
        }
        Ok(())
    }
}

fn entry_of(raw: &RawEntry<'_>) -> Option<Entry> {
    Some(Entry { mode: raw.mode?, id: Some(BlobId(raw.id)) })
}
