//! The files of a tree, listed piece by piece in path order, with what is kept of their contents. Main type: [`Catalogue`].
//!
//! A search of a fresh revision must not wait for the whole listing: it takes chunk after chunk, and the walk goes only as far as the
//! search does. Where bytes come from belongs in the files of the single trees.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::content::SearchContent;
use super::{TreeEntry, WorkspaceError};
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::id::{BlobId, TreeId};
use crate::domain::limits::{LIMITS, RemainingLimit};
use crate::domain::path::{RepoPath, quote};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{PooledRepo, Repo, RepoPool};
use crate::sys::repo_error::RepoError;
use crate::sys::tree::{TreeCursor, WalkError};

/// The number of files handed to a thread at once.
const CHUNK: usize = 32;

/// The room for a path that a chunk begins with.
const PATH: usize = 64;

/// The files between two looks at the stop flag.
const STOP_CHECK: u64 = 256;

/// The number of refused names that are reported individually.
const MAX_TOLD: usize = 20;

/// Files that stand next to each other in path order. Their paths lie in one buffer: an allocation each would cost a sixth of the time.
pub(super) struct PathChunk {
    paths: Vec<u8>,
    files: Vec<CatalogueFile>,
    /// One place for each file, made when the first is filled: a listing needs none.
    contents: OnceLock<Box<[OnceLock<SearchContent>]>>,
}

/// One file.
pub(super) struct CatalogueFile {
    /// The end of its path in the buffer of the chunk.
    end: usize,
    pub(super) mode: FileMode,
    pub(super) blob: Option<BlobId>,
}

/// The growing list. Excluded files are not in it.
pub(super) struct Catalogue {
    filter: PathFilter,
    chunks: RwLock<Vec<Arc<PathChunk>>>,
    feed: Mutex<CatalogueFeed>,
    entries: OnceLock<Arc<[TreeEntry]>>,
}

struct CatalogueFeed {
    /// `None` when everything was listed.
    cursor: Option<TreeCursor>,
    files: RemainingLimit,
    path_bytes: RemainingLimit,
    steps: u64,
    refused: usize,
    omissions: Vec<Omission>,
    /// The reason why files are missing from the list.
    cut: Option<String>,
}

/// The reader of one thread: a repository handle, taken when it is first needed, and a buffer.
pub(super) struct CatalogueReader<'p> {
    pool: Option<&'p RepoPool>,
    lent: Option<PooledRepo<'p>>,
    /// The buffer of the last file, reused for the next one.
    pub(super) buffer: Vec<u8>,
}

impl<'p> CatalogueReader<'p> {
    pub(super) fn new(pool: Option<&'p RepoPool>) -> Self {
        Self { pool, lent: None, buffer: Vec::new() }
    }

    pub(super) fn repo(&mut self) -> Result<&Repo, RepoError> {
        if self.lent.is_none() {
            let pool = self.pool.ok_or_else(|| RepoError::Git("there is no repository to read from".to_owned()))?;
            self.lent = Some(pool.acquire()?);
        }
        self.lent.as_deref().ok_or_else(|| RepoError::Git("there is no repository to read from".to_owned()))
    }
}

impl PathChunk {
    fn new() -> Self {
        Self { paths: Vec::with_capacity(CHUNK * PATH), files: Vec::with_capacity(CHUNK), contents: OnceLock::new() }
    }

    fn push(&mut self, path: &[u8], mode: FileMode, blob: Option<BlobId>) {
        self.paths.extend_from_slice(path);
        self.files.push(CatalogueFile { end: self.paths.len(), mode, blob });
    }

    /// For those who share it; `None` when it is empty.
    fn finish(mut self) -> Option<Arc<Self>> {
        self.paths.shrink_to_fit();
        (!self.files.is_empty()).then(|| Arc::new(self))
    }

    /// The files with their paths, which are all valid.
    pub(super) fn files(&self) -> impl Iterator<Item = (&[u8], &CatalogueFile)> {
        let mut start = 0;
        self.files.iter().map(move |file| {
            let path = &self.paths[start..file.end];
            start = file.end;
            (path, file)
        })
    }

    /// Returns the locations of the file contents, in the order of [`files`](Self::files).
    pub(super) fn contents(&self) -> &[OnceLock<SearchContent>] {
        self.contents.get_or_init(|| self.files.iter().map(|_| OnceLock::new()).collect())
    }
}

/// The decision about a path of the walk.
enum PathDecision {
    Listed,
    /// It may not be seen.
    Passed,
    /// There is no room for it, and the list ends.
    End,
}

impl CatalogueFeed {
    fn new(cursor: Option<TreeCursor>) -> Self {
        Self {
            cursor,
            files: RemainingLimit::of(LIMITS.listed_files),
            path_bytes: RemainingLimit::of(LIMITS.listed_path_bytes),
            steps: 0,
            refused: 0,
            omissions: Vec::new(),
            cut: None,
        }
    }

    /// Checks whether the path may be listed, as far as there is room; where there is none, the list ends.
    fn take(&mut self, path: &[u8], filter: &PathFilter) -> PathDecision {
        if !self.files.charge(1) {
            return self.end();
        }
        match self.admit(path, filter) {
            true if self.path_bytes.charge(path.len() as u64) => PathDecision::Listed,
            true => self.end(),
            false => PathDecision::Passed,
        }
    }

    fn end(&mut self) -> PathDecision {
        let (files, mebibytes) = (LIMITS.listed_files, LIMITS.listed_path_bytes >> 20);
        self.cut_short(format!(
            "only the first {files} files of the tree are read, with at most {mebibytes} MiB of paths"
        ));
        PathDecision::End
    }

