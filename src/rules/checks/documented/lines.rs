//! The parameters that documentation names, line by line: tags of comments, and the lists in Python's docstrings.
//!
//! Main functions: [`in_comment`], [`in_docstring`]. Whether a function has what is named belongs in [`super::functions`].

use std::sync::LazyLock;

use regex::Regex;

use crate::syntax::Grammar;

/// A line that names a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) line: u32,
    /// Whether it is a parameter of types: `@param <T>`.
    pub(super) of_type: bool,
    /// Words around it, of which one is the name where a type or a word of grace stands in its place.
    pub(super) others: Vec<String>,
}

/// What a documentation names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) named: Vec<Named>,
    /// Whether some lines were not understood; then nobody knows what is not named.
    pub(super) unclear: bool,
}

/// Words that stand where a name should, and are none: types, and ways to say that there is nothing.
const NO_NAMES: &[&str] = &[
    "none", "null", "nil", "void", "nothing", "no", "the", "an", "in", "out", "optional", "required", "int", "string",
    "boolean", "bool", "number", "object", "array", "function", "float", "double", "long", "char", "const", "unsigned",
    "struct", "str", "dict", "list", "any", "self", "cls", "this", "param", "return", "returns", "todo", "unused",
];

type Pattern = LazyLock<Option<Regex>>;
static TAG: Pattern = LazyLock::new(|| {
    Regex::new(r"^[\s/*!]*[@\\](param|arg|argument)\b((?:\s*\[(?:in|out|inout|in,\s*out)\])?)(.*)$").ok()
});
/// What ends the reading of a comment: tags that say it is about something else.
static ELSEWHERE: Pattern = LazyLock::new(|| {
    Regex::new(
        r"(?i)[@\\](?:typedef|callback|overload|event|fires|name|namespace|interface|swagger|openapi|api(?:Param|Define)?|macro|def|file|fn|copydoc|inheritdoc|defgroup|addtogroup|struct|mixin|property)\b|\{@inheritDoc\}",
    )
    .ok()
});
static FIELD: Pattern = LazyLock::new(|| Regex::new(r"^\s*:(?:param|parameter|arg|argument)\s+([^:]+):(?:\s|$)").ok());
static GOOGLE: Pattern = LazyLock::new(|| Regex::new(r"^(?:Args|Arguments|Parameters|Params)\s*:$").ok());
static GOOGLE_ENTRY: Pattern =
    LazyLock::new(|| Regex::new(r"^\*{0,2}([A-Za-z_]\w*)\s*(?:\(.*?\)|\(.*\))?\s*:(?:\s|$)").ok());
static NUMPY: Pattern = LazyLock::new(|| Regex::new(r"^(?:Parameters|Other Parameters)$").ok());
static NUMPY_ENTRY: Pattern =
    LazyLock::new(|| Regex::new(r"^(\*{0,2}[A-Za-z_]\w*(?:\s*,\s*\*{0,2}[A-Za-z_]\w*)*)\s*(?:\s:.*|:)?$").ok());

