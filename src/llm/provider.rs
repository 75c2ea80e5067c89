//! Interface between the engine and a model. Main type: [`Provider`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fault::TurnFault;
use super::turn::{ToolCallFormat, TurnRequest, TurnResponse};
use crate::domain::day::Day;
use crate::domain::money::Money;

/// Boxed future that can be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// First wait before a retry.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Model behind some API.
///
/// Dropping the future of a turn cancels it: the caller applies the deadline and the interrupt.
pub trait Provider: Send + Sync {
    /// Returns the capabilities of the model.
    fn capabilities(&self) -> &Capabilities;

    /// Returns the wait before the first retry if the server names none; it doubles with each attempt.
    fn first_wait(&self) -> Duration {
        FIRST_WAIT
    }

    /// Requests one response and waits for all of it. This is one attempt: the caller decides about retries, and [`TurnFault::is_transient`] says
    /// whether one can help.
    ///
    /// `quiet` is how long the server may send nothing before the attempt counts as lost. `watch` observes the response as it grows.
    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        quiet: Duration,
        watch: &'a dyn StreamObserver,
    ) -> BoxFuture<'a, Result<TurnResponse, TurnFault>>;
}

/// Capabilities of a model, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The provider's word, as the table has it: `anthropic`, `openai`, `ollama`, …
    pub provider: Arc<str>,
    /// The model's name, as the provider knows it.
    pub model: String,
    /// Tokens of a request and its response together.
    pub context_window: u64,
    /// Maximum tokens of one response.
    pub max_output: u32,
    /// `true` if it calls tools through its API; otherwise the text protocol is used from the first turn. Runs of
    /// versions that did not record it assumed so.
    #[serde(default = "calls_tools", skip_serializing_if = "is_true")]
    pub tools: bool,
    /// Prices, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

const fn calls_tools() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks for it")]
const fn is_true(it: &bool) -> bool {
    *it
}

/// Prices of a model: US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Tokens sent that were neither read from nor written to a cache.
    pub input: Money,
    /// Tokens received, reasoning included.
    pub output: Money,
    /// Price of tokens read from a cache; `None` if unknown.
    pub cache_read: Option<Money>,
    /// Tokens written to a cache; `None` if they are not reported separately and cost what sending does.
    pub cache_write: Option<Money>,
    /// Date of the prices.
    pub on: Day,
    /// Prices that apply to all of a request that is larger than most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<LargeRequestPrices>,
}

/// Prices of a large request: US dollars for a million tokens, as in [`Prices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeRequestPrices {
    /// With more tokens than this in the request, cached ones included.
    pub above: u64,
    /// Tokens sent.
    pub input: Money,
    /// Tokens received.
    pub output: Money,
    /// Tokens read from a cache.
    pub cache_read: Option<Money>,
    /// Tokens written to a cache.
    pub cache_write: Option<Money>,
}

/// Observer of a response as it grows. It must not block.
pub trait StreamObserver: Send + Sync {
    /// Reports the bytes of text, reasoning and arguments received so far.
    fn grew(&self, bytes: u64);

    /// Reports the wait that the rate limits require before the request is sent. Returns `true` if there is enough time.
    fn waits(&self, wait: Duration) -> bool {
        let _ = wait;
        true
    }

    /// Reports something that the user should know about the provider. The same text may come with several turns.
    fn warns(&self, text: &str) {
        let _ = text;
    }
}

impl StreamObserver for () {
    fn grew(&self, _: u64) {}
}

impl Capabilities {
    /// Formats its name as on the command line.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the format of calls and results for this model, as far as it is known before the first request.
    pub const fn speech(&self) -> ToolCallFormat {
        if self.tools { ToolCallFormat::Native } else { ToolCallFormat::Text }
    }
}
