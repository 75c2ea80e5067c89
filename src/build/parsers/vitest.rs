//! Text of Vitest: failed tests, unhandled errors and numbers. Main function: [`parse`].
//!
//! Severities: all that it reports is an error.

use super::super::log::Log;
use super::Parsed;
use super::compared::compared_values;
use super::text::{LinePattern, LogScan, count_of, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

// Jest writes `FAIL file` without a name.
static FAILED: LinePattern =
    LinePattern::new(r"^\s*FAIL\s+(?:\|[^|]*\|\s+)?(?<file>\S[^>]*?)(?: \[ (?<suite>.*) \]| > (?<name>.*))$");
static UNHANDLED: LinePattern =
    LinePattern::new(r"^⎯+ (?<name>(?:Uncaught|Unhandled) (?:Exception|Rejection|Error)) ⎯+");
static RULE: LinePattern = LinePattern::new(r"^⎯⎯⎯");
static PLACE: LinePattern = LinePattern::new(r"^\s*❯ (?:.* )?(?<file>\S+?):(?<line>\d+):(?<col>\d+)$");
static TOTALS: LinePattern = LinePattern::new(r"^\s*Tests\s\s+(?<counts>.*?)(?:\((?<total>\d+)\))?$");
static EMPTY: LinePattern = LinePattern::new(r"^(?<message>No test files found.*)$");

/// Finds the failures and adds up the numbers of all runs.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    // Tests that failed for the same reason are listed above one text.
    let mut waiting = Vec::new();
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = FAILED.find(line) {
            let name = found.text("name").or(found.text("suite")).unwrap_or_default();
            waiting.push((index, name, found.text("file")));
        } else if let Some(found) = UNHANDLED.find(line) {
            waiting.push((index, found.text("name").unwrap_or_default(), None));
        } else if let Some(found) = TOTALS.find(line) {
            let counts = found.text("counts").unwrap_or_default();
            let (failed, skipped) = (count_of(counts, &["failed"]), count_of(counts, &["skipped", "todo"]));
            let sum = failed.saturating_add(skipped).saturating_add(count_of(counts, &["passed"]));
            scan.count_tests(sum.max(found.count("total")), failed, skipped);
        } else if let Some(found) = EMPTY.find(line) {
            scan.add(index..=index, found.diagnostic());
        }
        let next = scan.line(index + 1);
        if !waiting.is_empty() && !FAILED.is_in(next) {
            add_failures(&mut scan, index, &std::mem::take(&mut waiting));
        }
    }
    scan.finish()
}

fn add_failures(scan: &mut LogScan, index: usize, failed: &[(usize, &str, Option<&str>)]) {
    let last = scan.last_of_block(index, |line| RULE.is_in(line) || FAILED.is_in(line) || TOTALS.is_in(line));
    let lines: Vec<_> = scan.range(index + 1..=last).map(|(_, line)| line).collect();
    let first = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    let values = compared_values(&lines).unwrap_or_default();
    let places = lines.iter().enumerate().filter_map(|(at, line)| Some((at, PLACE.find(line)?)));
    let place = places.into_iter().find(|(_, found)| {
        found.text("file").is_some_and(|file| !file.contains("node_modules") && !file.starts_with("node:"))
    });
    let end = place.as_ref().map_or_else(
        || lines.iter().rposition(|line| !line.trim().is_empty()).map_or(index, |at| index + 1 + at),
        |(at, _)| index + 1 + at,
    );
    for (at, name, file) in failed {
        let mut failure = diagnostic(DiagnosticSeverity::Error, join([name, first, &values], " - "));
        failure.file = file.map(str::to_owned);
        if let Some((_, place)) = &place {
            place.move_to_place(&mut failure);
        }
        scan.add(*at..=end, failure);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_colors() {
        let expected = [
            "E - src/sum.test.js:5:23 @19-28 sum > adds two numbers - AssertionError: expected -1 to be 3",
            "E - src/sum.test.js:8:28 @38-50 sum > keeps objects - AssertionError: expected { a: 1, b: 2 ",
            "E - src/sum.test.js:11:21 @60-66 sum > contains - AssertionError: expected 'hello' to contain",
            "E - src/sum.test.js:14:11 @76-78 sum > throws - TypeError: not a function at all",
            "1 passed, 4 failed, 2 skipped, 7 in all",
        ];
        assert_eq!(rows("vitest/colors"), expected);
    }

    #[test]
    fn fixture_failures() {
        let expected = [
            "E - src/broken.test.js:2:1 @20-22 src/broken.test.js - Error: Cannot find module './nowhere.js",
            "E - src/sum.test.js:5:23 @37-46 sum > adds two numbers - AssertionError: expected -1 to be 3",
            "E - src/sum.test.js:8:28 @56-68 sum > keeps objects - AssertionError: expected { a: 1, b: 2 ",
            "E - src/sum.test.js:11:21 @78-84 sum > contains - AssertionError: expected 'hello' to contain",
            "E - src/sum.test.js:14:11 @94-96 sum > throws - TypeError: not a function at all",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("vitest/failures"), expected);
    }

    #[test]
    fn fixture_no_stack() {
        let expected = [
            "E - src/broken.test.js:-:- @20-23 src/broken.test.js - Error: Cannot find module './nowhere.js",
            "E - src/sum.test.js:-:- @30-37 sum > adds two numbers - AssertionError: expected -1 to be 3",
            "E - src/sum.test.js:-:- @41-51 sum > keeps objects - AssertionError: expected { a: 1, b: 2 ",
            "E - src/sum.test.js:-:- @55-59 sum > contains - AssertionError: expected 'hello' to contain",
            "E - src/sum.test.js:-:- @63-64 sum > throws - TypeError: not a function at all",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("vitest/no_stack"), expected);
    }

    #[test]
    fn fixture_none() {
        let expected = ["E - -:-:- @4-4 No test files found, exiting with code 1"];
        assert_eq!(rows("vitest/none"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected = ["1 passed, 0 failed, 0 skipped, 1 in all"];
        assert_eq!(rows("vitest/success"), expected);
    }

    #[test]
    fn fixture_unhandled() {
        let expected = [
            "E - src/unhandled.test.js:2:53 @10-12 Uncaught Exception - Error: unhandled one",
            "1 passed, 0 failed, 0 skipped, 1 in all",
        ];
        assert_eq!(rows("vitest/unhandled"), expected);
    }

    #[test]
    fn tests_with_one_reason_and_several_runs() {
        let text = concat!(
            " FAIL  |unit| a.test.ts > one\n",
            " FAIL  |unit| a.test.ts > two\n",
            "Error: same\n",
            " ❯ a.test.ts:9:1\n",
            "\n",
            " Test Files  1 failed (1)\n",
            "      Tests  2 failed | 1 passed (3)\n",
            "      Tests  4 passed (4)\n",
            "FAIL b.test.ts",
        );
        let expected = [
            "E - a.test.ts:9:1 @1-4 one - Error: same",
            "E - a.test.ts:9:1 @2-4 two - Error: same",
            "5 passed, 2 failed, 0 skipped, 7 in all",
        ];
        assert_eq!(rows_in("vitest", text), expected);
    }
}
