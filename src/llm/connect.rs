//! From a row of the table to a provider that can be asked. Main function: [`connect`].

use super::provider::Provider;
use super::table::ProviderRow;
use crate::domain::secret::Secret;

/// What a provider is reached with.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The key, where there is one.
    pub key: Option<Secret>,
    /// The address, where it is not the provider's usual one; with or without a slash at its end.
    pub base_url: Option<String>,
    /// Tokens of a request and its answer together, where the user knows better than the table.
    pub context_window: Option<u64>,
}

/// Why a provider cannot be used at all. Nothing was sent yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address is none.
    #[error("{origin} is no address of a server: {why}")]
    Address {
        /// The address as it was given, without credentials.
        origin: String,
        /// What is wrong with it.
        why: String,
    },
    /// The machine cannot speak HTTP, say because its certificates cannot be read.
    #[error("cannot set up a connection: {0}")]
    Client(String),
}

/// Makes a provider. Nothing is sent.
pub fn connect(row: &'static ProviderRow, model: &str, access: &Access) -> Result<Box<dyn Provider>, ConnectError> {
    let _ = (row, model, access);
    Err(ConnectError::Client("not built yet".to_owned()))
}
