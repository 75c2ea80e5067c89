//! Raw tree objects: parse, find, walk in path order, compare. Main types: [`RawEntry`], [`TreeWalk`], [`TreeCursor`].
//!
//! libgit2's own tree entries allocate one by one; listing a revision of fifteen thousand files was a third slower with them than
//! `git ls-tree`. The format is in git's `tree.c`: octal mode, space, name, NUL, 20 bytes of id.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::domain::change::FileMode;
use crate::domain::id::{BlobId, ObjectId, TreeId};
use crate::domain::limits::{LIMITS, RemainingLimit};

use super::cancel::{Cancel, CancelReason};
use super::repo::Repo;
use super::repo_error::RepoError;

/// One entry of a tree, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEntry<'a> {
    /// Its kind; `None` for a folder.
    pub mode: Option<FileMode>,
    /// Its name, one component.
    pub name: &'a [u8],
    /// Its id.
    pub id: ObjectId,
}

impl RawEntry<'_> {
    /// Checks whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.mode.is_none()
    }
}

/// Reads the entries of a tree object in their stored order; a damaged rest ends it with `None` for the whole.
pub fn entries(data: &[u8]) -> Option<Vec<RawEntry<'_>>> {
    let mut rest = data;
    let mut found = Vec::with_capacity(data.len() / 40);
    while !rest.is_empty() {
        let (entry, length) = first_entry(rest)?;
        found.push(entry);
        rest = &rest[length..];
    }
    Some(found)
}

/// Finds an entry of a tree object that is not damaged up to there.
fn entry<'a>(tree: TreeId, data: &'a [u8], name: &[u8]) -> Result<Option<RawEntry<'a>>, RepoError> {
    let mut rest = data;
    while !rest.is_empty() {
        let (entry, length) = first_entry(rest).ok_or(RepoError::Damaged(tree.0))?;
        if entry.name == name {
            return Ok(Some(entry));
        }
        rest = &rest[length..];
    }
    Ok(None)
}

/// The entry that `rest` begins with, and how many bytes it takes.
fn first_entry(rest: &[u8]) -> Option<(RawEntry<'_>, usize)> {
    let (mut mode, mut space) = (0u32, 0);
    loop {
        match *rest.get(space)? {
            b' ' => break,
            digit @ b'0'..=b'7' => mode = mode.checked_mul(8)? + u32::from(digit - b'0'),
            _ => return None,
        }
        space += 1;
    }
    let after = &rest[space + 1..];
    let nul = memchr::memchr(0, after)?;
    let id = after.get(nul + 1..nul + 21)?;
    let entry = RawEntry { mode: file_mode(mode), name: &after[..nul], id: ObjectId::new(id.try_into().ok()?) };
    Some((entry, space + 1 + nul + 21))
}

/// `None` for a folder. Odd modes that old tools wrote (100664) are plain files, as git reads them.
fn file_mode(mode: u32) -> Option<FileMode> {
    match mode & 0o170_000 {
        0o040_000 => None,
        0o120_000 => Some(FileMode::Link),
        0o160_000 => Some(FileMode::Submodule),
        _ if mode & 0o100 != 0 => Some(FileMode::Executable),
        _ => Some(FileMode::File),
    }
}

/// Git's order of tree entries: by bytes, a folder as if its name ended in `/`.
pub fn compare_entries(a: &RawEntry<'_>, b: &RawEntry<'_>) -> Ordering {
    let tail = |entry: &RawEntry<'_>| if entry.is_folder() { b'/' } else { 0 };
    let shared = a.name.len().min(b.name.len());
    a.name[..shared].cmp(&b.name[..shared]).then_with(|| {
        let next = |entry: &RawEntry<'_>| entry.name.get(shared).copied().unwrap_or_else(|| tail(entry));
        next(a).cmp(&next(b))
    })
}

/// A file found by [`TreeWalk`] or [`find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its full path.
    pub path: Vec<u8>,
    /// Its kind.
    pub mode: FileMode,
    /// Its id (a commit for a submodule).
    pub id: BlobId,
}

/// Walks the files of a tree in path order, reading a folder only when the walk gets there.
pub struct TreeWalk<'r> {
    repo: &'r Repo,
    cancel: &'r Cancel,
    cursor: TreeCursor,
}

