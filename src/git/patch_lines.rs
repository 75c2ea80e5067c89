//! The lines of a patch text, found as they are asked for. Main type: [`AscendingLines`].
//!
//! A list of all of them would take sixteen bytes for each, whatever the patch is.

use std::cell::Cell;

/// The lines of a text, without their line feeds. They are asked for in ascending order, the next one ahead.
pub(super) struct AscendingLines<'a> {
    bytes: &'a [u8],
    /// A line that was passed, and where it begins.
    passed: Cell<(usize, usize)>,
}

impl<'a> AscendingLines<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, passed: Cell::new((0, 0)) }
    }

    /// A line, from 0. What follows the last line feed is one only where there is something.
    pub(super) fn get(&self, number: usize) -> Option<&'a [u8]> {
        let (mut line, mut start) = self.passed.get();
        if number < line {
            (line, start) = (0, 0);
        }
        while line < number {
            // The line before stays in reach: it may be asked for once more.
            self.passed.set((line, start));
            start += memchr::memchr(b'\n', self.bytes.get(start..)?)? + 1;
            line += 1;
        }
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        Some(memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_between_line_feeds() {
        for text in ["", "\n", "a", "a\n", "a\n\nb", "\n\n", "one\r\ntwo\r\n"] {
            let mut split: Vec<_> = text.as_bytes().split(|byte| *byte == b'\n').collect();
            if split.last().is_some_and(|last| last.is_empty()) {
                split.pop();
            }
            let lines = AscendingLines::of(text.as_bytes());
            for number in 0..split.len() + 3 {
                assert_eq!(lines.get(number + 1), split.get(number + 1).copied(), "{text:?} {number}");
                assert_eq!(lines.get(number), split.get(number).copied(), "{text:?} {number}");
            }
            assert_eq!(lines.get(0), split.first().copied(), "{text:?}");
        }
    }
}
