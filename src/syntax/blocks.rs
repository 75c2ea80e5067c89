//! Division of a text into blocks of lines. Main type: [`DividedText`].
//!
//! A block begins at the margin where nothing is open, and has all lines up to the next one. A type or a module of some size is divided into
//! the blocks of its members. Which blocks are parsed belongs in `excerpt`; brackets, strings and comments that are open at a line belong in
//! `nesting`.

use std::collections::BTreeSet;
use std::ops::Range as Span;

use super::asynchronous;
use super::grammar::Grammar;
use super::nesting::{self, NestedLine};

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
/// Beginnings of blocks that others depend on.
const IMPORTS: &[&str] =
    &["export {", "export * ", "export type {", "exports", "extern ", "from ", "import", "module.exports", "package"];
/// Words that name a type or a module.
const TYPES: &[&str] = &["class", "enum", "interface", "namespace", "new", "record", "struct", "union"];
/// Words of a script that begin a module, or a part of another one.
const MODULES: &[&str] = &["global", "module", "namespace"];
/// Beginnings of a function that is called where it stands.
const CALLED_FUNCTIONS: &[&str] =
    &["!function", "((", "(() =>", "(async () =>", "(async function", "(function", ";(function"];
/// Words that begin a statement, and are no names.
pub(super) const STATEMENTS: &[&str] =
    &["await", "do", "for", "if", "match", "return", "switch", "throw", "try", "while", "with", "yield"];

/// The lines of a text, and its blocks. Spans of it are indices of lines.
#[derive(Debug)]
pub(super) struct DividedText {
    pub(super) grammar: Grammar,
    /// The last one is empty, and no line of a block.
    lines: Vec<NestedLine>,
    pub(super) blocks: Vec<Block>,
}

/// A block of lines.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) lines: Span<usize>,
    /// Its last line that begins at the margin.
    pub(super) begins: usize,
    pub(super) use_by_others: BlockUse,
    /// `true` if it belongs to the block after it: a decorator, a comment, the type that a function returns.
    leads: bool,
    /// `true` if no line at its margin begins code.
    pub(super) is_comment: bool,
    /// From the first to the last line at its depth on which an asynchronous function of a script begins that has a name.
    asynchronous: Span<usize>,
    pub(super) content: BlockContent,
}

impl Block {
    /// Checks whether an asynchronous function of a script begins at its depth that has a name.
    pub(super) fn is_asynchronous(&self) -> bool {
        !self.asynchronous.is_empty()
    }
}

/// The use of a block for the rest of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockUse {
    /// None that is known.
    None,
    /// The rest may depend on what it defines: it has a macro or other names of a module, or is one line.
    Names,
    /// It is an import, or the name of a package, or has functions of another language.
    Import,
    /// It is an attribute on its own, or a directive.
    Attribute,
}

/// The parts of a block.
#[derive(Debug)]
pub(super) enum BlockContent {
    /// It is one part.
    Code,
    /// A function. Its head with the rest, which may be the end of its body or a statement of it, says all of it but what it does.
    Function { head: Span<usize>, rest: Span<usize> },
    /// A type or a module with members; `is_function`: a function that stands for a module.
    Container { head: Span<usize>, members: Vec<Block>, rest: Span<usize>, is_function: bool },
}

impl DividedText {
    /// Divides a text; `None` if its blocks are not known.
    pub(super) fn of(grammar: Grammar, text: &str) -> Option<Self> {
        let has_blocks = !matches!(grammar, Grammar::Bash | Grammar::Yaml);
        let has_plain_lines = memchr::memchr(b'\r', text.as_bytes()).is_none();
        if !has_blocks || !has_plain_lines || memchr::memchr_iter(b'\n', text.as_bytes()).count() > MOST_DIVIDED {
            return None;
        }
        let lines = nesting::lines(grammar, text)?;
        let divider = Divider {
            grammar,
            text,
            lines: &lines,
            naming: naming_lines(grammar, text, &lines),
            asynchronous: asynchronous_lines(grammar, text, &lines),
        };
        let blocks = divider.blocks(0..lines.len() - 1, (0, 0), 0);
        Some(Self { grammar, lines, blocks })
    }

    /// Returns the lines of the innermost block that has a line; that line itself if none has it.
    pub(super) fn lines_around(&self, line: usize) -> Span<usize> {
        let (mut blocks, mut found) = (&self.blocks, line..line + 1);
        let at = |blocks: &[Block]| blocks.partition_point(|block| block.lines.end <= line);
        while let Some(block) = blocks.get(at(blocks)).filter(|block| block.lines.contains(&line)) {
            found = block.lines.clone();
            match &block.content {
                BlockContent::Container { members, .. } => blocks = members,
                BlockContent::Code | BlockContent::Function { .. } => break,
            }
        }
        found
    }

