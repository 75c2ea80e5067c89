//! The part of a text that a change affects. Main type: [`Excerpt`].
//!
//! Most of a large change's texts is code that it does not touch, and parsing is what a review without a model costs. So a parser is given
//! only the blocks with an affected line or a searched word, the imports, the statements of one line, and the first and the last block, each
//! at its place in the text. A block begins at the margin where nothing is open, and has all lines up to the next one. The blocks in a type
//! or a module of some size are examined one by one. An excerpt with a syntax error is not used: what is parsed then is the text.
//!
//! Brackets, strings and comments that are open at a line belong in `nesting`.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Range as Span;

use aho_corasick::AhoCorasick;
use tree_sitter::{Point, Range};

use super::focus::ScanFocus;
use super::grammar::Grammar;
use super::nesting::{self, NestedLine};
use crate::domain::text::LazyPattern;

/// Part of a text up to which it is worth to leave out the rest, in percent.
const MOST_PERCENT: usize = 80;

/// Maximum number of lines that are divided into blocks; a text with more is generated.
const MOST_DIVIDED: usize = 100_000;
/// Maximum depth of members that are examined one by one.
const DEEPEST: usize = 6;
/// Size from which the members of a block are examined one by one, in bytes.
const SMALLEST: usize = 1 << 10;

/// Words at the margin that continue a statement.
const CONTINUATIONS: &[&str] = &["case", "catch", "default:", "elif", "else", "except", "finally", "where"];
/// Words before the one that names the kind of a block.
const MODIFIERS: &[&str] = &[
    "abstract",
    "declare",
    "default",
    "export",
    "final",
    "inline",
    "private",
    "protected",
    "pub",
    "public",
    "sealed",
    "static",
    "strictfp",
    "unsafe",
];
/// Lines of a script that begin an asynchronous function which has a name.
static ASYNC: LazyPattern = LazyPattern::new(r"^(?:@[\w.]+(?:\([^)]*\))?\s*)*[^(]*\basync\b");
/// Beginnings of blocks that others depend on.
const IMPORTS: &[&str] =
    &["export {", "export * ", "export type {", "exports", "extern ", "from ", "import", "module.exports", "package"];

/// The byte ranges of a text that are parsed, ascending and apart; each is whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub(super) ranges: Vec<Range>,
}

/// Words, each searched as a whole one.
#[derive(Debug, Default)]
pub struct WordSet {
    words: BTreeSet<String>,
    search: Option<AhoCorasick>,
}

impl WordSet {
    /// Creates the set of these words.
    pub fn of(words: BTreeSet<String>) -> Self {
        let search = AhoCorasick::new(&words).ok().filter(|_| !words.is_empty());
        Self { words, search }
    }

    /// Returns the set with more words.
    #[must_use]
    pub fn with(&self, words: impl IntoIterator<Item = String>) -> Self {
        Self::of(self.words.iter().cloned().chain(words).collect())
    }

    /// Checks whether a word is in the set.
    pub fn contains(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Checks whether a text has one of the words.
    pub fn stand_in(&self, text: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole =
            |start: usize, end: usize| !text[..start].ends_with(is_part) && !text[end..].starts_with(is_part);
        self.search
            .as_ref()
            .is_some_and(|search| search.find_overlapping_iter(text).any(|found| is_whole(found.start(), found.end())))
    }
}

/// The code of a text that is examined.
#[derive(Debug, Default, Clone, Copy)]
pub struct ExcerptQuery<'a> {
    /// The lines that the change affects.
    pub focus: Option<&'a ScanFocus>,
    /// Words; what has one of them is examined.
    pub words: Option<&'a WordSet>,
    /// Types; all members of what has one of them in its head are examined.
    pub types: Option<&'a WordSet>,
}

