//! Parsing. Main type: [`SyntaxTree`].
//!
//! The languages belong in `grammar`; parsing a text only once belongs in `tree_cache`.

use std::ops::ControlFlow;

use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc};
use ast_grep_language::SupportLang;

use super::carriage_returns::LoneReturns;
use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::matches::{ExcerptGap, ExcerptParts};
use super::other_version::OtherVersion;

/// A parsed text.
pub struct SyntaxTree {
    pub(super) root: AstGrep<StrDoc<SupportLang>>,
    pub(super) grammar: Grammar,
    /// Places of the text where code was left out, ascending; none if all of it was parsed.
    pub(super) gaps: Vec<ExcerptGap>,
}

impl SyntaxTree {
    /// Parses `text`. Syntax errors are no obstacle: they become error nodes.
    pub fn parse(grammar: Grammar, text: &str, watch: &ParseLimits<'_>) -> Result<Self, ParseFailure> {
        Self::parse_after(grammar, text, None, &[], watch)
    }

    /// Parses an excerpt of `text`, each piece at its place; `None` if that has a syntax error, which the whole may not have.
    pub(super) fn parse_excerpt(
        grammar: Grammar,
        text: &str,
        (ranges, gaps): ExcerptParts<'_>,
        watch: &ParseLimits<'_>,
    ) -> Result<Option<Self>, ParseFailure> {
        let tree = Self::parse_after(grammar, text, None, ranges, watch)?;
        let tree = Self { gaps: gaps.to_vec(), ..tree };
        Ok((!tree.root.root().get_inner_node().has_error()).then_some(tree))
    }

    /// Parses `text`, or only some `ranges` of it; `known` is the tree of another version with the edits applied.
    fn parse_after(
        grammar: Grammar,
        text: &str,
        known: Option<&tree_sitter::Tree>,
        ranges: &[tree_sitter::Range],
        watch: &ParseLimits<'_>,
    ) -> Result<Self, ParseFailure> {
        grammar.check_limits(text)?;
        let returns = LoneReturns::of(grammar, text)?;
        let lang = grammar.support();
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&lang.get_ts_language()).map_err(|_| ParseFailure::NoTree)?;
        parser.set_included_ranges(ranges).map_err(|_| ParseFailure::NoTree)?;
        let bytes = returns.replace(text);
        let mut stopped = None;
        let mut progress = |_: &tree_sitter::ParseState| match watch.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                stopped = Some(why);
                ControlFlow::Break(())
            }
        };
        let options = tree_sitter::ParseOptions::new().progress_callback(&mut progress);
        let mut input = |at: usize, _: tree_sitter::Point| bytes.get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut input, known, Some(options));
        let mut tree = tree.ok_or_else(|| stopped.unwrap_or(ParseFailure::NoTree))?;
        returns.restore(&mut tree, &bytes);
        Ok(Self { root: AstGrep::doc(StrDoc { src: text.to_owned(), lang, tree }), grammar, gaps: Vec::new() })
    }

    /// Parses `text`, reusing the tree of another version. The result is the tree that [`parse`](Self::parse) makes: if either text has a
    /// syntax error, from which there is more than one way to recover, nothing is reused.
    pub(super) fn parse_with_other(
        text: &str,
        other: &Self,
        beside: &OtherVersion<'_>,
        watch: &ParseLimits<'_>,
    ) -> Result<Self, ParseFailure> {
        let known = &other.root.root().get_doc().tree;
        // A tree with corrected lines does not correspond to any text that the parser was given.
        let is_plain = |text: &str| LoneReturns::of(other.grammar, text).is_ok_and(|returns| returns.is_empty());
        if !known.root_node().has_error() && is_plain(beside.other) && is_plain(text) {
            let tree = Self::parse_after(other.grammar, text, Some(&beside.edited_tree(known)), &[], watch)?;
            if !tree.root.root().get_inner_node().has_error() {
                return Ok(tree);
            }
        }
        Self::parse(other.grammar, text, watch)
    }

    /// Checks whether it is the tree of an excerpt.
    pub(super) fn is_of(&self, (ranges, gaps): ExcerptParts<'_>) -> bool {
        self.gaps == gaps && self.root.root().get_doc().tree.included_ranges() == ranges
    }

    /// Returns the grammar with which it was parsed.
    pub fn grammar(&self) -> Grammar {
        self.grammar
    }

    /// Counts its syntax errors: error nodes and missing tokens.
    pub fn error_count(&self) -> usize {
        let root = self.root.root();
        if !root.get_inner_node().has_error() {
            return 0;
        }
        root.dfs().filter(|node| node.is_error() || node.is_missing()).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::cancel::{Cancel, CancelReason};

    #[test]
    fn a_stopped_run_stops_the_parser() {
        let cancel = Cancel::never();
        cancel.interrupt();
        let text = "fn a() {}\n".repeat(50_000);
        let stopped = SyntaxTree::parse(Grammar::Rust, &text, &ParseLimits::new(&cancel, Duration::from_secs(2))).err();
        assert_eq!(stopped, Some(ParseFailure::Stopped(CancelReason::Interrupted)));
    }
}