    /// Returns the bytes of lines.
    pub(super) fn bytes_of(&self, lines: &Span<usize>) -> Span<usize> {
        bytes_of(&self.lines, lines)
    }

    /// Returns the words of a block of `text` that may be names of its asynchronous functions; `None` if one of them has a name that is not
    /// known.
    pub(super) fn asynchronous_names<'t>(&self, block: &Block, text: &'t str) -> Option<BTreeSet<&'t str>> {
        let code = text.get(self.bytes_of(&(block.begins..block.lines.end)))?;
        asynchronous::names(code, self.bytes_of(&(block.begins..block.asynchronous.end)).len())
    }

    /// Returns the number of brackets that are open at the begin of a line; `None` if a string or a comment is.
    pub(super) fn depth(&self, line: usize) -> Option<u32> {
        self.lines.get(line).filter(|line| !line.goes_on).map(|line| line.depth)
    }
}

/// Returns the number of a line from its index.
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

fn bytes_of(all: &[NestedLine], lines: &Span<usize>) -> Span<usize> {
    let end = all.last().map_or(0, |last| last.start);
    let at = |line: usize| all.get(line).map_or(end, |line| line.start);
    at(lines.start)..at(lines.end)
}

/// Divides the lines of a text.
struct Divider<'t> {
    grammar: Grammar,
    text: &'t str,
    lines: &'t [NestedLine],
    /// The lines at whatever depth that give names to the rest of the text, ascending.
    naming: Vec<usize>,
    /// Those on which an asynchronous function of a script begins that has a name.
    asynchronous: Vec<usize>,
}

