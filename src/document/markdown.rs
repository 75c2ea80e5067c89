//! The one way in which presented Markdown is read: `CommonMark` with the tables, strikethrough, task lists and footnotes of GitHub.

use pulldown_cmark::{Event, Options, Parser};
use std::ops::Range;

/// What is understood beyond `CommonMark`.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES
}

/// The document in pieces, each with its bytes.
pub(super) fn events(markdown: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(markdown, options()).into_offset_iter()
}

/// Whether the byte at `at` stands behind an odd number of backslashes.
pub(super) fn is_escaped(source: &str, at: usize) -> bool {
    source.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The text without the backslashes before ASCII punctuation (`CommonMark` 0.31 §2.4).
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

/// Plain text as Markdown that shows it, in one line.
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
