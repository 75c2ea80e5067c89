//! Saying that something changed, to whoever listens. Main type: [`Changes`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::broadcast;

use crate::domain::forge::{PullId, RepoName};
use crate::domain::presented::DocumentId;
use crate::domain::run::RunId;

/// So many changes wait for a listener that is slow; then the oldest are lost to it, and it is told how many.
const WAITING: usize = 256;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// A review: it went on, ended, or a finding of it was dismissed.
    Review(RunId),
    /// A presented document.
    Document(DocumentId),
    /// A pull request, or what was said on it.
    Pull(PullId),
    /// Which pull requests of a repository are open, or what their list tells of them.
    Pulls(RepoName),
    /// What there is: a review or a document is new.
    List,
}

/// The bus of a service. Nobody waits for a listener.
#[derive(Debug, Clone)]
pub struct Changes {
    sender: broadcast::Sender<(u64, Changed)>,
    count: Arc<AtomicU64>,
}

impl Changes {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::Sender::new(WAITING), count: Arc::default() }
    }

    /// Says it.
    pub fn say(&self, changed: Changed) {
        // An error says that nobody listens.
        let _ = self.sender.send((self.count.fetch_add(1, Ordering::SeqCst), changed));
    }

    /// The number of changes so far, which is that of the next one.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Listens from now on; each change comes with its number.
    pub fn listen(&self) -> broadcast::Receiver<(u64, Changed)> {
        self.sender.subscribe()
    }
}