impl<'t> Divider<'t> {
    fn text_of(&self, lines: &Span<usize>) -> &'t str {
        self.text.get(bytes_of(self.lines, lines)).unwrap_or_default()
    }

    fn line(&self, at: usize) -> &'t str {
        self.text_of(&(at..at + 1))
    }

    fn margin(&self, at: usize) -> usize {
        let line = self.line(at);
        line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    /// Divides lines into blocks at a margin and a depth of brackets, `level` blocks down.
    fn blocks(&self, lines: Span<usize>, (margin, depth): (usize, u32), level: usize) -> Vec<Block> {
        let mut found: Vec<Block> = Vec::new();
        for at in lines {
            let is_nested = self.lines.get(at).is_some_and(|line| line.depth == depth && !line.goes_on);
            // Most lines are inside of something, and only make its block longer.
            if !is_nested && let Some(last) = found.last_mut().filter(|last| !last.leads) {
                last.use_by_others = last.use_by_others.max(self.line_use(at));
                last.lines.end = at + 1;
                continue;
            }
            let line = self.line(at);
            let inner = line.get(margin..).filter(|_| is_nested && self.margin(at) == margin).unwrap_or_default();
            let is_directive = is_nested && is_c(self.grammar) && line.trim_start().starts_with('#');
            let begins = is_directive || begins_block(inner) || self.begins_call(inner, at);
            let use_by_others = if begins && is_import(self.grammar, inner) {
                BlockUse::Import
            } else if begins && is_macro(self.grammar, inner) {
                BlockUse::Names
            } else {
                self.line_use(at)
            };
            let goes_on = is_nested && continues(line.trim_start());
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
                        let ends = || has_type_first(self.grammar) && ends_declaration(line);
                        last.leads && !ends() && !inner.starts_with(['{', '}'])
                    };
                    last.begins = if begins { at } else { last.begins };
                    last.is_comment &= !has_code;
                    last.use_by_others = last.use_by_others.max(use_by_others);
                    last.lines.end = at + 1;
                }
                None => found.push(Block {
                    lines: at..at + 1,
                    begins: at,
                    leads: begins && leads(self.grammar, inner),
                    use_by_others,
                    is_comment: begins && !has_code,
                    asynchronous: 0..0,
                    content: BlockContent::Code,
                }),
            }
        }
        for block in &mut found {
            let is_single = !self.text_of(&(block.begins..block.lines.end)).trim_end().contains('\n');
            let ends_comment =
                || self.line(block.begins).rsplit_once("*/").is_none_or(|(_, rest)| rest.trim().is_empty());
            let own = if is_single && block.is_comment && ends_comment() {
                BlockUse::None
            } else if is_single && self.text_of(&block.lines).trim_start().starts_with('#') {
                BlockUse::Attribute
            } else if is_single || self.has_macros(block) {
                BlockUse::Names
            } else {
                BlockUse::None
            };
            block.use_by_others = block.use_by_others.max(own);
            block.asynchronous = self.asynchronous(block, depth);
            block.content = self.content(block, depth, level);
        }
        found
    }

    /// Checks whether a line of a script begins a function that is called where it stands, behind a line that ends a statement.
    fn begins_call(&self, line: &str, at: usize) -> bool {
        let before = || (0..at).rev().map(|at| self.line(at).trim()).find(|line| !line.is_empty());
        let is_end = |line: &str| line.ends_with(';') && !line.starts_with(['/', '*']);
        self.grammar.is_script() && begins_called_function(line) && before().is_some_and(is_end)
    }

    /// Returns the use of a line inside of a block for the rest of the text.
    fn line_use(&self, at: usize) -> BlockUse {
        if self.naming.binary_search(&at).is_ok() { BlockUse::Names } else { BlockUse::None }
    }

    /// Returns the lines of a block, from the first to the last one, that begin an asynchronous function of a script at its depth.
    fn asynchronous(&self, block: &Block, depth: u32) -> Span<usize> {
        let is_closing = |at: usize| self.line(at).trim_start().starts_with([')', ']', '}']);
        let is_outer = |at: usize| {
            let line = self.lines.get(at);
            let is_nested = line.is_some_and(|line| line.depth == depth && !line.goes_on);
            is_nested || line.is_some_and(|line| line.depth == depth + 1) && is_closing(at)
        };
        let from = self.asynchronous.partition_point(|at| *at < block.begins);
        let lines = self.asynchronous[from..].iter().copied().take_while(|at| *at < block.lines.end);
        let mut lines = lines.filter(|at| is_outer(*at));
        lines.next().map_or(0..0, |first| first..lines.last().unwrap_or(first) + 1)
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

    /// Finds the parts of a block: members, if it is a type or a module of some size and not too deep, or the body of a function.
    fn content(&self, block: &Block, depth: u32, level: usize) -> BlockContent {
        let first = self.words(block).next().unwrap_or_default();
        let is_container = level < DEEPEST && is_container(self.grammar, first);
        if is_container && self.text_of(&block.lines).len() < SMALLEST {
            return BlockContent::Code;
        }
        let is_python = self.grammar == Grammar::Python;
        let inside = match self.grammar {
            Grammar::Python => depth,
            _ if is_container => depth + 1,
            // A function may be an argument of a call.
            _ => self.first_depth(block).filter(|inside| *inside > depth).unwrap_or(depth + 1),
        };
        let body = self.body(block, inside).unwrap_or(0..0);
        let Some(first) = body.clone().find(|at| !self.is_blank(*at)) else { return BlockContent::Code };
        let (head, rest) = (block.lines.start..body.start, body.end..block.lines.end);
        let is_function = !is_container && self.is_function(self.head_start(block)..head.end, level);
        let is_closed = || self.is_closed_after(body.clone(), inside);
        let is_module = is_function
            && level < DEEPEST
            && self.text_of(&block.lines).len() >= SMALLEST
            && self.begins_module(head.end - 1)
            && (is_closed() || self.is_called_after(body.clone(), inside));
        if is_container || is_module {
            let members = self.blocks(body, (self.margin(first), inside), level + 1);
            return BlockContent::Container { head, members, rest, is_function };
        }
        let rest = Some(rest).filter(|_| is_function);
        let rest = rest
            .and_then(|rest| if is_python { self.statement(body.clone()) } else { Some(rest).filter(|_| is_closed()) });
        rest.map_or(BlockContent::Code, |rest| BlockContent::Function { head, rest })
    }

    /// Returns the words of the line that begins a block, from that on that names its kind.
    fn words(&self, block: &Block) -> impl Iterator<Item = &'t str> {
        self.line(block.begins).split_whitespace().skip_while(|word| is_modifier(word))
    }

    fn is_blank(&self, at: usize) -> bool {
        self.line(at).chars().all(char::is_whitespace)
    }

    /// Returns the line on which the head of a block begins: in C that before it may have its type.
    fn head_start(&self, block: &Block) -> usize {
        let before = block.begins.checked_sub(1).filter(|at| *at >= block.lines.start && is_c(self.grammar));
        let is_type = |at: &usize| self.line(*at).chars().all(|c| c.is_alphanumeric() || "_ *\n".contains(c));
        before.filter(is_type).unwrap_or(block.begins)
    }

    /// Returns the depth after the first line of a block that ends with a bracket.
    fn first_depth(&self, block: &Block) -> Option<u32> {
        let mut lines = block.begins..block.lines.end;
        let head = lines.find(|at| self.line(*at).trim_end().ends_with('{'))?;
        self.lines.get(head + 1).map(|line| line.depth)
    }

    /// Returns the lines inside the brackets, or under the colon, with which the first line of a block that has some ends; `None` if they are
    /// not all that follows.
    fn body(&self, block: &Block, inside: u32) -> Option<Span<usize>> {
        let is_python = self.grammar == Grammar::Python;
        let ending = if is_python { ':' } else { '{' };
        let is_inside = |line: &NestedLine| line.depth == inside && !line.goes_on;
        let mut heads = block.begins..block.lines.end;
        let head = heads
            .find(|at| self.lines.get(at + 1).is_some_and(is_inside) && self.line(*at).trim_end().ends_with(ending))?;
        let last = (head + 1..block.lines.end).rev().find(|at| !self.is_blank(*at))?;
        let is_closed = if is_python {
            // What is not deeper is no part of it, whatever word or character it begins with.
            let is_inner = |at: usize| self.is_blank(at) || self.margin(at) > self.margin(head);
            let is_line = |at: &usize| self.lines.get(*at).is_some_and(is_inside);
            (head + 1..block.lines.end).filter(is_line).all(is_inner)
        } else {
            self.line(last).trim_start().starts_with('}') && self.lines.get(last).is_some_and(is_inside)
        };
        is_closed.then_some(head + 1..if is_python { block.lines.end } else { last })
    }

    /// Checks whether the line after a body is all that closes it.
    fn is_closed_after(&self, body: Span<usize>, inside: u32) -> bool {
        let closing = self.line(body.end).trim();
        let is_plain = !is_c(self.grammar) || closing == "}";
        is_plain && closing.trim_matches(['}', '(', ')', ']', ';', ',']).is_empty() && self.is_within(body, inside)
    }

    /// Checks whether the line after the body of a function in parentheses closes it, and calls it with a name.
    fn is_called_after(&self, body: Span<usize>, inside: u32) -> bool {
        let name = self.line(body.end).trim().strip_prefix("})(").and_then(|rest| rest.strip_suffix(");"));
        name.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.'))
            && self.is_within(body, inside)
    }

    /// Checks whether nothing in a body closes it.
    fn is_within(&self, body: Span<usize>, inside: u32) -> bool {
        self.lines.get(body).is_some_and(|lines| lines.iter().all(|line| line.lowest >= inside))
    }

    /// Checks whether lines up to a bracket or a colon are the head of a function.
    fn is_function(&self, head: Span<usize>, level: usize) -> bool {
        let ending = if self.grammar == Grammar::Python { ':' } else { '{' };
        let head = self.text_of(&head).trim_end().trim_end_matches(ending).trim_end();
        let is_before = |word: &str| is_modifier(word) || ["async", "const", "extern", "\"C\""].contains(&word);
        let first = head.split_whitespace().find(|word| !is_before(word)).unwrap_or_default();
        let before = &head[..head.find('(').unwrap_or(0)];
        let has = |names: &[&str]| head.split(|c: char| !c.is_alphanumeric()).any(|word| names.contains(&word));
        let is_plain =
            |extra: &[char]| before.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' ' || extra.contains(&c));
        match self.grammar {
            Grammar::Rust => first == "fn",
            Grammar::Go => head.starts_with("func "),
            Grammar::Python => first == "def",
            Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => {
                let is_other =
                    has(&["class"]) || ["type", "interface", "enum"].contains(&first) || first.starts_with("switch");
                let is_named = ["function", "function*"].contains(&first) || MODULES.contains(&first);
                let is_method = level > 0 && !before.trim().is_empty() && is_plain(&['$', '#', '*', '\t']);
                !is_other && (is_named || is_method || head.ends_with([')']) || head.ends_with("=>"))
            }
            Grammar::Java => level > 0 && before.trim().contains(' ') && !before.contains('=') && !has(TYPES),
            Grammar::C | Grammar::Cpp => {
                let is_two = before.split_whitespace().count() > 1 && is_plain(&['*', '&', ':', '\n']);
                is_two && head.ends_with(')') && !has(TYPES) && !STATEMENTS.contains(&first)
            }
            Grammar::Bash | Grammar::Yaml => false,
        }
    }

    /// Checks whether a line of a script begins a function that is called where it stands, a namespace or a declared module: what is in it is a
    /// module.
    fn begins_module(&self, line: usize) -> bool {
        let line = self.line(line).trim_start();
        let mut words = line.split_whitespace().skip_while(|word| is_modifier(word));
        let mut is_module = || {
            let is_declared = words.next().is_some_and(|word| MODULES.contains(&word));
            is_declared && words.next().is_some_and(|name| !name.starts_with('='))
        };
        self.grammar.is_script() && (begins_called_function(line) || is_module())
    }

    /// Returns the first of these lines that is a statement of a body of Python.
    fn statement(&self, body: Span<usize>) -> Option<Span<usize>> {
        let first = body.clone().find(|at| !self.is_blank(*at))?;
        let (margin, depth) = (self.margin(first), self.lines.get(first)?.depth);
        let is_begin = |at: usize| {
            let is_inner = || self.lines.get(at).is_none_or(|line| line.depth != depth || line.goes_on);
            at == body.end || !is_inner() && (self.is_blank(at) || self.margin(at) <= margin)
        };
        let is_whole = |at: usize| {
            let line = self.line(at).trim();
            let goes_on = line.ends_with([':', '\\']) || continues(line);
            self.margin(at) == margin && !goes_on && !line.is_empty() && !line.starts_with(['#', '@', ')', ']', '}'])
        };
        body.clone().find(|at| is_whole(*at) && is_begin(*at) && is_begin(at + 1)).map(|at| at..at + 1)
    }
}