/// A place in the walk of a tree, free of the handle that reads it: any handle of the repository takes it further.
///
/// A few objects can stand for endlessly many folders. So the walk enters a bounded number of them, holds a bounded number of bytes, and enters
/// no folder again in which it found no file.
pub struct TreeCursor {
    root: TreeId,
    prefix: usize,
    begun: bool,
    stack: Vec<WalkLevel>,
    path: Vec<u8>,
    /// Buffers of folders that were left, for the next ones.
    spare: Vec<Vec<u8>>,
    /// Folders without a file.
    barren: HashSet<TreeId>,
    folders: RemainingLimit,
    open_bytes: RemainingLimit,
    left_out: SkippedFolders,
}

/// The folders that a walk did not enter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedFolders {
    /// The number of those that were too deep, or for whose bytes there was no room.
    pub too_deep: u64,
    /// `true` if the walk ended because it had entered as many as it may.
    pub ended: bool,
}

/// A reason why a walk does not go on.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A folder could not be read.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

/// A file that a [`TreeCursor`] stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeStep<'c> {
    /// Its full path.
    pub path: &'c [u8],
    /// Its kind.
    pub mode: FileMode,
    /// Its id (a commit for a submodule).
    pub id: BlobId,
}

struct WalkLevel {
    tree: TreeId,
    data: Vec<u8>,
    at: usize,
    prefix: usize,
    has_file: bool,
}

/// More folders without files are not remembered: git writes none.
const MOST_BARREN: usize = 100_000;

/// A larger buffer of a folder that was left is given back, in bytes.
const MOST_SPARE: usize = 64 << 10;

impl SkippedFolders {
    /// The sentence that says it; `None` if nothing was left out.
    pub fn reason(self) -> Option<String> {
        match self {
            Self { ended: true, .. } => {
                Some(format!("only the first {} folders of the tree are read", LIMITS.walked_folders))
            }
            Self { too_deep: 0, .. } => None,
            Self { too_deep, .. } => Some(format!(
                "{too_deep} folders of the tree are not read: they are nested more than {} deep, or too large together",
                LIMITS.folder_depth
            )),
        }
    }
}

impl TreeCursor {
    /// A walk of `root`, whose paths begin with `prefix` (empty, or ending in `/`).
    pub fn new(root: TreeId, prefix: &[u8]) -> Self {
        Self {
            root,
            prefix: prefix.len(),
            begun: false,
            stack: Vec::new(),
            path: prefix.to_vec(),
            spare: Vec::new(),
            barren: HashSet::new(),
            folders: RemainingLimit::of(LIMITS.walked_folders),
            open_bytes: RemainingLimit::of(LIMITS.open_folder_bytes),
            left_out: SkippedFolders::default(),
        }
    }

    /// The folders that were left out so far.
    pub fn left_out(&self) -> SkippedFolders {
        self.left_out
    }

    /// The next file. After an error it stands where it stood: asking again tries the same tree again.
    pub fn step(&mut self, repo: &Repo, cancel: &Cancel) -> Result<Option<TreeStep<'_>>, WalkError> {
        if !self.begun {
            self.enter(self.root, self.prefix, repo)?;
            self.begun = true;
        }
        loop {
            let Some(level) = self.stack.last_mut() else { return Ok(None) };
            let rest = &level.data[level.at..];
            if rest.is_empty() {
                self.leave();
                continue;
            }
            let (entry, length) = first_entry(rest).ok_or(RepoError::Damaged(level.tree.0))?;
            self.path.truncate(level.prefix);
            self.path.extend_from_slice(entry.name);
            let (mode, id) = (entry.mode, entry.id);
            let next = level.at + length;
            if let Some(mode) = mode {
                level.at = next;
                level.has_file = true;
                return Ok(Some(TreeStep { path: &self.path, mode, id: BlobId(id) }));
            }
            cancel.check()?;
            let folder = TreeId(id);
            let above = self.stack.len() - 1;
            if !self.barren.contains(&folder) {
                if !self.folders.charge(1) {
                    self.left_out.ended = true;
                    self.stack.clear();
                    return Ok(None);
                }
                self.path.push(b'/');
                self.enter(folder, self.path.len(), repo)?;
            }
            // Only now: a folder that could not be read is tried again.
            self.stack[above].at = next;
        }
    }

    /// Opens a folder, unless there is no room for it.
    fn enter(&mut self, tree: TreeId, prefix: usize, repo: &Repo) -> Result<(), RepoError> {
        let is_too_deep = self.stack.len() >= LIMITS.folder_depth;
        let mut data = self.spare.pop().unwrap_or_default();
        let open_bytes = &mut self.open_bytes;
        let is_open = !is_too_deep
            && repo.with_tree(tree, |bytes| {
                let has_room = open_bytes.charge(bytes.len() as u64);
                if has_room {
                    data.clear();
                    data.extend_from_slice(bytes);
                }
                has_room
            })?;
        if is_open {
            self.stack.push(WalkLevel { tree, data, at: 0, prefix, has_file: false });
        } else {
            self.left_out.too_deep += 1;
            // Elsewhere the same folders may have room.
            if let Some(above) = self.stack.last_mut() {
                above.has_file = true;
            }
        }
        Ok(())
    }

    fn leave(&mut self) {
        let Some(level) = self.stack.pop() else { return };
        self.open_bytes.release(level.data.len() as u64);
        if level.data.capacity() <= MOST_SPARE {
            self.spare.push(level.data);
        }
        if level.has_file {
            if let Some(above) = self.stack.last_mut() {
                above.has_file = true;
            }
        } else if self.barren.len() < MOST_BARREN {
            self.barren.insert(level.tree);
        }
    }
}

