//! Telling clients what changed, in both eras. Main type: [`Subscriptions`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::SubscriptionContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app::{Changed, Service};
use crate::mcp::resources::FAMILIES;

/// A client may watch so many resources; more are refused.
const MOST: usize = 256;
/// A longer URI, in bytes, is none of ours.
pub(super) const LONGEST_URI: usize = 4096;

/// What one client of the older era watches. Clones share it; the last one to go stops the notices.
#[derive(Clone)]
pub(super) struct Subscriptions(Arc<Inner>);

struct Inner {
    uris: Mutex<BTreeSet<String>>,
    /// Whether notices are sent already: a client may say twice that it is ready.
    notifies: AtomicBool,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl Subscriptions {
    pub(super) fn new() -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(Inner {
            uris: Mutex::default(),
            notifies: AtomicBool::new(false),
            _guard: stop.clone().drop_guard(),
            stop,
        }))
    }

    /// Watches a resource; false where there are too many already.
    pub(super) fn watch(&self, uri: String) -> bool {
        let mut uris = self.0.uris.lock().unwrap_or_else(PoisonError::into_inner);
        let room = uris.len() < MOST || uris.contains(&uri);
        if room {
            uris.insert(uri);
        }
        room
    }

    pub(super) fn forget(&self, uri: &str) {
        self.0.uris.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Sends notices to the client until it is gone. Once is enough; what changes from now on is told.
    pub(super) fn notify(&self, service: Arc<Service>, peer: Peer<RoleServer>) {
        // Whoever finds that notices are sent already may rely on it, so listening comes first.
        let mut changes = service.changes().listen();
        if self.0.notifies.swap(true, Ordering::AcqRel) {
            return;
        }
        let (stop, watched) = (self.0.stop.clone(), Arc::downgrade(&self.0));
        tokio::spawn(async move {
            loop {
                let changed = tokio::select! {
                    () = stop.cancelled() => return,
                    changed = changes.recv() => changed,
                };
                let Some(inner) = watched.upgrade() else { return };
                let watched = inner.uris.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some((uris, list)) = notices(&service, &watched, changed).await else { return };
                for uri in uris {
                    let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
                }
                if list && peer.notify_resource_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }
}

/// What of a client's wishes is granted: our resources, and their list. Tools and prompts never change while a server runs.
pub(super) fn granted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = SubscriptionFilter::new();
    granted.resources_list_changed = requested.resources_list_changed;
    granted.resource_subscriptions = requested
        .resource_subscriptions
        .as_ref()
        .map(|uris| uris.iter().filter(|uri| is_ours(uri)).take(MOST).cloned().collect());
    granted
}

/// Whether a URI could be of one of our resources.
pub(super) fn is_ours(uri: &str) -> bool {
    uri.starts_with("review://") && uri.len() <= LONGEST_URI
}

/// Serves one `subscriptions/listen` request until the client ends it.
pub(super) async fn listen(service: Arc<Service>, context: SubscriptionContext) {
    let mut changes = service.changes().listen();
    let sink = context.sink().clone();
    let watched: BTreeSet<String> = context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
    let list_wanted = context.accepted().resources_list_changed == Some(true);
    loop {
        let changed = tokio::select! {
            () = context.cancelled() => return,
            changed = changes.recv() => changed,
        };
        let Some((uris, list)) = notices(&service, &watched, changed).await else { return };
        for uri in uris {
            if sink.notify_resource_updated(uri).await.is_err() {
                return;
            }
        }
        if list && list_wanted && sink.notify_resource_list_changed().await.is_err() {
            return;
        }
    }
}

/// The URIs to tell of, and whether the list is another one; `None` when there will be no more changes.
async fn notices(
    service: &Arc<Service>,
    watched: &BTreeSet<String>,
    changed: Result<Changed, RecvError>,
) -> Option<(Vec<String>, bool)> {
    match changed {
        Err(RecvError::Closed) => None,
        // Some were missed: whatever is watched may have changed.
        Err(RecvError::Lagged(_)) => Some((watched.iter().cloned().collect(), true)),
        Ok(Changed::List) => Some((Vec::new(), true)),
        Ok(_) if watched.is_empty() => Some((Vec::new(), false)),
        Ok(changed) => {
            let service = Arc::clone(service);
            // A family may look at the disk for it.
            let work =
                move || FAMILIES.iter().flat_map(|family| (family.changed)(&service, changed)).collect::<Vec<_>>();
            let mut uris = tokio::task::spawn_blocking(work).await.unwrap_or_default();
            uris.retain(|uri| watched.contains(uri));
            Some((uris, false))
        }
    }
}
