//! The parser settings for presented Markdown: `CommonMark` with GitHub's tables, strikethrough, task lists and footnotes.

use pulldown_cmark::{Event, Options, Parser};
use std::ops::Range;

/// Returns the enabled extensions of `CommonMark`.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES
}

/// Iterates over the document's events, each with its byte range.
pub(super) fn events(markdown: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(markdown, options()).into_offset_iter()
}

/// Checks whether the byte at `at` follows an odd number of backslashes.
pub(super) fn is_escaped(source: &str, at: usize) -> bool {
    source.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Removes the backslashes before ASCII punctuation (`CommonMark` 0.31 §2.4).
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Escapes plain text so that Markdown shows it as it is, in one line.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '!' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for text in ["src/__init__.py", "a\\b", "[x](y)", "`a` & <b>", "plain.rs:42"] {
            assert_eq!(unescape(&escape(text)), text);
        }
        assert_eq!(unescape("a\\b\\_c\\"), "a\\b_c\\");
    }

    #[test]
    fn a_backslash_that_is_escaped_escapes_nothing() {
        assert!(is_escaped("\\[", 1));
        assert!(!is_escaped("\\\\[", 2));
        assert!(!is_escaped("[", 0));
    }
}
