//! Marks at the beginning of protocol lines, and the escaping of text that looks like one. Main type: [`MarkLine`].

use std::borrow::Cow;

/// Prefix of every mark; a letter follows directly, so that the header of a hunk is not a mark.
const SIGN: &str = "@@";
/// Prefix of the first line of a call.
pub(super) const CALL: &str = "@@call";
/// Last line of a call.
pub(super) const END: &str = "@@end";
/// Prefix of the first line of a result.
pub(super) const RESULT: &str = "@@result";

/// The longest name of a field: more is no mark.
const LONGEST: usize = 64;

/// A line that begins with a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkLine<'a> {
    /// Blanks before it.
    pub(super) indent: usize,
    /// The word behind the sign.
    pub(super) name: &'a str,
    /// Rest of the line, without the colon and the blanks around it.
    pub(super) rest: &'a str,
}

impl<'a> MarkLine<'a> {
    /// Returns the mark of a line, if it has one. The line is without its end.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let body = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - body.len();
        let word = body.strip_prefix(SIGN)?;
        if !word.starts_with(is_first) {
            return None;
        }
        let end = word.find(|c: char| !is_within(c)).unwrap_or(word.len());
        let (name, rest) = word.split_at(end);
        if name.len() > LONGEST || !rest.is_empty() && !rest.starts_with([':', '=', ' ', '\t', '\r']) {
            return None;
        }
        let rest = rest.trim();
        let rest = rest.strip_prefix([':', '=']).unwrap_or(rest).trim();
        Some(Self { indent, name: name.trim_end_matches('.'), rest })
    }

    /// Checks whether the mark is one of these words, in any case.
    pub(super) fn is_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.name.eq_ignore_ascii_case(word))
    }
}

fn is_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_within(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Checks whether a line would be read as a mark, or as an escaped one.
fn looks_marked(line: &str) -> bool {
    let body = line.trim_start_matches([' ', '\t']).trim_start_matches('\\');
    body.strip_prefix(SIGN).is_some_and(|word| word.starts_with(is_first))
}

/// Escapes a line of raw text: one that would be read as a mark gets a backslash.
pub(super) fn escaped(line: &str) -> Cow<'_, str> {
    if !looks_marked(line) {
        return Cow::Borrowed(line);
    }
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (indent, body) = line.split_at(at);
    Cow::Owned(format!("{indent}\\{body}"))
}

/// Removes the escape from a line of raw text.
pub(super) fn unescaped(line: &str) -> Cow<'_, str> {
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (indent, body) = line.split_at(at);
    match body.strip_prefix('\\') {
        Some(body) if looks_marked(line) => Cow::Owned(format!("{indent}{body}")),
        _ => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mark_is_a_sign_with_a_word() {
        let mark = |line| MarkLine::of(line).map(|mark| (mark.indent, mark.name, mark.rest));
        assert_eq!(mark("@@title: A: b "), Some((0, "title", "A: b")));
        assert_eq!(mark("  @@end\r"), Some((2, "end", "")));
        assert_eq!(mark("@@related.quote ="), Some((0, "related.quote", "")));
        for line in ["@@ -1,3 +1,4 @@", "@property", "@@", "x @@end", "@@count+= 1", "\\@@end", "@@9"] {
            assert_eq!(mark(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_no_mark_and_comes_back(line in "[ \t]{0,2}\\\\{0,2}(@@|@)?[a-z_ .:]{0,6}") {
            let written = escaped(&line);
            prop_assert!(MarkLine::of(&written).is_none(), "{written}");
            prop_assert_eq!(unescaped(&written), line.as_str());
        }
    }
}
