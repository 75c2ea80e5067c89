//! Text as a model is shown it: nothing is lost, and nothing hides. Main function: [`reveal`].
//!
//! People's surfaces lose what they must not show ([`strip`](super::strip_block)); a model judges the text, so here every character stays
//! or is spelled out.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::lines::find_special;
use super::strip::{ends_line, is_invisible, is_part_of_sequence};

/// Spells control characters and invisible ones as `<U+202E>`: bidi controls, tags, zero-width characters, terminal escapes.
///
/// Kept as they are: line feeds, tabs, a carriage return that ends a line, a byte order mark that begins one (after the mark of a diff
/// at most), and joiners and selectors that are an honest part of what precedes them. What comes out is left alone the second time.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut done) = (0, 0);
    // Lines without such a character need no look at each.
    while let Some(special) = find_special(text, done) {
        let start = memchr::memrchr(b'\n', &text.as_bytes()[done..special]).map_or(done, |feed| done + feed + 1);
        done = memchr::memchr(b'\n', &text.as_bytes()[special..]).map_or(text.len(), |feed| special + feed + 1);
        let line = &text[start..done];
        let mut previous = '\n';
        for (column, (at, c)) in line.char_indices().enumerate() {
            let after = at + c.len_utf8();
            let honest = match c {
                '\n' | '\t' => true,
                '\r' => ends_line(&line[after..]),
                '\u{feff}' => column == 0 || (column == 1 && matches!(previous, '+' | '-' | ' ')),
                _ => !(c.is_control() || is_invisible(c)) || is_part_of_sequence(previous, c),
            };
            if !honest {
                out.push_str(&text[copied..start + at]);
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
                copied = start + after;
            }
            // A character that was spelled out ends in a plain one.
            previous = if honest { c } else { '>' };
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The text that [`reveal`] spelled like this; `None` if nothing in it is spelled out.
pub(super) fn conceal(text: &str) -> Option<String> {
    const OPEN: &str = "<U+";
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find(OPEN) {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let code = &tail[OPEN.len()..];
        let end = code.bytes().take(7).position(|byte| byte == b'>').filter(|end| *end >= 4);
        let code = end.map(|end| &code[..end]);
        let spelled = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match (code, spelled.filter(|c| c.is_control() || is_invisible(*c))) {
            (Some(code), Some(c)) => {
                found = true;
                out.push(c);
                rest = &tail[OPEN.len() + code.len() + 1..];
            }
            _ => {
                out.push_str(OPEN);
                rest = &tail[OPEN.len()..];
            }
        }
    }
    out.push_str(rest);
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_is_spelled_out_and_what_is_honest_stays() {
        for (text, shown) in [
            ("a\u{202e}b", "a<U+202E>b"),
            ("\u{e0049}\u{e0067}", "<U+E0049><U+E0067>"),
            ("a\x1b[31m\0", "a<U+001B>[31m<U+0000>"),
            ("a\r\nb\rc\r", "a\r\nb<U+000D>c\r"),
            ("👩\u{200d}💻 ❤\u{fe0f} x\u{fe0f}", "👩\u{200d}💻 ❤\u{fe0f} x<U+FE0F>"),
            ("+\u{feff}using System;\nx\u{feff}", "+\u{feff}using System;\nx<U+FEFF>"),
            ("line\u{2028}line\u{85}", "line<U+2028>line<U+0085>"),
        ] {
            assert_eq!(reveal(text), shown, "{text:?}");
        }
        assert!(matches!(reveal("grüße\t😀\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_was_spelled_out_reads_back() {
        assert_eq!(conceal("a<U+202E>b<U+E0049>").as_deref(), Some("a\u{202e}b\u{e0049}"));
        for plain in ["a < b", "<U+0041>", "<U+>", "<U+110000>", "<U+202E", "<U+zz202E>"] {
            assert_eq!(conceal(plain), None, "{plain}");
        }
    }

    fn hostile() -> impl Strategy<Value = String> {
        let odd = proptest::sample::select(vec![
            "\u{202e}",
            "\u{e0041}",
            "\x1b",
            "\r",
            "\n",
            "\u{feff}",
            "😀",
            "\u{200d}",
            "\u{fe0f}",
            "+",
            "<U+202E>",
            "ক",
        ]);
        let piece = prop_oneof![any::<char>().prop_map(String::from), odd.prop_map(str::to_owned)];
        proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn lines_are_revealed_one_by_one(parts in proptest::collection::vec(prop_oneof!["[a-z\n]{0,30}", hostile()], 0..6)) {
            let text = parts.concat();
            let apart: String = text.split_inclusive('\n').map(|line| reveal(line).into_owned()).collect();
            prop_assert_eq!(reveal(&text), apart);
        }

        #[test]
        fn once_is_enough_and_nothing_is_lost(text in hostile()) {
            let shown = reveal(&text).into_owned();
            prop_assert_eq!(reveal(&shown), shown.as_str());
            prop_assert_eq!(conceal(&shown).unwrap_or(shown), conceal(&text).unwrap_or(text));
        }
    }
}
