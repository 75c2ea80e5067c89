//! Words on whose places it depends what a change means elsewhere. Main type: [`FollowedWords`].
//!
//! The decision on what changed belongs in `changed`; which code is parsed for the words, in `syntax`.

use std::collections::BTreeSet;

use crate::syntax::{ExcerptQuery, Symbols, WordSet};

/// Words about one definition; code without any of them is not parsed.
#[derive(Debug, Default)]
pub(super) struct FollowedWords {
    names: WordSet,
    /// Types whose members matter.
    types: WordSet,
    /// All of them, as one text.
    key: String,
}

impl FollowedWords {
    pub(super) fn new(names: BTreeSet<String>, types: BTreeSet<String>) -> Self {
        let key = format!("{names:?} {types:?}");
        Self { names: WordSet::of(names), types: WordSet::of(types), key }
    }

    /// Returns a text that no other words have.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns what is parsed for them.
    pub(super) fn query(&self) -> ExcerptQuery<'_> {
        ExcerptQuery { words: Some(&self.names), types: Some(&self.types), ..ExcerptQuery::default() }
    }

    /// Adds the other names under which a file imports what they name; `None` if there are none.
    pub(super) fn with_renamed(&self, symbols: &Symbols) -> Option<WordSet> {
        let is_followed = |name: &str| name == "default" || self.names.contains(name) || self.types.contains(name);
        let followed = symbols.imports.iter().filter(|import| import.name.as_deref().is_some_and(is_followed));
        let renamed = followed.filter_map(|import| import.alias.clone()).filter(|alias| !self.names.contains(alias));
        let renamed: Vec<String> = renamed.collect();
        (!renamed.is_empty()).then(|| self.names.with(renamed))
    }
}
