//! TRX, the results of `VSTest` and of the .NET testing platform. Main function: [`parse`].
//!
//! Tests that failed, timed out or were aborted are errors. What the run says about itself keeps its severity. The numbers count the
//! outermost results: the rows of a data-driven test are one test.

use super::super::log::Log;
use super::Parsed;
use super::machine::{digits, failed_test, filled, report, severity};
use super::xml::{XmlElement, xml_roots};
use crate::domain::diagnostic::{Diagnostic, TestSummary};
use crate::domain::text::LazyPattern;

/// The place of a frame: ` in FILE:line N`, where the word may be of another language.
static FRAME: LazyPattern = LazyPattern::new(r"(?m) in (.+):\w+ (\d+)\s*$");

/// Reads the results of all runs.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for run in &xml_roots(log, &["TestRun"]) {
        let mut summary = parsed.summary.unwrap_or_default();
        for results in run.children.iter().filter(|child| child.name == "Results") {
            for result in results.children.iter().filter(|child| is_result(child)) {
                count(result, &mut summary);
                add_failures(log, result, &mut parsed);
            }
        }
        parsed.summary = Some(summary);
        let notes = run.child("ResultSummary").and_then(|summary| summary.child("RunInfos"));
        for note in notes.into_iter().flat_map(|notes| &notes.children) {
            let message = note.child("Text").map_or("", |text| text.text.as_str());
            parsed.add(log, note.lines.clone(), report(severity(note.attribute("outcome")), message, ""));
        }
    }
    parsed
}

fn is_result(element: &XmlElement) -> bool {
    matches!(element.name.as_str(), "UnitTestResult" | "TestResultAggregation" | "WebTestResult" | "GenericTestResult")
}

fn is_failed(result: &XmlElement) -> bool {
    matches!(result.attribute("outcome"), "Failed" | "Error" | "Timeout" | "Aborted" | "Disconnected" | "NotRunnable")
}

fn count(result: &XmlElement, summary: &mut TestSummary) {
    summary.total += 1;
    if is_failed(result) {
        summary.failed += 1;
    } else if matches!(result.attribute("outcome"), "Passed" | "PassedButRunAborted" | "Warning" | "Completed") {
        summary.passed += 1;
    } else {
        summary.skipped += 1;
    }
}

/// Adds the innermost results that failed.
fn add_failures(log: &Log, result: &XmlElement, parsed: &mut Parsed) {
    let rows = result.child("InnerResults").map_or(&[][..], |inner| &inner.children);
    let mut failed = rows.iter().filter(|row| is_result(row) && is_failed(row)).peekable();
    if failed.peek().is_none() && is_failed(result) {
        parsed.add(log, result.lines.clone(), diagnostic(result));
    }
    failed.for_each(|row| add_failures(log, row, parsed));
}

fn diagnostic(result: &XmlElement) -> Diagnostic {
    let error = result.child("Output").and_then(|output| output.child("ErrorInfo"));
    let part = |name: &str| error.and_then(|error| error.child(name)).map_or("", |part| part.text.as_str());
    let outcome = format!("outcome {}", result.attribute("outcome"));
    let reason = [part("Message"), outcome.as_str()].into_iter().find(|text| !text.trim().is_empty());
    let place = frame(part("StackTrace"));
    let (file, line) = place.map_or((None, None), |(file, line)| (filled(&file), line));
    Diagnostic { file, line, ..failed_test(result.attribute("testName"), reason.unwrap_or_default()) }
}

/// Returns the first frame with a file, of the project if there is one: `/_/` begins the paths of packages.
fn frame(stack: &str) -> Option<(String, Option<u32>)> {
    let found = FRAME.regex().into_iter().flat_map(|pattern| pattern.captures_iter(stack));
    let frames: Vec<_> = found
        .filter_map(|found| Some((found.get(1)?.as_str().trim().to_owned(), digits(found.get(2)?.as_str()))))
        .collect();
    frames.iter().find(|(file, _)| !file.starts_with("/_/")).or(frames.first()).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows, summary};
    use super::*;

    #[test]
    fn failures_rows_and_the_run() {
        let parsed = parse(&fixture("trx/failure"));
        let expected = [
            "Error /w/tests/CartTests.cs:31:--- -: Shop.Tests.CartTests.Totals: Assert.Equal() Failure: Values differ; Expected: 3; Actual:   2",
            "Error C:\\src\\shop tests\\RowTests.cs:12:--- -: Rows (2,\"b\"): Assert.IsTrue failed.",
            "Error -:-:--- -: Shop.Tests.CartTests.Slow: outcome Timeout",
            "Error -:-:--- -: The active test run was aborted. Reason: Test host process crashed",
            "Warning -:-:--- -: No test matches the given testcase filter `Category=Slow` in /w/tests/bin/Shop.Tests.dll",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(1, 3, 1)));
        assert_eq!(log_lines(&parsed)[0], (6, 18));
        let parsed = parse(&fixture("trx/success"));
        assert_eq!((parsed.diagnostics.len(), parsed.summary), (0, Some(summary(1, 0, 1))));
    }

    #[test]
    fn frames_of_packages_come_last() {
        let stack = "   at X.A() in /_/src/a.cs:line 4\n   at Y.B() in /w/b.cs:line 5\r\n";
        assert_eq!(frame(stack), Some(("/w/b.cs".to_owned(), Some(5))));
    }
}
