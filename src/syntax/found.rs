//! What rules found in a text. Main types: [`Found`] (a match), [`Scan`] (all of them, and what was not looked at).
//!
//! How they are found belongs in `matching`.

use std::ops::Range;

use crate::domain::place::LineRange;

/// A place where a rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The rule, as counted when the set was compiled.
    pub rule: usize,
    /// The bytes of the match.
    pub bytes: Range<usize>,
    /// Its lines.
    pub lines: LineRange,
    /// The lines at which it is told: those of the metavariable that the rule names, else its own.
    pub at: LineRange,
    /// What makes two matches the same one.
    pub same: Vec<Range<usize>>,
    /// The text of the metavariables that must be there still where the match is gone.
    pub stays: Vec<Range<usize>>,
    /// The text of those that must be there still after the place where the match is gone.
    pub guards: Vec<Range<usize>>,
    /// The lines of the nearest node around it that has more lines than it.
    pub around: LineRange,
    /// Whether it stands in code that only tests compile (known for Rust: `#[test]`, `#[cfg(test)]`).
    pub in_test: bool,
    /// What the rule would put there.
    pub edit: Option<Edit>,
}

/// A replacement of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go.
    pub bytes: Range<usize>,
    /// What comes.
    pub text: String,
}

/// All matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// In the order of the text.
    pub found: Vec<Found>,
    /// Whether something was nested too deep to be looked at.
    pub too_deep: bool,
    /// Whether there are more matches than are looked for.
    pub too_many: bool,
    /// The rules that took too many steps and were given up, as counted when the set was compiled.
    pub given_up: Vec<usize>,
}
