//! Calls the reading tools for clients: repository, revision, limits. Main method: [`Service::call_tool`].
//!
//! Opening and caching trees belongs in `view`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Service;
use super::fault::for_client;
use super::roots::AllowedRoots;
use crate::app::context::error::AppError;
use crate::app::prepare::uncommitted::UncommittedRequest;
use crate::app::prepare::view::{RepositoryView, ViewCache};
use crate::domain::request::{InvalidScope, ReviewScope};
use crate::git::GitError;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::{Cancel, CancelReason};
use crate::sys::files::{self, FileIdentity};
use crate::sys::repo::{Repo, RepoPool};
use crate::sys::repo_error::RepoError;
use crate::tools::{ErrorKind, ToolFault, ToolLimits, ToolOutcome};
use crate::workspace::WorkspaceError;

/// Time limit for a call; the settings can shorten it.
pub(super) const LONGEST: Duration = Duration::from_mins(1);
/// Limit on concurrent calls; further ones wait. Each holds a handle of its repository, and its lines and trees in memory.
pub(super) const AT_ONCE: usize = 16;
/// Limit on open repositories.
const MOST_OPEN: usize = 8;
/// Idle time after which cached data is dropped.
const IDLE: Duration = Duration::from_mins(5);

/// The open repositories of clients.
pub(super) struct RepositoryReaders {
    /// The most recently used comes last.
    open: Mutex<Vec<Arc<RepositoryReader>>>,
    numbers: AtomicU64,
    opened: ViewCache,
    /// `true` while a task drops idle data.
    watched: AtomicBool,
}

/// An open repository.
struct RepositoryReader {
    git_dir: PathBuf,
    identity: FileIdentity,
    number: u64,
    pool: RepoPool,
}

impl Default for RepositoryReaders {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            numbers: AtomicU64::new(0),
            opened: ViewCache::default(),
            watched: AtomicBool::new(false),
        }
    }
}

impl RepositoryReaders {
    /// Opens the repository around `folder`, or returns the open one. Detects that it was removed or replaced.
    fn reader(&self, folder: &Path, roots: &AllowedRoots) -> Result<Arc<RepositoryReader>, AppError> {
        let git_dir = Repo::find(folder)?;
        let identity = files::identity(&git_dir).map_err(AppError::Input)?;
        let known = |open: &mut Vec<Arc<RepositoryReader>>| {
            let at = open.iter().position(|reader| reader.git_dir == git_dir)?;
            let reader = open.remove(at);
            (reader.identity == identity).then(|| {
                open.push(Arc::clone(&reader));
                reader
            })
        };
        if let Some(reader) = known(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(reader);
        }
        let repo = roots.open(folder)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have opened it in the meantime.
        if let Some(reader) = known(&mut open) {
            return Ok(reader);
        }
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let reader = Arc::new(RepositoryReader { git_dir, identity, number, pool: RepoPool::new(repo) });
        open.push(Arc::clone(&reader));
        Ok(reader)
    }

    /// Drops the data unused for `time`; `true` if any remains.
    fn let_go(&self, time: Duration) -> bool {
        let left = self.opened.release(time);
        if !left {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        left
    }
}

impl Service {
    /// Calls a reading tool, from a thread that may block.
    ///
    /// `repo` names a folder by a path or a `file://` URI (default: the server's own), `at` the input: a revision (default: `HEAD`),
    /// `A..B`, `A...B`, `staged` or `uncommitted`. Names are resolved again for each call. Every failure is returned as an outcome.
    pub fn call_tool(
        &self,
        name: &str,
        repo: Option<&str>,
        at: Option<&str>,
        input: Value,
        cancel: &Cancel,
    ) -> ToolOutcome {
        self.call_tool_within(name, (repo, at), input, ToolLimits::default(), cancel)
    }

    /// Calls it likewise, with an answer of this size at most.
    fn call_tool_within(
        &self,
        name: &str,
        place: (Option<&str>, Option<&str>),
        input: Value,
        limits: ToolLimits,
        cancel: &Cancel,
    ) -> ToolOutcome {
        match self.look(name, place, input, limits, &cancel.with_deadline(LONGEST)) {
            Ok(outcome) if outcome.error == Some(ErrorKind::Stopped) => stopped(cancel).into(),
            Ok(outcome) => outcome,
            Err(error) => fault(&error, cancel).into(),
        }
    }

