//! The reviewed tree: read and list files of one side of the change, from wherever that side is.
//!
//! Main type: the trait [`Workspace`]. Nothing outside the tree is reachable through it. What a model may ask of it belongs in `tools`.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::domain::change::{FileMode, Omission};
use crate::domain::filter::PathFilter;
use crate::domain::id::BlobId;
use crate::domain::known_file::KnownFile;
use crate::domain::path::{PathError, RepoPath};
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::text::FileText;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::repo::RepoPool;
use crate::sys::repo_error::RepoError;
use crate::sys::tree::WalkError;

mod catalogue;
mod content;
mod index;
mod lookup;
pub mod memory;
mod near;
mod object_db;
pub mod patch_only;
mod pattern;
mod search;
mod worktree;

pub use content::READ_LIMIT;
pub use near::{NearestPaths, nearest_paths, nearest_paths_in};
pub use pattern::{LineRegex, PatternError};
pub use search::{EachHits, FileHits, Query, SearchHits};

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path.
    pub path: RepoPath,
    /// Its kind.
    pub mode: FileMode,
    /// Its blob, where it has one (not on the disk).
    pub blob: Option<BlobId>,
}

/// The reason why a file could not be read or listed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum WorkspaceError {
    /// No such file. Callers that answer a person or a model add similar names, with [`nearest_paths()`].
    #[error("file not found: {0}")]
    NotFound(RepoPath),
    /// It is there but has no text: binary, a submodule, a folder, a link that leaves the tree.
    #[error("{path} is not text: {what}")]
    NotText { path: RepoPath, what: &'static str },
    /// It is too large to hold.
    #[error("{path} has {size} bytes, more than the {limit} that are read")]
    TooLarge { path: RepoPath, size: u64, limit: u64 },
    /// `--include`/`--exclude` leave it out.
    #[error("{0} is excluded by --include/--exclude or the project's settings")]
    Excluded(RepoPath),
    #[error("{0} is ignored by git, so it is not part of the reviewed tree")]
    Ignored(RepoPath),
    /// The path is not one of this tree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The repository failed.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The disk failed.
    #[error("cannot read {path}: {source}")]
    Disk {
        path: RepoPath,
        #[source]
        source: std::io::Error,
    },
    /// It could not be read at the time that is told again; in the words of then.
    #[error("{0}")]
    Told(String),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

impl From<WalkError> for WorkspaceError {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::Repo(error) => Self::Repo(error),
            WalkError::Stopped(stopped) => Self::Stopped(stopped),
        }
    }
}

/// One side of the change as a tree of files. Shared by all threads of a run; contents are kept under a cap.
pub trait Workspace: Send + Sync {
    /// All files, sorted by the bytes of their paths as they are shown, excluded ones left out.
    fn files(&self, cancel: &Cancel) -> Result<Arc<[TreeEntry]>, WorkspaceError>;

    /// The text of a file, decoded and masked. A link reads as the place it points to.
    fn read(&self, path: &RepoPath) -> Result<Arc<FileText>, WorkspaceError>;

    /// Searches the masked text of all plain files that are not binary, in path order.
    fn search(&self, query: &Query<'_>, cancel: &Cancel) -> Result<SearchHits, WorkspaceError> {
        let mut files = Vec::new();
        let totals = self.search_each(&[*query], cancel, &mut |_, file| files.push(file))?;
        let mut hits = totals.into_iter().next().unwrap_or_default();
        hits.files = files;
        Ok(hits)
    }

    /// Searches likewise for several queries in one pass. Shows `each` the files with hits, in path order for each query, with its index: they need
    /// not all be in memory at once. Returns the results of each query without its files.
    fn search_each(
        &self,
        queries: &[Query<'_>],
        cancel: &Cancel,
        each: &mut EachHits<'_>,
    ) -> Result<Vec<SearchHits>, WorkspaceError> {
        search::search_sequentially(&self.files(cancel)?, |path| self.read(path), queries, cancel, each)
    }

    /// Shows the path of each file in path order, as git stores it, listing only as far as `each` wants to see.
    fn visit(
        &self,
        cancel: &Cancel,
        each: &mut dyn FnMut(&[u8], FileMode) -> ControlFlow<()>,
    ) -> Result<(), WorkspaceError> {
        let files = self.files(cancel)?;
        let _ = files.iter().try_for_each(|file| each(file.path.stored(), file.mode));
        Ok(())
    }

    /// The reason why files are missing from the list, as far as it was made by now; `None` while none are.
    fn listing_cut(&self) -> Option<String> {
        None
    }

    /// Returns what is known so far to be unlisted or unreadable; for the receipt.
    fn omissions(&self) -> Vec<Omission> {
        Vec::new()
    }
}

/// Opens the tree at `at`. `known` is what a patch shows, of which `side` is taken; all other trees need the repository.
pub fn open(
    pool: Option<&RepoPool>,
    at: WorkspaceAt,
    side: DiffSide,
    known: &[KnownFile],
    filter: PathFilter,
) -> Result<Arc<dyn Workspace>, WorkspaceError> {
    let needed = || pool.ok_or_else(|| RepoError::Git("there is no repository to read files from".to_owned()));
    Ok(match at {
        WorkspaceAt::Revision(commit) => {
            let pool = needed()?;
            let root = pool.acquire()?.tree_of(commit)?;
            Arc::new(object_db::ObjectDb::at_tree(pool.clone(), root, filter))
        }
        WorkspaceAt::Index => Arc::new(index::open(needed()?, filter)?),
        WorkspaceAt::Worktree => Arc::new(worktree::Worktree::open(needed()?, filter)?),
        WorkspaceAt::PatchOnly => Arc::new(patch_only::PatchOnly::new(known, side, filter)),
        WorkspaceAt::Empty => Arc::new(memory::MemoryTree::default()),
    })
}
