//! A run: one execution of the program that produced (or tried to produce) a review. Main types: [`RunId`], [`Engine`], [`Usage`].
//!
//! Its entry in a list belongs in `run_record`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::money::{self, Money};
use crate::domain::words::words;

/// The id of a run: a random UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(uuid::Uuid);

/// Text that is not the id of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a run id: {0:?} (a UUID such as `review list` prints)")]
pub struct InvalidRunId(pub String);

impl RunId {
    /// A new random id.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(id: String) -> Result<Self, InvalidRunId> {
        id.parse()
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        uuid::Uuid::try_parse(text).map(Self).map_err(|_| InvalidRunId(text.to_owned()))
    }
}

words! {
    /// Which engine reviewed.
    pub enum Engine: as_str {
        /// A language model.
        Model = "model",
        /// The built-in rules.
        Rules = "rules",
    }
}

impl Engine {
    /// The word for the engine's work: a model reviews, rules check.
    pub const fn past_tense(self) -> &'static str {
        match self {
            Self::Model => "reviewed",
            Self::Rules => "checked",
        }
    }
}

/// Tokens and cost; null is unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// Of those sent, read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Of those sent, written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// US dollars.
    #[serde(rename = "cost_usd", default, with = "money::in_dollars")]
    #[schemars(!default, with = "Option<f64>")]
    pub cost: Option<Money>,
}

/// Returns the share of one number in another, in whole percent; `None` if it cannot be a part of it, or there is nothing to be a part of.
pub fn percent(part: u64, whole: u64) -> Option<u64> {
    let percent = (u128::from(part) * 100).checked_div(u128::from(whole)).filter(|_| part <= whole)?;
    u64::try_from(percent).ok()
}

impl Usage {
    /// Returns the cache hit rate of the sent tokens, in percent; `None` if unknown.
    pub fn cached(&self) -> Option<u64> {
        percent(self.cache_read_tokens?, self.input_tokens?)
    }

    /// The usage of a model that was not called.
    pub const NOTHING: Self = Self {
        input_tokens: Some(0),
        output_tokens: Some(0),
        cache_read_tokens: Some(0),
        cache_write_tokens: Some(0),
        cost: Some(Money::NOTHING),
    };

    /// Both together; unknown where either is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
            cost: self.cost.zip(other.cost).map(|(a, b)| a.plus(b)),
        }
    }
}
