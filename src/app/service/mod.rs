//! The state of a running server: allowed folders, open trees, background reviews, presented documents, pull requests.
//!
//! Main type: [`Service`]. Protocols (MCP, editors) belong in the modules above; they call this module, which knows none of them.

mod briefing;
mod changes;
mod fault;
mod ledger;
mod left_out;
mod places;
mod pulls;
mod readers;
mod reviews;
mod roots;
mod shelf;

use std::path::PathBuf;
use std::sync::Arc;

pub use briefing::BriefingError;
pub use changes::{Changed, Changes};
pub use ledger::Ledger;
pub use pulls::{
    FaultKind, ListedPull, NamedPull, News, PullFault, PullFaultKind, PullFiles, PullPage, PullRead, PullsServed,
    ResolvedBy, ResolvedRemark, SeenPull, Since, WatchedPulls, Watching,
};
pub use reviews::{
    AT_ONCE, DismissFault, EndedRun, FindFault, Listing, ReviewState, RunningReview, Snapshot, StartFault, StartReview,
    Started,
};
pub use roots::{Roots, RootsError};
pub use shelf::{PresentFault, Shown};

use pulls::Pulls;
use readers::Readers;
use reviews::Reviews;

use super::error::AppError;
use super::subject::Surroundings;
use crate::config::Flags;
use crate::syntax::ProbeScope;
use crate::sys::blocking::Workers;
use crate::sys::cancel::Cancel;
use shelf::Shelf;

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
    pub(super) around: Surroundings,
    /// Its options.
    pub(super) options: ServiceOptions,
    roots: Roots,
    readers: Readers,
    /// The threads for read-only calls.
    workers: Workers,
    changes: Changes,
    ledger: Ledger,
    shelf: Shelf,
    reviews: Reviews,
    pulls: Pulls,
}

impl Service {
    /// Creates a service; the folders are resolved now, so that a wrong one is reported before anything is served.
    pub fn open(options: ServiceOptions, mut around: Surroundings) -> Result<Self, AppError> {
        // A crash would end the sessions of all clients.
        around.parser = around.parser(ProbeScope::Everything);
        let roots = Roots::new(&options.directory, &options.roots)?;
        let ledger = Ledger::open(options.log.as_deref()).map_err(AppError::Input)?;
        let shelf = Shelf::new(&around.state);
        let (readers, reviews, pulls) = (Readers::default(), Reviews::default(), Pulls::default());
        let (workers, changes) = (Workers::new(readers::AT_ONCE), Changes::new());
        Ok(Self { around, options, roots, readers, workers, changes, ledger, shelf, reviews, pulls })
    }

    /// Runs blocking work off the async threads: after a minute it is abandoned and named in the error.
    pub async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        what: &'static str,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, AppError> {
        let service = Arc::clone(self);
        Ok(self.workers.run(what, &Cancel::after(readers::LONGEST), move || work(&service)).await?)
    }

    /// The allowed folders.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The bus for change notifications.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The metrics of its calls.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// `true` if clients may change saved data.
    pub fn may_write(&self) -> bool {
        self.options.allow_write
    }
}

/// The caller's identity: clients of one connection share their documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Connection {
    /// The one client of a process (stdio).
    Process,
    /// A protocol session, by its id.
    Session(String),
    /// A stateless request: callers with the same repository share.
    Stateless,
}
