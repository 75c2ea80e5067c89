//! Fixtures of the parsers of text, and a test of all parsers on damaged logs. Main function: [`rows`].
//!
//! What one parser finds is tested in its own file.

use std::path::{Path, PathBuf};

use super::super::log::Log;
use super::{PARSERS, Parsed};
use crate::domain::diagnostic::DiagnosticSeverity;

/// Number of bytes above which a fixture is cut at some places only.
const LARGE: usize = 1024;

/// Number of lines of other formats between two cuts.
const STEP_OF_OTHERS: usize = 16;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/build")
}

fn parser_of(name: &str) -> super::Parser {
    PARSERS.iter().find(|(other, _)| *other == name).expect("a parser").1
}

/// Renders what the parser finds in a fixture `parser/name`: one row for each diagnostic, then the numbers of the tests.
///
/// A row is the severity, the code, the place, the lines of the log and the start of the message.
pub(super) fn rows(fixture: &str) -> Vec<String> {
    let bytes = std::fs::read(folder().join(fixture).with_extension("txt")).expect("a fixture");
    rows_of(&parser_of(fixture.split('/').next().expect("a name"))(&Log::of_output(&bytes)))
}

/// Renders what a parser finds in a text.
pub(super) fn rows_in(parser: &str, text: &str) -> Vec<String> {
    rows_of(&parser_of(parser)(&Log::of_output(text.as_bytes())))
}

fn rows_of(parsed: &Parsed) -> Vec<String> {
    let mut rows = Vec::new();
    for found in &parsed.diagnostics {
        let severity = match found.severity {
            DiagnosticSeverity::Error => "E",
            DiagnosticSeverity::Warning => "W",
            DiagnosticSeverity::Info => "I",
        };
        let numbers = [found.line, found.end_line, found.column].map(|n| n.map_or("-".to_owned(), |n| n.to_string()));
        let lines = found.log_range.map_or("-".to_owned(), |range| format!("{}-{}", range.start_line, range.end_line));
        let start: String = found.message.chars().take(60).collect();
        let [code, file] = [&found.code, &found.file].map(|text| text.as_deref().unwrap_or("-"));
        let [line, end, column] = numbers;
        let end = if end == "-" { String::new() } else { format!("..{end}") };
        rows.push(format!("{severity} {code} {file}:{line}{end}:{column} @{lines} {start}"));
    }
    if let Some(sum) = parsed.summary {
        let broken = sum.projects_build_failed.map_or(String::new(), |count| format!(", {count} not built"));
        let (passed, failed) = (sum.passed, sum.failed);
        rows.push(format!("{passed} passed, {failed} failed, {} skipped, {} in all{broken}", sum.skipped, sum.total));
    }
    rows
}

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(folder()).expect("fixtures").map(|entry| entry.expect("an entry").path()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if !PARSERS.iter().any(|(other, _)| *other == name) {
            continue;
        }
        for file in std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if file.extension().is_some_and(|extension| extension == "txt") {
                found.push((name.clone(), std::fs::read(file).expect("a fixture")));
            }
        }
    }
    found
}

fn check(name: &str, parser: super::Parser, bytes: &[u8]) {
    let log = Log::of_output(bytes);
    for found in parser(&log).diagnostics {
        assert!(!found.message.trim().is_empty(), "{name}: a blank message: {found:?}");
        assert!(found.message.chars().count() <= 500, "{name}: a long message: {found:?}");
        let (range, place) = (found.log_range.expect("lines"), found.byte_offsets.expect("bytes"));
        assert!(range.start_line >= 1 && range.start_line <= range.end_line, "{name}: {found:?}");
        assert!(range.end_line as usize <= log.lines.len(), "{name}: {found:?}");
        assert!(place.start < place.end && place.end <= bytes.len() as u64, "{name}: {found:?}");
    }
}

#[test]
fn damaged_logs_are_parsed_without_panic() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 100, "only {} fixtures", fixtures.len());
    // Two halves at once: the test is the slowest of this module.
    std::thread::scope(|scope| {
        for half in 0..2 {
            let part = fixtures.iter().skip(half).step_by(2);
            scope.spawn(move || part.for_each(|(name, bytes)| check_cuts(name, bytes)));
        }
    });
}

fn check_cuts(name: &str, bytes: &[u8]) {
    let step = if bytes.len() > LARGE { 13 } else { 1 };
    for end in (0..=bytes.len()).step_by(step) {
        check(name, parser_of(name), &bytes[..end]);
    }
    let ends = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').step_by(STEP_OF_OTHERS);
    for end in ends.chain([bytes.len()]) {
        for (other, parser) in PARSERS {
            check(other, *parser, &bytes[..end]);
        }
    }
}

#[test]
fn fixtures_are_small_and_name_no_machine() {
    for (name, bytes) in fixtures() {
        assert!(bytes.len() < 20_000, "a fixture of {name} is large");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("/work/") && !text.contains("/root/"), "a fixture of {name} names a folder");
    }
}
