//! The text of Rust's test harness, as `cargo test` writes it. Main function: [`parse`].
//!
//! Each failed test is an error with its panic, and so is a test binary that died. The numbers are summed over all binaries.
//! Messages of the compiler belong in `cargo_json`.

use std::collections::{HashMap, HashSet};

use super::super::log::{Log, LogStream};
use super::Parsed;
use super::machine::{digits, failed_test, filled, report};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity, TestSummary};

/// Maximum number of lines of a panic's message.
const LONGEST_PANIC: usize = 40;

/// A line of the log. Lines of the two streams come in any order on a busy machine, so that a block of one may be divided by the other.
#[derive(Clone, Copy)]
struct RustLine<'a> {
    stream: LogStream,
    text: &'a str,
}

/// A panic in the log.
struct RustPanic<'a> {
    /// The thread, which bears the test's name unless tests run one after another.
    thread: &'a str,
    /// The message.
    message: String,
    /// The file, the line and the column.
    place: Option<(&'a str, &'a str, &'a str)>,
    /// The indexes of its first and last line.
    lines: (usize, usize),
}

/// A failed test: its name and the indexes of the first and last line that tell of it.
struct FailedRustTest<'a> {
    name: &'a str,
    first: usize,
    last: usize,
    /// `true` if the lines are what the test wrote.
    has_output: bool,
}

/// Reads the results of all binaries.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    let lines: Vec<RustLine<'_>> =
        log.lines.iter().map(|line| RustLine { stream: line.stream, text: line.head() }).collect();
    let mut start = 0;
    for (index, RustLine { text: line, .. }) in lines.iter().enumerate() {
        if let Some(result) = line.strip_prefix("test result: ") {
            count(result, parsed.summary.get_or_insert_default());
            add_binary(log, &lines, start, index, &mut parsed);
            start = index + 1;
        } else if let Some(fate) = line.trim_start().strip_prefix("process didn't exit successfully: ")
            && !fate.ends_with("(exit status: 101)")
        {
            let message = format!("the test binary died: {fate}");
            parsed.add(log, index..=index, report(DiagnosticSeverity::Error, &message, ""));
        }
    }
    // The last binary of a log that was cut off or of a run that died.
    add_binary(log, &lines, start, lines.len(), &mut parsed);
    parsed
}

fn count(result: &str, summary: &mut TestSummary) {
    for part in result.split(['.', ';']) {
        let mut words = part.split_whitespace();
        let (Some(Ok(number)), Some(word)) = (words.next().map(str::parse::<u64>), words.next()) else { continue };
        let field = match word {
            "passed" | "measured" => &mut summary.passed,
            "failed" => &mut summary.failed,
            "ignored" => &mut summary.skipped,
            _ => continue,
        };
        *field = field.saturating_add(number);
        summary.total = summary.total.saturating_add(number);
    }
}

/// Adds the failed tests of the binary whose lines are those from `start` up to `end`.
fn add_binary(log: &Log, lines: &[RustLine<'_>], start: usize, end: usize, parsed: &mut Parsed) {
    let panics = panics(lines, start, end);
    let by_thread: HashMap<&str, &RustPanic<'_>> = panics.iter().rev().map(|panic| (panic.thread, panic)).collect();
    for test in failed_tests(lines, start, end) {
        let from = panics.partition_point(|panic| panic.lines.0 < test.first);
        let inside = panics.get(from..).unwrap_or_default().iter();
        let mut inside = inside.take_while(|panic| test.has_output && panic.lines.0 <= test.last);
        let mut last = None;
        // Without a thread of its own the test ran in the main one; other threads' panics may be expected ones.
        let main = inside.find(|panic| {
            last = Some(*panic);
            panic.thread == "main"
        });
        let found = by_thread.get(test.name).copied().or(main).or(last);
        let (found, range) = match found {
            Some(panic) if test.has_output => (of_panic(test.name, panic), (test.first, test.last)),
            Some(panic) => (of_panic(test.name, panic), panic.lines),
            None => (of_output(lines, &test), (test.first, test.last)),
        };
        parsed.add(log, range.0..=range.1, of_documentation(test.name, found));
    }
}

/// Finds the tests that failed: those with a section, then those that are only listed.
fn failed_tests<'a>(lines: &[RustLine<'a>], start: usize, end: usize) -> Vec<FailedRustTest<'a>> {
    let mut tests: Vec<FailedRustTest<'a>> = Vec::new();
    let mut listed = Vec::new();
    let (mut is_open, mut is_list) = (false, false);
    for (index, line) in (start..).zip(lines.get(start..end).unwrap_or_default()) {
        // The harness writes to standard output only; what stands in between is Cargo's.
        if line.stream != LogStream::Output {
            continue;
        }
        let line = line.text;
        let section = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
        if let Some((name, _)) = section.and_then(|section| section.rsplit_once(' ')) {
            tests.push(FailedRustTest { name, first: index, last: index, has_output: true });
            (is_open, is_list) = (true, false);
        } else if line == "failures:" {
            (is_open, is_list) = (false, true);
        } else if is_open && !line.is_empty() {
            tests.iter_mut().last().into_iter().for_each(|test| test.last = index);
        } else if is_list && let Some(name) = line.strip_prefix("    ") {
            listed.push((name.trim(), index));
        } else if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            listed.push((name.trim_end_matches(" - should panic"), index));
        }
    }
    let mut known: HashSet<&str> = tests.iter().map(|test| test.name).collect();
    for (name, index) in listed {
        if known.insert(name) {
            tests.push(FailedRustTest { name, first: index, last: index, has_output: false });
        }
    }
    tests
}