impl ExcerptQuery<'_> {
    fn wants(&self, text: &DividedText<'_>, block: &Block) -> bool {
        let code = text.text_of(&block.lines);
        self.focus.is_some_and(|focus| focus.touches(number(block.lines.start), number(block.lines.end) - 1))
            || block.is_needed
            || text.has_macros(block)
            || !text.text_of(&(block.begins..block.lines.end)).trim_end().contains('\n')
            || self.words.is_some_and(|words| words.stand_in(code))
            || self.types.is_some_and(|types| types.stand_in(code))
    }

    /// Checks whether all members of a block with this head are wanted.
    fn wants_all(&self, text: &DividedText<'_>, head: &Span<usize>) -> bool {
        self.focus.is_some_and(|focus| focus.affects(number(head.start), number(head.end) - 1))
            || self.types.is_some_and(|types| types.stand_in(text.text_of(head)))
    }
}

impl Excerpt {
    /// Selects the blocks of `text` that are examined; `None` if that is nearly all of it, or the text cannot be divided.
    pub fn of(grammar: Grammar, text: &str, query: ExcerptQuery<'_>) -> Option<Self> {
        let divided = DividedText::of(grammar, text)?;
        let mut wanted = Vec::new();
        divided.add_wanted(&(0..divided.lines.len() - 1), (0, 0), query, 0, &mut wanted);
        let excerpt = Self { ranges: divided.join(&wanted) };
        (excerpt.len() * 100 <= text.len() * MOST_PERCENT).then_some(excerpt)
    }

    /// Returns the names of what the affected blocks of `text` define. Other code that has them may mean something else now.
    pub fn affected_names(grammar: Grammar, text: &str, focus: &ScanFocus) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        // Rules for these look at one function at a time.
        if matches!(grammar, Grammar::Go | Grammar::Rust) {
            return names;
        }
        if let Some(divided) = DividedText::of(grammar, text) {
            let all = 0..divided.lines.len() - 1;
            divided.add_names(&all, (0, 0), focus, 0, &mut names);
        }
        names
    }

    /// Returns its number of bytes.
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|range| range.end_byte - range.start_byte).sum()
    }

    /// Joins its pieces.
    pub fn join(&self, text: &str) -> String {
        self.ranges.iter().filter_map(|range| text.get(range.start_byte..range.end_byte)).collect()
    }
}

impl Hash for Excerpt {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ranges.iter().for_each(|range| (range.start_byte, range.end_byte).hash(state));
    }
}

/// Returns the number of a line from its index.
fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// A text as lines. Spans of it are indices of lines.
struct DividedText<'t> {
    grammar: Grammar,
    text: &'t str,
    /// The last one is empty, and no line of a block.
    lines: Vec<NestedLine>,
}

/// A block of lines.
struct Block {
    lines: Span<usize>,
    /// Its last line that begins at the margin.
    begins: usize,
    /// `true` if it belongs to the block after it: a decorator, a comment, the type that a function returns.
    leads: bool,
    /// `true` if it has a statement that others depend on.
    is_needed: bool,
    /// `true` if it has comments only.
    is_comment: bool,
}

/// A block with blocks of its own.
struct Container {
    head: Span<usize>,
    members: Span<usize>,
    rest: Span<usize>,
    /// The margin of the members, and their depth of brackets.
    at: (usize, u32),
}

impl<'t> DividedText<'t> {
    /// Divides a text into lines; `None` if its blocks are not known.
    fn of(grammar: Grammar, text: &'t str) -> Option<Self> {
        let has_blocks = !matches!(grammar, Grammar::Bash | Grammar::Yaml);
        let has_plain_lines = memchr::memchr(b'\r', text.as_bytes()).is_none();
        if !has_blocks || !has_plain_lines || memchr::memchr_iter(b'\n', text.as_bytes()).count() > MOST_DIVIDED {
            return None;
        }
        Some(Self { grammar, text, lines: nesting::lines(grammar, text)? })
    }

