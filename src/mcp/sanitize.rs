//! Sanitizes everything that leaves the server. Main functions: [`text`], [`value`].
//!
//! Clients judge code, so invisible characters and escape sequences are spelled out (`<U+202E>`). Only characters that belong to ordinary
//! writing are dropped silently: the carriage return of a line ending, a byte order mark, joiners and selectors inside an emoji.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::text::{is_invisible, reveal, strip_block};

/// Sanitizes text of several lines: of control characters, only line feeds and tabs stay; invisible and bidirectional ones are spelled out.
pub(super) fn text(text: &str) -> String {
    harmless(text).into_owned()
}

/// Sanitizes every string in a JSON value, including field names; harmless strings are not copied.
pub(super) fn value(value: Value) -> Value {
    match value {
        Value::String(given) => Value::String(owned(given)),
        Value::Array(items) => Value::Array(items.into_iter().map(self::value).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, field)| (owned(name), self::value(field))).collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn owned(given: String) -> String {
    match harmless(&given) {
        Cow::Borrowed(_) => given,
        Cow::Owned(cleaned) => cleaned,
    }
}

fn harmless(text: &str) -> Cow<'_, str> {
    // Nearly all text is ASCII, and checking bytes in bulk is much faster than checking characters.
    let plain = text.as_bytes().iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~' | b'\n' | b'\t'));
    if plain || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(strip_block(&reveal(text)))
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_invisible(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_hides_is_spelled_out_and_ordinary_writing_is_not_littered() {
        for (given, seen) in [
            ("fn main() {\n\t1\n}\n", "fn main() {\n\t1\n}\n"),
            ("Grüße, 漢字 😀", "Grüße, 漢字 😀"),
            ("a\x1b[31mred\x1b]0;title\x07\0", "a<U+001B>[31mred<U+001B>]0;title<U+0007><U+0000>"),
            ("a\u{202e}b\u{2066}c\u{200b}d\u{e0041}", "a<U+202E>b<U+2066>c<U+200B>d<U+E0041>"),
            ("\u{7f}\u{85}\u{9b}2J\u{2028}", "<U+007F><U+0085><U+009B>2J<U+2028>"),
            ("one\r\ntwo\rthree\r\n", "one\ntwo<U+000D>three\n"),
            ("\u{feff}using System;\nx\u{feff}", "using System;\nx<U+FEFF>"),
            ("❤\u{fe0f} 👩\u{200d}💻 می\u{200c}خواهم", "❤ 👩💻 میخواهم"),
        ] {
            assert_eq!(text(given), seen, "{given:?}");
        }
    }

    #[test]
    fn names_of_fields_are_cleaned_too() {
        let given = json!({ "a\x1b": ["\u{202e}", 1, null, true, { "b\u{200b}": "c\x07" }] });
        let cleaned = json!({ "a<U+001B>": ["<U+202E>", 1, null, true, { "b<U+200B>": "c<U+0007>" }] });
        assert_eq!(value(given), cleaned);
    }

    #[test]
    fn harmless_text_is_not_copied() {
        for given in ["", "plain\n\ttext", "Grüße 😀"] {
            assert!(matches!(harmless(given), Cow::Borrowed(_)), "{given:?}");
        }
    }

    fn hostile() -> impl Strategy<Value = String> {
        let odd = [
            "\x1b",
            "[31m",
            "]0;",
            "\x07",
            "\u{9b}",
            "\u{9d}",
            "\u{9c}",
            "\r",
            "\n",
            "\u{feff}",
            "\u{fe0f}",
            "\u{200d}",
            "\u{200c}",
            "😀",
            "ক",
            "\u{202e}",
            "\u{e0041}",
            "\u{ad}",
            "+",
            "#",
            "<U+202E>",
            "\u{2028}",
            "\u{7f}",
            "\0",
        ];
        let odd = proptest::sample::select(odd.to_vec());
        let piece = prop_oneof![any::<char>().prop_map(String::from), odd.prop_map(str::to_owned)];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), hostile().prop_map(Value::from)];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let object = proptest::collection::vec((hostile(), inner.clone()), 0..4);
            let object = object.prop_map(|fields| Value::Object(fields.into_iter().collect()));
            prop_oneof![proptest::collection::vec(inner, 0..4).prop_map(Value::from), object]
        })
    }

    fn texts(value: &Value, each: &mut impl FnMut(&str)) {
        match value {
            Value::String(text) => each(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, each)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                each(name);
                texts(field, each);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    proptest! {
        #[test]
        fn no_control_character_passes_and_once_is_enough(given in hostile()) {
            let cleaned = text(&given);
            prop_assert!(!cleaned.chars().any(is_hidden), "{cleaned:?}");
            prop_assert_eq!(text(&cleaned), cleaned);
        }

        #[test]
        fn nor_does_one_in_any_json(given in json()) {
            let cleaned = value(given);
            let mut all = String::new();
            texts(&cleaned, &mut |text| all.push_str(text));
            prop_assert!(!all.chars().any(is_hidden), "{cleaned}");
            prop_assert_eq!(value(cleaned.clone()), cleaned);
        }
    }
}
