//! A tree whose files are blobs of a repository: a revision, or what is staged. Main type: [`ObjectDb`].
//!
//! Nothing is checked out. Which blobs are staged is found in `index`.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::catalogue::{Catalogue, Hand, Listed};
use super::content::{Content, Kept, READ_LIMIT};
use super::lookup;
use super::search::{self, Hits, Query, Shelf};
use super::{TreeEntry, Workspace, WorkspaceError};
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::id::{BlobId, TreeId};
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoError, RepoPool};
use crate::sys::tree::{self, Found};

/// Files of the object database.
pub(super) struct ObjectDb {
    pool: RepoPool,
    /// The tree in which paths are looked up without listing everything; `None` for the index, which is listed already.
    root: Option<TreeId>,
    filter: PathFilter,
    catalogue: Catalogue,
    kept: Kept,
    omissions: Vec<Omission>,
}

impl ObjectDb {
    /// The files of a tree object.
    pub(super) fn at_tree(pool: RepoPool, root: TreeId, filter: PathFilter) -> Self {
        let catalogue = Catalogue::walking(root, filter.clone());
        Self { pool, root: Some(root), filter, catalogue, kept: Kept::default(), omissions: Vec::new() }
    }

    /// Blobs by path, sorted by path.
    pub(super) fn of(
        pool: RepoPool,
        found: Vec<(Vec<u8>, FileMode, Option<BlobId>)>,
        filter: PathFilter,
        omissions: Vec<Omission>,
    ) -> Self {
        let catalogue = Catalogue::of(found, filter.clone());
        Self { pool, root: None, filter, catalogue, kept: Kept::default(), omissions }
    }

    fn find(&self, repo: &Repo, path: &RepoPath) -> Result<Option<Found>, WorkspaceError> {
        if let Some(root) = self.root.filter(|_| !path.came_masked()) {
            return Ok(tree::find(repo, root, path.stored())?);
        }
        let files = self.files(&Cancel::never())?;
        Ok(lookup::entry_at(&files, path).and_then(|entry| Some(Found::File(entry.mode, entry.blob?))))
    }

    /// The reason why nothing can be read at a path. Of a tree object, only the folders on the way are looked at.
    fn missing(&self, repo: &Repo, path: &RepoPath) -> WorkspaceError {
        let behind_link = || WorkspaceError::NotText { path: path.clone(), what: lookup::BEHIND_LINK };
        if let Some(root) = self.root {
            let is_link =
                |above: &[u8]| matches!(tree::find(repo, root, above), Ok(Some(Found::File(FileMode::Link, _))));
            let mut above = memchr::memchr_iter(b'/', path.as_bytes()).map(|slash| &path.as_bytes()[..slash]);
            return if above.any(is_link) { behind_link() } else { WorkspaceError::NotFound(path.clone()) };
        }
        match self.files(&Cancel::never()) {
            Ok(files) if lookup::is_folder(&files, path) => lookup::folder(path),
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
        let repo = self.pool.take()?;
        let blob = match self.find(&repo, path)? {
            Some(Found::File(FileMode::Submodule, _)) => return Err(lookup::submodule(path)),
            Some(Found::File(_, blob)) => blob,
            Some(Found::Folder(_)) => return Err(lookup::folder(path)),
            None => return Err(self.missing(&repo, path)),
        };
        match load_blob(&repo, blob)? {
            Content::Text { text, charset } => Ok(self.kept.text_of(path, &text, charset)),
            Content::TooLarge(size) => Err(lookup::too_large(path, size)),
            Content::Binary | Content::NotKept => Err(lookup::binary(path)),
        }
    }

    fn search(&self, query: &Query<'_>, cancel: &Cancel) -> Result<Hits, WorkspaceError> {
        search::search(self, query, cancel)
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
        self.catalogue.cut()
    }

    fn omissions(&self) -> Vec<Omission> {
        [self.omissions.clone(), self.catalogue.omissions()].concat()
    }
}

impl Shelf for ObjectDb {
    fn hand(&self) -> Hand<'_> {
        Hand::new(Some(&self.pool))
    }

    fn catalogue(&self, _: &Cancel) -> Result<&Catalogue, WorkspaceError> {
        Ok(&self.catalogue)
    }

    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn load(&self, hand: &mut Hand<'_>, _: &[u8], file: &Listed) -> Result<Content, WorkspaceError> {
        match file.blob {
            Some(blob) => Ok(load_blob(hand.repo()?, blob)?),
            None => Ok(Content::Binary),
        }
    }
}

fn load_blob(repo: &Repo, blob: BlobId) -> Result<Content, RepoError> {
    Ok(repo.with_blob_within(blob, READ_LIMIT, Content::new)?.unwrap_or_else(Content::TooLarge))
}