    fn text_of(&self, lines: &Span<usize>) -> &'t str {
        let at = |line: usize| self.lines.get(line).map_or(self.text.len(), |line| line.start);
        self.text.get(at(lines.start)..at(lines.end)).unwrap_or_default()
    }

    fn line(&self, at: usize) -> &'t str {
        self.text_of(&(at..at + 1))
    }

    fn margin(&self, at: usize) -> usize {
        let line = self.line(at);
        line.len() - line.trim_start_matches([' ', '\t']).len()
    }

    /// Adds the lines of the wanted ones of the blocks at a margin and a depth of brackets, `level` blocks down.
    fn add_wanted(
        &self,
        lines: &Span<usize>,
        (margin, depth): (usize, u32),
        query: ExcerptQuery<'_>,
        level: usize,
        wanted: &mut Vec<Span<usize>>,
    ) {
        let blocks = self.blocks(lines, margin, depth);
        let (before, last) = (wanted.len(), blocks.len().saturating_sub(1));
        for (at, block) in blocks.iter().enumerate() {
            // The node that is all of the text begins and ends with them.
            let is_end = level == 0 && (at == 0 || at == last);
            if !is_end && !query.wants(self, block) {
                continue;
            }
            let container = self.container(block, depth, level);
            match container.filter(|container| !query.wants_all(self, &container.head)) {
                Some(Container { head, members, rest, at }) => {
                    wanted.push(head);
                    self.add_wanted(&members, at, query, level + 1, wanted);
                    wanted.push(rest);
                }
                None => wanted.push(block.lines.clone()),
            }
        }
        // A class without members is none in Python.
        if let Some(block) = blocks.first().filter(|_| level > 0 && wanted.len() == before) {
            wanted.extend((self.grammar == Grammar::Python).then(|| block.lines.clone()));
        }
    }

    /// Adds the names that the affected blocks at a margin and a depth of brackets define.
    fn add_names(
        &self,
        lines: &Span<usize>,
        (margin, depth): (usize, u32),
        focus: &ScanFocus,
        level: usize,
        names: &mut BTreeSet<String>,
    ) {
        for block in self.blocks(lines, margin, depth) {
            if !focus.affects(number(block.lines.start), number(block.lines.end) - 1) {
                continue;
            }
            match self.container(&block, depth, level) {
                Some(Container { members, at, .. }) => self.add_names(&members, at, focus, level + 1, names),
                None => names.extend(defined_name(self.grammar, self.line(block.begins).trim(), level)),
            }
        }
    }

    /// Divides lines into blocks.
    fn blocks(&self, lines: &Span<usize>, margin: usize, depth: u32) -> Vec<Block> {
        let mut found: Vec<Block> = Vec::new();
        for at in lines.clone() {
            let line = self.line(at);
            let inner = line.get(margin..).filter(|_| self.margin(at) == margin).unwrap_or_default();
            let is_nested = self.lines.get(at).is_some_and(|line| line.depth == depth && !line.goes_on);
            let is_directive = is_c(self.grammar) && line.trim_start().starts_with('#');
            let begins = is_nested && (is_directive || begins_block(inner));
            let is_closing = line.trim_start().starts_with([')', ']', '}']);
            let is_outer = is_nested || is_closing && self.lines.get(at).is_some_and(|line| line.depth == depth + 1);
            let is_needed = begins && is_import(self.grammar, inner) || self.gives_names(at, is_outer);
            let goes_on = is_nested && CONTINUATIONS.iter().any(|word| line.trim_start().starts_with(word));
            // Comments may stand between the branches of a statement.
            while goes_on && found.len() > 1 && found.last().is_some_and(|last| last.is_comment) {
                found.pop();
            }
            let has_code = begins && !is_comment(self.grammar, inner);
            match found.last_mut().filter(|last| last.leads || !begins) {
                Some(last) => {
                    last.leads = if begins {
                        leads(self.grammar, inner) || is_comment(self.grammar, inner)
                    } else {
                        let ends = has_type_first(self.grammar) && ends_declaration(line);
                        last.leads && !ends && !(is_nested && inner.starts_with(['{', '}']))
                    };
                    last.begins = if begins { at } else { last.begins };
                    last.is_comment &= !has_code;
                    last.is_needed |= is_needed;
                    last.lines.end = at + 1;
                }
                None => found.push(Block {
                    lines: at..at + 1,
                    begins: at,
                    leads: begins && leads(self.grammar, inner),
                    is_needed,
                    is_comment: begins && !has_code,
                }),
            }
        }
        found
    }

    /// Checks whether a line at whatever depth gives names to the rest of the text; `is_outer`: it is at the depth of its block.
    fn gives_names(&self, at: usize, is_outer: bool) -> bool {
        let line = self.line(at).trim_start();
        match self.grammar {
            // An import may be conditional.
            Grammar::Python => ["from ", "import "].iter().any(|word| line.starts_with(word)),
            // All names of a module, also in a function.
            Grammar::Rust => line.contains("::*") && is_import(self.grammar, line),
            // What a call means depends on whether the function is asynchronous.
            Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => {
                is_outer && line.contains("async") && ASYNC.regex().is_some_and(|heads| heads.is_match(line))
            }
            Grammar::C | Grammar::Cpp | Grammar::Go | Grammar::Java | Grammar::Bash | Grammar::Yaml => false,
        }
    }

    /// Checks whether a block that is no function has a macro, which may define anything.
    fn has_macros(&self, block: &Block) -> bool {
        if self.grammar != Grammar::Rust {
            return false;
        }
        let begin = self.line(block.begins);
        let is_function = begin[..begin.find(['(', '{']).unwrap_or(begin.len())].contains("fn ");
        let code = self.text_of(&block.lines).as_bytes();
        let is_macro = |at: usize| {
            let before = at.checked_sub(1).map_or(b' ', |at| code[at]);
            let after = code[at + 1..].trim_ascii_start().first();
            (before.is_ascii_alphanumeric() || before == b'_') && after.is_some_and(|after| b"([{".contains(after))
        };
        !is_function && memchr::memchr_iter(b'!', code).any(is_macro)
    }

    /// Divides a block with members of their own, each a block, if it is one of some size and not too deep.
    fn container(&self, block: &Block, depth: u32, level: usize) -> Option<Container> {
        let words = self.line(block.begins).split_whitespace();
        let mut words = words.skip_while(|word| MODIFIERS.contains(word) || word.starts_with("pub("));
        let is_one = words.next().is_some_and(|word| is_container(self.grammar, word));
        if !is_one || level == DEEPEST || self.text_of(&block.lines).len() < SMALLEST {
            return None;
        }
        let is_python = self.grammar == Grammar::Python;
        let (ending, inside) = if is_python { (':', depth) } else { ('{', depth + 1) };
        let is_inside = |line: &NestedLine| line.depth == inside && !line.goes_on;
        let mut heads = block.begins..block.lines.end;
        let head = heads
            .find(|at| self.lines.get(at + 1).is_some_and(is_inside) && self.line(*at).trim_end().ends_with(ending))?;
        let is_blank = |at: &usize| self.line(*at).trim().is_empty();
        let last = (head + 1..block.lines.end).rev().find(|at| !is_blank(at))?;
        let members = head + 1..if is_python { block.lines.end } else { last };
        let first = members.clone().find(|at| !is_blank(at))?;
        let is_closed = is_python && self.margin(first) > self.margin(head)
            || !is_python
                && self.line(last).trim_start().starts_with('}')
                && self.lines.get(last).is_some_and(is_inside);
        let (head, rest) = (block.lines.start..head + 1, members.end..block.lines.end);
        is_closed.then_some(Container { head, members, rest, at: (self.margin(first), inside) })
    }

    /// Joins lines that follow each other.
    fn join(&self, wanted: &[Span<usize>]) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for lines in wanted.iter().filter(|lines| !lines.is_empty()) {
            let code = self.text_of(lines);
            let start_byte = self.lines.get(lines.start).map_or(self.text.len(), |line| line.start);
            let end_byte = start_byte + code.len();
            let end_point = match code.rsplit_once('\n') {
                Some((_, "")) => Point { row: lines.end, column: 0 },
                Some((_, last)) => Point { row: lines.end - 1, column: last.len() },
                None => Point { row: lines.start, column: code.len() },
            };
            let start_point = Point { row: lines.start, column: 0 };
            match ranges.last_mut().filter(|last| last.end_byte == start_byte) {
                Some(last) => (last.end_byte, last.end_point) = (end_byte, end_point),
                None => ranges.push(Range { start_byte, end_byte, start_point, end_point }),
            }
        }
        ranges
    }
}

