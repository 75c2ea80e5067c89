//! References without markup: `path:42` in a run of plain text, or a code span that holds nothing else.

use std::ops::Range;

use super::lines::parse_after_colon;
use super::markdown::is_escaped;
use super::target::{is_path_like, is_quoted_path, parse_exact_reference, plain_reference};
use crate::domain::presented::FileRef;

/// A reference in plain text.
pub(super) type PlainReference = (Range<usize>, Result<FileRef, String>);

/// Finds the references in `source[run]`, a run of text as it was written, in order.
pub(super) fn find_references(source: &str, run: Range<usize>, mut each: impl FnMut(PlainReference)) {
    let text = &source[run.clone()];
    let mut at = 0;
    for token in text.split_inclusive(char::is_whitespace) {
        let start = run.start + at;
        at += token.len();
        // The path of a URL is not a file reference.
        let length = token.find("://").unwrap_or_else(|| token.trim_end().len());
        in_token(source, start..start + length, &mut each);
    }
}

fn in_token(source: &str, token: Range<usize>, each: &mut impl FnMut(PlainReference)) {
    // Each colon looks back no further than the one before it, so this is linear.
    let mut from = token.start;
    while let Some(found) = memchr::memchr(b':', &source.as_bytes()[from..token.end]) {
        let colon = from + found;
        let before = &source[from..colon];
        let quoted = quoted_before(before);
        let path = quoted.unwrap_or_else(|| {
            let odd = before.char_indices().rev().find(|(_, c)| !is_path_char(*c));
            before[odd.map_or(0, |(at, c)| at + c.len_utf8())..].trim_start_matches(['-', '+'])
        });
        let start = colon - path.len();
        let span = parse_after_colon(&source[colon + 1..token.end]);
        let end = span.as_ref().map_or(colon + 1, |span| colon + 1 + span.length);
        if let Some(span) = span
            && (quoted.is_some() || is_path_like(path))
            && begins(&source[..start])
            && ends(&source[end..token.end])
        {
            each((start..end, plain_reference(path, span.lines)));
        }
        from = end;
    }
}

/// Returns the path that ends here if it is quoted as git quotes it.
fn quoted_before(before: &str) -> Option<&str> {
    let inner = before.strip_suffix('"')?;
    let (open, _) = inner.rmatch_indices('"').find(|(at, _)| !is_escaped(inner, *at))?;
    Some(&before[open..]).filter(|path| is_quoted_path(path))
}

/// Checks whether a path may begin after this: not in the middle of a name, a URL, or the marker of an image.
fn begins(before: &str) -> bool {
    !before.ends_with([':', '!', '@', '#', '&', '%', '?'])
        && !before.ends_with(|c: char| c.is_alphanumeric() && is_path_char(c))
}

/// Checks whether line numbers may end before this: not in the middle of a number or a name.
fn ends(after: &str) -> bool {
    let after = after.trim_start_matches('_');
    let mut chars = after.chars();
    match chars.next() {
        Some(c) if c.is_alphanumeric() && is_path_char(c) => false,
        Some('-' | '.' | ':' | '/') => !chars.next().is_some_and(|next| next.is_ascii_digit()),
        _ => true,
    }
}

/// Checks for a character of a path in prose. Scripts without spaces are left out: no path has a clear beginning there.
fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '_' | '-' | '.' | '/' | '@' | '+' | '~' | '$' | '\\')
        || c.is_lowercase()
        || c.is_uppercase()
}

/// Parses a code span that is a reference.
pub(super) fn parse_code_span(code: &str) -> Option<Result<FileRef, String>> {
    let code = code.trim();
    if code.starts_with('"') {
        return parse_exact_reference(code);
    }
    let (path, _) = code.split_once(':')?;
    let bracketed = |c: char| path.contains('/') && matches!(c, '[' | ']' | '(' | ')');
    let clean = path.chars().all(|c| is_path_char(c) || c.is_alphanumeric() || bracketed(c));
    if clean && is_path_like(path) { parse_exact_reference(code) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        find_references(text, 0..text.len(), |(at, to)| {
            assert!(to.is_ok(), "{text}: {to:?}");
            found.push(&text[at]);
        });
        found
    }

    #[test]
    fn paths_with_lines_are_found_wherever_they_stand() {
        for (text, refs) in [
            ("see src/a.rs:42.", vec!["src/a.rs:42"]),
            ("(a.rs:42-50), x/b:7; c.rs:3:9: error", vec!["a.rs:42-50", "x/b:7", "c.rs:3:9"]),
            ("a.rs:1 b.rs:2:", vec!["a.rs:1", "b.rs:2"]),
            ("=src/__init__.py:4", vec!["src/__init__.py:4"]),
            ("Makefile:12, .env:3", vec!["Makefile:12", ".env:3"]),
            ("「src/a.rs:4」参照", vec!["src/a.rs:4"]),
            ("在src/a.rs:4处", vec!["src/a.rs:4"]),
            ("grüße/ä.rs:4", vec!["grüße/ä.rs:4"]),
            ("(\"a/b\\377.py\":42) x", vec!["\"a/b\\377.py\":42"]),
            ("\"x\",\"b\\377\\\".py\":4-5,", vec!["\"b\\377\\\".py\":4-5"]),
        ] {
            assert_eq!(found(text), refs, "{text}");
        }
    }

    #[test]
    fn what_only_resembles_one_is_left_alone() {
        for text in [
            "12:30",
            "std::fmt",
            "host:8080",
            "https://e.example/a.rs:42",
            "http://h:80/x",
            "key: 1",
            "localhost:3000",
            "127.0.0.1:80",
            "example.com:443",
            "a.rs:42x",
            "v1.2:3",
            "1/2:3",
            "a::b.rs:3",
            "user@example.com:25",
            "a.rs:",
            "2024-01-02T10:20:30",
            "a.b:2024-01-02",
            "x!a.rs:4",
            "ratio 4.5:1",
            "{\"port\":8080,\"a/b.rs\":4}",
            "\"a\\9.rs\":4",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_code_span_counts_whole_or_not_at_all() {
        for code in ["src/a.rs:42", "a.rs:4-9", "app/[id]/page.tsx:3", " a.rs:1 ", "\"a b\\377.rs\":4"] {
            assert!(parse_code_span(code).is_some_and(|to| to.is_ok()), "{code}");
        }
        for code in
            ["see a.rs:4", "std::io", "x[1:2]", "a.rs", "12:30", "https://x/a.rs:4", "a.rs:4 b", "\"port\":8080"]
        {
            assert!(parse_code_span(code).is_none(), "{code}");
        }
    }
}
