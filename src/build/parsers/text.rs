//! Means of the parsers of text: patterns over one line and the list that they fill. Main types: [`LinePattern`], [`LogScan`].
//!
//! The patterns of one tool belong in its own file, parsers of machine formats do not use this one.

use std::ops::RangeInclusive;

use regex::Captures;

use super::super::log::{Log, LogLine};
use super::{MOST_DIAGNOSTICS, Parsed};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity, TestSummary};
use crate::domain::text::LazyPattern;

/// Maximum number of characters of a message.
const LONGEST_MESSAGE: usize = 500;

/// Maximum number of lines that belong to one diagnostic: keeps the search for its end linear in the log.
const LONGEST_BLOCK: usize = 500;

static COUNT: LinePattern = LinePattern::new(r"(?<count>\d+) (?<word>[A-Za-z]+)");

/// A regular expression over one line, compiled at its first use; one that does not compile matches nothing.
pub(super) struct LinePattern(LazyPattern);

impl LinePattern {
    /// Creates a pattern from its source.
    pub(super) const fn new(source: &'static str) -> Self {
        Self(LazyPattern::new(source))
    }

    /// Finds the first match in a line.
    pub(super) fn find<'a>(&self, line: &'a str) -> Option<LineMatch<'a>> {
        self.0.regex()?.captures(line).map(LineMatch)
    }

    /// Returns true if the line has a match.
    pub(super) fn is_in(&self, line: &str) -> bool {
        self.0.is_in(line)
    }
}

/// The parts of a line that a pattern names: `file`, `line`, `col`, `endline`, `severity`, `code`, `message` and those of one tool.
pub(super) struct LineMatch<'a>(Captures<'a>);

impl<'a> LineMatch<'a> {
    /// Returns a part without the blanks around it, or none if it is blank.
    pub(super) fn text(&self, part: &str) -> Option<&'a str> {
        self.0.name(part).map(|found| found.as_str().trim()).filter(|text| !text.is_empty())
    }

    /// Returns a line or column: none if it is 0 or too large.
    pub(super) fn number(&self, part: &str) -> Option<u32> {
        self.text(part)?.parse().ok().filter(|number| *number > 0)
    }

    /// Returns a number of things: 0 if the part is missing.
    pub(super) fn count(&self, part: &str) -> u64 {
        self.text(part).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Makes a diagnostic of the parts; without `severity` it is an error.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        let message = self.text("message").unwrap_or_default();
        let mut made = diagnostic(self.text("severity").map_or(DiagnosticSeverity::Error, severity_of), message);
        made.code = self.text("code").map(str::to_owned);
        made.end_line = self.number("endline");
        self.move_to_place(&mut made);
        made
    }

    /// Gives a diagnostic the file, the line and the column of this match.
    pub(super) fn move_to_place(&self, diagnostic: &mut Diagnostic) {
        // Runners of several packages write the name of the package and a colon before each line.
        let file = self.text("file").map(|file| file.rsplit_once(": ").map_or(file, |(_, file)| file));
        diagnostic.file = file.map(str::to_owned);
        diagnostic.line = self.number("line");
        diagnostic.column = self.number("col");
    }
}

/// Makes a diagnostic without a place.
pub(super) fn diagnostic(severity: DiagnosticSeverity, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(severity, message)
}

/// Reads the word that a tool has for a severity; one that is not known is an error.
fn severity_of(word: &str) -> DiagnosticSeverity {
    let word = word.to_ascii_lowercase();
    if word.starts_with('w') || word.ends_with("warning") {
        DiagnosticSeverity::Warning
    } else if ["note", "info", "help", "message"].iter().any(|start| word.starts_with(start)) {
        DiagnosticSeverity::Info
    } else {
        DiagnosticSeverity::Error
    }
}

/// Adds up the numbers before some words: `1 failed, 2 skipped`.
pub(super) fn count_of(text: &str, words: &[&str]) -> u64 {
    let Some(regex) = COUNT.0.regex() else { return 0 };
    let found = regex.captures_iter(text).map(LineMatch);
    let numbers = found.filter(|found| found.text("word").is_some_and(|word| words.contains(&word)));
    numbers.fold(0, |sum, found| sum.saturating_add(found.count("count")))
}

