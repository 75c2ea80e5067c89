//! Calling the reading tools for clients: which repository, at which revision, within which bounds. Main method: [`Service::call_tool`].
//!
//! What is opened for a call, and what is kept for the next one, belongs in `view`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::fault::for_client;
use super::{Roots, Service};
use crate::app::error::AppError;
use crate::app::pending::Asking;
use crate::app::view::{Opened, View};
use crate::domain::request::{InvalidScope, Scope};
use crate::git::GitError;
use crate::sys::blocking::Unfinished;
use crate::sys::cancel::{Cancel, Stopped};
use crate::sys::files::{self, Identity};
use crate::sys::repo::{Repo, RepoError, RepoPool};
use crate::tools::{ErrorKind, ToolFault, ToolOutcome};
use crate::workspace::WorkspaceError;

/// A call may take so long; the settings may say less.
pub(super) const LONGEST: Duration = Duration::from_mins(1);
/// So many calls run at once, the others wait: each holds a handle of its repository, and its lines and trees in memory.
pub(super) const AT_ONCE: usize = 16;
/// So many repositories are kept open.
const MOST_OPEN: usize = 8;
/// What nobody asked for during this time is let go.
const IDLE: Duration = Duration::from_mins(5);

/// What clients read from.
pub(super) struct Readers {
    /// The one asked for last comes last.
    open: Mutex<Vec<Arc<Reader>>>,
    numbers: AtomicU64,
    opened: Opened,
    /// Whether somebody sees to it that what is idle is let go.
    watched: AtomicBool,
}

/// An open repository.
struct Reader {
    git_dir: PathBuf,
    identity: Identity,
    number: u64,
    pool: RepoPool,
}

impl Default for Readers {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            numbers: AtomicU64::new(0),
            opened: Opened::default(),
            watched: AtomicBool::new(false),
        }
    }
}

impl Readers {
    /// The repository that `folder` is in. One that was removed, or replaced by another one, is noticed.
    fn reader(&self, folder: &Path, roots: &Roots) -> Result<Arc<Reader>, AppError> {
        let git_dir = Repo::find(folder)?;
        let identity = files::identity(&git_dir).map_err(AppError::Input)?;
        let known = |open: &mut Vec<Arc<Reader>>| {
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
        // Somebody else may have opened it in the meantime.
        if let Some(reader) = known(&mut open) {
            return Ok(reader);
        }
        if open.len() >= MOST_OPEN {
            open.remove(0);
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let reader = Arc::new(Reader { git_dir, identity, number, pool: RepoPool::new(repo) });
        open.push(Arc::clone(&reader));
        Ok(reader)
    }

    /// Lets go of what was not asked for during `time`; whether anything is left.
    fn let_go(&self, time: Duration) -> bool {
        let left = self.opened.let_go(time);
        if !left {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        left
    }
}

impl Service {
    /// Calls a reading tool, from a thread that may wait.
    ///
    /// `repo` names a folder by a path or a `file://` URI (the server's own where there is none), `at` what to look at: a revision (`HEAD` where there is none), `A..B`,
    /// `A...B`, `staged` or `uncommitted`. Names are looked up anew each time. Whatever goes wrong comes back as an outcome.
    pub fn call_tool(
        &self,
        name: &str,
        repo: Option<&str>,
        at: Option<&str>,
        input: Value,
        cancel: &Cancel,
    ) -> ToolOutcome {
        match self.look(name, repo, at, input, &cancel.within(LONGEST)) {
            Ok(outcome) if outcome.error == Some(ErrorKind::Stopped) => stopped(cancel).into(),
            Ok(outcome) => outcome,
            Err(error) => fault(&error, cancel).into(),
        }
    }

    /// Likewise, away from the async threads, and in turn: so many calls run at once, whoever asks.
    ///
    /// Whoever drops this should interrupt `cancel` first; then the work ends soon.
    pub async fn call_tool_in_turn(
        self: Arc<Self>,
        name: String,
        repo: Option<String>,
        at: Option<String>,
        input: Value,
        cancel: Cancel,
    ) -> ToolOutcome {
        self.watch();
        let (workers, limit, watched) = (self.workers.clone(), cancel.within(LONGEST), cancel.clone());
        let called = workers
            .run("the call", &limit, move || self.call_tool(&name, repo.as_deref(), at.as_deref(), input, &watched));
        match called.await {
            Ok(outcome) => outcome,
            Err(Unfinished::Abandoned { .. }) => stopped(&cancel).into(),
            Err(lost) => ToolFault::new(ErrorKind::Stopped, lost.to_string()).into(),
        }
    }

    fn look(
        &self,
        name: &str,
        repo: Option<&str>,
        at: Option<&str>,
        input: Value,
        cancel: &Cancel,
    ) -> Result<ToolOutcome, AppError> {
        let folder = self.roots.folder(repo.map(Path::new))?;
        let scope = Scope::named(None, at)?;
        if let Scope::Pull(_) = scope {
            return Err(InvalidScope::Unread(at.unwrap_or_default().to_owned()).into());
        }
        let reader = self.readers.reader(&folder, &self.roots)?;
        // A handle knows the index as it was when it first looked.
        let fresh = match scope {
            Scope::Staged | Scope::Uncommitted => Some(RepoPool::new(self.roots.open(&folder)?)),
            Scope::Branch { .. } | Scope::Commit(_) | Scope::Range { .. } | Scope::Patch(_) | Scope::Pull(_) => None,
        };
        let view = View {
            repository: reader.number,
            pool: fresh.as_ref().unwrap_or(&reader.pool),
            opened: &self.readers.opened,
            around: &self.around,
            flags: &self.options.flags,
            settings_from_worktree: false,
            asking: Asking::ByField,
        };
        view.call(&scope, name, input, cancel)
    }

    /// Sees to it that what is idle is let go, as long as anything is open.
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

/// Why a call did not end: somebody stopped it, or its time was over.
fn stopped(cancel: &Cancel) -> ToolFault {
    let seconds = LONGEST.as_secs();
    let message = match cancel.check() {
        Err(Stopped::Interrupted) => "the call was cancelled".to_owned(),
        Ok(()) | Err(Stopped::DeadlinePassed) => format!(
            "the call was stopped because it took longer than {seconds} s or than the settings allow; ask for less, say with a narrower pattern or folder"
        ),
    };
    ToolFault::new(ErrorKind::Stopped, message)
}

/// What is said of an error, with the field that it is about.
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
