//! Text of `dotnet test`: failed tests and numbers. Main function: [`parse`].
//!
//! Severities: a failed test is an error with the code `TestFailure`. Errors of the build belong in `msbuild`.

use std::collections::HashSet;

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static FAILED: LinePattern = LinePattern::new(r"^\s*Failed\s+(?<name>[^\s!].*?)(?<time>\s+\[[^\]]*\])?$");
static NEXT: LinePattern = LinePattern::new(
    r"^\s*(?:(?:Failed|Passed|Skipped)\s+\S.*\[[^\]]*\]|(?:Failed|Passed|Skipped)!.*|Test Run .*|Total tests: .*)$",
);
static SECTION: LinePattern = LinePattern::new(
    r"^\s*(?<name>Error Message|Stack Trace|Standard (?:Output|Error) Messages|Debug Trace Messages):\s*$",
);
static PLACE: LinePattern = LinePattern::new(r" in (?<file>.+):line (?<line>\d+)\s*$");
static TOTALS: LinePattern = LinePattern::new(
    r"(?:Passed|Failed|Skipped)!\s+- Failed:\s*(?<failed>\d+), Passed:\s*\d+, Skipped:\s*(?<skipped>\d+), Total:\s*(?<total>\d+)",
);
static TERMINAL_TOTALS: LinePattern = LinePattern::new(
    r"^\s*Test summary: total: (?<total>\d+), failed: (?<failed>\d+), succeeded: \d+, skipped: (?<skipped>\d+)",
);
static LONG_TOTAL: LinePattern = LinePattern::new(r"^\s*(?<word>Total tests|Failed|Skipped)\s*: (?<count>\d+)\s*$");
static BROKEN_PROJECT: LinePattern =
    LinePattern::new(r": error .*\[(?<file>[^\[\]]*\.Tests\.csproj)(?:::[^\[\]]*)?\]\s*$");

/// Finds the failed tests and adds up the numbers of all test projects.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let (mut broken, mut long_totals) = (HashSet::new(), [0_u64; 3]);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = TOTALS.find(line).or_else(|| TERMINAL_TOTALS.find(line)) {
            scan.count_tests(found.count("total"), found.count("failed"), found.count("skipped"));
        } else if let Some(found) = LONG_TOTAL.find(line) {
            let place = ["Total tests", "Failed", "Skipped"].iter().position(|word| found.text("word") == Some(word));
            if let Some(total) = place.and_then(|place| long_totals.get_mut(place)) {
                *total = total.saturating_add(found.count("count"));
            }
        } else if let Some(project) = BROKEN_PROJECT.find(line).and_then(|found| found.text("file")) {
            broken.insert(project);
        } else if let Some(found) = FAILED.find(line)
            && (found.text("time").is_some() || SECTION.is_in(scan.line(index + 1)))
        {
            add_failure(&mut scan, index, found.text("name").unwrap_or_default());
        }
    }
    let [total, failed, skipped] = long_totals;
    if scan.summary().is_none() && total > 0 {
        scan.count_tests(total, failed, skipped);
    }
    if !broken.is_empty() {
        scan.summary().get_or_insert_default().projects_build_failed = Some(broken.len() as u64);
    }
    scan.finish()
}

fn add_failure(scan: &mut LogScan, index: usize, name: &str) {
    let first = if SECTION.is_in(scan.line(index + 1)) { index + 1 } else { index };
    let last = scan.last_of_block(first, |line| NEXT.is_in(line) || line.trim() == "Error Message:");
    let (mut section, mut message, mut place, mut end) = ("", Vec::new(), None, index);
    for (at, line) in scan.range(index + 1..=last) {
        if let Some(found) = SECTION.find(line).and_then(|found| found.text("name")) {
            section = found;
        } else if line.trim().is_empty() && section != "Error Message" {
            break;
        } else if section == "Error Message" {
            message.push(line);
        } else if section == "Stack Trace" && place.is_none() {
            place = PLACE.find(line);
        }
        end = at;
    }
    let mut failure = diagnostic(DiagnosticSeverity::Error, join([name, &join(message, " ")], ": "));
    failure.code = Some("TestFailure".to_owned());
    if let Some(place) = place {
        place.move_to_place(&mut failure);
    }
    scan.add(index..=end, failure);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_build_failed() {
        let expected = ["3 passed, 0 failed, 0 skipped, 3 in all, 2 not built"];
        assert_eq!(rows("dotnet_test/build_failed"), expected);
    }

    #[test]
    fn fixture_failures() {
        let expected = [
            "E TestFailure /w/tests/App.Tests/SumTests.cs:14:- @8-15 App.Tests.SumTests.Adds(a: 1, b: 2): Assert.Equal() Failure:",
            "E TestFailure /w/src/App/Sum.cs:7:- @16-24 App.Tests.SumTests.Throws: System.InvalidOperationException ",
            "8 passed, 2 failed, 1 skipped, 11 in all",
        ];
        assert_eq!(rows("dotnet_test/failures"), expected);
    }

    #[test]
    fn fixture_normal() {
        let expected = [
            r"E TestFailure C:\w\tests\SumTests.cs:31:- @2-6 App.Tests.SumTests.Bad: Assert.IsTrue failed.",
            "1 passed, 1 failed, 0 skipped, 2 in all",
        ];
        assert_eq!(rows("dotnet_test/normal"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected = ["3 passed, 0 failed, 0 skipped, 3 in all"];
        assert_eq!(rows("dotnet_test/success"), expected);
    }
}