/// Checks whether a block whose kind is this word has members that are examined one by one.
fn is_container(grammar: Grammar, word: &str) -> bool {
    match grammar {
        Grammar::Rust => word.starts_with("impl") || ["mod", "trait"].contains(&word),
        Grammar::Java => ["class", "interface"].contains(&word),
        Grammar::Cpp => word == "namespace",
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx | Grammar::Python => word == "class",
        Grammar::C | Grammar::Go | Grammar::Bash | Grammar::Yaml => false,
    }
}

fn is_comment(grammar: Grammar, line: &str) -> bool {
    line.starts_with("//")
        || line.starts_with("/*") && !is_declaration(line)
        || grammar == Grammar::Python && line.starts_with('#')
}

/// Checks whether a line that begins with a comment or an attribute has all of what that is about, or its head.
fn is_declaration(line: &str) -> bool {
    ends_declaration(line) && !line.trim_end().ends_with("({")
}

/// Words that begin a statement, and are no names.
const STATEMENTS: &[&str] =
    &["await", "do", "for", "if", "match", "return", "switch", "throw", "try", "while", "with", "yield"];
/// Words after which a name is defined.
const DEFINING: &[&str] = &["class", "const", "def", "function", "interface", "let", "var"];

/// Returns the name that a block which begins with this line defines: that after such a word, or the last one before a bracket or a value.
fn defined_name(grammar: Grammar, line: &str, level: usize) -> Option<String> {
    let has_type_last = grammar.is_script() || grammar == Grammar::Python;
    let ends = |c: char| "(={;".contains(c) || has_type_last && c == ':';
    let mut angles = 0;
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_' || *c == '$';
    let before: String = line
        .chars()
        .take_while(|c| !ends(*c))
        .map(|c| {
            angles += i32::from(c == '<') - i32::from(c == '>');
            if angles == 0 && is_part(&c) { c } else { ' ' }
        })
        .collect();
    let words: Vec<&str> = before.split_whitespace().collect();
    if words.first().is_some_and(|word| STATEMENTS.contains(word)) {
        return None;
    }
    // In C a type may be constant.
    let defining = words.iter().position(|word| DEFINING.contains(word) && (has_type_last || *word != "const"));
    let name = defining.map_or_else(|| words.last(), |at| words.get(at + 1))?;
    let is_definition = match grammar {
        // A member needs no word before its name.
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => level > 0 || defining.is_some(),
        Grammar::Python => line.contains('=') || defining.is_some(),
        Grammar::C | Grammar::Cpp | Grammar::Java => words.len() > 1,
        Grammar::Go | Grammar::Rust | Grammar::Bash | Grammar::Yaml => false,
    };
    // A constructor is called by the name of its type.
    (is_definition && !["__init__", "constructor"].contains(name)).then(|| (*name).to_owned())
}