fn begins_called_function(line: &str) -> bool {
    CALLED_FUNCTIONS.iter().any(|begin| line.starts_with(begin))
}

/// Returns a line without its margin.
fn line_of<'t>(text: &'t str, lines: &[NestedLine], at: usize) -> &'t str {
    text.get(bytes_of(lines, &(at..at + 1))).unwrap_or_default().trim_start()
}

/// Returns the lines that have a word.
fn lines_with(text: &str, lines: &[NestedLine], word: &str) -> Vec<usize> {
    let found = memchr::memmem::find_iter(text.as_bytes(), word.as_bytes());
    let mut found: Vec<usize> = found.map(|at| lines.partition_point(|line| line.start <= at) - 1).collect();
    found.dedup();
    found
}

/// Returns the lines at whatever depth on which an asynchronous function of a script begins that has a name.
fn asynchronous_lines(grammar: Grammar, text: &str, lines: &[NestedLine]) -> Vec<usize> {
    let with = if grammar.is_script() { lines_with(text, lines, asynchronous::WORD) } else { Vec::new() };
    with.into_iter().filter(|at| asynchronous::begins_named(line_of(text, lines, *at))).collect()
}

/// Returns the lines at whatever depth that give names to the rest of a text.
fn naming_lines(grammar: Grammar, text: &str, lines: &[NestedLine]) -> Vec<usize> {
    match grammar {
        // An import may be conditional.
        Grammar::Python => {
            let begins =
                |at: &usize| ["from ", "import "].iter().any(|word| line_of(text, lines, *at).starts_with(word));
            (0..lines.len()).filter(begins).collect()
        }
        // All names of a module, also in a function.
        Grammar::Rust => {
            let with = lines_with(text, lines, "::*").into_iter();
            with.filter(|at| is_import(grammar, line_of(text, lines, *at))).collect()
        }
        Grammar::JavaScript
        | Grammar::TypeScript
        | Grammar::Tsx
        | Grammar::C
        | Grammar::Cpp
        | Grammar::Go
        | Grammar::Java
        | Grammar::Bash
        | Grammar::Yaml => Vec::new(),
    }
}

