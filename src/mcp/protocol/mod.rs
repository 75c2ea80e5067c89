//! The protocol itself, by the official SDK. Main function: [`serve`]. Nothing outside of this folder names the SDK.
//!
//! One handler serves both eras: revisions 2024-11-05 to 2025-11-25, which begin with `initialize`, and 2026-07-28, where every request stands
//! alone. `handler` hands requests to the tables, `answers` turns their plain types into the SDK's, `subscriptions` tells clients what changed;
//! `stdio` and `http` are the two doors; `due` keeps the first from being flooded.

mod answers;
mod due;
mod handler;
mod http;
mod listen;
mod stdio;
mod subscriptions;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::offer::Offer;
use crate::app::{Connection, Service};
use crate::domain::secret::Secret;
use crate::domain::text::BuildLogs;
use handler::Handler;

/// A larger message is refused, in bytes, at either door.
const MAX_MESSAGE: usize = 8 << 20;

/// Where clients come in.
#[derive(Debug, Clone)]
pub enum Door {
    /// Standard input and output: one client. The logs are those that standard output may end in.
    Stdio(BuildLogs),
    /// HTTP, at the path `/mcp`: many clients.
    Http(HttpDoor),
}

/// Where to listen, and whom to let in.
#[derive(Debug, Clone)]
pub struct HttpDoor {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// What clients must show; needed wherever others than this machine can reach the address.
    pub token: Option<Secret>,
    /// Names by which clients may call the server, beside the address and those of this machine.
    pub hosts: Vec<String>,
}

/// Why a server could not be started, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it, and nothing keeps them out.
    #[error(
        "{0} can be reached from other machines: set REVIEW_MCP_TOKEN (or --token-file) to a secret of at least 16 characters that clients must \
         show, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The secret cannot be sent, or could be guessed.
    #[error("the token must be one line of at least 16 plain ASCII characters without spaces")]
    Token,
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The client and this server could not agree on how to speak.
    #[error("the client could not be served: {0}")]
    Handshake(String),
}

/// Serves until the client is gone or `stop` is set. `say` hears where it listens.
pub(super) async fn serve(
    service: Arc<Service>,
    offer: Offer,
    door: Door,
    stop: CancellationToken,
    say: impl Fn(String),
) -> Result<(), ServeError> {
    match door {
        Door::Stdio(logs) => {
            stdio::serve(Handler::new(service, Arc::new(offer), Some(Connection::Process)), logs, stop).await
        }
        Door::Http(door) => http::serve(service, Arc::new(offer), &door, stop, say).await,
    }
}