fn panics<'a>(lines: &[RustLine<'a>], start: usize, end: usize) -> Vec<RustPanic<'a>> {
    (start..end).filter_map(|index| panic_at(lines, index)).collect()
}

/// Reads `thread 'T' panicked at FILE:L:C:` with the message below, or the older `panicked at 'MESSAGE', FILE:L:C`.
fn panic_at<'a>(lines: &[RustLine<'a>], index: usize) -> Option<RustPanic<'a>> {
    let line = lines.get(index)?;
    let (thread, rest) = line.text.strip_prefix("thread '")?.split_once('\'')?;
    let (_, rest) = rest.split_once(" panicked at ")?;
    let below = || {
        let same = lines.iter().enumerate().skip(index + 1).filter(|(_, below)| below.stream == line.stream);
        same.map(|(at, below)| (at, below.text)).take(LONGEST_PANIC)
    };
    if let Some(quoted) = rest.strip_prefix('\'') {
        let mut message = String::new();
        for (at, line) in std::iter::once((index, quoted)).chain(below()) {
            let ending = line.rsplit_once("', ").and_then(|(last, place)| Some((last, place_of(place)?)));
            message.push_str(ending.map_or(line, |(last, _)| last));
            message.push('\n');
            if let Some((_, place)) = ending {
                return Some(RustPanic { thread, message, place: Some(place), lines: (index, at) });
            }
        }
        return Some(RustPanic { thread, message: quoted.to_owned(), place: None, lines: (index, index) });
    }
    let is_end = |line: &str| {
        let starts = ["note: ", "stack backtrace:", "thread '", "---- ", "failures:", "test "];
        // What Cargo itself says may come in between where both streams went into one file.
        let is_summary = line.starts_with("error: ") && line.contains(" failed");
        is_summary || starts.iter().any(|start| line.starts_with(start)) || matches!(line, "" | "FAILED" | "ok")
    };
    let (mut message, mut last) = (String::new(), index);
    for (at, line) in below().take_while(|(_, line)| !is_end(line)) {
        message.push_str(line);
        message.push('\n');
        last = at;
    }
    let place = place_of(rest.strip_suffix(':').unwrap_or(rest));
    Some(RustPanic { thread, message, place, lines: (index, last) })
}

/// Splits `FILE:L:C`.
fn place_of(text: &str) -> Option<(&str, &str, &str)> {
    let mut parts = text.trim().rsplitn(3, ':');
    let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    (digits(column).is_some() && digits(line).is_some()).then_some((file, line, column))
}

fn of_panic(name: &str, panic: &RustPanic<'_>) -> Diagnostic {
    at_place(failed_test(name, &panic.message), panic.place)
}

fn at_place(found: Diagnostic, place: Option<(&str, &str, &str)>) -> Diagnostic {
    match place {
        Some((file, line, column)) => {
            Diagnostic { file: filled(file), line: digits(line), column: digits(column), ..found }
        }
        None => found,
    }
}

