//! The difference of two trees, over their raw bytes. Main function: [`diff_trees`].
//!
//! Folders with the same id are never opened, so the cost is that of what changed. A tree that no git would write (a name twice, names
//! out of order, folders that contain each other) is told as an omission: which of two files a checkout gets cannot be known.

use std::cmp::Ordering;

use crate::domain::change::Omission;
use crate::domain::id::{BlobId, ObjectId, TreeId};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoError};
use crate::sys::tree::{self, RawEntry};

use super::GitError;
use super::entries::{Entry, Found, spelled};

/// No checkout has folders nested as deep; a tree that does is hostile.
const MAX_DEPTH: usize = 512;
/// More changed files are not listed: folders that contain each other can name endlessly many in a few bytes.
const MAX_FILES: usize = 1_000_000;

/// What differs between two trees, `None` being an empty one.
pub(super) fn diff_trees(
    repo: &Repo,
    old: Option<TreeId>,
    new: Option<TreeId>,
    cancel: &Cancel,
) -> Result<Found, GitError> {
    let mut walk = Walk { repo, cancel, path: Vec::new(), depth: 0, found: Found::default() };
    if old != new {
        walk.folders(old, new)?;
    }
    let mut found = walk.found;
    if found.deltas.len() >= MAX_FILES {
        found.omissions.push(Omission {
            path: None,
            reason: format!("only the first {MAX_FILES} changed files are listed; review a smaller range"),
            unseen: true,
        });
    }
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
    /// Compares two folders; a side that is not there is an empty one.
    fn folders(&mut self, old: Option<TreeId>, new: Option<TreeId>) -> Result<(), GitError> {
        self.cancel.check()?;
        if self.depth == MAX_DEPTH {
            self.found.omissions.push(Omission {
                path: Some(spelled(&self.path)),
                reason: format!("not read: folders are nested more than {MAX_DEPTH} deep"),
                unseen: true,
            });
            return Ok(());
        }
        self.depth += 1;
        let read = |id: Option<TreeId>| id.map(|id| self.repo.tree(id)).transpose().map(Option::unwrap_or_default);
        let (old_data, new_data) = (read(old)?, read(new)?);
        let parse = |data, id: Option<TreeId>| {
            tree::entries(data).ok_or(RepoError::Damaged(id.map_or(ObjectId::ZERO, |id| id.0)))
        };
        let (old_entries, new_entries) = (parse(&old_data, old)?, parse(&new_data, new)?);
        self.doubt(&old_entries);
        self.doubt(&new_entries);
        let (mut a, mut b) = (old_entries.iter().peekable(), new_entries.iter().peekable());
        while self.found.deltas.len() < MAX_FILES {
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

    /// Tells the first name of a folder that stands twice or out of order.
    fn doubt(&mut self, entries: &[RawEntry<'_>]) {
        let Some(pair) = entries.windows(2).find(|pair| tree::order(&pair[0], &pair[1]) != Ordering::Less) else {
            return;
        };
        self.found.omissions.push(Omission {
            path: Some(spelled(&[&self.path, pair[1].name].concat())),
            reason: "its folder names a file twice or out of order, so what is read may not be what a checkout gets; run `git fsck`"
                .to_owned(),
            unseen: true,
        });
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
            let tree = |entry: Option<&RawEntry<'_>>| entry.map(|entry| TreeId(entry.id));
            self.folders(tree(old), tree(new))
        } else {
            self.found.push(&self.path, old.and_then(entry_of), new.and_then(entry_of));
            Ok(())
        };
        self.path.truncate(length);
        done
    }
}

fn entry_of(raw: &RawEntry<'_>) -> Option<Entry> {
    Some(Entry { mode: raw.mode?, id: Some(BlobId(raw.id)) })
}
