//! Broadcasts change notifications to subscribers. Main type: [`Notifier`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::broadcast;

use crate::domain::forge::{PullId, RepoName};
use crate::domain::presented::DocumentId;
use crate::domain::run::RunId;

/// Capacity of a slow subscriber's queue; beyond it the oldest notifications are dropped, and it learns how many.
const WAITING: usize = 256;

/// A change notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeNotice {
    /// A review progressed or ended, or one of its findings was dismissed.
    Review(RunId),
    /// A presented document.
    Document(DocumentId),
    /// A pull request or its conversation changed.
    Pull(PullId),
    /// The list of a repository's open pull requests changed.
    Pulls(RepoName),
    /// The list of reviews or documents changed.
    List,
}

/// The notification bus of a service. Sending never waits for a subscriber.
#[derive(Debug, Clone)]
pub struct Notifier {
    sender: broadcast::Sender<(u64, ChangeNotice)>,
    count: Arc<AtomicU64>,
}

impl Notifier {
    pub(super) fn new() -> Self {
        Self { sender: broadcast::Sender::new(WAITING), count: Arc::default() }
    }

    /// Sends a notification.
    pub fn notify(&self, changed: ChangeNotice) {
        // An error means that there is no subscriber.
        let _ = self.sender.send((self.count.fetch_add(1, Ordering::SeqCst), changed));
    }

    /// The number of notifications so far, which is the sequence number of the next.
    pub fn sequence(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Subscribes to later notifications; each has its sequence number.
    pub fn subscribe(&self) -> broadcast::Receiver<(u64, ChangeNotice)> {
        self.sender.subscribe()
    }
}
