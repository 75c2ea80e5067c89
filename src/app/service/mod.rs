//! The state of a running server: allowed folders, open trees, background reviews, presented documents, pull requests.
//!
//! Main type: [`Service`]. Protocols (MCP, editors) belong in the modules above; they call this module, which knows none of them.

mod briefing;
mod display;
pub(in crate::app) mod document_files;
mod documents;
mod fault;
mod finding_code;
mod metrics;
mod notifier;
mod pulls;
mod readers;
mod reviews;
mod roots;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use briefing::BriefingError;
pub use display::DocumentDisplay;
pub use documents::{PresentFault, PresentedDocument};
pub use metrics::CallMetrics;
pub use notifier::{ChangeNotice, Notifier};
pub use pulls::{
    FaultKind, ListedPull, NamedPull, PullFault, PullFaultKind, PullFiles, PullPage, PullServing, PullUpdates,
    PullView, PullWatch, ReadPull, RemarkChange, ResolvedBy, ResolvedRemark, WatchTarget,
};
pub use reviews::{
    AT_ONCE, DismissFault, FindFault, FinishedRun, ReviewListing, ReviewSnapshot, ReviewState, RunningReview,
    StartFault, StartReview, StartedReview,
};
pub use roots::{AllowedRoots, AllowedRootsError, file_uri_path};

use pulls::PullStore;
use readers::RepositoryReaders;
use reviews::ReviewRuns;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::config::Flags;
use crate::syntax::ProbeScope;
use crate::sys::blocking::Workers;
use crate::sys::cancel::Cancel;
use display::ServiceEditor;
use documents::DocumentStore;

/// The options of a service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The folder of the default repository.
    pub directory: PathBuf,
    /// Further folders below which repositories may be read.
    pub roots: Vec<PathBuf>,
    /// The settings from the command line.
    pub flags: Flags,
    /// `true` if clients may change saved data (dismiss findings).
    pub allow_write: bool,
    /// The log file for calls, one line each.
    pub log: Option<PathBuf>,
}

/// The state of a server, shared by all of its connections.
pub struct Service {
    /// The environment of the process.
    pub(super) around: ProcessEnv,
    pub(super) options: ServiceOptions,
    roots: AllowedRoots,
    readers: RepositoryReaders,
    /// The threads for read-only calls.
    workers: Workers,
    changes: Notifier,
    ledger: CallMetrics,
    shelf: DocumentStore,
    reviews: ReviewRuns,
    pulls: PullStore,
    editor: Option<ServiceEditor>,
}

impl Service {
    /// Creates a service; the folders are resolved now, so that a wrong one is reported before anything is served.
    pub fn open(options: ServiceOptions, mut around: ProcessEnv) -> Result<Self, AppError> {
        // A crash would end the sessions of all clients.
        around.parser = around.parser(ProbeScope::Everything);
        let roots = AllowedRoots::new(&options.directory, &options.roots)?;
        let ledger = CallMetrics::open(options.log.as_deref()).map_err(AppError::Input)?;
        let shelf = DocumentStore::new(&around.store);
        let (readers, reviews, pulls) = (RepositoryReaders::default(), ReviewRuns::default(), PullStore::default());
        let (workers, changes) = (Workers::new(readers::AT_ONCE), Notifier::new());
        Ok(Self { around, options, roots, readers, workers, changes, ledger, shelf, reviews, pulls, editor: None })
    }

    /// Runs blocking work off the async threads: after a minute it is abandoned and named in the error.
    pub async fn spawn_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        what: &'static str,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, AppError> {
        let service = Arc::clone(self);
        Ok(self.workers.run(what, &Cancel::after(readers::LONGEST), move || work(&service)).await?)
    }

    /// Returns the repository of an allowed folder, which must be allowed too, and the folder.
    pub fn repository_of(&self, folder: Option<&Path>) -> Result<(PathBuf, PathBuf), AppError> {
        let folder = self.roots.folder(folder)?;
        let repo = self.roots.open(&folder)?;
        Ok((repo.workdir().unwrap_or(repo.git_dir()).to_owned(), folder))
    }

    /// The environment of the process.
    pub fn environment(&self) -> &ProcessEnv {
        &self.around
    }

    /// The allowed folders.
    pub fn roots(&self) -> &AllowedRoots {
        &self.roots
    }

    /// The bus for change notifications.
    pub fn notifier(&self) -> &Notifier {
        &self.changes
    }

    /// The metrics of its calls.
    pub fn metrics(&self) -> &CallMetrics {
        &self.ledger
    }

    /// `true` if clients may change saved data.
    pub fn may_write(&self) -> bool {
        self.options.allow_write
    }
}

/// The caller's identity: clients of one connection share their documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientConnection {
    /// The one client of a process (stdio).
    Process,
    /// A protocol session, by its id.
    Session(String),
    /// A stateless request: callers with the same repository share.
    Stateless,
}
