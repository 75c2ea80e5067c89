//! Positions of the protocol: a line, and an offset in it in the units that client and server agreed on. Main types: [`PositionUnit`],
//! [`LineTable`].
//!
//! Lines end at `\n`, `\r\n` or `\r`, unlike those of a diff.

use gen_lsp_types::{Position, PositionEncodingKind, Range};

/// The unit of an offset in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum PositionUnit {
    /// Bytes of UTF-8.
    Utf8,
    /// Code units of UTF-16, which every client knows.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl PositionUnit {
    /// Chooses the first unit of the client's list that is known here.
    pub(super) fn negotiate(offered: &[PositionEncodingKind]) -> Self {
        let known = offered.iter().find_map(|kind| match kind {
            PositionEncodingKind::UTF8 => Some(Self::Utf8),
            PositionEncodingKind::UTF16 => Some(Self::Utf16),
            PositionEncodingKind::UTF32 => Some(Self::Utf32),
            PositionEncodingKind::Custom(_) => None,
        });
        known.unwrap_or_default()
    }

    /// The name of the unit in the protocol.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// The lines of a text.
pub(super) struct LineTable<'t> {
    text: &'t str,
    /// The byte at which each line starts; the first at 0.
    starts: Vec<usize>,
    unit: PositionUnit,
}

impl<'t> LineTable<'t> {
    pub(super) fn new(text: &'t str, unit: PositionUnit) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, starts, unit }
    }

    /// Converts a position to a byte offset. Beyond the end of a line it is that end, beyond the last line the end of the text.
    pub(super) fn offset(&self, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let content = self.content(line);
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        for (at, c) in content.char_indices() {
            let width = self.unit.width(c);
            // An offset within a character is its start.
            if left < width {
                return start + at;
            }
            left -= width;
        }
        start + content.len()
    }

    /// Converts a byte offset to a position. Within a line ending it is the end of the line.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let content = self.content(line);
        let end = content.floor_char_boundary(offset.saturating_sub(start));
        let column: usize = content[..end].chars().map(|c| self.unit.width(c)).sum();
        Position { line: bounded(line), character: bounded(column) }
    }

    /// Converts a range of bytes.
    pub(super) fn range(&self, bytes: std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }

    /// A line without its ending.
    fn content(&self, line: usize) -> &'t str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let content = &self.text[start..end];
        let content = content.strip_suffix('\n').unwrap_or(content);
        content.strip_suffix('\r').unwrap_or(content)
    }
}

fn bounded(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Checks whether a range contains a position; its end counts.
pub(super) fn contains(range: Range, position: Position) -> bool {
    range.start <= position && position <= range.end
}

/// Checks whether two ranges meet; ends count.
pub(super) fn touches(one: Range, other: Range) -> bool {
    one.start <= other.end && other.start <= one.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: [PositionUnit; 3] = [PositionUnit::Utf8, PositionUnit::Utf16, PositionUnit::Utf32];

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_count_in_the_unit_that_was_agreed_on() {
        // An emoji has 4 bytes and 2 code units of UTF-16, a Chinese character 3 and 1.
        let text = "ab\n😀漢x = 1;\n";
        for (unit, column) in [(PositionUnit::Utf8, 7), (PositionUnit::Utf16, 3), (PositionUnit::Utf32, 2)] {
            let lines = LineTable::new(text, unit);
            let offset = text.find('x').unwrap();
            assert_eq!(lines.position(offset), at(1, column), "{unit:?}");
            assert_eq!(lines.offset(at(1, column)), offset, "{unit:?}");
            // Within the emoji, except where it is one unit.
            assert_eq!(lines.offset(at(1, 1)), if unit == PositionUnit::Utf32 { 7 } else { 3 }, "{unit:?}");
        }
    }

    #[test]
    fn lines_end_in_three_ways() {
        let lines = LineTable::new("a\r\nb\rc\nd", PositionUnit::Utf16);
        for (offset, line, column) in [(0, 0, 0), (1, 0, 1), (2, 0, 1), (3, 1, 0), (5, 2, 0), (7, 3, 0), (8, 3, 1)] {
            assert_eq!(lines.position(offset), at(line, column), "{offset}");
        }
        assert_eq!((lines.offset(at(0, 99)), lines.offset(at(9, 0)), lines.offset(at(3, 9))), (1, 8, 8));
        assert_eq!(LineTable::new("", PositionUnit::Utf8).position(0), at(0, 0));
    }

    #[test]
    fn the_first_known_unit_of_the_client_is_taken() {
        use PositionEncodingKind::{Custom, UTF8, UTF16, UTF32};
        assert_eq!(PositionUnit::negotiate(&[]), PositionUnit::Utf16);
        assert_eq!(PositionUnit::negotiate(&[Custom("utf-7".into()), UTF8, UTF16]), PositionUnit::Utf8);
        assert_eq!(PositionUnit::negotiate(&[UTF16, UTF8]), PositionUnit::Utf16);
        assert_eq!(PositionUnit::negotiate(&[UTF32]), PositionUnit::Utf32);
    }

    #[test]
    fn ranges_touch_at_their_ends() {
        let range = |a, b| Range { start: at(0, a), end: at(0, b) };
        assert!(touches(range(0, 2), range(2, 3)) && !touches(range(0, 2), range(3, 4)));
        assert!(contains(range(1, 2), at(0, 2)) && !contains(range(1, 2), at(0, 3)));
    }

    proptest! {
        #[test]
        fn positions_read_back(text in "[ab\r\n漢😀é]{0,40}", seed in any::<usize>()) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let offset = places[seed % places.len()];
            for unit in UNITS {
                let lines = LineTable::new(&text, unit);
                let back = lines.offset(lines.position(offset));
                let in_ending = text[..offset].ends_with('\r') && text[offset..].starts_with('\n');
                prop_assert_eq!(back, if in_ending { offset - 1 } else { offset });
            }
        }

        #[test]
        fn no_position_fails(text in any::<String>(), line in any::<u32>(), column in any::<u32>(), offset in any::<usize>()) {
            for unit in UNITS {
                let lines = LineTable::new(&text, unit);
                prop_assert!(text.is_char_boundary(lines.offset(at(line % 5, column))));
                lines.offset(at(line, column));
                lines.position(offset);
            }
        }
    }
}
