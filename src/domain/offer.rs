//! Which models there are to review with, and what stands in the way of one. Main type: [`Offer`].
//!
//! How a provider is reached belongs in `llm`; how this is told, in `present`.

use super::day::Day;
use super::money::Money;

/// A provider, as it is set up here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its word.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// The language it speaks.
    pub wire: &'static str,
    /// Where it is, without credentials; `None` where that is not known.
    pub address: Option<String>,
    /// The variable that its address hangs on and that is not set.
    pub address_variable: Option<String>,
    /// Its key.
    pub key: Key,
    /// What stands in the way of asking it, in one line; `None` where nothing does.
    pub lacks: Option<String>,
    /// Its model when none is named.
    pub default_model: Option<String>,
    /// What is known of its models.
    pub models: Vec<OfferedModel>,
    /// What it says that it has; `None` where it was not asked.
    pub there: Option<There>,
}

/// The state of a key, which is never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
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

/// What is known of a model. `None` is unknown, never no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// Its name, or what its name begins with.
    pub name: String,
    /// Whether it stands for all whose names begin so.
    pub is_prefix: bool,
    /// Tokens of a request and its answer together.
    pub context_window: Option<u64>,
    /// The most tokens of one answer.
    pub max_output: Option<u32>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it calls several in one turn.
    pub parallel_tools: Option<bool>,
    /// How the beginning of a request is cached.
    pub caching: Option<&'static str>,
    /// Whether it thinks before it answers.
    pub reasoning: Option<bool>,
    /// What it costs.
    pub prices: Option<PriceList>,
    /// What a request with more tokens than the number costs, all of it.
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

/// What a provider said when it was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    /// These names, sorted.
    Models(Vec<String>),
    /// Why it said nothing that can be used.
    Fault(String),
}