    /// Calls a reading tool off the async threads, with limited concurrency over all clients.
    ///
    /// Before dropping this future, interrupt `cancel`: the work then ends soon.
    pub async fn call_tool_in_turn(
        self: Arc<Self>,
        name: String,
        repo: Option<String>,
        at: Option<String>,
        input: Value,
        limits: ToolLimits,
        cancel: Cancel,
    ) -> ToolOutcome {
        self.watch();
        let (workers, limit, watched) = (self.workers.clone(), cancel.with_deadline(LONGEST), cancel.clone());
        let called = workers.run("the call", &limit, move || {
            self.call_tool_within(&name, (repo.as_deref(), at.as_deref()), input, limits, &watched)
        });
        match called.await {
            Ok(outcome) => outcome,
            Err(BlockingFailure::Abandoned { .. }) => stopped(&cancel).into(),
            Err(lost) => ToolFault::new(ErrorKind::Stopped, lost.to_string()).into(),
        }
    }

    fn look(
        &self,
        name: &str,
        (repo, at): (Option<&str>, Option<&str>),
        input: Value,
        limits: ToolLimits,
        cancel: &Cancel,
    ) -> Result<ToolOutcome, AppError> {
        let folder = self.roots.folder(repo.map(Path::new))?;
        let scope = ReviewScope::from_name(None, at)?;
        if let ReviewScope::Pull(_) = scope {
            return Err(InvalidScope::Unread(at.unwrap_or_default().to_owned()).into());
        }
        let reader = self.readers.reader(&folder, &self.roots)?;
        // A handle caches the index as of its first use.
        let fresh = match scope {
            ReviewScope::Staged | ReviewScope::Uncommitted | ReviewScope::BranchWithWorktree { .. } => {
                Some(RepoPool::new(self.roots.open(&folder)?))
            }
            ReviewScope::Branch { .. }
            | ReviewScope::Commit(_)
            | ReviewScope::Range { .. }
            | ReviewScope::Patch(_)
            | ReviewScope::Pull(_) => None,
        };
        let view = RepositoryView {
            repository: reader.number,
            pool: fresh.as_ref().unwrap_or(&reader.pool),
            opened: &self.readers.opened,
            around: &self.around,
            flags: &self.options.flags,
            settings_from_worktree: false,
            asking: UncommittedRequest::ByField,
            limits,
        };
        view.call(&scope, name, input, cancel)
    }

    /// Drops idle data periodically, as long as anything is open.
    fn watch(self: &Arc<Self>) {
        if self.readers.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let service = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE).await;
                let Some(service) = service.upgrade() else { return };
                if !service.readers.let_go(IDLE) {
                    service.readers.watched.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }
}

/// The reason why a call ended early: cancelled, or timed out.
fn stopped(cancel: &Cancel) -> ToolFault {
    let seconds = LONGEST.as_secs();
    let message = match cancel.check() {
        Err(CancelReason::Interrupted) => "the call was cancelled".to_owned(),
        Ok(()) | Err(CancelReason::DeadlinePassed) => format!(
            "the call was stopped because it took longer than {seconds} s or than the settings allow; ask for less, say with a narrower pattern or folder"
        ),
    };
    ToolFault::new(ErrorKind::Stopped, message)
}

/// Converts an error for the client, with the field that caused it.
fn fault(error: &AppError, cancel: &Cancel) -> ToolFault {
    let (kind, message) = match error {
        AppError::Stopped(_)
        | AppError::Git(GitError::Stopped(_))
        | AppError::Workspace(WorkspaceError::Stopped(_)) => return stopped(cancel),
        AppError::Scope(_)
        | AppError::Git(GitError::Repo(
            RepoError::UnknownRevision(..) | RepoError::NotACommit(_) | RepoError::Ambiguous(_),
        )) => (ErrorKind::InvalidInput, format!("`at`: {error}")),
        error => for_client(error, "at"),
    };
    ToolFault::new(kind, message)
}
