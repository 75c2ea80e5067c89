//! What a server holds while it runs: the folders it may look in, open trees, reviews in the background, presented
//! documents, pull requests that were read.
//!
//! Main type: [`Service`]. Protocols (MCP, editors) belong in the rooms above; each of them asks here, and nothing here knows of any.

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

/// How a service is set up.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The folder that stands for the repository where none is named.
    pub directory: PathBuf,
    /// Further folders below which repositories may be read.
    pub roots: Vec<PathBuf>,
    /// What the command line says about settings.
    pub flags: Flags,
    /// Whether clients may change what is kept (dismiss findings).
    pub allow_write: bool,
    /// A file to write a line to for each call.
    pub log: Option<PathBuf>,
}

/// One server's state; shared by all of its connections.
pub struct Service {
    /// What the process was started with.
    pub(super) around: Surroundings,
    /// How it was set up.
    pub(super) options: ServiceOptions,
    roots: Roots,
    readers: Readers,
    /// Where calls that only look run.
    workers: Workers,
    changes: Changes,
    ledger: Ledger,
    shelf: Shelf,
    reviews: Reviews,
    pulls: Pulls,
}

impl Service {
    /// A service; the folders are looked up now, so that a wrong one is told before anything is served.
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

    /// Runs what may take its time, or never end, away from the async threads: after a minute it is left behind, and named.
    pub async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        what: &'static str,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, AppError> {
        let service = Arc::clone(self);
        Ok(self.workers.run(what, &Cancel::after(readers::LONGEST), move || work(&service)).await?)
    }

    /// The folders it may look in.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// Where it says that something changed.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// What it was asked so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether clients may change what is kept.
    pub fn may_write(&self) -> bool {
        self.options.allow_write
    }
}

/// Who asks: clients of one connection share what they present.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Connection {
    /// The one client of a process (stdio).
    Process,
    /// A session of a protocol that has them, by its id.
    Session(String),
    /// A request that stands alone: whoever asks about the same repository shares.
    Stateless,
}
