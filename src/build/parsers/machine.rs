//! Steps that the parsers of machine formats share. Main functions: [`report`], [`json_documents`], [`json_line`].
//!
//! XML documents belong in `xml`; the fields of one tool's format, in its own parser.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::log::{Log, LogLine, LogStream};
use super::{MOST_DIAGNOSTICS, Parsed};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use crate::domain::text::shorten;

/// Maximum number of characters of a message.
const LONGEST_MESSAGE: usize = 500;
/// Maximum number of bytes read as JSON in vain: each line that opens a bracket could otherwise read to the end.
const MOST_WASTED: usize = 16 << 20;

/// Words of a path's end that make `name.end:12` a place in a source and not a host with a port.
const SOURCE_ENDS: &str = "[cm]?[jt]sx?|vue|svelte|astro|pyi?|rb|php|phpt|java|kts?|scala|groovy|clj|go|rs|cc?|cpp|\
    cxx|hh?|hpp|cs|fs|vb|razor|swift|mm?|dart|exs?|erl|hs|ml|lua|p[lm]|t|sh|bats|sql|feature";

/// The form `path:line[:column]`, also with the word `line`, or Python's `File "path", line N`.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // A bracket opens no path, but stands in some: `app/[id]/page.tsx`.
    let path = format!(r"((?:\b[A-Za-z]:[\\/])?[\w@.+/\\$~-][\w@.+/\\\[\]$~-]*\.(?:{SOURCE_ENDS}))");
    Regex::new(&format!(r#"{path}:(?:line )?(\d+)(?::(\d+))?|File "([^"]+)", line (\d+)"#)).ok()
});

impl Parsed {
    /// Adds a diagnostic found on some lines of the log, by index from 0; past the maximum it is dropped.
    pub(super) fn add(&mut self, log: &Log, lines: RangeInclusive<usize>, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MOST_DIAGNOSTICS {
            let (log_range, byte_offsets) = log.place(lines);
            self.diagnostics.push(Diagnostic { log_range, byte_offsets, ..diagnostic });
        }
    }
}

/// Makes a diagnostic without a place; one without a message bears its code instead.
pub(super) fn report(severity: DiagnosticSeverity, message: &str, code: &str) -> Diagnostic {
    let code = one_line(code);
    let message = [one_line(message), code.clone()].into_iter().find(|text| !text.is_empty());
    let message = message.unwrap_or_else(|| "no message".to_owned());
    Diagnostic { code: filled(&code), ..Diagnostic::new(severity, message) }
}

/// Makes the diagnostic of a failed test: its name, then why it failed.
pub(super) fn failed_test(name: &str, reason: &str) -> Diagnostic {
    let (name, reason) = (one_line(name), one_line(reason));
    let reason = if reason.is_empty() { "failed" } else { reason.as_str() };
    let name = if name.is_empty() { "test" } else { name.as_str() };
    report(DiagnosticSeverity::Error, &format!("{name}: {reason}"), "")
}

/// Maps the common words: `error` and `fatal`, `warning` and `warn`; anything else informs.
pub(super) fn severity(word: &str) -> DiagnosticSeverity {
    match word.to_ascii_lowercase().as_str() {
        "error" | "fatal" => DiagnosticSeverity::Error,
        "warning" | "warn" => DiagnosticSeverity::Warning,
        _ => DiagnosticSeverity::Info,
    }
}

/// Returns a text as one line without terminal sequences, cut to the maximum.
pub(super) fn one_line(text: &str) -> String {
    let text =
        if text.contains('\u{1b}') { strip_ansi_escapes::strip_str(text.replace('\t', " ")) } else { text.to_owned() };
    let mut joined = String::new();
    for line in text.split(['\n', '\r']) {
        let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let line = line.trim();
        if !joined.is_empty() && !line.is_empty() {
            let ends = joined.ends_with(['.', ':', ';', ',', '!', '?', '(', '[', '{']) || line.starts_with('(');
            joined.push_str(if ends { " " } else { "; " });
        }
        joined.push_str(line);
        if joined.len() > LONGEST_MESSAGE * 4 {
            break;
        }
    }
    shorten(&joined, LONGEST_MESSAGE)
}

