//! Settings that are one word of a few. Main types: [`ModelChoice`], [`Verify`], [`Colour`].

use crate::domain::words::words;

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

words! {
    /// The choice of model findings to verify.
    pub enum Verify: as_str {
        /// The critical and the high ones; medium ones while budget is left.
        Auto = "auto",
        /// All.
        All = "all",
        /// None.
        None = "none",
    }
}

words! {
    /// The choice of when to use color.
    pub enum Colour: as_str {
        /// On a terminal that wants them.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}
