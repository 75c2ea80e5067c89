//! Languages and parsing. Main types: [`Grammar`], [`SyntaxTree`].

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc};
use ast_grep_language::SupportLang;

use super::carriage_returns::LoneReturns;
use super::limits::beyond_scanner;
use super::other_version::OtherVersion;
use super::tree_cache::TreeCache;
use crate::sys::cancel::{Cancel, CancelReason};

macro_rules! grammars {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// A supported language.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Grammar {
            $($(#[$doc])* $name),+
        }

        impl Grammar {
            /// Every grammar.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The id of its language, as `domain` spells it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            pub(super) const fn support(self) -> SupportLang {
                match self { $(Self::$name => SupportLang::$name),+ }
            }
        }
    };
}

grammars! {
    /// Rust.
    Rust = "rust",
    /// Python 3 (and the parts of Python 2 that still parse).
    Python = "python",
    /// JavaScript, JSX included.
    JavaScript = "javascript",
    /// TypeScript.
    TypeScript = "typescript",
    /// TypeScript with JSX.
    Tsx = "tsx",
    /// Go.
    Go = "go",
    /// Java.
    Java = "java",
    /// C.
    C = "c",
    /// C++.
    Cpp = "cpp",
    /// Shell scripts, parsed as Bash.
    Bash = "shell",
    /// YAML: workflows.
    Yaml = "yaml",
}

impl Grammar {
    /// Returns the grammar of a language by its id; `None` if there is none.
    pub fn of(language: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|grammar| grammar.word() == language)
    }

    /// Checks that its scanner can hold a text, without parsing it.
    pub fn check_limits(self, text: &str) -> Result<(), ParseFailure> {
        match beyond_scanner(self, text) {
            Some(why) => Err(ParseFailure::BeyondScanner(why)),
            None => LoneReturns::of(self, text).map(drop),
        }
    }
}

/// Limits on parsing and matching one text: time and cancellation.
#[derive(Debug, Clone)]
pub struct ParseLimits<'a> {
    cancel: &'a Cancel,
    until: Option<Instant>,
}

impl<'a> ParseLimits<'a> {
    /// Ends after `limit`, or on `cancel`.
    pub fn new(cancel: &'a Cancel, limit: Duration) -> Self {
        Self { cancel, until: Instant::now().checked_add(limit) }
    }

    /// Ends at that moment, or on `cancel`.
    pub(super) fn until(cancel: &'a Cancel, until: Option<Instant>) -> Self {
        Self { cancel, until }
    }

    /// Returns the cancellation and the end.
    pub(super) fn parts(&self) -> (Cancel, Option<Instant>) {
        (self.cancel.clone(), self.until)
    }

    /// Checks whether to continue.
    pub fn check(&self) -> Result<(), ParseFailure> {
        self.cancel.check()?;
        match self.until {
            Some(until) if Instant::now() >= until => Err(ParseFailure::TooSlow),
            _ => Ok(()),
        }
    }
}

/// Why a text was not parsed, or not matched to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseFailure {
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
    /// The time limit for a text was reached.
    #[error("parsing it took too long")]
    TooSlow,
    /// It crashes the parser.
    #[error("it crashes the parser (please report the file)")]
    Crashed,
    /// It exceeds the limits of the grammar's scanner.
    #[error("{0}")]
    BeyondScanner(&'static str),
    /// The parser returned nothing.
    #[error("the parser could not read it")]
    NoTree,
}

/// A parsed text.
pub struct SyntaxTree {
    pub(super) root: AstGrep<StrDoc<SupportLang>>,
    pub(super) grammar: Grammar,
}

impl SyntaxTree {
    /// Parses `text`. Syntax errors are no obstacle: they become error nodes.
    pub fn parse(grammar: Grammar, text: &str, watch: &ParseLimits<'_>) -> Result<Self, ParseFailure> {
        Self::parse_after(grammar, text, None, watch)
    }

    /// Parses `text`; `known` is the tree of another version with the edits applied.
    fn parse_after(
        grammar: Grammar,
        text: &str,
        known: Option<&tree_sitter::Tree>,
        watch: &ParseLimits<'_>,
    ) -> Result<Self, ParseFailure> {
        grammar.check_limits(text)?;
        let returns = LoneReturns::of(grammar, text)?;
        let lang = grammar.support();
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&lang.get_ts_language()).map_err(|_| ParseFailure::NoTree)?;
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
        Ok(Self { root: AstGrep::doc(StrDoc { src: text.to_owned(), lang, tree }), grammar })
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
            let tree = Self::parse_after(other.grammar, text, Some(&beside.edited_tree(known)), watch)?;
            if !tree.root.root().get_inner_node().has_error() {
                return Ok(tree);
            }
        }
        Self::parse(other.grammar, text, watch)
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

/// Time limit for a single query of a text.
const QUESTION: Duration = Duration::from_secs(2);

/// Counts the syntax errors of `text`; `None` if the language has no grammar here, or parsing took too long. The text is parsed once per
/// `trees`.
pub fn error_count(language: &str, text: &str, trees: &TreeCache) -> Option<usize> {
    let grammar = Grammar::of(language)?;
    let count = || {
        let cancel = Cancel::never();
        let tree = trees.parse(grammar, text, &ParseLimits::new(&cancel, QUESTION)).ok()?;
        Some(tree.error_count())
    };
    trees.get_or_compute((grammar, text), |said| &mut said.errors, count)
}

/// Checks whether `text` parses without an error; `None` as for [`error_count`].
pub fn parses(language: &str, text: &str) -> Option<bool> {
    error_count(language, text, &TreeCache::default()).map(|errors| errors == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_parses_its_language_and_notices_what_is_not() {
        for (language, good, bad) in [
            ("rust", "fn main() { let a = 1; }", "fn main( { let a = ; }"),
            ("python", "def f(a):\n    return a\n", "def f(a:\n    return )\n"),
            ("javascript", "const a = <b>{c}</b>;", "const a = = 1;"),
            ("typescript", "const a: number = <any>b;", "const a: = 1;"),
            ("tsx", "const a: X = <b>{c}</b>;", "const a = <b>;"),
            ("go", "package a\nfunc f() {}\n", "package a\nfunc f( {}\n"),
            ("java", "class A { int b() { return 1; } }", "class A { int b( { return; } }"),
            ("c", "int a(void) { return 1; }", "int a(void { return 1; }"),
            ("cpp", "template <class T> T a() { return T{}; }", "template <class T> T a( { return T{}; }"),
            ("shell", "if a; then b; fi\n", "if a; then b; \n"),
            ("yaml", "a:\n  - b: c\n", "a:\n  - b: [c\n d: }\n"),
        ] {
            assert_eq!(parses(language, good), Some(true), "{language}");
            assert_eq!(parses(language, bad), Some(false), "{language}");
            assert!(error_count(language, bad, &TreeCache::default()).unwrap() > 0, "{language}");
        }
        assert_eq!(parses("cobol", "x"), None);
    }

    #[test]
    fn a_stopped_run_stops_the_parser() {
        let cancel = Cancel::never();
        cancel.interrupt();
        let text = "fn a() {}\n".repeat(50_000);
        let stopped = SyntaxTree::parse(Grammar::Rust, &text, &ParseLimits::new(&cancel, QUESTION)).err();
        assert_eq!(stopped, Some(ParseFailure::Stopped(CancelReason::Interrupted)));
    }
}
