//! Notifies clients of changes, in both protocol eras. Main type: [`Subscriptions`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::SubscriptionContext;
use rmcp::{Peer, RoleServer};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::Id;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app::{ChangeNotice, PullWatch, Service};
use crate::mcp::resources::{FAMILIES, PULLS, ReadFault, ResourceFamily};

/// Upper bound on the resources that a client may watch; more are refused.
const MOST: usize = 256;
/// Upper bound on a URI, in bytes; a longer one cannot be one of ours.
pub(super) const LONGEST_URI: usize = 4096;

/// The watched resources of one client of the older era. Clones share them; dropping the last one stops the notifications.
#[derive(Clone)]
pub(super) struct Subscriptions(Arc<SubscriptionState>);

struct SubscriptionState {
    /// The watched URIs, each with the number of the first change that counts, and the guard that keeps changes observed.
    uris: Mutex<BTreeMap<String, (u64, Option<PullWatch>)>>,
    /// `true` once notifications are sent: a client may send `initialized` twice.
    notifies: AtomicBool,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl Subscriptions {
    pub(super) fn new() -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(SubscriptionState {
            uris: Mutex::default(),
            notifies: AtomicBool::new(false),
            _guard: stop.clone().drop_guard(),
            stop,
        }))
    }

    /// Watches a resource; `false` if there are too many already.
    pub(super) fn watch(&self, service: &Arc<Service>, uri: &str) -> Result<bool, ReadFault> {
        let mut uris = self.0.uris.lock().unwrap_or_else(PoisonError::into_inner);
        if uris.contains_key(uri) {
            return Ok(true);
        }
        let room = uris.len() < MOST;
        if room {
            // Earlier changes may still be queued, and are not news to this client.
            let first = service.notifier().sequence();
            uris.insert(uri.to_owned(), (first, watch(service, uri)?));
        }
        Ok(room)
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.0.uris.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Sends notifications to the client until it is gone. Later calls do nothing; changes from now on are reported.
    pub(super) fn notify(&self, service: Arc<Service>, peer: Peer<RoleServer>) {
        // A caller that finds notifications enabled may rely on them, so listening comes first.
        let mut changes = service.notifier().subscribe();
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
                let number = changed.as_ref().map_or(u64::MAX, |(number, _)| *number);
                let watched = inner.watched(number);
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

impl SubscriptionState {
    /// Returns the resources that are watched since the change with this number, or longer.
    fn watched(&self, number: u64) -> BTreeSet<String> {
        let uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        uris.iter().filter(|(_, (first, _))| *first <= number).map(|(uri, _)| uri.clone()).collect()
    }
}

/// Receivers that were opened for `listen` requests before these were acknowledged: no change may be lost. Clones share them.
#[derive(Clone, Default)]
pub(super) struct PendingListeners(Arc<Mutex<Vec<PendingListener>>>);

/// The receiver of the request that a task serves.
type PendingListener = (Id, Receiver<(u64, ChangeNotice)>);

impl PendingListeners {
    /// Opens a receiver for the request that this task serves.
    pub(super) fn open(&self, service: &Service) {
        let Some(task) = tokio::task::try_id() else { return };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Receivers of failed requests are never taken.
        if open.len() >= MOST {
            open.remove(0);
        }
        open.push((task, service.notifier().subscribe()));
    }

    /// Takes the receiver of the request that this task serves.
    fn take(&self, service: &Service) -> Receiver<(u64, ChangeNotice)> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = tokio::task::try_id().and_then(|task| open.iter().position(|(of, _)| *of == task));
        at.map_or_else(|| service.notifier().subscribe(), |at| open.remove(at).1)
    }
}

/// Returns the granted part of a client's filter: our resources, and their list. Tools and prompts never change while a server runs.
pub(super) fn grant(service: &Arc<Service>, requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = SubscriptionFilter::new();
    granted.resources_list_changed = requested.resources_list_changed;
    // A resource that cannot be watched is not granted; the watching itself begins with the `listen` request.
    let mut watching = Vec::new();
    let mut could = |uri: &String| match watch(service, uri) {
        Ok(one) => {
            watching.extend(one);
            true
        }
        Err(_) => false,
    };
    granted.resource_subscriptions = requested
        .resource_subscriptions
        .as_ref()
        .map(|uris| uris.iter().filter(|uri| is_ours(uri) && could(uri)).take(MOST).cloned().collect());
    granted
}

/// Checks whether a URI could be one of our resources.
pub(super) fn is_ours(uri: &str) -> bool {
    (uri.starts_with("review://") || uri.starts_with(PULLS)) && uri.len() <= LONGEST_URI
}

/// Starts observing changes of a resource.
fn watch(service: &Arc<Service>, uri: &str) -> Result<Option<PullWatch>, ReadFault> {
    for family in FAMILIES {
        if let Some(watching) = (family.watch)(service, uri)? {
            return Ok(Some(watching));
        }
    }
    Ok(None)
}

/// Serves one `subscriptions/listen` request until the client ends it.
pub(super) async fn listen(service: Arc<Service>, ears: &PendingListeners, context: SubscriptionContext) {
    let mut changes = ears.take(&service);
    let sink = context.sink().clone();
    let watched: BTreeSet<String> = context.accepted().resource_subscriptions.iter().flatten().cloned().collect();
    let _watching: Vec<PullWatch> = watched.iter().filter_map(|uri| watch(&service, uri).ok().flatten()).collect();
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

/// Returns the changed URIs, and whether the list changed; `None` when there will be no more changes.
async fn notices(
    service: &Arc<Service>,
    watched: &BTreeSet<String>,
    changed: Result<(u64, ChangeNotice), RecvError>,
) -> Option<(Vec<String>, bool)> {
    match changed {
        Err(RecvError::Closed) => None,
        // Some changes were missed: any watched resource may have changed.
        Err(RecvError::Lagged(_)) => Some((watched.iter().cloned().collect(), true)),
        Ok((_, ChangeNotice::List)) => Some((Vec::new(), true)),
        Ok(_) if watched.is_empty() => Some((Vec::new(), false)),
        Ok((_, changed)) => {
            let watching = watched.clone();
            // A family may read the disk for it.
            let uris = service.spawn_blocking("looking for changes", move |service| {
                let of = |family: &ResourceFamily| (family.changed)(service, &changed, &watching);
                FAMILIES.iter().flat_map(of).collect::<Vec<_>>()
            });
            let mut uris = uris.await.unwrap_or_default();
            uris.retain(|uri| watched.contains(uri));
            Some((uris, false))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex};

    use super::super::handler::Handler;
    use super::super::stdio::StdioTransport;
    use super::*;
    use crate::app::ClientConnection;
    use crate::mcp::fixture::ServerFixture;
    use crate::mcp::tool_selection::ToolSelection;
    use rmcp::ServiceExt as _;

    #[tokio::test]
    async fn what_changes_while_a_client_is_told_that_it_is_heard_is_not_lost() {
        let fixture = ServerFixture::new(false);
        let (mut client, reader) = duplex(1 << 16);
        // So small that the acknowledgement is not written before it is read.
        let (writer, mut answers) = duplex(16);
        let offer = Arc::new(ToolSelection::new(&[], false).unwrap());
        let handler = Handler::new(Arc::clone(&fixture.service), offer, Some(ClientConnection::Process));
        let serving = tokio::spawn(handler.serve(StdioTransport::start(
            reader,
            writer,
            crate::domain::text::BuildLogs::default(),
        )));
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let wanted = json!({ "notifications": { "resourcesListChanged": true }, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": wanted });
        client.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let mut first = [0];
        answers.read_exact(&mut first).await.unwrap();
        fixture.service.notifier().notify(ChangeNotice::List);

        let mut lines = BufReader::new(answers).lines();
        let told = format!("{}{}", char::from(first[0]), lines.next_line().await.unwrap().unwrap());
        assert!(told.contains("notifications/subscriptions/acknowledged"), "{told}");
        let next = tokio::time::timeout(std::time::Duration::from_secs(20), lines.next_line()).await;
        let next: Value = serde_json::from_str(&next.expect("it is told").unwrap().unwrap()).unwrap();
        assert_eq!(next["method"], "notifications/resources/list_changed");
        serving.abort();
    }
}