/// Returns the trimmed text unless it is blank.
pub(super) fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the text of a field; a number is one too.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the number of a field that counts from 1.
pub(super) fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// Returns the number of a field that counts from 0, counted from 1.
pub(super) fn number_from_zero(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).and_then(|number| number.checked_add(1))
}

/// Reads a number that counts from 1.
pub(super) fn digits(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|number| *number > 0)
}

/// Returns the items of a list; of anything else, none.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A place in a source that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePlace {
    /// The path as written.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: Option<u32>,
    /// The column, from 1.
    pub(super) column: Option<u32>,
    /// The first byte after the place.
    pub(super) end: usize,
}

/// Finds the places in sources that a text names, in its order.
pub(super) fn source_places(text: &str) -> impl Iterator<Item = SourcePlace> {
    let found = PLACE.iter().flat_map(|pattern| pattern.captures_iter(text));
    found.map(|found| {
        let part = |group: usize| found.get(group).map_or("", |part| part.as_str());
        let python = !part(4).is_empty();
        // A URL of a file is a path behind its scheme, whose two slashes the path began with.
        let file = if python { part(4) } else { part(1) };
        let file = file.strip_prefix("///").map_or_else(|| file.to_owned(), |path| format!("/{path}"));
        let line = digits(if python { part(5) } else { part(2) });
        SourcePlace { file, line, column: digits(part(3)), end: found.get(0).map_or(0, |whole| whole.end()) }
    })
}

/// Standard output as one text that knows the line of the log of each of its bytes.
pub(super) struct OutputText {
    /// The text.
    pub(super) text: String,
    /// The first byte of each line in the text, and the line's index in the log.
    pub(super) starts: Vec<(usize, usize)>,
}

impl OutputText {
    /// Joins the lines of standard output.
    pub(super) fn of(log: &Log) -> Self {
        let mut starts = Vec::new();
        let mut start = 0;
        for (index, line) in log.lines.iter().enumerate().filter(|(_, line)| line.stream == LogStream::Output) {
            starts.push((start, index));
            start += line.text.len() + 1;
        }
        Self { text: log.output(), starts }
    }

    /// Returns the lines of the log, by index, of the bytes from `start` up to `end`.
    pub(super) fn lines(&self, start: usize, end: usize) -> RangeInclusive<usize> {
        let index = |byte: usize| {
            let after = self.starts.partition_point(|(first, _)| *first <= byte);
            after.checked_sub(1).and_then(|at| self.starts.get(at)).map_or(0, |(_, index)| *index)
        };
        index(start)..=index(end.saturating_sub(1).max(start))
    }
}

/// Finds the JSON documents of standard output that `is_wanted` accepts, each with its lines in the log.
///
/// A document begins where a line does; what stands before, between and after is skipped.
pub(super) fn json_documents(log: &Log, is_wanted: fn(&Value) -> bool) -> Vec<(Value, RangeInclusive<usize>)> {
    let output = OutputText::of(log);
    let (mut found, mut next, mut wasted) = (Vec::new(), 0, 0usize);
    for &(start, _) in &output.starts {
        let rest = output.text.get(start..).unwrap_or_default();
        let text = rest.strip_prefix('\u{feff}').unwrap_or(rest);
        if start < next || !text.starts_with(['[', '{']) {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                next = start + (rest.len() - text.len()) + values.byte_offset();
                if is_wanted(&value) {
                    found.push((value, output.lines(start, next)));
                }
            }
            Some(Err(error)) => {
                wasted += text.split_inclusive('\n').take(error.line()).map(str::len).sum::<usize>();
                if wasted > MOST_WASTED {
                    break;
                }
            }
            None => {}
        }
    }
    found
}

