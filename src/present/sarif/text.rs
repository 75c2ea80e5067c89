//! Untrusted text for SARIF's messages: plain, with no link and no placeholder of its own.
//!
//! In a message `[text](target)` is a link (§3.11.6) and `{0}` a placeholder (§3.11.5). The standard requires every brace to be doubled,
//! and brackets escaped; but readers that find no arguments show a message verbatim, and others search for links with a pattern that knows
//! no escapes. A space inside breaks both in every reader, and people still understand the text.

use crate::domain::text::{strip_block, strip_line};

/// Upper bound on the id of a rule, and on a name of one.
pub(super) const LONGEST_NAME: usize = 255;

/// Strips text to one line.
pub(super) fn line(text: &str) -> String {
    neutralize(strip_line(text).trim())
}

/// Strips text of several lines.
pub(super) fn block(text: &str) -> String {
    neutralize(strip_block(text).trim())
}

/// Strips text to one line that ends as a sentence: readers with little room show only the first.
pub(super) fn sentence(text: &str) -> String {
    let mut text = line(text);
    if !text.ends_with(['.', '!', '?', '…', '。']) {
        text.push('.');
    }
    text
}

/// Breaks links and placeholders of a message.
pub(super) fn neutralize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([']', '{']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = from[1..].bytes().take_while(u8::is_ascii_digit).count();
        let is_placeholder = from.starts_with('{') && digits > 0 && from[1 + digits..].starts_with('}');
        out.push_str(&from[..1]);
        if is_placeholder || from.starts_with("](") {
            out.push(' ');
        }
        rest = &from[1..];
    }
    out.push_str(rest);
    out
}

/// Formats a link to a related place of the same result, by its number (§3.11.6). Names that could end the link are not shown.
pub(super) fn link(name: &str, id: i64) -> String {
    if name.contains(['[', ']', '(', ')', '{', '}', '\\', '`', '<', '>']) {
        format!("[related place {id}]({id})")
    } else {
        format!("[{name}]({id})")
    }
}

/// Shortens text to at most `most` characters; a cut is marked.
pub(super) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Checks for `major.minor.patch` with an optional suffix (Semantic Versioning 2.0.0).
pub(super) fn is_semantic_version(text: &str) -> bool {
    let (core, rest) = text.find(['-', '+']).map_or((text, ""), |at| text.split_at(at));
    let numbers: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (*part == "0" || !part.starts_with('0'))
    };
    let is_rest = rest.is_empty()
        || rest[1..]
            .split(['.', '+'])
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
            && rest.matches('+').count() <= 1;
    numbers.len() == 3 && numbers.iter().all(is_number) && is_rest
}

/// Checks for a date and time in UTC in SARIF's form (§3.9).
pub(super) fn is_time(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let bytes = text.as_bytes();
    let (Some(head), Some(tail)) = (bytes.get(..shape.len()), bytes.get(shape.len()..)) else { return false };
    let fits = head.iter().zip(shape).all(|(byte, wanted)| match wanted {
        b'd' => byte.is_ascii_digit(),
        other => byte == other,
    });
    let part = |at: usize| text[at..at + 2].parse::<u8>().unwrap_or(u8::MAX);
    let is_tail = match tail {
        b"Z" => true,
        [b'.', digits @ .., b'Z'] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    fits && is_tail
        && (1..=12).contains(&part(5))
        && (1..=31).contains(&part(8))
        && part(11) < 24
        && part(14) < 60
        && part(17) < 60
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_text_is_a_link_or_a_placeholder() {
        for (text, shown) in [
            ("[a](http://evil.example/)", "[a] (http://evil.example/)"),
            ("[a](1)", "[a] (1)"),
            (r"handlers[i](x) and \](y)", r"handlers[i] (x) and \] (y)"),
            ("{0} {12} {} {x} {1", "{ 0} { 12} {} {x} {1"),
            ("{{0}}", "{{ 0}}"),
            ("]](", "]] ("),
        ] {
            assert_eq!(neutralize(text), shown);
        }
    }

    #[test]
    fn a_title_is_a_sentence() {
        assert_eq!(sentence(" Reads past\nthe end "), "Reads past the end.");
        assert_eq!(sentence("Why?"), "Why?");
    }

    #[test]
    fn a_link_shows_only_names_that_cannot_end_it() {
        assert_eq!(link("src/a b.rs:3", 1), "[src/a b.rs:3](1)");
        assert_eq!(link("a](http://evil.example/)", 2), "[related place 2](2)");
    }

    #[test]
    fn versions_and_times_are_known_by_their_shape() {
        for good in ["0.1.0", "1.20.3-rc.1+x-y", "1.0.0+5"] {
            assert!(is_semantic_version(good), "{good}");
        }
        for bad in ["", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.0+a+b", "v1.0.0", "1.0.x"] {
            assert!(!is_semantic_version(bad), "{bad}");
        }
        for good in ["2026-11-20T18:56:58.123Z", "2026-01-31T00:00:00Z"] {
            assert!(is_time(good), "{good}");
        }
        let bad = [
            "",
            "2026-11-20",
            "2026-11-20T18:56:58+01:00",
            "2026-13-20T18:56:58Z",
            "2026-11-00T18:56:58Z",
            "ä026-11-20T18:56:58Z",
        ];
        for bad in bad {
            assert!(!is_time(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn once_inert_always_inert(text in "[\\[\\](){}0-9a\\\\ ]{0,30}") {
            let inert_text = neutralize(&text);
            prop_assert!(!inert_text.contains("]("));
            prop_assert_eq!(neutralize(&inert_text), inert_text.clone());
            prop_assert_eq!(inert_text.replace(' ', ""), text.replace(' ', ""));
            prop_assert!(truncate(&text, 5).chars().count() <= 5);
        }
    }
}
