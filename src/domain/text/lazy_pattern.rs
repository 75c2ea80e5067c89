//! Regular expressions that are compiled when they are first needed. Main type: [`LazyPattern`].

use std::sync::OnceLock;

use regex::Regex;

/// A regular expression, compiled at its first use; one that does not compile matches nothing.
#[derive(Debug)]
pub struct LazyPattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyPattern {
    /// Creates a pattern from its source.
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// Returns the compiled expression.
    pub fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(self.source).ok()).as_ref()
    }

    /// Checks whether a text has a match.
    pub fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }
}
