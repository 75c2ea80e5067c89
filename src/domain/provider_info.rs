//! The providers and models available for reviews, and the obstacles to using them. Main type: [`ProviderInfo`].
//!
//! Connecting to a provider belongs in `llm`; rendering, in `present`.

use super::day::Day;
use super::money::Money;

/// An assistant that is installed here and can review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssistantInfo {
    /// Its name: the setting `model`, and the client of `review mcp install`.
    pub name: &'static str,
    /// The word of `--agent`.
    pub word: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The program on the `PATH`.
    pub program: &'static str,
}

/// A provider, as it is set up here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    /// Its word.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The language it speaks.
    pub wire: &'static str,
    /// The address, without credentials; `None` if unknown.
    pub address: Option<String>,
    /// The variable that its address hangs on and that is not set.
    pub address_variable: Option<String>,
    /// Its key.
    pub key: ProviderKeyState,
    /// The obstacle to querying it, in one line; `None` if there is none.
    pub lacks: Option<String>,
    /// Its model when none is named.
    pub default_model: Option<String>,
    /// The known facts about its models.
    pub models: Vec<ModelInfo>,
    /// The models that it lists; `None` if it was not queried.
    pub there: Option<ProviderModels>,
}

/// The state of a key, which is never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKeyState {
    /// There is one.
    Set {
        /// The variable or the setting that holds it.
        by: String,
    },
    /// There is none, and it needs one.
    Missing {
        /// The variables and the setting that would hold it.
        by: Vec<String>,
    },
    /// There is none, and it may not need one.
    Unset {
        /// The variables and the setting that would hold it.
        by: Vec<String>,
    },
}

/// The known facts about a model. `None` means unknown, never no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its name, or what its name begins with.
    pub name: String,
    /// `true` if it stands for all whose names begin so.
    pub is_prefix: bool,
    /// Tokens of a request and its answer together.
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    pub max_output: Option<u32>,
    /// `true` if it calls tools.
    pub tools: Option<bool>,
    /// `true` if it calls several in one turn.
    pub parallel_tools: Option<bool>,
    /// The way in which the prefix of a request is cached.
    pub caching: Option<&'static str>,
    /// `true` if it thinks before it answers.
    pub reasoning: Option<bool>,
    /// Its price.
    pub prices: Option<PriceList>,
    /// The price of a whole request that has more tokens than the number.
    pub dearer: Option<(u64, PriceList)>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceList {
    /// Sent.
    pub input: Money,
    /// Received.
    pub output: Money,
    /// Read from a cache.
    pub cache_read: Option<Money>,
    /// Written to a cache.
    pub cache_write: Option<Money>,
    /// When they were looked up.
    pub on: Day,
}

/// A provider's response to the query for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderModels {
    /// These names, sorted.
    Models(Vec<String>),
    /// The reason why it said nothing that can be used.
    Fault(String),
}
