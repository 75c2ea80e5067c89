//! The files on the disk: what git tracks and what it would add, never what it ignores. Main type: [`Worktree`].
//!
//! The list is made once, and what was shown of a file is kept: what is edited during a run is not seen half old and half new. The first
//! search keeps no more than that, since most runs that search the disk do so once; the second keeps all it reads. No link is followed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::catalogue::{Catalogue, CatalogueFile, CatalogueReader};
use super::content::{MaskedTextCache, READ_LIMIT, SearchContent};
use super::index::{StagedEntry, staged};
use super::search::{self, EachHits, Query, SearchHits, SearchableTree};
use super::{TreeEntry, Workspace, WorkspaceError, lookup};
use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::path::{RepoPath, quote};
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;
use crate::sys::contained_folder::{ContainedFolder, Kind, ReadFile};
use crate::sys::nested::is_repository;
use crate::sys::repo::RepoPool;
use crate::sys::repo_error::RepoError;
use crate::sys::repository_layout::{PlaceError, refuse_unreadable};

/// Files on the disk.
pub(super) struct Worktree {
    pool: RepoPool,
    root: Box<Path>,
    beneath: ContainedFolder,
    filter: PathFilter,
    catalogue: OnceLock<Catalogue>,
    omissions: Mutex<Vec<Omission>>,
    kept: MaskedTextCache,
}

impl Worktree {
    /// The checkout of the repository.
    pub(super) fn open(pool: &RepoPool, filter: PathFilter) -> Result<Self, WorkspaceError> {
        let repo = pool.acquire()?;
        let bare = || RepoError::Git("the repository is bare: there are no files on the disk".to_owned());
        let root: Box<Path> = repo.workdir().ok_or_else(bare)?.into();
        drop(repo);
        let fault = |error: io::Error| RepoError::Git(format!("cannot open {}: {error}", root.display()));
        let beneath = ContainedFolder::new(&root).map_err(fault)?;
        Ok(Self {
            pool: pool.clone(),
            root,
            beneath,
            filter,
            catalogue: OnceLock::new(),
            omissions: Mutex::default(),
            kept: MaskedTextCache::default(),
        })
    }

    fn listed(&self, cancel: &Cancel) -> Result<&Catalogue, WorkspaceError> {
        if let Some(catalogue) = self.catalogue.get() {
            return Ok(catalogue);
        }
        let (tracked, mut omissions) = staged(&*self.pool.acquire()?)?;
        let found = self.walk(cancel, &mut omissions)?;
        let files = self.merge(tracked, found, cancel)?;
        let made = self.catalogue.get_or_init(|| {
            *self.omissions.lock().unwrap_or_else(PoisonError::into_inner) = omissions;
            Catalogue::from_files(files, self.filter.clone())
        });
        Ok(made)
    }

