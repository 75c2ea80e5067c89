//! The MCP server: tools, resources and prompts for other agents, over stdio or HTTP.
//!
//! Main function: [`serve`]. What is offered stands in three tables, `tools`, `resources` and `prompts`, whose rows know nothing of the
//! protocol; `protocol` is the only place that names the SDK. What the rows do belongs in `app`: state and work in
//! [`Service`], looking back in `app::runs`.
//!
//! Every text that leaves here went through `clean`: whoever wrote the repository cannot write to the terminal of whoever reads.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::{self, Service};

mod clean;
#[cfg(test)]
mod fixture;
mod offer;
mod prompts;
mod protocol;
mod pull_json;
mod resources;
mod tool;
mod tools;

pub use offer::{Offer, OfferFault, UnknownTool};
pub use protocol::{Door, HttpDoor, ServeError};

/// Serves until the client is gone, or until somebody interrupts the process; then reviews that still run are stopped, and kept as far as they
/// got, within `grace`.
///
/// `say` hears, in a line each, what a person should know.
pub async fn serve(
    service: Arc<Service>,
    offer: Offer,
    door: Door,
    grace: Duration,
    say: impl Fn(String),
) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    let serving = protocol::serve(Arc::clone(&service), offer, door, stop.clone(), say);
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = app::interrupted() => {
            stop.cancel();
            // Clients that hold their connections open do not hold up the end.
            tokio::time::timeout(grace, serving).await.unwrap_or(Ok(()))
        }
    };
    service.shut_down(grace).await;
    ended
}