    fn cut_short(&mut self, reason: String) {
        if self.cut.is_none() {
            self.omissions.push(Omission { path: None, reason: reason.clone(), unseen: false });
            self.cut = Some(reason);
        }
    }

    /// Checks whether the path may be listed; odd and excluded ones may not, and odd ones are told.
    fn admit(&mut self, path: &[u8], filter: &PathFilter) -> bool {
        match RepoPath::check(path) {
            Ok(()) => filter.allows_bytes(path),
            Err(error) => {
                self.refused += 1;
                if self.refused <= MAX_TOLD {
                    let reason = format!("the tree has a name that is not read: {error}");
                    self.omissions.push(Omission { path: Some(quote(path)), reason, unseen: false });
                }
                false
            }
        }
    }
}

impl Catalogue {
    /// The files of a tree object, walked when they are asked for.
    pub(super) fn from_tree(root: TreeId, filter: PathFilter) -> Self {
        let cursor = Some(TreeCursor::new(root, b""));
        Self {
            filter,
            chunks: RwLock::default(),
            feed: Mutex::new(CatalogueFeed::new(cursor)),
            entries: OnceLock::new(),
        }
    }

    /// Files that are all known: path, kind and blob, sorted by path.
    pub(super) fn from_files(found: Vec<(Vec<u8>, FileMode, Option<BlobId>)>, filter: PathFilter) -> Self {
        let mut feed = CatalogueFeed::new(None);
        let mut chunks = Vec::with_capacity(found.len() / CHUNK + 1);
        let mut chunk = PathChunk::new();
        for (path, mode, blob) in found {
            match feed.take(&path, &filter) {
                PathDecision::Listed => chunk.push(&path, mode, blob),
                PathDecision::Passed => {}
                PathDecision::End => break,
            }
            if chunk.files.len() == CHUNK {
                chunks.extend(std::mem::replace(&mut chunk, PathChunk::new()).finish());
            }
        }
        chunks.extend(chunk.finish());
        Self { filter, chunks: RwLock::new(chunks), feed: Mutex::new(feed), entries: OnceLock::new() }
    }

    /// Chunk `number`, counted from 0; `None` when there are fewer.
    pub(super) fn chunk(
        &self,
        number: usize,
        hand: &mut CatalogueReader<'_>,
        cancel: &Cancel,
    ) -> Result<Option<Arc<PathChunk>>, WorkspaceError> {
        if let Some(chunk) = self.chunk_listed(number) {
            return Ok(Some(chunk));
        }
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(chunk) = self.chunk_listed(number) {
                return Ok(Some(chunk));
            }
            if feed.cursor.is_none() {
                return Ok(None);
            }
            if let Some(chunk) = self.walk_on(&mut feed, hand.repo()?, cancel)? {
                self.chunks.write().unwrap_or_else(PoisonError::into_inner).push(chunk);
            }
        }
    }

    fn chunk_listed(&self, number: usize) -> Option<Arc<PathChunk>> {
        self.chunks.read().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }

    /// Lists the next files; `None` at the end, when there are none.
    fn walk_on(
        &self,
        feed: &mut CatalogueFeed,
        repo: &Repo,
        cancel: &Cancel,
    ) -> Result<Option<Arc<PathChunk>>, WalkError> {
        let mut chunk = PathChunk::new();
        let Some(mut cursor) = feed.cursor.take() else { return Ok(None) };
        while chunk.files.len() < CHUNK {
            feed.steps += 1;
            let stopped = if feed.steps.is_multiple_of(STOP_CHECK) { cancel.check() } else { Ok(()) };
            match stopped.map_err(WalkError::from).and_then(|()| cursor.step(repo, cancel)) {
                Ok(Some(step)) => match feed.take(step.path, &self.filter) {
                    PathDecision::Listed => chunk.push(step.path, step.mode, Some(step.id)),
                    PathDecision::Passed => {}
                    PathDecision::End => return Ok(chunk.finish()),
                },
                Ok(None) => {
                    if let Some(reason) = cursor.left_out().reason() {
                        feed.cut_short(reason);
                    }
                    return Ok(chunk.finish());
                }
                // What was listed before the fault stays listed; the next call meets the fault again.
                Err(error) => {
                    feed.cursor = Some(cursor);
                    return chunk.finish().map(Some).ok_or(error);
                }
            }
        }
        feed.cursor = Some(cursor);
        Ok(chunk.finish())
    }

    /// All files, as the trait promises them.
    pub(super) fn entries(
        &self,
        hand: &mut CatalogueReader<'_>,
        cancel: &Cancel,
    ) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        if let Some(entries) = self.entries.get() {
            return Ok(entries.clone());
        }
        let mut entries = Vec::new();
        let mut number = 0;
        while let Some(chunk) = self.chunk(number, hand, cancel)? {
            cancel.check()?;
            for (path, file) in chunk.files() {
                entries.push(TreeEntry { path: RepoPath::from_bytes(path)?, mode: file.mode, blob: file.blob });
            }
            number += 1;
        }
        // Those who look a path up in the list know it masked.
        if entries.iter().any(|entry| entry.path.is_masked()) {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(self.entries.get_or_init(|| entries.into()).clone())
    }

    /// The reason why files are missing from the list, as far as it was made by now.
    pub(super) fn incomplete_reason(&self) -> Option<String> {
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).cut.clone()
    }

    /// Returns the omissions of the listing so far.
    pub(super) fn omissions(&self) -> Vec<Omission> {
        let feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut omissions = feed.omissions.clone();
        if feed.refused > MAX_TOLD {
            let reason = format!("{} more names of the tree are not read", feed.refused - MAX_TOLD);
            omissions.push(Omission { path: None, reason, unseen: false });
        }
        omissions
    }
}
