//! Connection to a provider: from a row of the table to a client. Main function: [`connect`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::address::{InvalidBaseAddress, base, endpoint};
use super::agent::{self, AgentError};
use super::batches::{BatchClient, MessageBatches};
use super::client::HttpProvider;
use super::optional_fields::RefusedFields;
use super::provider::{Capabilities, FIRST_WAIT, Prices, Provider};
use super::rate_limit::{RateLimit, RateLimiters};
use super::request_error::FaultSource;
use super::table::{Caching, ProviderRow};
use super::wire_format::WireFormat;
use crate::domain::secret::Secret;
use crate::sys::http::HttpClients;

/// Version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Assumed context window of an unknown model; a small one is the safe guess.
const SMALL_WINDOW: u64 = 32_000;

/// Assumed output limit of an unknown model.
const SMALL_OUTPUT: u32 = 4_000;

/// Address, key and limits of a provider.
#[derive(Clone, Default)]
pub struct ProviderAccess {
    /// API key, if any.
    pub key: Option<Secret>,
    /// Address, if it is not the provider's usual one; with or without a slash at its end.
    pub base_url: Option<String>,
    /// Tokens of a request and its response together, if the user overrides the table.
    pub context_window: Option<u64>,
    /// Rate limit.
    pub rate: RateLimit,
    /// The lines in which requests wait for that; the same for all that is connected.
    pub paces: RateLimiters,
    /// The clients; likewise.
    pub clients: HttpClients,
    /// See [`Provider::first_wait`]; `None` for the usual one.
    pub first_wait: Option<Duration>,
    /// The message batches that turns go by, if the provider has them.
    pub batches: Option<MessageBatches>,
}

/// Without the address: it may contain a password.
impl fmt::Debug for ProviderAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, base_url: _, context_window, rate, paces: _, clients: _, first_wait: _, batches } = self;
        f.debug_struct("Access")
            .field("key", key)
            .field("context_window", context_window)
            .field("rate", rate)
            .field("batches", batches)
            .finish_non_exhaustive()
    }
}

/// Reasons why a provider cannot be used at all. Nothing was sent yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] InvalidBaseAddress),
    /// The key cannot be sent.
    #[error("the key for {0} holds characters that no key has, say a line break; copy it again")]
    Key(Arc<str>),
    /// HTTP is not available on this machine, for instance because its certificates cannot be read.
    #[error("cannot set up a connection: {0}")]
    Client(String),
    /// The assistant cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// Creates a provider. Nothing is sent.
pub fn connect(row: &ProviderRow, model: &str, access: &ProviderAccess) -> Result<Box<dyn Provider>, ConnectError> {
    if let Some(spec) = row.agent {
        return Ok(agent::connect(spec, model, access.context_window)?);
    }
    let base = base(row.wire, access.base_url.as_deref().unwrap_or(&row.base_url))?;
    let key = key(row, access)?;
    let http = access.clients.for_server(&base).map_err(|error| ConnectError::Client(error.to_string()))?;
    let facts = row.facts(model);
    // This wire format sends cache marks, whatever server is behind it.
    let marks = facts.caching.map_or(row.wire == WireFormat::Messages, |caching| caching == Caching::Marks);
    let secrets = key.into_iter().chain(base.password()).map(Secret::new).collect();
    let blame = FaultSource { provider: Arc::clone(&row.name), address: base.to_string(), secrets };
    let headers = headers(row, key);
    let batches = access.batches.as_ref().filter(|_| row.has_batches()).map(|batches| {
        let (headers, http, blame) = (headers.clone(), http.clone(), blame.clone());
        batches.transport(BatchClient { wire: row.wire, base: base.clone(), headers, http, blame }, model, key)
    });
    Ok(Box::new(HttpProvider {
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
        headers,
        http,
        refused: RefusedFields::with_refused(&row.refuses),
        first_wait: access.first_wait.unwrap_or(FIRST_WAIT),
        pace: access.paces.limiter_for(&row.name, &base.to_string(), access.key.as_ref(), access.rate),
        blame,
        batches,
    }))
}

/// Returns the key, if a header can carry it.
pub(super) fn key<'a>(row: &ProviderRow, access: &'a ProviderAccess) -> Result<Option<&'a str>, ConnectError> {
    let key = access.key.as_ref().map(|key| key.reveal().trim()).filter(|key| !key.is_empty());
    if key.is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(ConnectError::Key(Arc::clone(&row.title)));
    }
    Ok(key)
}

/// Returns the headers with the key, as the provider expects it.
pub(super) fn headers(row: &ProviderRow, key: Option<&str>) -> Vec<(Arc<str>, String)> {
    let mut headers = Vec::new();
    if row.wire == WireFormat::Messages {
        headers.push(("anthropic-version".into(), ANTHROPIC_VERSION.to_owned()));
    }
    if let Some(key) = key {
        let is_bearer = &*row.key_header == "authorization";
        let value = if is_bearer { format!("Bearer {key}") } else { key.to_owned() };
        headers.push((Arc::clone(&row.key_header), value));
    }
    headers
}
