//! What a client is still owed. Main type: [`Due`].
//!
//! The SDK takes every request as soon as it can and holds each answer until it is written: a client that asks and does not read would fill
//! the memory. So no more is read from it while it is owed much.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId, ServerJsonRpcMessage};
use tokio::sync::Notify;

use super::MAX_MESSAGE;

/// So many requests may wait for their answers; what follows them is not read until there are fewer.
pub(super) const MOST: usize = 256;
/// So many bytes may these requests have in all.
const BYTES: usize = 4 * MAX_MESSAGE;

/// The requests of one client that were handed on and whose answers are not written yet, with their sizes.
#[derive(Default)]
pub(super) struct Due {
    requests: Mutex<HashMap<RequestId, usize>>,
    fewer: Notify,
}

impl Due {
    /// Notes what a message, of so many bytes, adds or takes away.
    pub(super) fn note(&self, message: &ClientJsonRpcMessage, size: usize) {
        match message {
            // Answered when the client ends it; what it is told meanwhile waits in a ring.
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) => {}
            ClientJsonRpcMessage::Request(request) => {
                self.requests().insert(request.id.clone(), size);
            }
            // What is cancelled is not answered.
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

    /// Takes away what a message that was written answers.
    pub(super) fn written(&self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Response(response) => self.settle(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.settle(id)),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {}
        }
    }

    /// Waits until more may be read. For one reader.
    pub(super) async fn room(&self) {
        while self.is_much() {
            self.fewer.notified().await;
        }
    }

    fn is_much(&self) -> bool {
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