/// Joins the parts of a message that are not blank.
pub(super) fn join<'a>(parts: impl IntoIterator<Item = &'a str>, between: &str) -> String {
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts.take(LONGEST_BLOCK).collect::<Vec<_>>().join(between)
}

/// Puts blanks of any kind into one space each and cuts what is too long.
fn clip(message: &str) -> String {
    let message = message.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let message = message.collect::<Vec<_>>().join(" ");
    match message.char_indices().nth(LONGEST_MESSAGE - 1) {
        Some((end, last)) if end + last.len_utf8() < message.len() => {
            message.get(..end).unwrap_or_default().to_owned() + "…"
        }
        _ => message,
    }
}

/// The lines of a log and the diagnostics that were found in them.
pub(super) struct LogScan<'a> {
    log: &'a Log,
    lines: Vec<&'a str>,
    found: Vec<Diagnostic>,
    omitted: usize,
    has_error: bool,
    summary: Option<TestSummary>,
}

impl<'a> LogScan<'a> {
    /// Starts at a log.
    pub(super) fn new(log: &'a Log) -> Self {
        let lines = log.lines.iter().map(LogLine::head).collect();
        Self { log, lines, found: Vec::new(), omitted: 0, has_error: false, summary: None }
    }

    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a line by its index from 0; blank after the end.
    pub(super) fn line(&self, index: usize) -> &'a str {
        self.lines.get(index).copied().unwrap_or_default()
    }

    /// Returns the index of the last line of a block that begins after line `first`: up to the first line that ends it.
    pub(super) fn last_of_block(&self, first: usize, ends: impl Fn(&str) -> bool) -> usize {
        let after = self.lines.iter().skip(first + 1).take(LONGEST_BLOCK);
        first + after.take_while(|line| !ends(line)).count()
    }

    /// Returns some lines with their indexes, as far as the log has them.
    pub(super) fn range(&self, lines: RangeInclusive<usize>) -> impl Iterator<Item = (usize, &'a str)> {
        let count = (lines.end() + 1).saturating_sub(*lines.start());
        self.lines.iter().copied().enumerate().skip(*lines.start()).take(count)
    }

    /// Adds a diagnostic that some lines report.
    pub(super) fn add(&mut self, lines: RangeInclusive<usize>, mut diagnostic: Diagnostic) {
        self.has_error |= diagnostic.severity == DiagnosticSeverity::Error;
        if self.found.len() >= MOST_DIAGNOSTICS {
            self.omitted += 1;
            return;
        }
        let alternatives = [&diagnostic.message, self.line(*lines.start()), "No message"];
        let message = alternatives.into_iter().map(clip).find(|message| !message.is_empty());
        diagnostic.message = message.unwrap_or_default();
        (diagnostic.log_range, diagnostic.byte_offsets) = self.log.place(lines);
        self.found.push(diagnostic);
    }

    /// Lets the last diagnostic reach to a further line and appends to its message.
    pub(super) fn extend_last(&mut self, last: usize, more: &str) {
        if self.omitted > 0 {
            return;
        }
        let Some(diagnostic) = self.found.last_mut() else { return };
        if let ((Some(range), Some(bytes)), (Some(line), Some(end))) =
            ((&mut diagnostic.log_range, &mut diagnostic.byte_offsets), self.log.place(last..=last))
        {
            (range.end_line, bytes.end) = (line.end_line, end.end);
            if !more.is_empty() {
                diagnostic.message = clip(&join([diagnostic.message.as_str(), more], " "));
            }
        }
    }

    /// Returns true if nothing that was found is an error.
    pub(super) fn has_no_error(&self) -> bool {
        !self.has_error
    }

    /// Adds the numbers of one test run; what is neither failed nor skipped has passed.
    pub(super) fn count_tests(&mut self, total: u64, failed: u64, skipped: u64) {
        let sum = self.summary.get_or_insert_default();
        sum.total = sum.total.saturating_add(total);
        sum.failed = sum.failed.saturating_add(failed);
        sum.skipped = sum.skipped.saturating_add(skipped);
        sum.passed = sum.total.saturating_sub(sum.failed).saturating_sub(sum.skipped);
    }

    /// Returns the numbers of the tests so far.
    pub(super) fn summary(&mut self) -> &mut Option<TestSummary> {
        &mut self.summary
    }

    /// Returns what was found, in the order of the log; the last diagnostic says how many had no room.
    pub(super) fn finish(mut self) -> Parsed {
        self.found.sort_by_key(|found| found.byte_offsets.map_or(0, |bytes| bytes.start));
        if self.omitted > 0 {
            self.found.pop();
            let message = format!("{} more diagnostics are only in the log", self.omitted + 1);
            self.found.push(diagnostic(DiagnosticSeverity::Warning, message));
        }
        Parsed { diagnostics: self.found, summary: self.summary }
    }
}