/// Reads a line that is a JSON object.
pub(super) fn json_line(line: &LogLine) -> Option<Value> {
    line.text.starts_with('{').then(|| serde_json::from_str(&line.text).ok()).flatten()
}

/// Helpers of the parsers' tests.
#[cfg(test)]
pub(super) mod testing {
    use std::path::PathBuf;

    use super::super::super::log::{Log, LogStream};
    use super::super::Parsed;
    use crate::domain::diagnostic::TestSummary;

    /// Returns the folder of the fixtures.
    pub(in super::super) fn fixtures() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/build")
    }

    /// Reads a fixture as standard output.
    pub(in super::super) fn fixture(name: &str) -> Log {
        Log::of_output(&std::fs::read(fixtures().join(name).with_extension("txt")).expect("a fixture"))
    }

    /// Writes each diagnostic as `severity file:line:column-end code: message`, with `-` for what is missing.
    pub(in super::super) fn rows(parsed: &Parsed) -> Vec<String> {
        let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let row = |found: &crate::domain::diagnostic::Diagnostic| {
            let (file, code) = (found.file.as_deref().unwrap_or("-"), found.code.as_deref().unwrap_or("-"));
            let (line, column, end) = (number(found.line), number(found.column), number(found.end_line));
            format!("{:?} {file}:{line}:{column}-{end} {code}: {}", found.severity, found.message)
        };
        parsed.diagnostics.iter().map(row).collect()
    }

    /// Returns the lines of the log, from 1, on which each diagnostic stands.
    pub(in super::super) fn log_lines(parsed: &Parsed) -> Vec<(u32, u32)> {
        let places = parsed.diagnostics.iter().filter_map(|found| found.log_range);
        places.map(|range| (range.start_line, range.end_line)).collect()
    }

    /// Makes a log of such lines.
    pub(in super::super) fn log_of(lines: &[(LogStream, &str)]) -> Log {
        let mut log = Log::default();
        lines.iter().fold(0, |start, (stream, line)| log.push(*stream, format!("{line}\n").as_bytes(), start));
        log
    }

    /// Makes the summary of so many passed, failed and skipped tests.
    pub(in super::super) fn summary(passed: u64, failed: u64, skipped: u64) -> TestSummary {
        let total = passed + failed + skipped;
        TestSummary { passed, failed, skipped, total, projects_build_failed: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_found_between_other_lines() {
        let log = Log::of_output(b"> lint\n[warn] x\n{broken\n[\n 1\n]\nbye\n{\"a\":\n2} x\n");
        let found = json_documents(&log, |_| true);
        let lines: Vec<_> = found.into_iter().map(|(_, lines)| lines).collect();
        assert_eq!(lines, [3..=5, 7..=8]);
    }

    #[test]
    fn lines_of_errors_do_not_break_a_document() {
        let lines = [(LogStream::Output, "[1,"), (LogStream::Errors, "warning: x"), (LogStream::Output, "2]")];
        let found = json_documents(&testing::log_of(&lines), |_| true);
        assert_eq!(found, [(serde_json::json!([1, 2]), 0..=2)]);
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line(" a\n\n  b:\n\tc\u{1b}[31m\u{7}d\n(e)"), "a; b: cd (e)");
        assert_eq!(one_line(&"ä".repeat(600)).chars().count(), LONGEST_MESSAGE + 1);
        assert_eq!(report(DiagnosticSeverity::Error, "\n", " ").message, "no message");
    }

    #[test]
    fn places_are_found_in_text() {
        let found: Vec<_> = source_places("at f (file:///w/a.test.mjs:4:29) localhost.com:80 C:\\x\\a.cs:line 7")
            .map(|place| (place.file, place.line, place.column))
            .collect();
        let expected = [("/w/a.test.mjs", Some(4), Some(29)), ("C:\\x\\a.cs", Some(7), None)];
        assert_eq!(found, expected.map(|(file, line, column)| (file.to_owned(), line, column)));
    }
}
