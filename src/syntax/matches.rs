//! Matches of rules in a text. Main types: [`SyntaxMatch`] (a match), [`SyntaxScan`] (all of them, and what was not examined).
//!
//! Matching belongs in `matching`.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::domain::place::LineRange;

/// A match of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxMatch {
    /// The index of the rule in its set.
    pub rule: usize,
    /// The bytes of the match.
    pub bytes: Range<usize>,
    /// The lines of the match.
    pub lines: LineRange,
    /// The lines at which it is reported: those of the metavariable that the rule names, else its own.
    pub at: LineRange,
    /// The key by which two matches are equal.
    pub same: Vec<Range<usize>>,
    /// The texts of the metavariables that must still exist where the match was removed.
    pub stays: Vec<Range<usize>>,
    /// The texts of those that must still exist after the place of the removed match.
    pub guards: Vec<Range<usize>>,
    /// The lines of the nearest enclosing node that has more lines.
    pub around: LineRange,
    /// `true` if it is in test-only code (known for Rust: `#[test]`, `#[cfg(test)]`).
    pub in_test: bool,
    /// The replacement that the rule suggests.
    pub edit: Option<ByteEdit>,
}

/// A replacement of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteEdit {
    /// The replaced bytes.
    pub bytes: Range<usize>,
    /// The new text.
    pub text: String,
}

/// A place where an excerpt leaves out code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExcerptGap {
    /// The byte at which a left out block begins.
    pub(super) at: usize,
    /// `true` if it is in a function.
    pub(super) is_in_function: bool,
}

/// The ranges of a text that are parsed, and the places where code is left out.
pub(super) type ExcerptParts<'a> = (&'a [tree_sitter::Range], &'a [ExcerptGap]);

/// The code outside of an excerpt that matching a rule would have read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedGaps {
    /// No such code.
    #[default]
    None,
    /// Code that is in no function.
    Outside,
    /// Code in a function that stands for a module.
    InFunction,
}

/// All matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyntaxScan {
    /// In the order of the text.
    pub found: Vec<SyntaxMatch>,
    /// The indices of the rules that would have read more than the excerpt has, with what: they may match differently in all of the text.
    pub passed: BTreeMap<usize, PassedGaps>,
    /// Number of nodes that rules were matched against.
    pub nodes: u64,
    /// `true` if something was nested too deep to be examined.
    pub too_deep: bool,
    /// `true` if the limit of matches was reached.
    pub too_many: bool,
    /// The indices of rules that took too many steps and were aborted.
    pub given_up: Vec<usize>,
}