    /// Lists the files on the disk that are not ignored, sorted; `true` for a link.
    fn walk(&self, cancel: &Cancel, omissions: &mut Vec<Omission>) -> Result<Vec<(Vec<u8>, bool)>, WorkspaceError> {
        refuse_unreadable(&self.root.join(GITIGNORE)).map_err(RepoError::from)?;
        let nested = Arc::new(Mutex::new(NestedRepositories::default()));
        let (seen, root) = (nested.clone(), self.root.clone());
        let mut builder = WalkBuilder::new(&self.root);
        builder.hidden(false).ignore(false).follow_links(false).threads(0);
        let unreadable = Arc::new(Mutex::new(Vec::new()));
        let refused = Arc::clone(&unreadable);
        builder.filter_entry(move |entry| enter(entry, &root, &seen) && has_readable_ignores(entry, &refused));
        let found = Mutex::new(Vec::new());
        let faults = Mutex::new(Vec::new());
        builder.build_parallel().run(|| {
            let mut mine = ThreadFindings { files: Vec::new(), all: &found };
            let (root, faults) = (&self.root, &faults);
            Box::new(move |entry| {
                if cancel.is_stopped() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => mine.add(&entry, root),
                    Err(error) => faults.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string()),
                }
                WalkState::Continue
            })
        });
        cancel.check()?;
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable();
        let mut faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        faults.sort_unstable();
        for (path, error) in std::mem::take(&mut *unreadable.lock().unwrap_or_else(PoisonError::into_inner)) {
            let path = path.strip_prefix(&self.root).map(|path| spell(path.as_os_str().as_bytes())).ok();
            let reason = format!("not looked into: {error}");
            omissions.push(Omission { path, reason, unseen: true });
        }
        omissions.extend(faults.into_iter().map(|reason| Omission { path: None, reason, unseen: false }));
        let nested = std::mem::take(&mut *nested.lock().unwrap_or_else(PoisonError::into_inner));
        self.leave_out_ignored(&nested.false_ones, &mut found)?;
        for path in nested.repositories {
            let reason = "a repository inside the repository is not looked into".to_owned();
            omissions.push(Omission { path: Some(spell(&path)), reason, unseen: false });
        }
        Ok(found)
    }

    /// Leaves out what git ignores in folders whose `.git` is no repository: the walk asks only the ignore files within them.
    fn leave_out_ignored(
        &self,
        folders: &BTreeSet<Vec<u8>>,
        found: &mut Vec<(Vec<u8>, bool)>,
    ) -> Result<(), WorkspaceError> {
        if folders.is_empty() {
            return Ok(());
        }
        let repo = self.pool.acquire()?;
        let is_within = |path: &[u8]| {
            let ends = memchr::memchr_iter(b'/', path);
            ends.into_iter().any(|end| folders.contains(&path[..end]))
        };
        let is_ignored = |path: &[u8]| repo.raw().is_path_ignored(OsStr::from_bytes(path)).unwrap_or(false);
        found.retain(|(path, _)| !is_within(path) || !is_ignored(path));
        Ok(())
    }

    /// The files git knows, as far as they are on the disk, and those it would add.
    fn merge(
        &self,
        tracked: Vec<StagedEntry>,
        found: Vec<(Vec<u8>, bool)>,
        cancel: &Cancel,
    ) -> Result<Vec<StagedEntry>, WorkspaceError> {
        let mut files = Vec::with_capacity(found.len());
        let mut tracked = tracked.into_iter().peekable();
        for (path, link) in found {
            cancel.check()?;
            while let Some(before) = tracked.next_if(|entry| entry.0 < path) {
                files.extend(self.unfound(before));
            }
            let known = tracked.next_if(|entry| entry.0 == path);
            let mode = match (link, known) {
                (true, _) => FileMode::Link,
                (false, Some((_, mode @ (FileMode::File | FileMode::Executable), _))) => mode,
                (false, _) => match self.beneath.kind(&path) {
                    Ok(Kind::File { executable: true, .. }) => FileMode::Executable,
                    _ => FileMode::File,
                },
            };
            files.push((path, mode, None));
        }
        for entry in tracked {
            files.extend(self.unfound(entry));
        }
        Ok(files)
    }

    /// A tracked path that the walk did not meet: ignored and yet tracked, a submodule, or gone from the disk.
    fn unfound(&self, (path, mode, _): StagedEntry) -> Option<StagedEntry> {
        let mode = match (self.beneath.kind(&path).ok()?, mode) {
            (Kind::Folder, FileMode::Submodule) => FileMode::Submodule,
            (Kind::File { executable: true, .. }, _) => FileMode::Executable,
            (Kind::File { executable: false, .. }, _) => FileMode::File,
            (Kind::Link, _) => FileMode::Link,
            (Kind::Folder | Kind::Special, _) => return None,
        };
        Some((path, mode, None))
    }

    /// Returns the reason why a path that is not listed cannot be read.
    fn missing(&self, files: &[TreeEntry], path: &RepoPath) -> WorkspaceError {
        if lookup::is_folder(files, path) {
            return lookup::folder_error(path);
        }
        if lookup::link_above(files, path).is_some() {
            return WorkspaceError::NotText { path: path.clone(), what: lookup::BEHIND_LINK };
        }
        match self.beneath.kind(path.stored()) {
            Ok(Kind::File { .. } | Kind::Link) => WorkspaceError::Ignored(path.clone()),
            Ok(Kind::Folder) => lookup::folder_error(path),
            Ok(Kind::Special) => WorkspaceError::NotText { path: path.clone(), what: SPECIAL },
            Err(_) => WorkspaceError::NotFound(path.clone()),
        }
    }

    /// Reads a plain file and lends its bytes to `take`, unless there are too many: then how many.
    fn with_bytes<T>(
        &self,
        path: &[u8],
        buffer: &mut Vec<u8>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Result<T, u64>, WorkspaceError> {
        match self.beneath.read(path, READ_LIMIT, buffer) {
            Ok(ReadFile::Bytes(bytes)) => Ok(Ok(take(bytes))),
            Ok(ReadFile::TooLarge(size)) => Ok(Err(size)),
            Ok(ReadFile::NotPlain(Kind::Special)) => {
                Err(WorkspaceError::NotText { path: RepoPath::from_bytes(path)?, what: SPECIAL })
            }
            Ok(ReadFile::NotPlain(_)) => Err(lookup::folder_error(&RepoPath::from_bytes(path)?)),
            Err(source) => Err(WorkspaceError::Disk { path: RepoPath::from_bytes(path)?, source }),
        }
    }

    fn content(&self, path: &[u8], buffer: &mut Vec<u8>) -> Result<SearchContent, WorkspaceError> {
        Ok(self.with_bytes(path, buffer, SearchContent::new)?.unwrap_or_else(SearchContent::TooLarge))
    }
}

