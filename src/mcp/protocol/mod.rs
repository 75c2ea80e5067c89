//! The protocol, on top of the official SDK. Main function: [`serve`]. Nothing outside of this folder names the SDK.
//!
//! One handler serves both protocol eras: revisions 2024-11-05 to 2025-11-25, which begin with `initialize`, and 2026-07-28, where every
//! request is self-contained. `handler` dispatches requests to the tables, `answers` converts their plain types to the SDK's,
//! `subscriptions` notifies clients of changes; `stdio` and `http` are the two transports; `due` keeps the first from being flooded. `bridge`
//! is a server of its own, for the assistant that makes a review.

mod bridge;
mod convert;
mod handler;
mod http;
mod pending_requests;
mod stdio;
mod subscriptions;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::tool_selection::ToolSelection;
use crate::app::{ClientConnection, Service};
use crate::domain::secret::Secret;
use crate::domain::text::BuildLogs;
use handler::Handler;

pub(super) use bridge::serve as serve_bridge;

/// Upper bound on a message, in bytes, on either transport.
const MAX_MESSAGE: usize = 8 << 20;

/// The transport that clients use.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// Standard input and output: one client. The build logs are those that standard output may end up in.
    Stdio(BuildLogs),
    /// HTTP, at the path `/mcp`: many clients.
    Http(HttpOptions),
}

/// Address and access control of the HTTP transport.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address; port 0 selects a free one.
    pub address: SocketAddr,
    /// The token that clients must send; required if other machines can reach the address.
    pub token: Option<Secret>,
    /// Names by which clients may call the server, in addition to the address and those of this machine.
    pub hosts: Vec<String>,
}

/// Reasons why a server could not be started, or had to stop.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ServeError {
    #[error(
        "{0} can be reached from other machines: set REVIEW_MCP_TOKEN (or --token-file) to a secret of at least 16 characters that clients must \
         show, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The token cannot be sent in a header, or is too short.
    #[error("the token must be one line of at least 16 plain ASCII characters without spaces")]
    Token,
    /// The address is in use, or not on this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// The client and this server could not agree on a protocol version.
    #[error("the client could not be served: {0}")]
    Handshake(String),
    /// The review of a bridge is gone.
    #[error(transparent)]
    Bridge(#[from] crate::app::BridgeError),
}

/// Serves until the client is gone or `stop` is set. `say` receives the address.
pub(super) async fn serve(
    service: Arc<Service>,
    offer: ToolSelection,
    door: McpTransport,
    stop: CancellationToken,
    say: impl Fn(String),
) -> Result<(), ServeError> {
    match door {
        McpTransport::Stdio(logs) => {
            stdio::serve(Handler::new(service, Arc::new(offer), Some(ClientConnection::Process)), logs, stop).await
        }
        McpTransport::Http(door) => http::serve(service, Arc::new(offer), &door, stop, say).await,
    }
}
