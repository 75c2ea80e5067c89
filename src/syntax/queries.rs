//! Queries that a text gets more than once: its errors, its symbols, and the name around a line. Main functions: [`error_count`],
//! [`symbols()`], [`enclosing_symbol`].
//!
//! Each is computed once for a text and a cache of trees.

use std::sync::Arc;
use std::time::Duration;

use super::excerpt::{Excerpt, ExcerptQuery};
use super::focus::ScanFocus;
use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::symbols::{self, Symbols};
use super::tree::SyntaxTree;
use super::tree_cache::TreeCache;
use crate::sys::cancel::Cancel;

/// Time limit for a query.
const QUESTION: Duration = Duration::from_secs(2);
/// Maximum size of a text whose symbols are extracted, in bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// The kinds of nodes that name what is inside them, over all grammars here.
const NAMING: &[&str] = &[
    "class_declaration",
    "class_definition",
    "enum_item",
    "function_declaration",
    "function_definition",
    "function_item",
    "impl_item",
    "interface_declaration",
    "method_declaration",
    "method_definition",
    "mod_item",
    "struct_item",
    "trait_item",
    "type_spec",
    "variable_declarator",
];

/// Counts the syntax errors of `text`; `None` if the language has no grammar here, or parsing took too long. Parsed once per `trees`.
pub fn error_count(language: &str, text: &str, trees: &TreeCache) -> Option<usize> {
    let grammar = Grammar::of_text(language, text)?;
    let count = || {
        let cancel = Cancel::never();
        let tree = trees.parse(grammar, text, &ParseLimits::new(&cancel, QUESTION)).ok()?;
        Some(tree.error_count())
    };
    trees.get_or_compute((grammar, text), |said| &mut said.errors, count)
}

/// The level of detail of symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolDepth {
    /// Without the bodies of functions: what a text exports, at a fraction of the work.
    Outline,
    /// Everything.
    All,
}

/// Extracts the symbols of `text`, or of the code in it that `query` names, without parsing the rest; `None` if the language has no grammar here, the
/// text is very large, or parsing took too long. A text is parsed and read once for a query and `trees`.
pub fn symbols(
    language: &str,
    text: &str,
    query: Option<ExcerptQuery<'_>>,
    depth: SymbolDepth,
    trees: &TreeCache,
    cancel: &Cancel,
) -> Option<Arc<Symbols>> {
    let grammar = Grammar::of_text(language, text)?;
    if text.len() > LARGEST || !symbols::are_known(grammar) {
        return None;
    }
    let is_outline = depth == SymbolDepth::Outline;
    let excerpt = query.and_then(|query| trees.excerpt(grammar, text, ExcerptQuery { is_outline, ..query }));
    symbols_of((grammar, text), excerpt.as_ref(), is_outline, trees, cancel)
}

/// Returns the symbols of an excerpt of a text, or of the text if there is none or it has a syntax error.
fn symbols_of(
    (grammar, text): (Grammar, &str),
    excerpt: Option<&Excerpt>,
    is_outline: bool,
    trees: &TreeCache,
    cancel: &Cancel,
) -> Option<Arc<Symbols>> {
    let read = || {
        let watch = ParseLimits::new(cancel, QUESTION);
        let tree = trees.parse_affected(grammar, text, excerpt, None, &watch).ok()?;
        symbols::extract(&tree, text, is_outline, &watch).map(Arc::new)
    };
    trees.symbols((grammar, text), excerpt, |said| if is_outline { &mut said.outline } else { &mut said.symbols }, read)
}