const SPECIAL: &str = "a pipe, a socket or a device";

/// The files that one thread of the walk found; handed over when the thread ends.
struct ThreadFindings<'a> {
    files: Vec<(Vec<u8>, bool)>,
    all: &'a Mutex<Vec<(Vec<u8>, bool)>>,
}

impl ThreadFindings<'_> {
    fn add(&mut self, entry: &DirEntry, root: &Path) {
        let Some(kind) = entry.file_type() else { return };
        if (kind.is_file() || kind.is_symlink())
            && let Ok(path) = entry.path().strip_prefix(root)
        {
            self.files.push((path.as_os_str().as_bytes().to_vec(), kind.is_symlink()));
        }
    }
}

impl Drop for ThreadFindings<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.files);
    }
}

/// The folders with something called `.git` that a walk met.
#[derive(Default)]
struct NestedRepositories {
    repositories: BTreeSet<Vec<u8>>,
    /// Those whose `.git` is no repository.
    false_ones: BTreeSet<Vec<u8>>,
}

/// Checks whether the walk goes on with an entry: not into git's own folder, and not into other repositories.
fn enter(entry: &DirEntry, root: &Path, nested: &Mutex<NestedRepositories>) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    if entry.file_name().eq_ignore_ascii_case(".git") {
        return false;
    }
    if entry.file_type().is_some_and(|kind| kind.is_dir()) && entry.path().join(".git").symlink_metadata().is_ok() {
        let is_repository = is_repository(entry.path());
        if let Ok(path) = entry.path().strip_prefix(root) {
            let mut nested = nested.lock().unwrap_or_else(PoisonError::into_inner);
            let folders = if is_repository { &mut nested.repositories } else { &mut nested.false_ones };
            folders.insert(path.as_os_str().as_bytes().to_vec());
        }
        return !is_repository;
    }
    true
}

const GITIGNORE: &str = ".gitignore";

/// Checks the ignore file that the walk would read as soon as it entered a folder, and takes down why one is not entered.
fn has_readable_ignores(entry: &DirEntry, refused: &Mutex<Vec<(PathBuf, PlaceError)>>) -> bool {
    if entry.depth() == 0 || !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return true;
    }
    let checked = refuse_unreadable(&entry.path().join(GITIGNORE));
    let Err(error) = checked else { return true };
    refused.lock().unwrap_or_else(PoisonError::into_inner).push((entry.path().to_owned(), error));
    false
}

fn spell(path: &[u8]) -> String {
    RepoPath::from_bytes(path).map_or_else(|_| quote(path), |path| path.display_name().into_owned())
}

impl Workspace for Worktree {
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError> {
        self.listed(cancel)?.entries(&mut self.hand(), cancel)
    }

    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError> {
        if !self.filter.allows(path) {
            return Err(WorkspaceError::Excluded(path.clone()));
        }
        if let Some(text) = self.kept.text(path) {
            return Ok(text);
        }
        let files = self.files(&Cancel::never())?;
        // The list knows what a path that came masked stands for.
        let Some(entry) = lookup::entry_at(&files, path) else { return Err(self.missing(&files, path)) };
        let stored = entry.path.stored();
        let content = match entry.mode {
            FileMode::Submodule => return Err(lookup::submodule(path)),
            FileMode::Link => {
                let disk = |source| WorkspaceError::Disk { path: path.clone(), source };
                SearchContent::new(&self.beneath.read_link(stored).map_err(disk)?)
            }
            FileMode::File | FileMode::Executable => self.content(stored, &mut Vec::new())?,
        };
        match content {
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

    fn listing_cut(&self) -> Option<String> {
        self.catalogue.get().and_then(Catalogue::incomplete_reason)
    }

    fn omissions(&self) -> Vec<Omission> {
        let mut omissions = self.omissions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        omissions.extend(self.catalogue.get().map(Catalogue::omissions).unwrap_or_default());
        omissions
    }
}

impl SearchableTree for Worktree {
    fn hand(&self) -> CatalogueReader<'_> {
        CatalogueReader::new(None)
    }

    fn catalogue(&self, cancel: &Cancel) -> Result<&Catalogue, WorkspaceError> {
        self.listed(cancel)
    }

    fn kept(&self) -> &MaskedTextCache {
        &self.kept
    }

    fn free_searches(&self) -> u32 {
        // A person searches once.
        1
    }

    fn read_bytes<T>(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        _: &CatalogueFile,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Result<T, u64>, WorkspaceError> {
        self.with_bytes(path, &mut hand.buffer, take)
    }
}