/// Makes the diagnostic of a test that failed without a panic: it returned an error or did not panic as it should.
fn of_output(lines: &[RustLine<'_>], test: &FailedRustTest<'_>) -> Diagnostic {
    let output = if test.has_output { lines.get(test.first + 1..=test.last).unwrap_or_default() } else { &[] };
    let output = || output.iter().filter(|line| line.stream == LogStream::Output).map(|line| line.text);
    let find = |start: &str| output().rev().find_map(|line| line.strip_prefix(start));
    if let Some(note) = find("note: test did not panic as expected") {
        let place = note.strip_prefix(" at ").and_then(place_of);
        return at_place(failed_test(test.name, "test did not panic as expected"), place);
    }
    let first = output().find(|line| !line.trim().is_empty());
    failed_test(test.name, find("Error: ").or(first).unwrap_or_default())
}

/// Moves the failure of an example in documentation, `src/a.rs - name (line 4)`, to the example.
fn of_documentation(name: &str, found: Diagnostic) -> Diagnostic {
    let place = name.split_once(" - ").and_then(|(file, rest)| {
        let line = rest.split_once("(line ")?.1.split_once(')')?.0;
        let is_source = std::path::Path::new(file).extension().is_some_and(|end| end == "rs" || end == "md");
        is_source.then_some((file, digits(line)?))
    });
    match place {
        Some((file, line)) => Diagnostic { file: filled(file), line: Some(line), column: None, ..found },
        None => found,
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, log_of, rows, summary};
    use super::*;

    #[test]
    fn failed_tests_of_three_binaries() {
        let parsed = parse(&fixture("cargo_test/failure"));
        let mut rows = rows(&parsed);
        // Tests run at once: the order of the first binary's sections differs from run to run.
        rows.sort();
        let expected = [
            "Error src/lib.rs:22:9-- -: tests::adds: assertion `left == right` failed: sum of two; left: -1; right: 3",
            "Error src/lib.rs:42:8-- -: tests::booms: test did not panic as expected",
            "Error src/lib.rs:46:61-- -: tests::threads: called `Result::unwrap()` on an `Err` value: Any { .. }",
            "Error src/lib.rs:4:--- -: src/lib.rs - add (line 4): assertion `left == right` failed; left: 0; right: 2",
            "Error -:-:--- -: tests::reads: \"no file\"",
            "Error tests/it.rs:9:10-- -: fails: a number",
        ];
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(rows, expected);
        assert_eq!(parsed.summary, Some(summary(2, 6, 1)));
        assert_eq!(log_lines(&parsed).len(), 6);
    }

    #[test]
    fn backtraces_and_output_that_is_not_captured() {
        let expected = ["Error tests/it.rs:9:10-- -: fails: a number"];
        for name in ["cargo_test/backtrace", "cargo_test/nocapture"] {
            let parsed = parse(&fixture(name));
            assert_eq!(rows(&parsed), expected, "{name}");
            assert_eq!(parsed.summary, Some(summary(1, 1, 0)));
        }
        let parsed = parse(&fixture("cargo_test/success"));
        assert_eq!((parsed.diagnostics.len(), parsed.summary), (0, Some(summary(1, 0, 0))));
    }

    #[test]
    fn a_panic_that_is_divided_by_the_other_stream() {
        let (output, errors) = (LogStream::Output, LogStream::Errors);
        let parsed = parse(&log_of(&[
            (output, "failures:"),
            (output, ""),
            (output, "---- halves stdout ----"),
            (output, "thread 'halves' (12) panicked at src/lib.rs:7:5:"),
            (errors, "error: test failed, to rerun pass `--lib`"),
            (errors, ""),
            (output, "assertion `left == right` failed"),
            (errors, "error: 1 target failed:"),
            (output, "  left: 0"),
            (output, " right: 1"),
            (output, ""),
            (output, "failures:"),
            (errors, "    `--lib`"),
            (output, "    halves"),
            (output, ""),
            (output, "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"),
        ]));
        assert_eq!(
            rows(&parsed),
            ["Error src/lib.rs:7:5-- -: halves: assertion `left == right` failed; left: 0; right: 1"]
        );
    }

    #[test]
    fn a_binary_that_died() {
        let parsed = parse(&fixture("cargo_test/abort"));
        assert_eq!(parsed.summary, None);
        let rows = rows(&parsed);
        assert!(
            rows.len() == 1 && rows[0].starts_with("Error -:-:--- -: the test binary died: `/w/target"),
            "{rows:?}"
        );
    }

    #[test]
    fn older_panics() {
        let parsed = parse(&fixture("cargo_test/older"));
        let expected = [
            "Error src/lib.rs:12:9-- -: tests::adds: assertion failed: `(left == right)`; left: `1`, right: `2`: sum",
            "Error src/lib.rs:20:5-- -: tests::opens: it's, closed",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(3, 2, 1)));
    }
}