fn begins_block(line: &str) -> bool {
    let is_margin = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_@#/\"'`$".contains(&byte);
    line.bytes().next().is_some_and(is_margin) && !CONTINUATIONS.iter().any(|word| line.starts_with(word))
}

/// Checks whether what a line begins gives names to the rest of the text, or out of it.
fn is_import(grammar: Grammar, line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_:".contains(c);
    let is_use = || {
        let public = line.strip_prefix("pub").map_or(line, str::trim_start);
        let inside = public.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(public, |(_, rest)| rest);
        ["use ", "extern "].iter().any(|word| inside.trim_start().starts_with(word))
    };
    IMPORTS.iter().any(|word| line.starts_with(word))
        || grammar == Grammar::Rust && (is_use() || line.trim_start_matches(is_part).starts_with('!'))
}

/// Checks whether the block that a line begins belongs to the next one.
fn leads(grammar: Grammar, line: &str) -> bool {
    let line = line.trim_end();
    if ["@", "#[", "/*"].iter().any(|begin| line.starts_with(begin)) {
        return !is_declaration(line);
    }
    has_type_first(grammar) && !line.starts_with(['#', '/']) && !line.ends_with('\\') && !ends_declaration(line)
}

fn is_c(grammar: Grammar) -> bool {
    matches!(grammar, Grammar::C | Grammar::Cpp)
}

