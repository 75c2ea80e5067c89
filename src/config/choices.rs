//! Settings that are one word of a few. Main types: [`ModelChoice`], [`Verify`], [`Colour`].

use serde::{Deserialize, Serialize};

/// The choice of the reviewing model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// The model of the first provider that has a key; the built-in rules if there is none.
    Auto,
    /// None: the built-in rules.
    Rules,
    /// A model by name. Which providers there are is known to `llm`.
    Named {
        /// The provider's word.
        provider: String,
        /// The model; the provider's default where it is not said. It may hold slashes.
        model: Option<String>,
    },
}

impl ModelChoice {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        if word.eq_ignore_ascii_case("auto") {
            return Some(Self::Auto);
        }
        if word.eq_ignore_ascii_case("none") {
            return Some(Self::Rules);
        }
        let (provider, model) = match word.split_once('/') {
            Some((provider, model)) => (provider, Some(model)),
            None => (word, None),
        };
        // A comma stands between names, never in one.
        let is_none = provider.is_empty() || model.is_some_and(str::is_empty) || word.contains(',');
        (!is_none).then(|| Self::Named { provider: provider.to_owned(), model: model.map(str::to_owned) })
    }
}

/// The choice of model findings to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verify {
    /// The critical and the high ones; medium ones while budget is left.
    Auto,
    /// All.
    All,
    /// None.
    None,
}

impl Verify {
    /// Returns it as it is written in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::All => "all",
            Self::None => "none",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        [Self::Auto, Self::All, Self::None].into_iter().find(|known| word.eq_ignore_ascii_case(known.as_str()))
    }
}

/// The choice of when to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal that wants them.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colour {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)]
            .into_iter()
            .find(|(known, _)| word.eq_ignore_ascii_case(known))
            .map(|(_, colour)| colour)
    }
}
