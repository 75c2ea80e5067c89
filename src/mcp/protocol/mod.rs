//! The protocol itself, by the official SDK. Main function: [`serve`]. Nothing outside of this folder names the SDK.

use std::sync::Arc;

use super::offer::Offer;
use crate::app::Service;

/// Where clients come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// Standard input and output: one client.
    Stdio,
}

/// Why a server could not be started, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {}

/// Serves until the client is gone.
pub async fn serve(_service: Arc<Service>, _offer: Offer, _door: Door) -> Result<(), ServeError> {
    Ok(())
}