/// Checks whether a type may stand on the line before the name that it is of.
fn has_type_first(grammar: Grammar) -> bool {
    is_c(grammar) || grammar == Grammar::Java
}

/// Checks whether a line ends a declaration, or begins the body of one.
fn ends_declaration(line: &str) -> bool {
    line.trim_end().ends_with([';', '{', '}'])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::grammar::ParseLimits;
    use super::super::other_version::tests::{NodeSnapshot, SAMPLES, edited, nodes};
    use super::super::tree::SyntaxTree;
    use super::*;
    use crate::domain::change::{ChangeRun, FileChange, Hunk, HunkSpan};
    use crate::domain::path::RepoPath;
    use crate::domain::place::DiffSide;
    use crate::sys::cancel::Cancel;

    /// The part of a text in which these lines were changed.
    fn focus(lines: &[u32]) -> ScanFocus {
        let span = |line: &u32| HunkSpan { start: *line, count: 1 };
        let runs = lines.iter().map(|line| ChangeRun { old: span(line), new: span(line) }).collect();
        let hunks = vec![Hunk { runs, ..Hunk::default() }];
        ScanFocus::of(&FileChange { hunks, ..FileChange::modified(RepoPath::parse("a").unwrap()) }, DiffSide::New)
    }

    fn excerpt(grammar: Grammar, text: &str, lines: &[u32], words: &[&str]) -> Option<String> {
        let (focus, words) = (focus(lines), WordSet::of(words.iter().map(|word| (*word).to_owned()).collect()));
        let query = ExcerptQuery { focus: Some(&focus), words: Some(&words), types: None };
        Excerpt::of(grammar, text, query).map(|excerpt| excerpt.join(text))
    }

    #[test]
    fn what_is_affected_and_what_it_needs_is_examined() {
        let body = |number: u8| format!("{{\n{}}}\n\n", format!("    {number};\n").repeat(40));
        let parts = [
            "use a::{\n    b,\n};\n\n".to_owned(),
            format!("/// One.\nfn one() {}", body(1)),
            format!("#[test]\nfn two()\nwhere\n    A: B,\n{}", body(2)),
            "make! {\n    c\n}\n".to_owned(),
        ];
        let text = parts.concat();
        let line = |word: &str| 1 + u32::try_from(text.lines().position(|line| line.contains(word)).unwrap()).unwrap();
        let examined = |lines: &[u32], words: &[&str]| {
            let found = excerpt(Grammar::Rust, &text, lines, words).unwrap();
            parts.each_ref().map(|part| found.contains(part.as_str()))
        };
        assert_eq!(examined(&[line("1;")], &[]), [true, true, false, true]);
        assert_eq!(examined(&[line("#[test]") + 1], &[]), [true, false, true, true]);
        assert_eq!(examined(&[], &["one", "tw"]), [true, true, false, true]);
        assert_eq!(excerpt(Grammar::Rust, &text, &[line("1;"), line("2;")], &[]), None, "nearly all of it");
    }

    #[test]
    fn members_of_a_type_are_examined_one_by_one() {
        let member =
            |name: &str| format!("    #[inline]\n    fn {name}() {{\n{}    }}\n\n", "        x();\n".repeat(60));
        let text = format!("impl A {{\n{}{}{}}}\n", member("one"), member("two"), member("three"));
        let line = u32::try_from(text.lines().position(|line| line.contains("two")).unwrap()).unwrap() + 5;
        let found = excerpt(Grammar::Rust, &text, &[line], &[]).unwrap();
        assert_eq!(found, format!("impl A {{\n{}}}\n", member("two")));
        let types = WordSet::of(std::iter::once("A".to_owned()).collect());
        let query = ExcerptQuery { types: Some(&types), ..ExcerptQuery::default() };
        assert_eq!(Excerpt::of(Grammar::Rust, &text, query), None, "all of it");
    }

    /// A block between fifty others of two lines on either side, from line 102 on.
    fn amid_others(grammar: Grammar, block: &str) -> String {
        let other = if grammar == Grammar::Python { "y(\n    z)\n" } else { "y(\n    z);\n" }.repeat(50);
        format!("x();\n{other}{block}{other}x();\n")
    }

    #[test]
    fn what_gives_names_to_the_rest_is_examined() {
        for (grammar, block) in [
            (Grammar::Python, "try:\n    from a import b\nexcept ImportError:\n    b = None\n"),
            (Grammar::Rust, "fn a() {\n    use b::*;\n    c();\n}\n"),
            (Grammar::Rust, "static A: LazyLock<B> = LazyLock::new(|| {\n    vec![1]\n});\n"),
            (Grammar::TypeScript, "export const a =\n  async (b) => {\n    c();\n  };\n"),
            (Grammar::TypeScript, "const a: (\n  b: C,\n) => Promise<D> = async (b) => {\n  c();\n};\n"),
            (Grammar::TypeScript, "/* a */ async function b() {\n    c();\n}\n"),
        ] {
            let text = amid_others(grammar, block);
            assert!(excerpt(grammar, &text, &[1], &[]).unwrap().contains(block), "{block}");
        }
    }

    #[test]
    fn classes_and_modules_are_divided() {
        let function = |begin: &str, end: &str| format!("{begin}\n{}{end}", "        x();\n".repeat(60));
        for (grammar, head, member, end, rest) in [
            (Grammar::TypeScript, "export class A {\n", "    b(): void {", "    }\n\n", "}\n"),
            (Grammar::Java, "@B\npublic final class A\n{\n", "    @C\n    int b(int c) {", "    }\n\n", "}\n"),
            (Grammar::Cpp, "namespace a {\n", "void b() {", "}\n\n", "}\n"),
            (Grammar::Python, "class A(B):\n", "    def b(self):", "\n", ""),
        ] {
            let other = member.replace(" b(", " d(");
            let text =
                format!("{head}{}{}{}{rest}", function(&other, end), function(member, end), function(&other, end));
            let line = 5 + u32::try_from(text.lines().position(|line| line.contains(" b(")).unwrap()).unwrap();
            let found = excerpt(grammar, &text, &[line], &[]);
            assert_eq!(found.as_deref(), Some(format!("{head}{}{rest}", function(member, end)).as_str()), "{text}");
            // What the head says may concern all members.
            assert_eq!(excerpt(grammar, &text, &[1], &[]), None, "{text}");
            let names = Excerpt::affected_names(grammar, &text, &focus(&[line]));
            assert_eq!(names.into_iter().collect::<Vec<_>>(), ["b"], "{text}");
        }
    }

    #[test]
    fn what_a_line_defines_is_its_name() {
        for (grammar, line, level, name) in [
            (Grammar::TypeScript, "export const load = async (a) => {", 0, Some("load")),
            (Grammar::TypeScript, "export default class Box<T> extends A {", 0, Some("Box")),
            (Grammar::TypeScript, "static async load(a: B): C {", 1, Some("load")),
            (Grammar::TypeScript, "constructor(a) {", 1, None),
            (Grammar::TypeScript, "test(\"adds\", () => {", 0, None),
            (Grammar::Python, "async def load(a):", 0, Some("load")),
            (Grammar::Python, "LIMIT = [", 0, Some("LIMIT")),
            (Grammar::Python, "if a == 1:", 0, None),
            (Grammar::TypeScript, "if (a) {", 1, None),
            (Grammar::C, "static const char *load(int a)", 0, Some("load")),
            (Grammar::Java, "public List<String> load(int a) {", 1, Some("load")),
            (Grammar::Rust, "fn load() {", 0, None),
        ] {
            assert_eq!(defined_name(grammar, line, level).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn what_opens_something_ends_where_that_is_closed() {
        for (grammar, block) in [
            (Grammar::JavaScript, "query(`SELECT a\nFROM b\n  WHERE ${c}\n`);\n"),
            (Grammar::C, "/* a\n\n   b\nc\n*/\nint d;\n"),
            (Grammar::C, "#define A(b) \\\ndo { \\\n    c(b); \\\n} while (0)\n"),
            (Grammar::Python, "a = \"\"\"\nb\n  c\n\"\"\"\n"),
            (Grammar::Python, "@fixture\n# Why.\ndef a():\n    pass\n"),
            (Grammar::Rust, "#[cfg(test)]\n// Helpers.\nmod tests {\n    a!();\n}\n"),
            (Grammar::JavaScript, "if (a) {\n  b();\n}\n// Or\n// else.\nelse {\n  c();\n}\n"),
            (Grammar::Python, "if a:\n    b()\n# Or.\nelif c:\n    d()\n"),
        ] {
            let text = amid_others(grammar, block);
            let lines = u32::try_from(block.lines().count()).unwrap();
            for line in 102..102 + lines {
                let found = excerpt(grammar, &text, &[line], &[]).unwrap();
                assert!(found.contains(block), "{grammar:?} {line}\n{found}");
            }
        }
        // What is never closed, or never opened, and lines that end as on Windows.
        for text in ["a(\n", "a)\n", "a()\r\n"] {
            let text = format!("{text}{}", "b(\n    c)\n".repeat(50));
            assert_eq!(excerpt(Grammar::Python, &text, &[1], &[]), None, "{text:?}");
        }
    }

    fn parse(grammar: Grammar, text: &str, excerpt: &Excerpt) -> (Vec<NodeSnapshot>, Option<Vec<NodeSnapshot>>) {
        let cancel = Cancel::never();
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let whole = SyntaxTree::parse(grammar, text, &watch).unwrap();
        let part = SyntaxTree::parse_excerpt(grammar, text, &excerpt.ranges, &watch).unwrap();
        (nodes(&whole), part.map(|part| nodes(&part)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn the_affected_code_is_parsed_as_in_the_whole(
            at in 0..10_000_usize,
            steps in prop::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]), 20..60),
        ) {
            let samples: &[(Grammar, String)] = &SAMPLES;
            let (grammar, first) = &samples[at % samples.len()];
            let same = samples.iter().cycle().skip(at % samples.len()).filter(|(other, _)| other == grammar).take(6);
            let text: String = same.map(|(_, text)| text.as_str()).chain([first.as_str()]).collect::<Vec<_>>().join("\n");
            let (now, file) = edited(&text, &steps);
            let focus = ScanFocus::of(&file, DiffSide::New);
            let query = ExcerptQuery { focus: Some(&focus), ..ExcerptQuery::default() };
            if let Some(excerpt) = Excerpt::of(*grammar, &now, query) {
                let (whole, part) = parse(*grammar, &now, &excerpt);
                if let Some(part) = part {
                    let is_affected = |node: &&NodeSnapshot| {
                        let (first, last) = (node.2.0, node.2.2);
                        let line = |row: usize| u32::try_from(row).unwrap() + 1;
                        focus.affects(line(first), line(last)) && part[0].1.contains(&node.1.start) && node.1 != whole[0].1
                            && excerpt.ranges.iter().any(|range| range.start_byte <= node.1.start && node.1.end <= range.end_byte)
                    };
                    for node in whole.iter().filter(is_affected) {
                        prop_assert!(part.contains(node), "{grammar:?} {node:?}\n{now}");
                    }
                }
            }
        }
    }
}
