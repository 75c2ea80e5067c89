//! Size limits of responses: numbered lines, cut lines, and the space used. Main type: [`OutputRoom`].

use std::fmt::Write as _;

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

    proptest! {
        #[test]
        fn lengths_are_those_of_the_json_writer(text in any::<String>()) {
            prop_assert_eq!(json_length(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }
    }
}
