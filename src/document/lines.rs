//! Parses line numbers after a path: `42`, `42-50`, `42:7`, `42:7-50:1`, and as a fragment `L42-L50`. Main type: [`LineSpec`].

use crate::domain::place::LineRange;

/// Columns of the first and of the last line, as in `FileRef`.
pub(super) type ColumnRange = (Option<u32>, Option<u32>);

/// Lines with their columns, or the reason why they are invalid.
pub(super) type ParsedLines = Result<(LineRange, ColumnRange), String>;

/// Line numbers that were parsed at the beginning of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineSpec {
    /// The number of bytes that were parsed.
    pub(super) length: usize,
    /// The lines, or the reason why they are invalid.
    pub(super) lines: ParsedLines,
}

/// Parses `N`, `N:C`, `N-M`, `N:C-M:D`; a long dash counts as a short one.
pub(super) fn parse_after_colon(text: &str) -> Option<LineSpec> {
    read(text, "", &[':'])
}

/// Parses the same forms if nothing follows them.
pub(super) fn parse_whole(text: &str) -> Option<ParsedLines> {
    parse_after_colon(text).filter(|span| span.length == text.len()).map(|span| span.lines)
}

/// Parses a whole fragment without its `#`: `L42`, `L42-L50`, `L42-50`, `L42C5-L50C1`. Any other fragment is a place of another kind.
pub(super) fn parse_fragment(text: &str) -> Option<ParsedLines> {
    read(text, "Ll", &['C', 'c', ',', ':']).filter(|span| span.length == text.len()).map(|span| span.lines)
}

/// Parses a fragment or a plain number (`42`, `42-50`), for people who forget the `L`.
pub(super) fn parse_anchor(text: &str) -> Option<ParsedLines> {
    parse_fragment(text).or_else(|| parse_whole(text))
}

fn read(text: &str, marks: &str, column_marks: &[char]) -> Option<LineSpec> {
    let mut rest = text;
    if !marks.is_empty() {
        rest = rest.strip_prefix(|c| marks.contains(c))?;
    }
    let start = number(&mut rest)?;
    let start_column = column(&mut rest, column_marks);
    let mut end = None;
    if let Some(tail) = rest.strip_prefix(['-', '–']) {
        let mut tail = tail.strip_prefix(|c| marks.contains(c)).unwrap_or(tail);
        if let Some(last) = number(&mut tail) {
            end = Some((last, column(&mut tail, column_marks)));
            rest = tail;
        }
    }
    let (last, end_column) = end.unwrap_or((start, None));
    Some(LineSpec { length: text.len() - rest.len(), lines: lines(start, last, (start_column, end_column)) })
}

/// Parses the next number; larger ones become `u32::MAX`.
fn number(rest: &mut &str) -> Option<u32> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at(digits);
    if digits == 0 {
        return None;
    }
    *rest = after;
    Some(number.parse().unwrap_or(u32::MAX))
}

fn column(rest: &mut &str, marks: &[char]) -> Option<u32> {
    let mut tail = rest.strip_prefix(marks)?;
    let column = number(&mut tail)?;
    *rest = tail;
    Some(column)
}

fn lines(start: u32, end: u32, columns: ColumnRange) -> ParsedLines {
    if [Some(start), Some(end), columns.0, columns.1].contains(&Some(u32::MAX)) {
        return Err("the line number is too large".to_owned());
    }
    if [columns.0, columns.1].contains(&Some(0)) {
        return Err("columns count from 1".to_owned());
    }
    LineRange::new(start, end).map(|range| (range, columns)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u32, u32, ColumnRange)> {
        let (range, columns) = parse_whole(text)?.ok()?;
        Some((range.start(), range.end(), columns))
    }

    #[test]
    fn every_spelling_behind_a_colon_is_read() {
        assert_eq!(read("42"), Some((42, 42, (None, None))));
        assert_eq!(read("42:7"), Some((42, 42, (Some(7), None))));
        assert_eq!(read("42-50"), Some((42, 50, (None, None))));
        assert_eq!(read("42–50"), Some((42, 50, (None, None))));
        assert_eq!(read("42:7-50:1"), Some((42, 50, (Some(7), Some(1)))));
        assert_eq!((read("42x"), read(""), read("-4"), read("L4")), (None, None, None, None));
    }

    #[test]
    fn every_fragment_is_read() {
        for (text, start, end, columns) in [
            ("L42", 42, 42, (None, None)),
            ("L42-L50", 42, 50, (None, None)),
            ("L42-50", 42, 50, (None, None)),
            ("L42C5", 42, 42, (Some(5), None)),
            ("l42c5-l50c1", 42, 50, (Some(5), Some(1))),
        ] {
            assert_eq!(parse_fragment(text), Some(Ok((LineRange::new(start, end).unwrap(), columns))), "{text}");
        }
        for other in ["License", "L", "L4x", "L1-", "L42-x", "1-introduction", "42x", "setup"] {
            assert_eq!((parse_fragment(other), parse_anchor(other)), (None, None), "{other}");
        }
        for (text, start, end) in [("42", 42, 42), ("42-50", 42, 50), ("L42-50", 42, 50), ("l42", 42, 42)] {
            assert_eq!(parse_anchor(text), Some(Ok((LineRange::new(start, end).unwrap(), (None, None)))), "{text}");
        }
        assert_eq!(parse_fragment("42"), None);
    }

    #[test]
    fn lines_that_cannot_be_say_why() {
        for text in ["0", "50-42", "99999999999", "4:0"] {
            assert!(parse_whole(text).unwrap().is_err(), "{text}");
        }
    }
}
