//! The pattern of a reference in a file. Main type: [`Needle`].

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use crate::domain::place::LineRange;
use crate::domain::text::{FileText, strip_line};

/// A longer pattern is not tried.
const LONGEST: usize = 1000;

/// What a compiled expression may take. Time is linear to it and to the text, so both are held small.
const SIZE_LIMIT: usize = 1 << 20;

/// A larger file is not searched.
const MOST_TEXT: usize = 8 << 20;

/// Other places that are told.
const NEAR: usize = 3;

/// A pattern: a regular expression over several lines, or the text itself.
#[derive(Debug)]
pub(super) struct Needle<'p> {
    pattern: &'p str,
    /// As it is, and blind to case, as the links of the editor have it; none where it is no regular expression.
    expressions: Vec<Regex>,
    not_an_expression: bool,
}

impl<'p> Needle<'p> {
    /// Compiles it; what does not compile is looked for as it is written.
    pub(super) fn new(pattern: &'p str) -> Result<Self, String> {
        if pattern.len() > LONGEST {
            return Err(format!("the pattern has {} bytes, more than the {LONGEST} that are tried", pattern.len()));
        }
        let compile = |blind: bool| {
            let mut builder = RegexBuilder::new(pattern);
            builder.multi_line(true).crlf(true).case_insensitive(blind);
            builder.size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build()
        };
        let expressions: Vec<Regex> = [false, true].into_iter().filter_map(|blind| compile(blind).ok()).collect();
        Ok(Self { pattern, not_an_expression: expressions.is_empty(), expressions })
    }

    /// The lines of the first match within `lines`; where that is one line, from there on.
    pub(super) fn find(&self, text: &FileText, lines: Option<LineRange>) -> Result<LineRange, String> {
        if text.text().len() > MOST_TEXT {
            return Err(format!("the file has {} bytes, more than patterns are looked for in", text.text().len()));
        }
        let whole = LineRange::new(1, text.line_count().max(1)).unwrap_or_else(|_| LineRange::line(1));
        let within = match lines {
            Some(line) if line.count() == 1 => LineRange::new(line.start(), whole.end()).unwrap_or(whole),
            Some(lines) => lines,
            None => whole,
        };
        let bytes = text.byte_range(within).unwrap_or(0..text.text().len());
        let part = &text.text()[bytes.clone()];
        // Whoever copies a line of code into a pattern escapes nothing: what is no match as an expression may stand there as it is.
        let literal = || part.find(self.pattern).map(|at| at..at + self.pattern.len());
        let hit = self
            .expressions
            .iter()
            .find_map(|expression| expression.find(part).map(|hit| hit.range()))
            .or_else(literal);
        let Some(hit) = hit else { return Err(self.absent(lines)) };
        let start = text.line_at(bytes.start + hit.start);
        // A line ending at its end belongs to the line before.
        let last = bytes.start + hit.end.saturating_sub(1).max(hit.start);
        LineRange::new(start, text.line_at(last).max(start)).map_err(|error| error.to_string())
    }

    fn absent(&self, lines: Option<LineRange>) -> String {
        let pattern: Cow<'_, str> = strip_line(self.pattern).into();
        let place = match lines {
            Some(lines) if lines.count() == 1 => format!(" from line {} on", lines.start()),
            Some(lines) => format!(" in lines {}-{}", lines.start(), lines.end()),
            None => String::new(),
        };
        let text = if self.not_an_expression { " (taken as text, since it is no regular expression)" } else { "" };
        format!("the pattern {pattern:?} is not found{place}{text}")
    }

    /// Lines of the file that hold the longest name of the pattern, the first few.
    pub(super) fn near(&self, text: &FileText) -> Vec<u32> {
        let names = self.pattern.split(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(name) = names.max_by_key(|name| name.len()).filter(|name| name.len() >= 3) else { return Vec::new() };
        if text.text().len() > MOST_TEXT {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for at in memchr::memmem::find_iter(text.text().as_bytes(), name) {
            let line = text.line_at(at);
            if lines.last() != Some(&line) {
                lines.push(line);
            }
            if lines.len() == NEAR {
                break;
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn load(a: u8) {\n    Open();\n}\n\nfn save(a: u8) {\n    open();\n}\n";

    fn find(pattern: &str, lines: Option<(u32, u32)>) -> Result<(u32, u32), String> {
        let text = FileText::new(CODE, "UTF-8");
        let lines = lines.map(|(start, end)| LineRange::new(start, end).unwrap());
        let found = Needle::new(pattern)?.find(&text, lines)?;
        Ok((found.start(), found.end()))
    }

    #[test]
    fn the_first_match_is_meant_in_its_own_case_first() {
        assert_eq!(find("open", None), Ok((6, 6)));
        assert_eq!(find("OPEN", None), Ok((2, 2)));
        assert_eq!(find("^fn \\w+", Some((2, 2))), Ok((5, 5)));
        assert_eq!(find("^}$", Some((4, 7))), Ok((7, 7)));
        assert_eq!(find("\\{\\s*Open\\(\\);\\s*\\}", None), Ok((1, 3)));
        assert_eq!(find("(?s)fn save.*", None), Ok((5, 7)));
    }

    #[test]
    fn what_is_no_expression_or_matches_none_is_text() {
        assert_eq!(find("load(", None), Ok((1, 1)));
        assert_eq!(find("load(a: u8)", None), Ok((1, 1)));
        assert_eq!(
            find("load(b", None).unwrap_err(),
            "the pattern \"load(b\" is not found (taken as text, since it is no regular expression)"
        );
    }

    #[test]
    fn what_is_absent_says_where_it_was_looked_for() {
        assert_eq!(find("save", Some((1, 3))).unwrap_err(), "the pattern \"save\" is not found in lines 1-3");
        assert_eq!(find("load", Some((2, 2))).unwrap_err(), "the pattern \"load\" is not found from line 2 on");
        assert_eq!(Needle::new("fn save_all").unwrap().near(&FileText::new(CODE, "UTF-8")), Vec::<u32>::new());
        assert_eq!(Needle::new("save\\(\\)").unwrap().near(&FileText::new(CODE, "UTF-8")), [5]);
    }

    #[test]
    fn patterns_cannot_take_forever() {
        let text = FileText::new(&"a".repeat(1 << 20), "UTF-8");
        for pattern in ["(a*)*b", "(?:\\w{1000}){1000}", "((a{1,100}){1,100}){1,100}"] {
            assert!(Needle::new(pattern).unwrap().find(&text, None).is_err(), "{pattern}");
        }
        assert!(Needle::new(&"a".repeat(LONGEST + 1)).is_err());
        assert_eq!(Needle::new("x*").unwrap().find(&FileText::new("", "UTF-8"), None), Ok(LineRange::line(1)));
    }
}
