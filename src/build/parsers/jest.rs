//! Text of Jest: failed tests and numbers. Main function: [`parse`].
//!
//! Severities: a failed test or file is an error, a validation warning is a warning.

use super::super::log::Log;
use super::Parsed;
use super::compared::compared_values;
use super::text::{LineMatch, LinePattern, LogScan, count_of, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static RESULT: LinePattern =
    LinePattern::new(r"^\s*(?:(?<failed>FAIL)|PASS|RUNS)\s+(?<file>\S.*?)(?:\s+\([\d.]+ m?s\))?$");
static NAME: LinePattern = LinePattern::new(r"^(?: {2})?● (?<name>\S.*)$");
static END: LinePattern =
    LinePattern::new(r"^(?:(?: {2})?● |\s*(?:FAIL|PASS|RUNS)\s|Test Suites: |Tests: |Summary of all failing tests)");
static PLACE: LinePattern = LinePattern::new(r"^\s+at (?:.*\()?(?<file>[^()\s][^()]*?):(?<line>\d+):(?<col>\d+)\)?$");
static COMPILED: LinePattern = LinePattern::new(r"^\s+(?<file>\S+):(?<line>\d+):(?<col>\d+) - error ");
static SYNTAX: LinePattern =
    LinePattern::new(r"^\s*(?<message>SyntaxError: (?:(?<file>\S.*?): )?.*?(?:\((?<line>\d+):(?<col>\d+)\))?)$");
static TOTALS: LinePattern = LinePattern::new(r"^Tests:\s+(?<counts>.*?(?<total>\d+) total)$");
static EMPTY: LinePattern = LinePattern::new(r"^(?<message>No tests found, exiting with code 1.*)$");
static AGAIN: LinePattern = LinePattern::new(r"^Summary of all failing tests");

/// Finds the failed tests and adds up the numbers of all runs.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    // Large runs repeat all failures after the last test.
    let (mut file, mut repeats) = (None, false);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(name) = NAME.find(line).and_then(|found| found.text("name")).filter(|name| *name != "Console") {
            if !repeats {
                add_failure(&mut scan, index, name, file);
            }
        } else if let Some(found) = RESULT.find(line) {
            file = found.text("failed").and(found.text("file"));
        } else if let Some(found) = TOTALS.find(line) {
            let counts = found.text("counts").unwrap_or_default();
            let skipped = count_of(counts, &["skipped", "pending", "todo"]);
            scan.count_tests(found.count("total"), count_of(counts, &["failed"]), skipped);
            repeats = false;
        } else if let Some(found) = EMPTY.find(line) {
            scan.add(index..=index, found.diagnostic());
        } else {
            repeats |= AGAIN.is_in(line) && !scan.has_no_error();
        }
    }
    scan.finish()
}

fn add_failure(scan: &mut LogScan, index: usize, name: &str, file: Option<&str>) {
    let last = scan.last_of_block(index, |line| END.is_in(line));
    let lines: Vec<_> = scan.range(index + 1..=last).map(|(_, line)| line).collect();
    let is_own = |found: &LineMatch| {
        found.text("file").is_some_and(|file| !file.contains("node_modules") && !file.starts_with("node:"))
    };
    let at = lines.iter().position(|line| PLACE.find(line).is_some_and(|found| is_own(&found)));
    let syntax = lines.iter().find_map(|line| SYNTAX.find(line));
    let explained = syntax.as_ref().and_then(|found| found.text("message"));
    let first = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty());
    let reason = compared_values(&lines).or_else(|| explained.or(first).map(str::to_owned)).unwrap_or_default();
    let is_warning = name.ends_with("Warning:") || name.ends_with("Warning");
    let severity = if is_warning { DiagnosticSeverity::Warning } else { DiagnosticSeverity::Error };
    let mut failure = diagnostic(severity, join([name, &reason], " - "));
    failure.file = file.map(str::to_owned);
    let place =
        at.and_then(|at| PLACE.find(lines.get(at)?)).or_else(|| lines.iter().find_map(|line| COMPILED.find(line)));
    if let Some(place) = place.or_else(|| syntax.filter(|found| found.text("file").is_some())) {
        place.move_to_place(&mut failure);
    }
    let written = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    scan.add(index..=index + at.map_or(written, |at| at + 1), failure);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_colors() {
        let expected = [
            "E - tests/sum.test.js:4:23 @11-26 sum › adds two numbers - Expected: 3, Received: -1",
            r#"E - tests/sum.test.js:7:28 @28-49 sum › keeps objects - Expected: "b": 3, Received: "b": 2"#,
            r#"E - tests/sum.test.js:10:21 @51-66 sum › contains - Expected substring: "world", Received strin"#,
            "E - tests/sum.test.js:13:11 @68-80 sum › throws - TypeError: not a function at all",
            "1 passed, 4 failed, 2 skipped, 7 in all",
        ];
        assert_eq!(rows("jest/colors"), expected);
    }

    #[test]
    fn fixture_failures() {
        let expected = [
            "E - tests/sum.test.js:4:23 @2-17 sum › adds two numbers - Expected: 3, Received: -1",
            r#"E - tests/sum.test.js:7:28 @19-40 sum › keeps objects - Expected: "b": 3, Received: "b": 2"#,
            r#"E - tests/sum.test.js:10:21 @42-57 sum › contains - Expected substring: "world", Received strin"#,
            "E - tests/sum.test.js:13:11 @59-71 sum › throws - TypeError: not a function at all",
            "E - tests/broken.test.js:1:31 @74-84 Test suite failed to run - Cannot find module './nowhere' fr",
            "E - /w/tests/syntax.test.js:1:28 @88-132 Test suite failed to run - SyntaxError: /w/tests/syntax.test",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("jest/failures"), expected);
    }

    #[test]
    fn fixture_none() {
        let expected = ["E - -:-:- @1-1 No tests found, exiting with code 1"];
        assert_eq!(rows("jest/none"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected = ["1 passed, 0 failed, 0 skipped, 1 in all"];
        assert_eq!(rows("jest/success"), expected);
    }

    #[test]
    fn fixture_verbose() {
        assert_eq!(rows("jest/verbose"), rows("jest/colors"));
    }

    #[test]
    fn the_list_at_the_end_repeats_and_several_runs_add_up() {
        let text = concat!(
            "FAIL a.test.ts\n",
            "  ● one\n",
            "\n",
            "    Error: bad\n",
            "\n",
            "      at f (node_modules/x/y.js:1:2)\n",
            "      at Object.<anonymous> (a.test.ts:3:4)\n",
            "\n",
            "Summary of all failing tests\n",
            "FAIL a.test.ts\n",
            "  ● one\n",
            "\n",
            "    Error: bad\n",
            "\n",
            "Tests:       1 failed, 1 todo, 2 total\n",
            "Tests:       3 passed, 3 total",
        );
        let expected = ["E - a.test.ts:3:4 @2-7 one - Error: bad", "3 passed, 1 failed, 1 skipped, 5 in all"];
        assert_eq!(rows_in("jest", text), expected);
    }
}
