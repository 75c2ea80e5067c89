//! What an engine needs of a model. Main type: [`Provider`].

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fault::TurnFault;
use super::turn::{Speech, TurnRequest, TurnResponse};
use crate::domain::day::Day;
use crate::domain::money::Money;

/// A future that can be kept behind a pointer and sent to another thread.
pub type Waited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The first wait before a failed request is sent again.
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A model that can be asked.
///
/// Dropping the future of a turn abandons it: whoever waits puts the deadline and the interrupt around it.
pub trait Provider: Send + Sync {
    /// What the model can do.
    fn capabilities(&self) -> &Capabilities;

    /// How long a failed request waits before it is sent again, where the server does not say; it doubles with each attempt.
    fn first_wait(&self) -> Duration {
        FIRST_WAIT
    }

    /// Asks for one answer and waits for the whole of it. One attempt: whether to try again is the caller's to say, and
    /// [`TurnFault::is_transient`] tells whether it can help.
    ///
    /// `quiet` is how long the server may send nothing before the attempt counts as lost. `watch` hears of the answer as it grows.
    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        quiet: Duration,
        watch: &'a dyn Watch,
    ) -> Waited<'a, Result<TurnResponse, TurnFault>>;
}

/// What a model can do, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The provider's word, as the table has it: `anthropic`, `openai`, `ollama`, …
    pub provider: Arc<str>,
    /// The model's name, as the provider knows it.
    pub model: String,
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// The most tokens of one answer.
    pub max_output: u32,
    /// Whether it calls tools as its interface has them; else it is spoken to in text from the first turn.
    pub tools: bool,
    /// What it costs, where that is known.
    pub prices: Option<Prices>,
}

/// What a model costs: US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Tokens sent that were neither read from nor written to a cache.
    pub input: Money,
    /// Tokens received, reasoning included.
    pub output: Money,
    /// Tokens read from a cache; `None` where that is not known.
    pub cache_read: Option<Money>,
    /// Tokens written to a cache; `None` where writing is not told apart and costs what sending does.
    pub cache_write: Option<Money>,
    /// The day on which they were looked up.
    pub on: Day,
    /// What a request costs instead that is larger than most, all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Large>,
}

/// What a large request costs: US dollars for a million tokens, as in [`Prices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Large {
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

/// Hears of an answer as it grows. It must not block.
pub trait Watch: Send + Sync {
    /// So many bytes of text, reasoning or arguments have come so far.
    fn grew(&self, bytes: u64);

    /// So long is to be waited before the request may be sent, to stay within the provider's limits. Whether there is so much time.
    fn waits(&self, wait: Duration) -> bool {
        let _ = wait;
        true
    }
}

impl Watch for () {
    fn grew(&self, _: u64) {}
}

impl Capabilities {
    /// How calls and their results are written for this model, as far as is known before it is asked.
    pub const fn speech(&self) -> Speech {
        if self.tools { Speech::Native } else { Speech::Text }
    }
}
