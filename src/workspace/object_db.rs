//! A tree whose files are blobs of a repository: a revision, or what is staged. Main type: [`ObjectDb`].
//!
//! Nothing is checked out. Which blobs are staged is found in `index`.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::catalogue::{Catalogue, CatalogueFile, CatalogueReader};
use super::content::{MaskedTextCache, READ_LIMIT, SearchContent};
use super::search::{self, EachHits, Query, SearchHits, SearchableTree};
use super::{TreeEntry, Workspace, WorkspaceError, lookup};
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::id::{BlobId, TreeId};
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::sys::repo_error::RepoError;
use crate::sys::tree::{self, TreeLookup};

/// The searches of a tree that keep nothing: as many as the rules make of most changes. Whoever searches more often than that goes on doing so.
const FREE_SEARCHES: u32 = 2;

/// Files of the object database.
pub(super) struct ObjectDb {
    pool: RepoPool,
    /// The tree in which paths are looked up without listing everything; `None` for the index, which is listed already.
    root: Option<TreeId>,
    filter: PathFilter,
    catalogue: Catalogue,
    kept: MaskedTextCache,
    omissions: Vec<Omission>,
}

impl ObjectDb {
    /// The files of a tree object.
    pub(super) fn at_tree(pool: RepoPool, root: TreeId, filter: PathFilter) -> Self {
        let catalogue = Catalogue::from_tree(root, filter.clone());
        Self { pool, root: Some(root), filter, catalogue, kept: MaskedTextCache::of_fixed(), omissions: Vec::new() }
    }

    /// Blobs by path, sorted by path.
    pub(super) fn from_blobs(
        pool: RepoPool,
        found: Vec<(Vec<u8>, FileMode, Option<BlobId>)>,
        filter: PathFilter,
        omissions: Vec<Omission>,
    ) -> Self {
        let catalogue = Catalogue::from_files(found, filter.clone());
        Self { pool, root: None, filter, catalogue, kept: MaskedTextCache::of_fixed(), omissions }
    }

    fn find(&self, repo: &Repo, path: &RepoPath) -> Result<Option<TreeLookup>, WorkspaceError> {
        if let Some(root) = self.root.filter(|_| !path.was_masked()) {
            return Ok(tree::find(repo, root, path.stored())?);
        }
        let files = self.files(&Cancel::never())?;
        Ok(lookup::entry_at(&files, path).and_then(|entry| Some(TreeLookup::File(entry.mode, entry.blob?))))
    }

    /// The reason why nothing can be read at a path. Of a tree object, only the folders on the way are looked at.
    fn missing(&self, repo: &Repo, path: &RepoPath) -> WorkspaceError {
        let behind_link = || WorkspaceError::NotText { path: path.clone(), what: lookup::BEHIND_LINK };
        if let Some(root) = self.root {
            let is_link =
                |above: &[u8]| matches!(tree::find(repo, root, above), Ok(Some(TreeLookup::File(FileMode::Link, _))));
            let mut above = memchr::memchr_iter(b'/', path.as_bytes()).map(|slash| &path.as_bytes()[..slash]);
            return if above.any(is_link) { behind_link() } else { WorkspaceError::NotFound(path.clone()) };
        }
        match self.files(&Cancel::never()) {
            Ok(files) if lookup::is_folder(&files, path) => lookup::folder_error(path),
            Ok(files) if lookup::link_above(&files, path).is_some() => behind_link(),
            Ok(_) => WorkspaceError::NotFound(path.clone()),
            Err(error) => error,
        }
    }
}

impl Workspace for ObjectDb {
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        self.catalogue.entries(&mut self.hand(), cancel)
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        if !self.filter.allows(path) {
            return Err(WorkspaceError::Excluded(path.clone()));
        }
        if let Some(text) = self.kept.text(path) {
            return Ok(text);
        }
        let repo = self.pool.acquire()?;
        let blob = match self.find(&repo, path)? {
            Some(TreeLookup::File(FileMode::Submodule, _)) => return Err(lookup::submodule(path)),
            Some(TreeLookup::File(_, blob)) => blob,
            Some(TreeLookup::Folder(_)) => return Err(lookup::folder_error(path)),
            None => return Err(self.missing(&repo, path)),
        };
        match load_blob(&repo, blob)? {
            SearchContent::Text { text, charset } => Ok(self.kept.text_of(path, &text, charset)),
            SearchContent::TooLarge(size) => Err(lookup::too_large(path, size)),
            SearchContent::Binary | SearchContent::NotKept => Err(lookup::binary(path)),
        }
    }

    fn search_each(
        &self,
        queries: &[Query<'_>],
        cancel: &Cancel,
        each: &mut EachHits<'_>,
    ) -> Result<Vec<SearchHits>, WorkspaceError> {
        search::search(self, queries, cancel, each)
    }

    fn visit(
        &self,
        cancel: &Cancel,
        each: &mut dyn FnMut(&[u8], FileMode) -> ControlFlow<()>,
    ) -> Result<(), WorkspaceError> {
        let mut hand = self.hand();
        let mut number = 0;
        while let Some(chunk) = self.catalogue.chunk(number, &mut hand, cancel)? {
            cancel.check()?;
            for (path, file) in chunk.files() {
                if each(path, file.mode).is_break() {
                    return Ok(());
                }
            }
            number += 1;
        }
        Ok(())
    }

    fn listing_cut(&self) -> Option<String> {
        self.catalogue.incomplete_reason()
    }

    fn omissions(&self) -> Vec<Omission> {
        [self.omissions.clone(), self.catalogue.omissions()].concat()
    }
}

impl SearchableTree for ObjectDb {
    fn hand(&self) -> CatalogueReader<'_> {
        CatalogueReader::new(Some(&self.pool))
    }

    fn catalogue(&self, _: &Cancel) -> Result<&Catalogue, WorkspaceError> {
        Ok(&self.catalogue)
    }

    fn kept(&self) -> &MaskedTextCache {
        &self.kept
    }

    fn free_searches(&self) -> u32 {
        FREE_SEARCHES
    }

    fn read_bytes<T>(
        &self,
        hand: &mut CatalogueReader<'_>,
        _: &[u8],
        file: &CatalogueFile,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Result<T, u64>, WorkspaceError> {
        match file.blob {
            Some(blob) => Ok(hand.repo()?.with_blob_within(blob, READ_LIMIT, take)?),
            // Nothing is stored, as for an empty file.
            None => Ok(Ok(take(b""))),
        }
    }
}

fn load_blob(repo: &Repo, blob: BlobId) -> Result<SearchContent, RepoError> {
    Ok(repo.with_blob_within(blob, READ_LIMIT, SearchContent::new)?.unwrap_or_else(SearchContent::TooLarge))
}
