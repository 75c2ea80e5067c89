//! The part of a text that a change affects. Main type: [`Excerpt`].
//!
//! Most of a large change's texts is code that it does not touch, and parsing is what a review without a model costs. So a parser is given
//! only the blocks with an affected line or a searched word, the imports and the statements of one line where names matter, asynchronous
//! functions of a script of which the code around has the names, and the first and the last block, each at its place in the text. The
//! blocks in a type or a module of some size are selected one by one, and of an outline's functions only the heads. Where both sides are
//! compared, the blocks that are equal on both are left out. An excerpt with a syntax error is not used: what is parsed then is the text.
//!
//! Where a block begins and ends belongs in `blocks`, the names that one defines in `defined_names`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::Range as Span;

use aho_corasick::{AhoCorasick, Match, MatchKind};
use foldhash::quality::RandomState;
use tree_sitter::{Point, Range};

use super::asynchronous;
use super::blocks::{Block, BlockContent, BlockUse, DividedText, number};
use super::focus::ScanFocus;
use super::grammar::Grammar;
use super::matches::{ExcerptGap, ExcerptParts};

/// Part of a text up to which it is worth to leave out the rest, in percent.
const MOST_PERCENT: usize = 80;

/// The byte ranges of a text that are parsed, ascending and apart; each is whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub(super) ranges: Vec<Range>,
    pub(super) gaps: Vec<ExcerptGap>,
    /// The imports and comments that it leaves out, in bytes: a string that a rule needs may be in one.
    searched: Vec<Span<usize>>,
}

/// Words, each searched as a whole one.
#[derive(Debug, Default)]
pub struct WordSet {
    words: BTreeSet<String>,
    search: Option<AhoCorasick>,
    /// `true` if a whole one may begin within another: one has a character that is no part of a word.
    may_overlap: bool,
}

impl WordSet {
    /// Creates the set of these words.
    pub fn of(words: BTreeSet<String>) -> Self {
        let may_overlap = !words.iter().all(|word| word.chars().all(is_part));
        let kind = if may_overlap { MatchKind::Standard } else { MatchKind::LeftmostLongest };
        let search = AhoCorasick::builder().match_kind(kind).build(&words);
        Self { search: search.ok().filter(|_| !words.is_empty()), words, may_overlap }
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
        let is_whole =
            |found: Match| !text[..found.start()].ends_with(is_part) && !text[found.end()..].starts_with(is_part);
        self.search.as_ref().is_some_and(|search| {
            if self.may_overlap {
                search.find_overlapping_iter(text).any(is_whole)
            } else {
                search.find_iter(text).any(is_whole)
            }
        })
    }
}

/// Checks for a character within a word.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The code of a text that is examined.
#[derive(Debug, Default, Clone, Copy)]
pub struct ExcerptQuery<'a> {
    /// The lines that the change affects.
    pub focus: Option<&'a ScanFocus>,
    /// Words; what has one of them is examined, of an outline's functions those whose heads have one.
    pub words: Option<&'a WordSet>,
    /// Types; all members of what has one of them in its head are examined.
    pub types: Option<&'a WordSet>,
    /// Set to examine all code, of which what the change affects has no equal on the other side.
    pub is_all: bool,
    /// Set to examine what functions are, and not what they do.
    pub is_outline: bool,
    /// Set to leave out imports, macros and items of one line, which give names to the rest of the text.
    pub is_local: bool,
}

impl Excerpt {
    /// Selects the blocks of `text` that are examined; `None` if that is nearly all of it.
    pub(super) fn of(divided: &DividedText, text: &str, query: ExcerptQuery<'_>) -> Option<Self> {
        let excerpt = Self::select(divided, text, query);
        (excerpt.len() * 100 <= text.len() * MOST_PERCENT).then_some(excerpt)
    }

