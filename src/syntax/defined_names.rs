//! The names that blocks of a text define, read from their lines. Main function: [`affected_names`].
//!
//! Where a block begins and ends belongs in `blocks`; the definitions of a parsed text in `symbols`.

use std::collections::BTreeSet;

use super::blocks::{Block, BlockContent, DividedText, STATEMENTS, number};
use super::focus::ScanFocus;
use super::grammar::Grammar;
use crate::domain::text::LazyPattern;

/// Returns the names of what the affected blocks of `text` define. Other code that has them may mean something else now.
pub(super) fn affected_names(divided: &DividedText, text: &str, focus: &ScanFocus) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    add_names(divided, text, &divided.blocks, focus, 0, &mut names);
    names
}

/// Adds the names that the affected ones of some blocks define.
fn add_names(
    divided: &DividedText,
    text: &str,
    blocks: &[Block],
    focus: &ScanFocus,
    level: usize,
    names: &mut BTreeSet<String>,
) {
    for block in blocks.iter().filter(|block| focus.affects(number(block.lines.start), number(block.lines.end) - 1)) {
        match &block.content {
            BlockContent::Container { members, is_function, .. } => {
                add_names(divided, text, members, focus, level + usize::from(!is_function), names);
            }
            BlockContent::Code | BlockContent::Function { .. } => {
                let line = |at: usize| text.get(divided.bytes_of(&(at..at + 1))).unwrap_or_default().trim();
                let first = line(block.begins);
                names.extend(defined_name(divided.grammar, first, level));
                if divided.grammar.is_script() && DECLARATION.regex().is_some_and(|begin| begin.is_match(first)) {
                    add_declared_names(divided, line, block, focus, names);
                }
            }
        }
    }
}

/// Beginnings of a statement of a script that may declare several names.
static DECLARATION: LazyPattern = LazyPattern::new(r"^(?:export\s+)?(?:const|let|var)\b");
/// Words of a script that may be declared: a value, an end or another one is next.
static DECLARED: LazyPattern = LazyPattern::new(r"([\w$]+)\s*(?:/\*.*?\*/\s*)*!?\s*(?:=(?:[^=>]|$)|[,;:}\]]|$)");

/// Adds the names that the affected lines of a declaration may declare, from those on on which their declarators begin.
fn add_declared_names<'t>(
    divided: &DividedText,
    line: impl Fn(usize) -> &'t str,
    block: &Block,
    focus: &ScanFocus,
    names: &mut BTreeSet<String>,
) {
    let Some(declared) = DECLARED.regex() else { return };
    let depth = divided.depth(block.begins);
    // In a pattern the names are a bracket deeper.
    let is_pattern = line(block.begins).ends_with(['{', '[']) && !line(block.begins).contains(['=', '(']);
    let is_declaring = |at: usize| {
        let inside = divided.depth(at).filter(|_| is_pattern).and_then(|depth| depth.checked_sub(1));
        let is_comment = line(at).is_empty() || line(at).starts_with("//");
        !is_comment && (divided.depth(at) == depth || inside.is_some_and(|inside| Some(inside) == depth))
    };
    // The lines of a declarator so far; the next one begins behind a comma.
    let (mut declarator, mut is_next) = (Vec::new(), false);
    for at in block.begins..block.lines.end {
        if is_declaring(at) {
            if is_next {
                declarator.clear();
            }
            declarator.push(at);
        }
        if !line(at).is_empty() && !line(at).starts_with("//") {
            is_next = line(at).split("//").next().unwrap_or_default().trim_end().ends_with(',');
        }
        if focus.affects(number(at), number(at)) {
            let found = declarator.drain(..).flat_map(|at| declared.captures_iter(line(at)));
            names.extend(found.filter_map(|found| Some(found.get(1)?.as_str().to_owned())));
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn all_that_changed_lines_may_declare_is_named() {
        for (text, line, expected) in [
            ("var a = 1, b = c(\"d\");\n", 1, vec!["a", "b"]),
            ("let a,\n  b = c(\n    d),\n  e;\n", 3, vec!["a", "b"]),
            ("let a,\n  b = c(d),\n  e;\n", 3, vec!["a", "e"]),
            ("var a = 1,\n  b =\n    // e\n    c.d(\"\");\n", 4, vec!["a", "b"]),
            ("var a = 1,\n  b =\n    c(d, e)\n      .a();\n", 4, vec!["a", "b", "d"]),
            ("var a = 1, b =\n  // c,\n  d.e(\"\");\n", 3, vec!["a", "b"]),
            ("let a = 1, b /* c */ = d(), e!: c = d();\n", 1, vec!["a", "b", "c", "e"]),
            ("export const {\n  a,\n  b: c,\n  d = 1,\n} = e;\n", 3, vec!["b", "c"]),
            ("const a = () => {\n  b = c;\n};\n", 2, vec!["a"]),
        ] {
            let divided = DividedText::of(Grammar::JavaScript, text).unwrap();
            let names = affected_names(&divided, text, &ScanFocus::default().with([(line, line)]));
            let is_named = |name: &&str| names.contains(*name);
            assert!(expected.iter().all(is_named), "{text} {names:?}");
            assert_eq!(
                ["a", "b", "c", "d", "e"].iter().filter(|name| is_named(name)).count(),
                expected.len(),
                "{text} {names:?}"
            );
        }
    }
}