fn is_match(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Whether a text can name a parameter at all: asked before it is parsed.
pub(super) fn may_name(grammar: Grammar, text: &str) -> bool {
    let marks: &[&str] = match grammar {
        Grammar::Python => &[":param", ":arg", "Args:", "Arguments:", "Params:", "Parameters"],
        Grammar::C | Grammar::Cpp => &["@param", "\\param"],
        Grammar::Java => &["@param"],
        Grammar::JavaScript | Grammar::TypeScript | Grammar::Tsx => &["@param", "@arg"],
        _ => &[],
    };
    marks.iter().any(|mark| text.contains(mark))
}

/// What a comment that begins on line `first` names.
pub(super) fn in_comment(grammar: Grammar, text: &str, first: u32) -> Lines {
    let mut lines = Lines::default();
    if is_match(&ELSEWHERE, text) {
        lines.unclear = true;
        return lines;
    }
    let mut shown = false;
    for (number, line) in (first..).zip(text.lines()) {
        // Code that is shown, comments of its own included.
        shown = is_shown(line, shown);
        let Some(groups) = TAG.as_ref().filter(|_| !shown).and_then(|tag| tag.captures(line)) else { continue };
        // A remark behind the member it is about.
        if line.contains("/**<") || line.contains("///<") {
            lines.unclear = true;
            continue;
        }
        let [tag, direction, rest] = [1, 2, 3].map(|at| groups.get(at).map_or("", |group| group.as_str()));
        let rest = rest.trim_end().trim_end_matches("*/");
        let is_script = !matches!(grammar, Grammar::C | Grammar::Cpp | Grammar::Java);
        // Elsewhere it is an item of a list.
        if tag != "param" && !is_script {
            continue;
        }
        let rest = if is_script { after_type(&format!("{direction}{rest}")) } else { Some(rest.to_owned()) };
        let Some(found) = rest.and_then(|rest| names(grammar, &rest, number)) else {
            lines.unclear = true;
            continue;
        };
        lines.named.extend(found);
    }
    lines
}

/// Whether code is shown after a line, where it is or is not before it.
fn is_shown(line: &str, before: bool) -> bool {
    let fences = line.matches("```").count() + line.matches("~~~").count();
    match (line.contains("<pre") || line.contains("@code"), line.contains("</pre") || line.contains("@endcode")) {
        (_, true) => false,
        (true, false) => true,
        (false, false) => before != (fences % 2 == 1),
    }
}

/// What follows `{type}`, where there is one; `None` where it does not end on the line.
fn after_type(rest: &str) -> Option<String> {
    let trimmed = rest.trim_start();
    if !trimmed.starts_with('{') {
        return Some(rest.to_owned());
    }
    let mut depth = 0_u32;
    for (at, c) in trimmed.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(format!(" {}", trimmed.get(at + 1..)?.trim_start()));
        }
    }
    None
}

/// The names at the beginning of what follows a tag; `None` where there is none that is sure.
fn names(grammar: Grammar, rest: &str, line: u32) -> Option<Vec<Named>> {
    // `@params` and `@param:` are other things.
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    if let Some(name) = first.strip_prefix('<').and_then(|rest| rest.split_once('>')).map(|(name, _)| name) {
        let sure = grammar == Grammar::Java && is_word(name);
        return sure.then(|| vec![Named { name: name.to_owned(), line, of_type: true, others: Vec::new() }]);
    }
    let others: Vec<String> = words.next().and_then(bare).into_iter().collect();
    let several = matches!(grammar, Grammar::C | Grammar::Cpp) && first.contains(',');
    let all: Vec<&str> = if several { first.split(',').filter(|name| !name.is_empty()).collect() } else { vec![first] };
    let all: Option<Vec<String>> = all.into_iter().map(bare).collect();
    let named = |name| Named { name, line, of_type: false, others: others.clone() };
    Some(all?.into_iter().map(named).collect())
}