    /// Selects the blocks of `text` that are examined.
    pub(super) fn select(divided: &DividedText, text: &str, query: ExcerptQuery<'_>) -> Self {
        let selection = BlockSelection::of(divided, text, query);
        Self { ranges: selection.join(), gaps: selection.gaps, searched: selection.searched }
    }

    /// Selects the blocks of two texts that are examined and of which the other text has no equal one, with the heads of what is around them.
    /// Both are empty if there are none.
    pub(super) fn select_different(both: [(&DividedText, &str, ExcerptQuery<'_>); 2]) -> [Self; 2] {
        let [mut one, mut other] = both.map(|(divided, text, query)| BlockSelection::of(divided, text, query));
        let (of_one, of_other) = (one.keys(), other.keys());
        let is_different = [one.remove_equal(&of_one, &of_other), other.remove_equal(&of_other, &of_one)];
        // Only matching rules asks for the gaps.
        let is_any = is_different.contains(&true);
        [one, other].map(|selection| Self {
            ranges: if is_any { selection.join() } else { Vec::new() },
            gaps: Vec::new(),
            searched: Vec::new(),
        })
    }

    /// Returns its ranges, and the places where it leaves out code.
    pub(super) fn parts(&self) -> ExcerptParts<'_> {
        (&self.ranges, &self.gaps)
    }

    /// Checks whether it may have a part of a function.
    pub fn has_gaps_in_functions(&self) -> bool {
        self.gaps.iter().any(|gap| gap.is_in_function)
    }

    /// Checks whether it has nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns its number of bytes.
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().map(|range| range.end_byte - range.start_byte).sum()
    }

    /// Joins its pieces.
    pub fn join(&self, text: &str) -> String {
        self.ranges.iter().filter_map(|range| text.get(range.start_byte..range.end_byte)).collect()
    }

    /// Joins its pieces, and what else of `text` is searched for the strings that rules need.
    pub fn join_searched(&self, text: &str) -> String {
        self.searched.iter().filter_map(|more| text.get(more.clone())).fold(self.join(text), |text, more| text + more)
    }
}

impl Hash for Excerpt {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ranges.iter().for_each(|range| (range.start_byte, range.end_byte).hash(state));
    }
}

/// Identity of a wanted block: the heads of those around it, and its text.
type BlockKey<'a> = (Vec<&'a str>, [&'a str; 2]);

/// A selection of blocks.
struct BlockSelection<'a> {
    divided: &'a DividedText,
    text: &'a str,
    query: ExcerptQuery<'a>,
    wanted: Vec<WantedLines>,
    gaps: Vec<ExcerptGap>,
    searched: Vec<Span<usize>>,
    /// Words of the code of a script that is wanted: what has an asynchronous function of one of these names is wanted too.
    said: HashSet<&'a str, RandomState>,
    /// Names of the asynchronous functions that are left out.
    left_out: Vec<&'a str>,
}

/// Lines that are wanted.
struct WantedLines {
    kind: LinesKind,
    lines: Span<usize>,
    /// More lines that belong to them, or none.
    rest: Span<usize>,
}

/// Reason why lines are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinesKind {
    /// They are a block that is wanted for itself.
    Block,
    /// They are the head of a block around others.
    Opening,
    /// They are the rest of a block around others, and may be none.
    Closing,
    /// A class would be empty without them.
    Filler,
}

impl<'a> BlockSelection<'a> {
    fn of(divided: &'a DividedText, text: &'a str, query: ExcerptQuery<'a>) -> Self {
        let selection = Self::calling(divided, text, query, HashSet::default());
        // A call means something else if the function is asynchronous.
        if selection.left_out.is_empty() {
            return selection;
        }
        let code = selection.wanted.iter().flat_map(|wanted| [&wanted.lines, &wanted.rest]);
        let said: HashSet<_, _> = code.flat_map(|lines| asynchronous::words(selection.text_of(lines))).collect();
        let is_any = selection.left_out.iter().any(|name| said.contains(name));
        if is_any { Self::calling(divided, text, query, said) } else { selection }
    }

