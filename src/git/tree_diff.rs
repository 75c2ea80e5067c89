//! The difference of two trees, over their raw bytes. Main function: [`diff_trees`].
//!
//! Folders with the same id are never opened, so the cost is that of what changed. A tree that no git would write (a name twice, names
//! out of order, folders that contain each other) is told as an omission: which of two files a checkout gets cannot be known.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::domain::change::Omission;
use crate::domain::id::{BlobId, ObjectId, TreeId};
use crate::domain::limits::{LIMITS, RemainingLimit};
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;
use crate::sys::tree::{self, RawEntry};

use super::GitError;
use super::entries::{ChangedEntry, TreeDifferences, display_path};

/// More pairs of folders without a difference are not remembered: git writes none.
const MOST_BARREN: usize = 100_000;

/// A folder before and after.
type FolderPair = (Option<TreeId>, Option<TreeId>);

/// Compares two trees; `None` is an empty one.
pub(super) fn diff_trees(
    repo: &Repo,
    old: Option<TreeId>,
    new: Option<TreeId>,
    cancel: &Cancel,
) -> Result<TreeDifferences, GitError> {
    let mut walk = TreeDiffWalk {
        repo,
        cancel,
        path: Vec::new(),
        depth: 0,
        barren: HashSet::new(),
        folders: RemainingLimit::of(LIMITS.walked_folders),
        open_bytes: RemainingLimit::of(LIMITS.open_folder_bytes),
        has_ended: false,
        found: TreeDifferences::default(),
    };
    if old != new {
        walk.folders((old, new))?;
    }
    let mut found = walk.found;
    found.deltas.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct TreeDiffWalk<'a> {
    repo: &'a Repo,
    cancel: &'a Cancel,
    path: Vec<u8>,
    depth: usize,
    /// Folders in which nothing was found that could be told of the same folders at another place.
    barren: HashSet<FolderPair>,
    folders: RemainingLimit,
    open_bytes: RemainingLimit,
    /// `true` if as many folders were entered as may be.
    has_ended: bool,
    found: TreeDifferences,
}

impl TreeDiffWalk<'_> {
    /// Compares two folders; a side that is not there is an empty one. Says whether something was found in them.
    fn folders(&mut self, (old, new): FolderPair) -> Result<bool, GitError> {
        self.cancel.check()?;
        if self.barren.contains(&(old, new)) {
            return Ok(false);
        }
        if self.depth == LIMITS.folder_depth {
            self.omit(format!("not read: folders are nested more than {} deep", LIMITS.folder_depth));
            return Ok(true);
        }
        if !self.folders.charge(1) {
            if !std::mem::replace(&mut self.has_ended, true) {
                let reason =
                    format!("only the first {} folders were compared; review a smaller range", LIMITS.walked_folders);
                self.found.omissions.push(Omission { path: None, reason, unseen: true });
            }
            return Ok(true);
        }
        let read = |id: Option<TreeId>| id.map(|id| self.repo.tree(id)).transpose().map(Option::unwrap_or_default);
        let (old_data, new_data) = (read(old)?, read(new)?);
        let size = (old_data.len() + new_data.len()) as u64;
        if !self.open_bytes.charge(size) {
            self.omit(format!("not read: its folders are larger than {} MiB together", LIMITS.open_folder_bytes >> 20));
            return Ok(true);
        }
        self.depth += 1;
        let has_found = self.entries((old, &old_data), (new, &new_data))?;
        self.depth -= 1;
        self.open_bytes.release(size);
        if !has_found && self.barren.len() < MOST_BARREN {
            self.barren.insert((old, new));
        }
        Ok(has_found)
    }

    fn omit(&mut self, reason: String) {
        let path = &self.path;
        self.found.omissions.push_with(true, || Omission { path: Some(display_path(path)), reason, unseen: true });
    }

    fn entries(
        &mut self,
        (old, old_data): (Option<TreeId>, &[u8]),
        (new, new_data): (Option<TreeId>, &[u8]),
    ) -> Result<bool, GitError> {
        let damaged = |id: Option<TreeId>| RepoError::Damaged(id.map_or(ObjectId::ZERO, |id| id.0));
        let old_entries = tree::entries(old_data).ok_or_else(|| damaged(old))?;
        let new_entries = tree::entries(new_data).ok_or_else(|| damaged(new))?;
        let mut has_found = self.doubt(&old_entries) | self.doubt(&new_entries);
        let (mut a, mut b) = (old_entries.iter().peekable(), new_entries.iter().peekable());
        while !self.found.is_full() && !self.has_ended {
            let step = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => tree::compare_entries(one, other),
            };
            let one = if step == Ordering::Greater { None } else { a.next() };
            let other = if step == Ordering::Less { None } else { b.next() };
            has_found |= self.pair(one, other)?;
        }
        Ok(has_found)
    }

    /// Tells the first name of a folder that stands twice or out of order.
    fn doubt(&mut self, entries: &[RawEntry<'_>]) -> bool {
        let Some(pair) = entries.windows(2).find(|pair| tree::compare_entries(&pair[0], &pair[1]) != Ordering::Less)
        else {
            return false;
        };
        self.found.omissions.push(Omission {
            path: Some(display_path(&[&self.path, pair[1].name].concat())),
            reason: "its folder names a file twice or out of order, so what is read may not be what a checkout gets; run `git fsck`"
                .to_owned(),
            unseen: true,
        });
        true
    }

    /// Compares two entries of one name. Says whether they differ in something that can be told.
    fn pair(&mut self, old: Option<&RawEntry<'_>>, new: Option<&RawEntry<'_>>) -> Result<bool, GitError> {
        let Some(name) = old.or(new).map(|entry| entry.name) else { return Ok(false) };
        if let (Some(one), Some(other)) = (old, new)
            && one.id == other.id
            && one.mode == other.mode
        {
            return Ok(false);
        }
        let length = self.path.len();
        self.path.extend_from_slice(name);
        // The order makes a file and a folder of one name two entries, so both are folders here or neither is.
        let folder = old.or(new).is_some_and(RawEntry::is_folder);
        let done = if folder {
            self.path.push(b'/');
            let tree = |entry: Option<&RawEntry<'_>>| entry.map(|entry| TreeId(entry.id));
            self.folders((tree(old), tree(new)))
        } else {
            self.found.push(&self.path, old.and_then(entry_of), new.and_then(entry_of));
            Ok(true)
        };
        self.path.truncate(length);
        done
    }
}

fn entry_of(raw: &RawEntry<'_>) -> Option<ChangedEntry> {
    Some(ChangedEntry { mode: raw.mode?, id: Some(BlobId(raw.id)) })
}
