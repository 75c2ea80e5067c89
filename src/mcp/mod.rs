//! The MCP server: tools, resources and prompts for other agents, over stdio or HTTP.
//!
//! Main function: [`serve`]. The server's offer is in three tables, `tools`, `resources` and `prompts`, whose rows know nothing of the
//! protocol; `protocol` is the only module that names the SDK. The work behind the rows belongs in `app`: state and reviews in [`Service`],
//! saved reviews in `app::runs`.
//!
//! All text that leaves here goes through `clean`, so that the authors of a repository cannot write to the terminal of a reader.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use std::path::Path;

use crate::app::{self, BridgeTools, Service};

mod answer_size;
#[cfg(test)]
mod fixture;
mod prompts;
mod protocol;
mod pull_json;
mod resources;
mod sanitize;
mod tool;
mod tool_selection;
mod tools;

pub use protocol::{HttpOptions, McpTransport, ServeError};
pub use tool_selection::{ToolSelection, ToolSelectionFault, UnknownTool};

/// Serves the tools of the review that listens on a socket, to the assistant that makes it, until either is gone.
pub async fn serve_bridge(socket: &Path) -> Result<(), ServeError> {
    protocol::serve_bridge(BridgeTools::connect(socket).await?).await
}

/// Serves until the client is gone or the process is interrupted; then reviews that are still running are stopped, and saved with their
/// findings so far, within `grace`.
///
/// `say` receives, one line each, messages for the person who started the server.
pub async fn serve(
    service: Arc<Service>,
    offer: ToolSelection,
    door: McpTransport,
    grace: Duration,
    say: impl Fn(String),
) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    let serving = protocol::serve(Arc::clone(&service), offer, door, stop.clone(), say);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = app::wait_for_interrupt() => {
            stop.cancel();
            // Clients that hold their connections open do not delay the end.
            tokio::time::timeout(grace, serving).await.unwrap_or(Ok(()))
        }
    };
    service.shut_down(grace).await;
    ended
}