    /// Selects the wanted blocks, with the asynchronous functions that have one of some names.
    fn calling(
        divided: &'a DividedText,
        text: &'a str,
        query: ExcerptQuery<'a>,
        said: HashSet<&'a str, RandomState>,
    ) -> Self {
        let (wanted, gaps, searched, left_out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut selection = Self { divided, text, query, wanted, gaps, searched, said, left_out };
        selection.add(&divided.blocks, 0, (false, false));
        selection
    }

    fn text_of(&self, lines: &Span<usize>) -> &'a str {
        self.text.get(self.divided.bytes_of(lines)).unwrap_or_default()
    }

    /// Adds the wanted ones of some blocks, or all; `is_in_function`: they are in a function that stands for a module.
    fn add(&mut self, blocks: &[Block], level: usize, (is_all, is_in_function): (bool, bool)) {
        let (before, last) = (self.wanted.len(), blocks.len().saturating_sub(1));
        let is_outline = self.query.is_outline;
        for (at, block) in blocks.iter().enumerate() {
            // The node that is all of the text begins and ends with them.
            let is_end = level == 0 && (at == 0 || at == last);
            if !is_all && !is_end && !self.wants(block) && !self.calls(block) {
                let bytes = self.divided.bytes_of(&block.lines);
                self.gaps.push(ExcerptGap { at: bytes.start, is_in_function });
                if block.use_by_others == BlockUse::Import || block.is_comment && !self.query.is_local {
                    self.searched.push(bytes);
                }
                continue;
            }
            match &block.content {
                BlockContent::Container { head, rest, is_function: true, .. } if is_outline => {
                    self.push(LinesKind::Block, head, rest);
                }
                BlockContent::Container { head, members, rest, is_function } if is_outline || !self.wants_all(head) => {
                    let is_all = is_all || self.wants_all(head);
                    self.push(LinesKind::Opening, head, &(0..0));
                    self.add(members, level + 1, (is_all, *is_function));
                    self.push(LinesKind::Closing, rest, &(0..0));
                }
                BlockContent::Function { head, rest } if is_outline => self.push(LinesKind::Block, head, rest),
                _ => self.push(LinesKind::Block, &block.lines, &(0..0)),
            }
        }
        // A class without members is none in Python.
        if let Some(block) = blocks.first().filter(|_| level > 0 && self.wanted.len() == before) {
            let is_python = self.divided.grammar == Grammar::Python;
            is_python.then(|| self.push(LinesKind::Filler, &block.lines, &(0..0)));
        }
    }

    fn push(&mut self, kind: LinesKind, lines: &Span<usize>, rest: &Span<usize>) {
        self.wanted.push(WantedLines { kind, lines: lines.clone(), rest: rest.clone() });
    }

