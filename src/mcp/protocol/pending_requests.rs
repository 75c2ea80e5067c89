//! The requests of a client that have no response yet. Main type: [`PendingRequests`].
//!
//! The SDK accepts every request at once and holds each response until it is written: a client that sends requests and reads nothing would
//! exhaust the memory. So reading from it stops while too many requests are pending.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId, ServerJsonRpcMessage};
use tokio::sync::Notify;

use super::MAX_MESSAGE;

/// Upper bound on pending requests; further ones are not read until there are fewer.
pub(super) const MOST: usize = 256;
/// Upper bound on the total size of these requests, in bytes.
const BYTES: usize = 4 * MAX_MESSAGE;

/// The requests of one client whose responses are not written yet, with their sizes.
#[derive(Default)]
pub(super) struct PendingRequests {
    requests: Mutex<HashMap<RequestId, usize>>,
    fewer: Notify,
}

impl PendingRequests {
    /// Updates the pending requests for a received message of `size` bytes.
    pub(super) fn add(&self, message: &ClientJsonRpcMessage, size: usize) {
        match message {
            // A subscription's response comes when the client ends it; its notifications wait in a ring buffer.
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) => {}
            ClientJsonRpcMessage::Request(request) => {
                self.requests().insert(request.id.clone(), size);
            }
            // A cancelled request gets no response.
            ClientJsonRpcMessage::Notification(notice) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notice.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.settle(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
    }

    /// Removes the request that a written message responds to.
    pub(super) fn remove_answered(&self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Response(response) => self.settle(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.settle(id)),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {}
        }
    }

    /// Waits until more may be read. For a single reader.
    pub(super) async fn wait_for_room(&self) {
        while self.is_full() {
            self.fewer.notified().await;
        }
    }

    fn is_full(&self) -> bool {
        let requests = self.requests();
        requests.len() >= MOST || requests.values().sum::<usize>() > BYTES
    }

    fn settle(&self, id: &RequestId) {
        self.requests().remove(id);
        self.fewer.notify_one();
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, usize>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