/// Returns the outlines of the code that the queries name in two texts, without the blocks that are equal in both: both are empty if nothing
/// differs. `None` if the blocks of a text are not known, or it cannot be parsed.
pub fn different_outlines(
    language: &str,
    texts: [(&str, ExcerptQuery<'_>); 2],
    trees: &TreeCache,
    cancel: &Cancel,
) -> Option<[Arc<Symbols>; 2]> {
    let grammar = Grammar::of_text(language, texts[0].0)?;
    let is_read = |text: &str| Grammar::of_text(language, text) == Some(grammar) && text.len() <= LARGEST;
    if !texts.iter().all(|(text, _)| is_read(text)) || !symbols::are_known(grammar) {
        return None;
    }
    let queries = texts.map(|(text, query)| (text, ExcerptQuery { is_outline: true, ..query }));
    let [old, new] = trees.different_excerpts(grammar, queries)?;
    let read = |text: &str, excerpt: &Excerpt| {
        let is_empty = excerpt.is_empty();
        if is_empty { Some(Arc::default()) } else { symbols_of((grammar, text), Some(excerpt), true, trees, cancel) }
    };
    Some([read(texts[0].0, &old)?, read(texts[1].0, &new)?])
}

/// Parses the blocks of the two sides of a file that the change affects, and those of which the other side has no equal one, with the heads of
/// what is around them; both texts if their blocks are not known. `None` if a side has no such block.
pub fn different_trees(
    grammar: Grammar,
    sides: [(&str, &ScanFocus); 2],
    trees: &TreeCache,
    watch: &ParseLimits<'_>,
) -> Result<Option<[Arc<SyntaxTree>; 2]>, ParseFailure> {
    let all = |focus| ExcerptQuery { focus: Some(focus), is_all: true, ..ExcerptQuery::default() };
    let excerpts = trees.different_excerpts(grammar, sides.map(|(text, focus)| (text, all(focus))));
    let texts = sides.map(|(text, _)| text);
    if let Some([one, other]) = &excerpts {
        if one.is_empty() || other.is_empty() {
            return Ok(None);
        }
        if let Some(one) = trees.parse_excerpt(grammar, texts[0], one, watch)?
            && let Some(other) = trees.parse_excerpt(grammar, texts[1], other, watch)?
        {
            return Ok(Some([one, other]));
        }
    }
    Ok(Some([trees.parse(grammar, texts[0], watch)?, trees.parse(grammar, texts[1], watch)?]))
}

/// Returns the name of the innermost function or type around `line` (1-indexed); `None` at the top level of a file, or without a grammar.
/// The text is parsed once per `trees`.
pub fn enclosing_symbol(language: &str, text: &str, line: u32, trees: &TreeCache) -> Option<String> {
    let grammar = Grammar::of_text(language, text)?;
    let row = usize::try_from(line.checked_sub(1)?).ok()?;
    let answer = || {
        let cancel = Cancel::never();
        let tree = trees.parse(grammar, text, &ParseLimits::new(&cancel, QUESTION)).ok()?;
        Some(innermost(&tree, row).into_iter().collect::<Vec<String>>())
    };
    trees.get_or_compute((grammar, text), |said| said.names.entry(line).or_default(), answer)?.pop()
}

fn innermost(tree: &SyntaxTree, row: usize) -> Option<String> {
    let mut node = tree.root.root();
    let mut name = None;
    loop {
        if NAMING.contains(&&*node.kind()) {
            let named = node.field("name").or_else(|| node.field("type"));
            name = named.map(|named| named.text().into_owned()).or(name);
        }
        let inside = node.children().find(|child| child.start_pos().line() <= row && row <= child.end_pos().line());
        match inside {
            Some(child) => node = child,
            None => return name,
        }
    }
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
            assert_eq!(error_count(language, good, &TreeCache::default()), Some(0), "{language}");
            assert!(error_count(language, bad, &TreeCache::default()).unwrap() > 0, "{language}");
        }
        assert_eq!(error_count("cobol", "x", &TreeCache::default()), None);
    }

    #[test]
    fn the_innermost_name_is_given() {
        let trees = TreeCache::default();
        let enclosing_symbol = |language, text, line| super::enclosing_symbol(language, text, line, &trees);
        let rust = "struct A;\nimpl A {\n    fn b() {\n        1;\n    }\n}\n";
        assert_eq!(enclosing_symbol("rust", rust, 4).as_deref(), Some("b"));
        assert_eq!(enclosing_symbol("rust", rust, 2).as_deref(), Some("A"));
        let python = "x = 1\nclass A:\n    def b(self):\n        return 1\n";
        assert_eq!(enclosing_symbol("python", python, 4).as_deref(), Some("b"));
        assert_eq!(enclosing_symbol("python", python, 1), None);
        assert_eq!(enclosing_symbol("go", "package p\n\nfunc (t T) C() {\n\treturn\n}\n", 4).as_deref(), Some("C"));
        assert_eq!(enclosing_symbol("typescript", "const f = () => {\n  g();\n};\n", 2).as_deref(), Some("f"));
        assert_eq!(enclosing_symbol("cobol", "x", 1), None);
    }
}