    /// Returns the identity of all wanted lines; `None` for those that are no block, or have no equal one.
    fn keys(&self) -> Vec<Option<BlockKey<'a>>> {
        let mut around = Vec::new();
        let key = |wanted: &WantedLines| {
            let lines = self.text_of(&wanted.lines);
            match wanted.kind {
                LinesKind::Block => {
                    let is_paired = !self.query.is_all || !self.is_touched(&wanted.lines);
                    return is_paired.then(|| (around.clone(), [lines, self.text_of(&wanted.rest)]));
                }
                LinesKind::Opening => around.push(lines),
                LinesKind::Closing => drop(around.pop()),
                LinesKind::Filler => {}
            }
            None
        };
        self.wanted.iter().map(key).collect()
    }

    /// Removes the blocks that are equal to some others; checks whether any are left. A type of Python keeps its first one then: without
    /// members it is none.
    fn remove_equal(&mut self, keys: &[Option<BlockKey<'a>>], others: &[Option<BlockKey<'a>>]) -> bool {
        let mut counts = HashMap::<_, usize, RandomState>::default();
        for key in others.iter().flatten() {
            *counts.entry(key).or_default() += 1;
        }
        let mut is_different = false;
        let mut left: Vec<WantedLines> = Vec::with_capacity(self.wanted.len());
        let mut first_removed: Option<WantedLines> = None;
        for (wanted, key) in std::mem::take(&mut self.wanted).into_iter().zip(keys) {
            let count = key.as_ref().and_then(|key| counts.get_mut(key)).filter(|count| **count > 0);
            let is_equal = count.map(|count| *count -= 1).is_some();
            is_different |= wanted.kind == LinesKind::Block && !is_equal;
            let is_empty = left.last().is_some_and(|last| last.kind == LinesKind::Opening);
            let is_c = matches!(self.divided.grammar, Grammar::C | Grammar::Cpp);
            // A directive of C says what the code around it is.
            let stays = is_c && self.text_of(&wanted.lines).trim_start().starts_with('#');
            if is_equal && !stays {
                first_removed = first_removed.or_else(|| Some(wanted).filter(|_| is_empty));
                continue;
            }
            let is_python = self.divided.grammar == Grammar::Python;
            if is_python && is_empty && wanted.kind == LinesKind::Closing {
                left.extend(first_removed.take());
            }
            first_removed = None;
            left.push(wanted);
        }
        self.wanted = left;
        is_different
    }

    /// Checks whether the change affects lines, or one beside them.
    fn is_touched(&self, lines: &Span<usize>) -> bool {
        self.query.focus.is_some_and(|focus| focus.touches(number(lines.start), number(lines.end) - 1))
    }

    fn wants(&self, block: &Block) -> bool {
        let has_one = |words: &WordSet| match &block.content {
            // What functions do is not examined.
            BlockContent::Function { head, rest } | BlockContent::Container { head, rest, is_function: true, .. }
                if self.query.is_outline =>
            {
                [head, rest].into_iter().any(|lines| words.stand_in(self.text_of(lines)))
            }
            _ => words.stand_in(self.text_of(&block.lines)),
        };
        let least = if self.query.is_local { BlockUse::Attribute } else { BlockUse::Names };
        self.query.is_all
            || block.use_by_others >= least
            || self.is_touched(&block.lines)
            || self.query.words.is_some_and(has_one)
            || self.query.types.is_some_and(has_one)
    }

    /// Checks whether wanted code may call an asynchronous function that a block has. The names of one that it does not call are left out.
    fn calls(&mut self, block: &Block) -> bool {
        if !block.is_asynchronous() {
            return false;
        }
        let Some(names) = self.divided.asynchronous_names(block, self.text) else { return true };
        let is_said = names.iter().any(|name| self.said.contains(name));
        if !is_said {
            self.left_out.extend(names);
        }
        is_said
    }

    /// Checks whether all members of a block with this head are wanted.
    fn wants_all(&self, head: &Span<usize>) -> bool {
        self.query.focus.is_some_and(|focus| focus.affects(number(head.start), number(head.end) - 1))
            || self.query.types.is_some_and(|types| types.stand_in(self.text_of(head)))
    }

    /// Joins the wanted lines that follow each other.
    fn join(&self) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        let wanted = self.wanted.iter().flat_map(|wanted| [&wanted.lines, &wanted.rest]);
        for lines in wanted.filter(|lines| !lines.is_empty()) {
            let (code, bytes) = (self.text_of(lines), self.divided.bytes_of(lines));
            let (start_byte, end_byte) = (bytes.start, bytes.end);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::defined_names::affected_names;
    use super::super::grammar::ParseLimits;
    use super::super::other_version::tests::{NodeSnapshot, SAMPLES, edited, nodes};
    use super::super::symbols::{self, SymbolDefinition};
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
        let query = ExcerptQuery { focus: Some(&focus), words: Some(&words), ..ExcerptQuery::default() };
        of(grammar, text, query).map(|excerpt| excerpt.join(text))
    }

    fn of(grammar: Grammar, text: &str, query: ExcerptQuery<'_>) -> Option<Excerpt> {
        Excerpt::of(&DividedText::of(grammar, text)?, text, query)
    }

    /// The outline of the code that a change of one line affects.
    fn outline(grammar: Grammar, text: &str, line: u32) -> Excerpt {
        let focus = focus(&[line]);
        of(grammar, text, ExcerptQuery { focus: Some(&focus), is_outline: true, ..ExcerptQuery::default() }).unwrap()
    }

    #[test]
    fn imports_and_items_of_one_line_are_left_out_where_rules_look_at_one_function_at_a_time() {
        let functions: String = ["a", "b", "c", "d"].map(|name| format!("fn {name}() {{\n    x();\n}}\n\n")).concat();
        let (text, focus) = (format!("#![a]\n\nuse b::c;\n\nconst D: u8 = 1;\n\n{functions}"), focus(&[12]));
        let part = |is_local| {
            let query = ExcerptQuery { focus: Some(&focus), is_local, ..ExcerptQuery::default() };
            of(Grammar::Rust, &text, query).unwrap()
        };
        let (around, last) = ("fn b() {\n    x();\n}\n\n", "fn d() {\n    x();\n}\n\n");
        let (used, local) = ("use b::c;\n\n", format!("#![a]\n\n{around}{last}"));
        assert_eq!(part(false).join(&text), format!("#![a]\n\n{used}const D: u8 = 1;\n\n{around}{last}"));
        assert_eq!(part(true).join(&text), local);
        // What an import has is known all the same.
        assert_eq!(part(true).join_searched(&text), local + used);
    }

    #[test]
    fn what_is_affected_and_what_it_needs_is_examined() {
        let body = |number: u8| format!("{{\n{}}}\n\n", format!("    {number};\n").repeat(40));
        let parts = [
            "use a::{\n    b,\n};\n\n".to_owned(),
            "/// One.\n".to_owned(),
            format!("fn one() {}", body(1)),
            format!("#[test]\nfn two()\nwhere\n    A: B,\n{}", body(2)),
            "make! {\n    c\n}\n".to_owned(),
        ];
        let text = parts.concat();
        let line = |word: &str| 1 + u32::try_from(text.lines().position(|line| line.contains(word)).unwrap()).unwrap();
        let examined = |lines: &[u32], words: &[&str]| {
            let found = excerpt(Grammar::Rust, &text, lines, words).unwrap();
            parts.each_ref().map(|part| found.contains(part.as_str()))
        };
        assert_eq!(examined(&[line("#[test]") + 1], &[]), [true, false, false, true, true]);
        assert_eq!(examined(&[line("1;") + 9], &[]), [true, false, true, false, true]);
        assert_eq!(examined(&[], &["one", "tw"]), [true, false, true, false, true]);
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
        assert_eq!(of(Grammar::Rust, &text, query), None, "all of it");
    }

    #[test]
    fn of_an_outline_functions_have_heads_only() {
        let calls = |margin: &str| format!("{margin}if (a) {{\n{margin}    b();\n{margin}}}\n").repeat(20);
        let python =
            format!("    \"\"\"\n    A.\n\n    \"\"\"\n    if a:\n        b()\n{}", "    c(\n        d)\n".repeat(20));
        for (grammar, head, body, end) in [
            (
                Grammar::Rust,
                "#[a]\npub(crate) async fn a<T>(\n    b: T,\n) -> C\nwhere\n    T: D,\n{\n",
                calls("    "),
                "}\n",
            ),
            (Grammar::Go, "func (a *B) C(d int) (e error) {\n", calls("\t"), "}\n"),
            (Grammar::C, "static int\na(int b)\n{\n", calls("    "), "}\n"),
            (Grammar::TypeScript, "export default async function a(b: C): D {\n", calls("  "), "}\n"),
            (Grammar::TypeScript, "export const a = (b: C): D => {\n", calls("  "), "};\n"),
            (Grammar::JavaScript, "(function () {\n", calls(""), "})();\n"),
            (Grammar::JavaScript, "describe(\"a\", async () => {\n", calls("  "), "});\n"),
            (Grammar::Python, "async def a(b: C) -> D:\n", format!("{python}    return 1\n    "), ""),
        ] {
            let text = amid_others(grammar, &format!("{head}{body}{end}"));
            let outline = outline(grammar, &text, 102);
            let found = outline.join(&text);
            let rest = if grammar == Grammar::Python { "    return 1\n" } else { end };
            assert!(found.contains(&format!("{head}{rest}")), "{found}");
            assert!(parse(grammar, &text, &outline).1.is_some(), "{found}");
        }
        // What is no function, or has more than one.
        for (grammar, block) in [
            (Grammar::TypeScript, "const a = {\n    b() {\n        c();\n    },\n};\n"),
            (Grammar::TypeScript, "const a = (b) => {\n    c();\n}, d = (e) => {\n    f();\n};\n"),
            (Grammar::TypeScript, "const a: (b: C) => {\n    d: E;\n} = f;\n"),
            (Grammar::TypeScript, "export interface A extends B<(c: D)> {\n    e(): F;\n}\n"),
            (Grammar::JavaScript, "const a = class extends b(C) {\n    d() {}\n}\n"),
            (Grammar::Rust, "enum A {\n    B,\n}\n"),
            (Grammar::C, "struct a b(c) {\n    int d;\n};\n"),
            (Grammar::Go, "var a = map[b]c{\n\td: e,\n}\n"),
            (Grammar::Python, "def a(b):\n    c()\n    return d\n\u{c}def e():\n    f()\n    g()\n"),
        ] {
            let text = amid_others(grammar, block);
            assert!(outline(grammar, &text, 102).join(&text).contains(block), "{block}");
        }
    }

    #[test]
    fn of_an_outline_no_function_is_examined_for_a_word_of_its_body() {
        let body = "    x(word);\n".repeat(60);
        let function = |name: &str| format!("fn {name}() {{\n{body}}}\n\n");
        let text = ["a", "word", "c", "d"].map(function).concat();
        let words = WordSet::of(std::iter::once("word".to_owned()).collect());
        let part = |is_outline| {
            of(Grammar::Rust, &text, ExcerptQuery { words: Some(&words), is_outline, ..ExcerptQuery::default() })
        };
        assert_eq!(part(true).unwrap().join(&text), "fn a() {\n}\n\nfn word() {\n}\n\nfn d() {\n}\n\n");
        assert_eq!(part(false), None, "all of it");
    }

    #[test]
    fn a_name_that_begins_as_a_word_that_continues_a_statement_begins_a_block() {
        for name in ["exception_types", "case_names", "elsewhere", "finally_done", "where_clause"] {
            let text =
                amid_others(Grammar::Python, &format!("def a(b):\n    c()\n    return b\n\n\n{name} = [\n    1]\n"));
            let found = outline(Grammar::Python, &text, 107).join(&text);
            assert!(found.contains(name), "{found}");
        }
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
        ] {
            let text = amid_others(grammar, block);
            assert!(excerpt(grammar, &text, &[1], &[]).unwrap().contains(block), "{block}");
        }
    }

    #[test]
    fn an_asynchronous_function_is_examined_where_its_name_is() {
        for (block, name) in [
            ("export const run =\n  async (b) => {\n    c();\n  };\n", "run"),
            ("const run: (\n  b: C,\n) => Promise<D> = async (b) => {\n  c();\n};\n", "run"),
            ("/* a */ async function run() {\n    c();\n}\n", "run"),
            ("async function* run() {\n    c();\n}\n", "run"),
            ("const run: (b: C) => Promise<D> = async (b) => {\n  c();\n};\n", "run"),
            ("const a = require(\"b\"), $run = async (d) => {\n  e();\n};\n", "$run"),
            ("a(); async function run() {\n  c();\n}\n", "run"),
            ("test(async function run() {\n  c();\n});\n", "run"),
        ] {
            let examined = |code: &str| {
                let text = amid_others(Grammar::TypeScript, block).replacen("x();", code, 1);
                excerpt(Grammar::TypeScript, &text, &[1], &[]).unwrap().contains(block)
            };
            assert!(examined(&format!("if ({name}()) {{}}")), "{block}");
            assert!(!examined("if (test(runs, c)) {}"), "{block}");
        }
        // A method is one that another one calls.
        let method = |name: &str, code: &str| format!("  async {name}() {{\n{code}  }}\n\n");
        let class = |code: &str| {
            let code = format!("    if (a) {{\n      {code};\n    }}\n");
            let more = "    x();\n".repeat(90);
            format!("class A {{\n{}{}{}}}\n", method("one", &code), method("two", &more), method("three", &more))
        };
        let methods = |code: &str| {
            let found = excerpt(Grammar::TypeScript, &class(code), &[4], &[]).unwrap();
            ["one", "two", "three"].map(|name| found.contains(&format!("async {name}")))
        };
        assert_eq!(methods("this.two()"), [true, true, false]);
        assert_eq!(methods("this.four()"), [true, false, false]);
    }

    #[test]
    fn classes_and_modules_are_divided() {
        let function = |begin: &str, end: &str| format!("{begin}\n{}{end}", "        x();\n".repeat(60));
        for (grammar, head, member, end, rest) in [
            (Grammar::TypeScript, "export class A {\n", "    b(): void {", "    }\n\n", "}\n"),
            (Grammar::TypeScript, "declare namespace a {\n", "    function b() {", "    }\n\n", "}\n"),
            (Grammar::TypeScript, "declare module \"a\" {\n", "    function b() {", "    }\n\n", "}\n"),
            (
                Grammar::TypeScript,
                "declare module \"a\" {\n  global {\n",
                "    function b() {",
                "    }\n\n",
                "  }\n}\n",
            ),
            (
                Grammar::TypeScript,
                "namespace a {\n  export namespace c {\n",
                "    function b() {",
                "    }\n\n",
                "  }\n}\n",
            ),
            (Grammar::JavaScript, "(function () {\n", "function b() {", "}\n\n", "})();\n"),
            (Grammar::JavaScript, "((c) => {\n", "  function b() {", "  }\n\n", "})(globalThis);\n"),
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
            let divided = DividedText::of(grammar, &text).unwrap();
            let names = affected_names(&divided, &text, &focus(&[line]));
            assert_eq!(names.into_iter().collect::<Vec<_>>(), ["b"], "{text}");
        }
    }

    #[test]
    fn gaps_say_where_code_is_left_out() {
        let function = |name: &str| format!("function {name}() {{\n{}}}\n\n", "  x();\n".repeat(99));
        let class = format!(
            "class C {{\n{}{}}}\n\n",
            function("d").replace("function ", ""),
            function("e").replace("function ", "")
        );
        let text = format!(
            "x();\n\n{}y();\n(function () {{\n{}{}{class}}})();\n",
            function("a"),
            function("f"),
            function("g")
        );
        let gaps = |word: &str| {
            let words = WordSet::of(std::iter::once(word.to_owned()).collect());
            let query = ExcerptQuery { words: Some(&words), ..ExcerptQuery::default() };
            let gaps = of(Grammar::JavaScript, &text, query).unwrap().gaps;
            let name =
                |at: usize| text[at..].trim_start_matches("function ").split([' ', '(']).next().unwrap().to_owned();
            gaps.iter()
                .map(|gap| format!("{}{}", name(gap.at), if gap.is_in_function { "!" } else { "" }))
                .collect::<Vec<_>>()
        };
        assert_eq!(gaps("g"), ["a", "f!", "class!"]);
        assert_eq!(gaps("e"), ["a", "f!", "g!", "d"]);
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
        let part = SyntaxTree::parse_excerpt(grammar, text, excerpt.parts(), &watch).unwrap();
        (nodes(&whole), part.map(|part| nodes(&part)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_word_is_found_wherever_it_stands_as_a_whole_one(words in proptest::collection::btree_set("[ab$_\u{e4}]{1,3}", 0..6), text in "[ab$ _\u{e4}]{0,12}") {
            let is_edge = |c: Option<char>| !c.is_some_and(is_part);
            let stands = |word: &String| text.char_indices().any(|(at, _)| {
                let rest = text[at..].strip_prefix(word.as_str());
                is_edge(text[..at].chars().next_back()) && rest.is_some_and(|rest| is_edge(rest.chars().next()))
            });
            prop_assert_eq!(WordSet::of(words.clone()).stand_in(&text), words.iter().any(stands));
        }

        #[test]
        fn what_only_one_side_defines_is_in_its_different_part(
            at in 0..10_000_usize,
            steps in prop::collection::vec(prop::sample::select(vec![0_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]), 20..60),
        ) {
            let samples: &[(Grammar, String)] = &SAMPLES;
            let (grammar, text) = &samples[at % samples.len()];
            let (now, file) = edited(text, &steps);
            let sides = [(DiffSide::Old, text.as_str()), (DiffSide::New, now.as_str())];
            let defined = |text: &str, excerpt: Option<&Excerpt>| {
                let cancel = Cancel::never();
                let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
                let tree = match excerpt {
                    Some(excerpt) if excerpt.is_empty() => return Some(Vec::new()),
                    Some(excerpt) => SyntaxTree::parse_excerpt(*grammar, text, excerpt.parts(), &watch).unwrap()?,
                    None => SyntaxTree::parse(*grammar, text, &watch).ok().filter(|tree| tree.error_count() == 0)?,
                };
                let symbols = symbols::extract(&tree, text, true, &watch)?;
                // In Go a comment of the file says it of all.
                let is_c = matches!(*grammar, Grammar::C | Grammar::Cpp);
                let key = |one: &SymbolDefinition| {
                    (one.name.clone(), symbols.owner(one).map(str::to_owned), one.kind, one.parameters.clone(), is_c && one.conditional)
                };
                // A line of Python with less than the margin of its body is an error that the parser takes for code of the module.
                let is_indented = |one: &&SymbolDefinition| {
                    let line = usize::try_from(one.lines.0 - 1).ok().and_then(|at| text.lines().nth(at));
                    *grammar == Grammar::Python && one.owner.is_none() && line.is_some_and(|line| line.starts_with(' '))
                };
                Some(symbols.definitions.iter().filter(|one| !is_indented(one)).map(key).collect::<Vec<_>>())
            };
            let focus = sides.map(|(side, _)| ScanFocus::of(&file, side));
            let divided = sides.map(|(_, text)| DividedText::of(*grammar, text));
            if let ([Some(old), Some(new)], [Some(was), Some(is)]) = (&divided, sides.map(|(_, text)| defined(text, None))) {
                let query = |focus| ExcerptQuery { focus: Some(focus), is_outline: true, ..ExcerptQuery::default() };
                let parts = Excerpt::select_different([(old, text, query(&focus[0])), (new, &now, query(&focus[1]))]);
                for ((part, (_, text)), (own, other)) in parts.iter().zip(sides).zip([(&was, &is), (&is, &was)]) {
                    let Some(in_part) = defined(text, Some(part)) else { continue };
                    let mut others = other.clone();
                    for one in own {
                        match others.iter().position(|other| other == one) {
                            Some(at) => drop(others.swap_remove(at)),
                            None => prop_assert!(in_part.contains(one), "{grammar:?} {one:?}\n{text}\n---\n{}", part.join(text)),
                        }
                    }
                }
            }
        }

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
            if let Some(excerpt) = of(*grammar, &now, query) {
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