impl<'r> TreeWalk<'r> {
    /// A walk of `root`, whose paths begin with `prefix` (empty, or ending in `/`).
    pub fn new(repo: &'r Repo, root: TreeId, prefix: &[u8], cancel: &'r Cancel) -> Self {
        Self { repo, cancel, cursor: TreeCursor::new(root, prefix) }
    }

    /// The folders that were left out so far.
    pub fn left_out(&self) -> SkippedFolders {
        self.cursor.left_out()
    }

    fn step(&mut self) -> Option<Result<TreeFile, WalkError>> {
        let found = match self.cursor.step(self.repo, self.cancel) {
            Ok(found) => found.map(|step| TreeFile { path: step.path.to_vec(), mode: step.mode, id: step.id }).map(Ok),
            Err(error) => Some(Err(error)),
        };
        if matches!(found, Some(Err(_))) {
            self.cursor.begun = true;
            self.cursor.stack.clear();
        }
        found
    }
}

impl Iterator for TreeWalk<'_> {
    type Item = Result<TreeFile, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step()
    }
}

/// The entry at a path of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeLookup {
    /// A file, link or submodule.
    File(FileMode, BlobId),
    /// A folder.
    Folder(TreeId),
}

/// Finds `path` (components separated by `/`; empty for the root) in the tree `root`.
pub fn find(repo: &Repo, root: TreeId, path: &[u8]) -> Result<Option<TreeLookup>, RepoError> {
    let mut found = TreeLookup::Folder(root);
    for component in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        let TreeLookup::Folder(tree) = found else { return Ok(None) };
        let data = repo.recent_tree(tree)?;
        let Some(entry) = entry(tree, &data, component)? else { return Ok(None) };
        found = match entry.mode {
            None => TreeLookup::Folder(TreeId(entry.id)),
            Some(mode) => TreeLookup::File(mode, BlobId(entry.id)),
        };
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(mode: &str, name: &str) -> Vec<u8> {
        let mut bytes = format!("{mode} {name}\0").into_bytes();
        bytes.extend([7; 20]);
        bytes
    }

    #[test]
    fn entries_are_read_as_stored() {
        let data = [raw("100644", "a b"), raw("40000", "dir"), raw("160000", "sub"), raw("100755", "x")].concat();
        let modes: Vec<_> = entries(&data).unwrap().iter().map(|entry| entry.mode).collect();
        assert_eq!(modes, [Some(FileMode::File), None, Some(FileMode::Submodule), Some(FileMode::Executable)]);
    }

    #[test]
    fn damaged_bytes_are_not_a_tree() {
        let whole = raw("100644", "a");
        for cut in 1..whole.len() {
            assert_eq!(entries(&whole[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_folder_sorts_as_if_it_ended_in_a_slash() {
        let entry = |name: &'static str, mode| RawEntry { mode, name: name.as_bytes(), id: ObjectId::ZERO };
        let file = entry("a.b", Some(FileMode::File));
        let folder = entry("a", None);
        assert_eq!(compare_entries(&file, &folder), Ordering::Less);
        assert_eq!(compare_entries(&entry("a", Some(FileMode::File)), &file), Ordering::Less);
    }
}
