//! Size limits of responses: numbered lines, cut lines, and the space used. Main type: [`OutputRoom`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// Prefix of an over-long line whose beginning is not shown.
const CUT_BEFORE: &str = "[beginning not shown] ";

/// Suffix of an over-long line.
pub(super) const LINE_CUT: &str = " [truncated due to line size]";

/// Space reserved for the other fields of a response: names, notes, the next call.
const ENVELOPE: usize = 4096;

/// Space left in a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputRoom {
    lines: usize,
    bytes: usize,
}

impl OutputRoom {
    /// Creates the space for a response of at most this many lines and bytes, in which `repeated` (a path, a pattern) occurs up to three times.
    pub(super) fn new(lines: usize, bytes: usize, repeated: &str) -> Self {
        Self { lines, bytes: bytes.saturating_sub(ENVELOPE + 3 * json_length(repeated)) }
    }

    /// Returns the number of bytes of JSON that are left.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Takes space for this many lines and bytes of JSON; `false` if there is not enough.
    pub(super) fn try_take(&mut self, lines: usize, bytes: usize) -> bool {
        match (self.lines.checked_sub(lines), self.bytes.checked_sub(bytes)) {
            (Some(lines), Some(bytes)) => {
                *self = Self { lines, bytes };
                true
            }
            _ => false,
        }
    }
}

/// Returns the number of bytes that `text` takes inside a JSON string.
pub(super) fn json_length(text: &str) -> usize {
    let length = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(length).sum()
}

/// Returns the first `most` characters of a line, and `true` if it was cut.
pub(super) fn cut_line(line: &str, most: usize) -> (&str, bool) {
    match line.char_indices().nth(most) {
        Some((at, _)) => (&line[..at], true),
        None => (line, false),
    }
}

/// Returns at most `most` characters of a line, from a quarter of them before the byte `at` on, and `true` if it was cut.
pub(super) fn cut_line_around(line: &str, most: usize, at: Option<usize>) -> (Cow<'_, str>, bool) {
    let (head, cut) = cut_line(line, most);
    // With the match in the first half, as much as possible of what follows it is shown from the beginning of the line.
    let before = at.map_or(0, |at| line[..at].chars().count());
    if !cut || before <= most / 2 {
        return (if cut { format!("{head}{LINE_CUT}").into() } else { head.into() }, cut);
    }
    let skipped = before - most / 4;
    let rest = line.char_indices().nth(skipped).map_or("", |(at, _)| &line[at..]);
    let (shown, ends_later) = cut_line(rest, most);
    (format!("{CUT_BEFORE}{shown}{}", if ends_later { LINE_CUT } else { "" }).into(), true)
}

/// Appends a numbered line: the number six wide, a tab, the line. Returns `true` if the line was cut.
pub(super) fn push_numbered(text: &mut String, number: u32, line: &str, most: usize) -> bool {
    let (shown, cut) = cut_line(line, most);
    let _ = writeln!(text, "{number:6}\t{shown}{}", if cut { LINE_CUT } else { "" });
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_cut_at_characters_not_bytes() {
        let mut text = String::new();
        assert!(!push_numbered(&mut text, 7, "äöü", 3));
        assert!(push_numbered(&mut text, 1_234_567, "äöüß", 3));
        assert_eq!(text, "     7\täöü\n1234567\täöü [truncated due to line size]\n");
    }

    #[test]
    fn a_line_is_cut_around_its_match() {
        let line = format!("{}needle{}", "ä".repeat(90), "b".repeat(90));
        let (shown, cut) = cut_line_around(&line, 40, Some(180));
        assert!(cut);
        let expected =
            format!("[beginning not shown] {}needle{} [truncated due to line size]", "ä".repeat(10), "b".repeat(24));
        assert_eq!(shown, expected);
        assert_eq!(cut_line_around("needle", 40, Some(0)), ("needle".into(), false));
        assert_eq!(cut_line_around(&line, 40, None).0, format!("{} [truncated due to line size]", "ä".repeat(40)));
        let end = format!("{}needle", "a".repeat(90));
        assert_eq!(cut_line_around(&end, 40, Some(90)).0, format!("[beginning not shown] {}needle", "a".repeat(10)));
    }

    proptest! {
        #[test]
        fn lengths_are_those_of_the_json_writer(text in any::<String>()) {
            prop_assert_eq!(json_length(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }
    }
}