/// Checks for a word before the one that names the kind of a block.
fn is_modifier(word: &str) -> bool {
    MODIFIERS.contains(&word) || word.starts_with("pub(")
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

/// Checks whether a line begins with a word that continues a statement.
fn continues(line: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    CONTINUATIONS.iter().any(|word| line.strip_prefix(word).is_some_and(|rest| word.ends_with(':') || is_end(rest)))
}

fn begins_block(line: &str) -> bool {
    let is_margin = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_@#/\"'`$".contains(&byte);
    line.bytes().next().is_some_and(is_margin) && !continues(line)
}

/// Checks whether what a line begins gives names to the rest of the text, or out of it.
fn is_import(grammar: Grammar, line: &str) -> bool {
    let is_use = || {
        let public = line.strip_prefix("pub").map_or(line, str::trim_start);
        let inside = public.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(public, |(_, rest)| rest);
        ["use ", "extern "].iter().any(|word| inside.trim_start().starts_with(word))
    };
    IMPORTS.iter().any(|word| line.starts_with(word)) || grammar == Grammar::Rust && is_use()
}

/// Checks whether a line begins a macro of Rust, which may define anything.
fn is_macro(grammar: Grammar, line: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_:".contains(c);
    grammar == Grammar::Rust && line.trim_start_matches(is_part).starts_with('!')
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