/// Parses a log in which one line is one diagnostic: the first pattern that matches a line makes it.
pub(super) fn parse_lines(log: &Log, patterns: &[&LinePattern]) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        if let Some(found) = patterns.iter().find_map(|pattern| pattern.find(scan.line(index))) {
            scan.add(index..=index, found.diagnostic());
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::diagnostic::{ByteRange, LogRange};

    static WORD: LinePattern = LinePattern::new(r"^(?<file>\S+):(?<line>\d+): (?<severity>\w+): (?<message>.*)$");

    fn parse(text: &str) -> Vec<Diagnostic> {
        parse_lines(&Log::of_output(text.as_bytes()), &[&WORD]).diagnostics
    }

    #[test]
    fn places_in_the_log_are_lines_and_bytes() {
        let found = parse("first\na.c:7: warn: \u{1b}[31mred\u{1b}[0m\nlast\n");
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.severity, found.message.as_str()), (DiagnosticSeverity::Warning, "red"));
        assert_eq!((found.file.as_deref(), found.line, found.column), (Some("a.c"), Some(7), None));
        assert_eq!(found.log_range, Some(LogRange { start_line: 2, end_line: 2 }));
        assert_eq!(found.byte_offsets, Some(ByteRange { start: 6, end: 32 }));
    }

    #[test]
    fn numbers_that_are_no_place_are_left_out() {
        let lines: Vec<_> =
            parse("a:0: e: m\na:4294967296: e: m\na:4294967295: e: m").iter().map(|found| found.line).collect();
        assert_eq!(lines, [None, None, Some(u32::MAX)]);
    }

    #[test]
    fn messages_are_short_and_never_blank() {
        let long = parse(&format!("a:1: e: {}", "é ".repeat(600)));
        assert!(
            long.iter().all(|found| found.message.chars().count() == LONGEST_MESSAGE && found.message.ends_with('…'))
        );
        let exact = parse(&format!("a:1: e: {}", "é".repeat(LONGEST_MESSAGE)));
        assert!(exact.iter().all(|found| found.message.ends_with('é')));
        let blank = parse("a:1: e:  \t ");
        assert!(blank.iter().all(|found| found.message == "a:1: e:"), "{blank:?}");
        assert_eq!((long.len(), exact.len(), blank.len()), (1, 1, 1));
    }

    #[test]
    fn diagnostics_without_room_are_counted() {
        let found = parse(&"a:1: e: m\n".repeat(MOST_DIAGNOSTICS + 5));
        assert_eq!(found.len(), MOST_DIAGNOSTICS);
        assert_eq!(found.last().map(|found| found.message.as_str()), Some("6 more diagnostics are only in the log"));
        assert_eq!(
            parse(&"a:1: e: m\n".repeat(MOST_DIAGNOSTICS)).last().map(|found| found.message.clone()),
            Some("m".into())
        );
    }

    #[test]
    fn a_pattern_that_does_not_compile_matches_nothing() {
        static BROKEN: LinePattern = LinePattern::new("(");
        assert!(!BROKEN.is_in("(") && BROKEN.find("(").is_none());
        assert_eq!(count_of("1 failed, 2 passed, 18446744073709551615 failed", &["failed"]), u64::MAX);
    }
}
