//! Removing from text what a human surface must not show: escapes, controls, characters that are not seen or change direction.
//!
//! Terminal escapes go as whole sequences (ECMA-48 §5.4, §8.3; xterm's control sequences for the strings), so that no
//! `[31m` is left behind. Invisible characters are *shown* as `<U+202E>`: what hides from a reader is what a reader must see.
//! Escaping for one surface (Markdown, HTML, workflow commands) belongs in `present`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The Unicode characters that are not displayed: ignorable by default (also those not assigned yet), format characters but the few that are drawn
/// before a number, line and paragraph separators, noncharacters.
const UNSEEN: &str = r"[[\p{Default_Ignorable_Code_Point}\p{Cf}--\p{Prepended_Concatenation_Mark}]\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]";
/// Symbols and letters that are blank: of Braille, of music, the blanks of hieroglyphs, the filler of Khitan. No property tells of them.
const BLANK: [char; 5] = ['\u{2800}', '\u{13441}', '\u{13442}', '\u{16fe4}', '\u{1d159}'];

/// The ranges of both, ascending.
static INVISIBLE: LazyLock<Vec<(char, char)>> = LazyLock::new(|| {
    let blank = BLANK.iter().map(|c| ClassUnicodeRange::new(*c, *c));
    let class = regex_syntax::parse(UNSEEN).map(regex_syntax::hir::Hir::into_kind);
    let unseen = match class {
        Ok(HirKind::Class(Class::Unicode(class))) => class.ranges().to_vec(),
        // A test says so before anybody else can.
        _ => Vec::new(),
    };
    let all = ClassUnicode::new(unseen.into_iter().chain(blank));
    all.ranges().iter().map(|range| (range.start(), range.end())).collect()
});

/// Checks whether `c` cannot be seen or changes the direction of the text around it: bidi controls, zero-width characters, tags, blanks that are no spaces.
pub fn is_invisible(c: char) -> bool {
    // Most text that is not ASCII is Latin or between the first ideograph and the last syllable, where there is nothing of the kind.
    if c < '\u{ad}' || matches!(c, '\u{3165}'..='\u{d7ff}') {
        return false;
    }
    let after = INVISIBLE.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).and_then(|at| INVISIBLE.get(at)).is_some_and(|(_, last)| c <= *last)
}

/// Text for one line of a human surface: line breaks and tabs become spaces, all else as [`strip_block`].
pub fn strip_line(text: &str) -> String {
    let mut stripped = strip_block(text);
    if stripped.contains(['\n', '\t']) {
        stripped = stripped.replace(['\n', '\t'], " ");
    }
    stripped
}

/// Text for a human surface: no terminal escapes, no control characters but `\n` and `\t`, nothing invisible. What may part two words for a program
/// (a carriage return within a line, a NUL, a backspace) is shown as `<U+000D>`, so that a reader does not see them joined.
///
/// An escape sequence that carries a string (a window title, a clipboard write) goes with its string where it is ended
/// properly. Where it is not, only its introducer goes: a terminal would swallow what follows, a reader must not lose it.
pub fn strip_block(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) || !text.chars().any(is_stripped) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = '\0';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\x1b' => after_escape(after).unwrap_or_else(|| {
                out.push_str("<U+001B>");
                after
            }),
            '\u{9b}' => after_csi(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_string(after),
            _ => {
                if !is_stripped(c) {
                    out.push(c);
                } else if !is_honest(previous, c, after) {
                    let _ = write!(out, "<U+{:04X}>", u32::from(c));
                }
                after
            }
        };
        previous = c;
    }
    out
}

/// Checks whether a character may go without being shown: a line's ending, or a part of what precedes it.
fn is_honest(previous: char, c: char, after: &str) -> bool {
    if c == '\r' { ends_line(after) } else { is_invisible(c) && is_part_of_sequence(previous, c) }
}

fn is_stripped(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_invisible(c)
}

/// Checks whether a carriage return ends its line, given what follows it.
pub(super) fn ends_line(after: &str) -> bool {
    after.is_empty() || after.starts_with('\n')
}