/// The name that a word begins with: of `[x=1]`, `x.y`, `x->y`, `*x` and `x:` it is `x`. `None` for what is no name.
fn bare(word: &str) -> Option<String> {
    let word = word.trim_start_matches(['[', '*', '&', '`', '\'', '"']).trim_start_matches("...");
    let end = word.find(|c: char| !is_part(c)).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let ends = rest.is_empty()
        || rest.starts_with("->")
        || rest.starts_with(['.', '[', ']', ',', ':', ';', '=', '?', '`', '\'', '"', ')', '(']);
    let no_name = NO_NAMES.contains(&name.to_ascii_lowercase().as_str());
    (ends && is_word(name) && !no_name).then(|| name.to_owned())
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

fn is_word(name: &str) -> bool {
    name.chars().all(is_part) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// What a docstring that begins on line `first` names.
pub(super) fn in_docstring(text: &str, first: u32) -> Lines {
    let all: Vec<(u32, &str)> = (first..).zip(text.lines()).collect();
    let mut lines = Lines::default();
    for (number, line) in &all {
        let Some(field) = FIELD.as_ref().and_then(|field| field.captures(line)).and_then(|groups| groups.get(1)) else {
            continue;
        };
        let mut words: Vec<&str> = field.as_str().split_whitespace().collect();
        let name = words.pop().map(|name| name.trim_start_matches(['\\', '*']));
        match name.filter(|name| is_word(name) && !NO_NAMES.contains(&name.to_ascii_lowercase().as_str())) {
            Some(name) => {
                let others = words.iter().map(|word| word.trim_end_matches(',').to_owned()).collect();
                lines.named.push(Named { name: name.to_owned(), line: *number, of_type: false, others });
            }
            None => lines.unclear = true,
        }
    }
    let mut lists: Vec<Vec<Named>> = Vec::new();
    for (at, (_, line)) in all.iter().enumerate() {
        let (header, depth) = (line.trim(), indentation(line));
        let below = all.get(at + 1..).unwrap_or_default();
        let found = if is_match(&GOOGLE, header) {
            google(depth, below)
        } else if is_match(&NUMPY, header) && below.first().is_some_and(|(_, line)| is_rule(line)) {
            numpy(depth, below.get(1..).unwrap_or_default())
        } else {
            continue;
        };
        match found {
            Some(found) => lists.push(found),
            None => lines.unclear = true,
        }
    }
    // Where there are several, not all of them are about this function.
    match lists.pop() {
        Some(only) if lists.is_empty() => lines.named.extend(only),
        Some(_) => lines.unclear = true,
        None => {}
    }
    lines
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line is one of dashes.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| c == '-')
}

/// The entries of a list below `Args:`; `None` where it is not one of them through and through.
fn google(depth: usize, below: &[(u32, &str)]) -> Option<Vec<Named>> {
    let mut found = Vec::new();
    let mut level = None;
    for (number, line) in below.iter().filter(|(_, line)| !line.trim().is_empty()) {
        let own = indentation(line);
        let level = *level.get_or_insert(own);
        if own <= depth {
            break;
        }
        if own > level {
            continue;
        }
        if own < level {
            return None;
        }
        let name = GOOGLE_ENTRY.as_ref()?.captures(line.trim())?.get(1)?.as_str();
        found.push(Named { name: name.to_owned(), line: *number, of_type: false, others: Vec::new() });
    }
    Some(found)
}

/// The entries of a list below `Parameters` and its dashes; `None` as for [`google`].
fn numpy(depth: usize, below: &[(u32, &str)]) -> Option<Vec<Named>> {
    let mut found = Vec::new();
    for (at, (number, line)) in below.iter().enumerate() {
        let begins_another = below.get(at + 1).is_some_and(|(_, next)| is_rule(next));
        if begins_another || (indentation(line) < depth && !line.trim().is_empty()) {
            break;
        }
        if line.trim().is_empty() || indentation(line) > depth {
            continue;
        }
        let names = NUMPY_ENTRY.as_ref()?.captures(line.trim())?.get(1)?.as_str();
        for name in names.split(',').map(|name| name.trim().trim_start_matches('*')) {
            found.push(Named { name: name.to_owned(), line: *number, of_type: false, others: Vec::new() });
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(lines: &Lines) -> Vec<(&str, u32)> {
        lines.named.iter().map(|named| (named.name.as_str(), named.line)).collect()
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&TAG, &ELSEWHERE, &FIELD, &GOOGLE, &GOOGLE_ENTRY, &NUMPY, &NUMPY_ENTRY] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn tags_are_read_as_their_languages_write_them() {
        let one = |grammar, line: &str| {
            let lines = in_comment(grammar, line, 3);
            assert!(lines.named.iter().all(|named| named.line == 3), "{line}");
            lines.named.into_iter().map(|named| named.name).collect::<Vec<_>>().join(" ")
        };
        for (grammar, line, name) in [
            (Grammar::Java, " * @param name what it is called", "name"),
            (Grammar::Java, " * @param <T> the type", "T"),
            (Grammar::Java, " * @param name, the name", "name"),
            (Grammar::Java, " * @param \u{540d}\u{79f0}", ""),
            (Grammar::Java, " * @param", ""),
            (Grammar::Java, " * @params name", ""),
            (Grammar::Java, " * see @param name", ""),
            (Grammar::JavaScript, " * @param {string} name - text", "name"),
            (Grammar::JavaScript, " * @param {{a: {b: string}}} [name=1] text", "name"),
            (Grammar::JavaScript, " * @param {string} options.name", "options"),
            (Grammar::JavaScript, " * @param {string[]} rows[].name", "rows"),
            (Grammar::JavaScript, " * @param {{", ""),
            (Grammar::JavaScript, " * @param {string} - text", ""),
            (Grammar::JavaScript, "/** @param {string} a */", "a"),
            (Grammar::JavaScript, " * @param [in] text", "in"),
            (Grammar::TypeScript, " * @param name? - text", "name"),
            (Grammar::C, " * @param[in,out] name text", "name"),
            (Grammar::C, " * @param [in] name text", "name"),
            (Grammar::Cpp, "/// \\param a,b text", "a b"),
            (Grammar::Cpp, "/// \\param ... text", ""),
            (Grammar::C, " * @param foo/bar text", ""),
            (Grammar::C, " * @param none", ""),
        ] {
            let expected = if line.contains("[in] text") { "" } else { name };
            assert_eq!(one(grammar, line), expected, "{line}");
        }
    }

    #[test]
    fn a_comment_about_something_else_is_left_alone() {
        for text in [
            "/**\n * @callback done\n * @param {Error} why\n */",
            "/** {@inheritDoc}\n * @param a text */",
            "/**\n * @overload\n * @param {string} a\n */",
        ] {
            assert_eq!(in_comment(Grammar::JavaScript, text, 1), Lines { named: Vec::new(), unclear: true });
        }
        let text = "/**\n * ```\n * @param b\n * ```\n * <pre>\n * @param c\n * </pre>\n * @param a x\n */";
        assert_eq!(named(&in_comment(Grammar::Java, text, 1)), [("a", 8)]);
    }

    #[test]
    fn docstrings_are_read_in_three_styles() {
        let sphinx = "\"\"\"Text.\n\n:param a: x\n:param int b: y\n:param \\*c: z\n:type a: str\n:param a, : z\n\"\"\"";
        assert_eq!(named(&in_docstring(sphinx, 1)), [("a", 3), ("b", 4), ("c", 5)]);
        let google = "\"\"\"Text.\n\n    Args:\n        a: x\n            more: of it\n        b (dict[str, int]): y\n\n        **c: z\n    Returns:\n        d: no\n    \"\"\"";
        assert_eq!(named(&in_docstring(google, 1)), [("a", 4), ("b", 6), ("c", 8)]);
        let numpy = "\"\"\"Text.\n\n    Parameters\n    ----------\n    a : int\n        Text.\n    b, c\n        Text.\n\n    Returns\n    -------\n    d : int\n    \"\"\"";
        assert_eq!(named(&in_docstring(numpy, 1)), [("a", 5), ("b", 7), ("c", 7)]);
    }

    #[test]
    fn a_list_of_something_else_is_no_list_of_parameters() {
        for text in [
            "\"\"\"\n    Args:\n        a: x\n        and prose that goes on\n    \"\"\"",
            "\"\"\"\n    Args:\n            a: x\n        b: y\n    \"\"\"",
            "\"\"\"\n    Parameters\n    ----------\n    some words of prose\n    \"\"\"",
            "\"\"\"\n    Old:\n        Args:\n            a: x\n\n    Args:\n        b: y\n    \"\"\"",
        ] {
            assert_eq!(in_docstring(text, 1), Lines { named: Vec::new(), unclear: true }, "{text}");
        }
    }
}
