//! From a row of the table to a provider that can be asked. Main function: [`connect`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::address::{base, endpoint};
use super::client::Client;
use super::optional::Refused;
use super::pace::{Paces, Rate};
use super::provider::{Capabilities, FIRST_WAIT, Prices, Provider};
use super::table::{Caching, ProviderRow, Wire};
use super::trouble::Blame;
use crate::domain::secret::Secret;
use crate::sys::http::Http;

/// The version of Anthropic's interface that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// What a model of which nothing is known is taken to hold; a small one is the safe guess.
const SMALL_WINDOW: u64 = 32_000;

/// The same of its answers.
const SMALL_OUTPUT: u32 = 4_000;

/// What a provider is reached with.
#[derive(Clone, Default)]
pub struct Access {
    /// The key, where there is one.
    pub key: Option<Secret>,
    /// The address, where it is not the provider's usual one; with or without a slash at its end.
    pub base_url: Option<String>,
    /// Tokens of a request and its answer together, where the user knows better than the table.
    pub context_window: Option<u64>,
    /// How much it may be asked.
    pub rate: Rate,
    /// The lines in which requests wait for that; the same for all that is connected.
    pub paces: Paces,
    /// See [`Provider::first_wait`]; `None` for the usual one.
    pub first_wait: Option<Duration>,
}

/// Without the address: a password may stand in it.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, base_url: _, context_window, rate, paces: _, first_wait: _ } = self;
        f.debug_struct("Access")
            .field("key", key)
            .field("context_window", context_window)
            .field("rate", rate)
            .finish_non_exhaustive()
    }
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
    /// The key cannot be sent.
    #[error("the key for {0} holds characters that no key has, say a line break; copy it again")]
    Key(Arc<str>),
    /// The machine cannot speak HTTP, say because its certificates cannot be read.
    #[error("cannot set up a connection: {0}")]
    Client(String),
}

/// Makes a provider. Nothing is sent.
pub fn connect(row: &ProviderRow, model: &str, access: &Access) -> Result<Box<dyn Provider>, ConnectError> {
    let base = base(row.wire, access.base_url.as_deref().unwrap_or(&row.base_url))?;
    let key = key(row, access)?;
    let http = Http::to(&base).map_err(|error| ConnectError::Client(error.to_string()))?;
    let facts = row.facts(model);
    // This wire sends marks, whatever stands behind it.
    let marks = facts.caching.map_or(row.wire == Wire::Messages, |caching| caching == Caching::Marks);
    let secrets = key.into_iter().chain(base.password()).map(Secret::new).collect();
    Ok(Box::new(Client {
        wire: row.wire,
        capabilities: Capabilities {
            provider: Arc::clone(&row.name),
            model: model.to_owned(),
            context_window: access.context_window.or(facts.context_window).unwrap_or(SMALL_WINDOW),
            max_output: facts.max_output.unwrap_or(SMALL_OUTPUT),
            tools: facts.tools.unwrap_or(true),
            prices: if marks { facts.prices.map(Prices::with_marks) } else { facts.prices },
        },
        endpoint: endpoint(row.wire, &base, model),
        headers: headers(row, key),
        http,
        refused: Refused::knowing(&row.refuses),
        first_wait: access.first_wait.unwrap_or(FIRST_WAIT),
        pace: access.paces.of(&row.name, &base.to_string(), access.key.as_ref(), access.rate),
        blame: Blame { provider: Arc::clone(&row.name), address: base.to_string(), secrets },
    }))
}

/// The key, if a header can carry it.
pub(super) fn key<'a>(row: &ProviderRow, access: &'a Access) -> Result<Option<&'a str>, ConnectError> {
    let key = access.key.as_ref().map(|key| key.reveal().trim()).filter(|key| !key.is_empty());
    if key.is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(ConnectError::Key(Arc::clone(&row.title)));
    }
    Ok(key)
}

/// The key where the provider wants it.
pub(super) fn headers(row: &ProviderRow, key: Option<&str>) -> Vec<(Arc<str>, String)> {
    let mut headers = Vec::new();
    if row.wire == Wire::Messages {
        headers.push(("anthropic-version".into(), ANTHROPIC_VERSION.to_owned()));
    }
    if let Some(key) = key {
        let is_bearer = &*row.key_header == "authorization";
        let value = if is_bearer { format!("Bearer {key}") } else { key.to_owned() };
        headers.push((Arc::clone(&row.key_header), value));
    }
    headers
}