/// Checks whether an invisible character is an honest part of what precedes it, and may go without being shown.
///
/// That is one presentation selector or joiner after an emoji, one joiner after a letter of a script that needs it
/// (Unicode TR 31, §2.3), and the byte order mark of a file. A second one in a row carries no meaning, but can carry data.
pub(super) fn is_part_of_sequence(previous: char, c: char) -> bool {
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(previous) || matches!(previous, '#' | '*' | '0'..='9'),
        '\u{200d}' => is_emoji(previous) || previous == '\u{fe0f}' || needs_joiners(previous),
        '\u{200c}' => needs_joiners(previous),
        '\u{feff}' => previous == '\0',
        // A picture of Braille is made of them, too.
        '\u{2800}' => matches!(previous, '\u{2801}'..='\u{28ff}'),
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{2bff}' | '\u{3030}'
        | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn needs_joiners(c: char) -> bool {
    matches!(c, '\u{0620}'..='\u{109f}' | '\u{1780}'..='\u{17b3}') && !is_invisible(c)
}

/// Returns the text after an escape sequence, given the text after its ESC; `None` for one of two characters, of which the second may be text.
fn after_escape(rest: &str) -> Option<&str> {
    Some(match rest.bytes().next()? {
        b'[' => after_csi(&rest[1..]),
        b']' | b'P' | b'X' | b'^' | b'_' => after_string(&rest[1..]),
        b' '..=b'/' => {
            let tail = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
            tail.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
        }
        // The end of a string that was broken off.
        b'\\' => &rest[1..],
        _ => return None,
    })
}

/// Returns the text after a control sequence, given the text after its introducer. A malformed sequence ends where it becomes invalid.
fn after_csi(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, '0'..='?'));
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// Returns the text after a control string: after its terminator, or right here where the next control is not one.
fn after_string(rest: &str) -> &str {
    let Some(end) = rest.find(char::is_control) else { return rest };
    let tail = &rest[end..];
    ["\x07", "\u{9c}", "\x1b\\"].iter().find_map(|terminator| tail.strip_prefix(terminator)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_go_whole() {
        for (text, seen) in [
            ("a\x1b[31;1mred\x1b[0m", "ared"),
            ("\u{9b}2Jx", "x"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]8;;https://e.example\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\u{9d}52;c;YWJj\u{9c}x", "x"),
            ("\x1bPq#0\x1b\\x", "x"),
            ("\x1b(Bx\x1b=y\x1bcw", "x<U+001B>=y<U+001B>cw"),
            ("\x1b", "<U+001B>"),
            ("\x1b[", ""),
            ("a\x08\x00b\x7f\r\n", "a<U+0008><U+0000>b<U+007F>\n"),
            ("a # b\rc()\r\nd\r", "a # b<U+000D>c()\nd"),
        ] {
            assert_eq!(strip_block(text), seen, "{text:?}");
        }
    }

    #[test]
    fn a_string_that_never_ends_does_not_swallow_the_text() {
        assert_eq!(strip_block("\x1b]0;all\nof it"), "0;all\nof it");
        assert_eq!(strip_block("\x1b_tail"), "tail");
        assert_eq!(strip_block("\x1b]0;a\x1b[1mb"), "0;ab");
    }

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(strip_block("a\u{202e}b\u{200b}c"), "a<U+202E>b<U+200B>c");
        assert_eq!(strip_block("\u{e0041}"), "<U+E0041>");
        assert_eq!(strip_block("id\u{200d}x"), "id<U+200D>x");
        assert_eq!(strip_block("x\u{feff}"), "x<U+FEFF>");
    }

    #[test]
    fn every_class_of_unseen_characters_is_known() {
        let unseen = [
            0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180b, 0x200b, 0x2028, 0x202e, 0x2060, 0x2065, 0x206f, 0x2800, 0x3164,
            0xfe00, 0xfeff, 0xffa0, 0xfff0, 0xfff8, 0xfff9, 0xfffb, 0xffff, 0x13430, 0x1343f, 0x13441, 0x16fe4,
            0x1bca0, 0x1bca3, 0x1d159, 0x1d173, 0x1d17a, 0xe0000, 0xe0041, 0xe0100, 0xe0fff,
        ];
        for code in unseen {
            assert!(is_invisible(char::from_u32(code).unwrap()), "U+{code:04X}");
        }
        for seen in [
            'a',
            '\u{a0}',
            '\u{600}',
            '\u{6dd}',
            'é',
            '漢',
            '한',
            '\u{2801}',
            '\u{3000}',
            '\u{110bd}',
            '\u{fffd}',
            '😀',
            '\u{10fffd}',
        ] {
            assert!(!is_invisible(seen), "{seen:?}");
        }
    }

    #[test]
    fn ordinary_writing_is_not_littered() {
        assert_eq!(strip_block("\u{feff}❤\u{fe0f}\u{200d}🔥 ok ⚠\u{fe0f}"), "❤🔥 ok ⚠");
        assert_eq!(strip_block("می\u{200c}خواهم"), "میخواهم");
        assert_eq!(strip_block("⠓⠊\u{2800}⠊"), "⠓⠊⠊");
        assert_eq!(strip_block("Grüße, 漢字\t1"), "Grüße, 漢字\t1");
    }

    #[test]
    fn selectors_in_a_row_carry_data_and_are_shown() {
        assert_eq!(strip_block("😀\u{fe0f}\u{fe0e}\u{fe0f}"), "😀<U+FE0E><U+FE0F>");
        assert_eq!(strip_block("😀\u{e0101}"), "😀<U+E0101>");
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(strip_line("a\r\n\tb\u{2028}c"), "a  b<U+2028>c");
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            proptest::sample::select(vec![
                "\x1b", "[", "]", "\x07", "\u{9b}", "\u{9d}", "\u{9c}", "\\", "0;", "m", "\u{fe0f}", "\u{200d}", "😀",
                "\u{202e}", "P", "\n", "(", "B", "text"
            ])
            .prop_map(str::to_owned),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_unseen_is_left_and_once_is_enough(text in hostile()) {
            let stripped = strip_block(&text);
            prop_assert!(!stripped.chars().any(is_stripped), "{stripped:?}");
            prop_assert_eq!(strip_block(&stripped), stripped);
            let line = strip_line(&text);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert_eq!(strip_line(&line), line);
        }

        #[test]
        fn plain_text_is_left_alone(text in "[ -~\n\t]{0,60}") {
            prop_assert_eq!(strip_block(&text), text);
        }
    }
}
