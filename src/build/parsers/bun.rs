//! Text of Bun: installation, scripts, bundler and tests. Main function: [`parse`].
//!
//! Severities: `error` and a failed test are errors, `warn` is a warning.

use super::super::log::Log;
use super::Parsed;
use super::compared::compared_values;
use super::text::{LinePattern, LogScan, count_of, join};

static REPORT: LinePattern = LinePattern::new(r"^(?:(?<severity>error|warn)|(?<code>[A-Z]\w*Error)): (?<message>.*)$");
static PLACE: LinePattern = LinePattern::new(r"^\s+at (?:.* )?\(?(?<file>[^\s()]+):(?<line>\d+):(?<col>\d+)\)?$");
static FAILED: LinePattern = LinePattern::new(r"^(?:\(fail\)|✗) (?<name>.+?)(?: \[[\d.]+m?s\])?$");
static END: LinePattern = LinePattern::new(r"^(?:\(\w+\) |[✓✗»] |error: |warn: |[A-Z]\w*Error: |bun |\s*\d+ \| )");
static COUNT: LinePattern = LinePattern::new(r"^ (?<message>\d+ (?:pass|skip|todo|fail))$");
static RAN: LinePattern = LinePattern::new(r"^Ran (?<total>\d+) tests? across");

/// Finds the errors, warnings and failed tests with their places.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let (mut index, mut counts) = (0, String::new());
    while index < scan.len() {
        let line = scan.line(index);
        if let Some(found) = REPORT.find(line) {
            let mut last = scan.last_of_block(index, |line| END.is_in(line));
            let lines: Vec<_> = scan.range(index..=last).map(|(_, line)| line).collect();
            let mut report = found.diagnostic();
            let place = lines.iter().enumerate().find_map(|(at, line)| Some((at, PLACE.find(line)?)));
            // Other tools begin lines with the kind of an error, but do not name places so.
            if report.code.as_deref().is_some_and(|code| code != "ParserError") && place.is_none() {
                index += 1;
                continue;
            }
            let test = FAILED.find(scan.line(last + 1));
            let name = test.as_ref().and_then(|test| test.text("name"));
            let values = compared_values(&lines).unwrap_or_default();
            report.message = join([name.unwrap_or_default(), &report.message, &values], " - ");
            let end = place.as_ref().map_or(index, |(at, _)| index + at);
            if let Some((_, place)) = place {
                place.move_to_place(&mut report);
            }
            last = if name.is_some() { last + 1 } else { end };
            scan.add(index..=last, report);
            index = last;
        } else if let Some(failed) = FAILED.find(line) {
            let mut report = failed.diagnostic();
            report.message = join([failed.text("name").unwrap_or_default(), "failed"], " ");
            scan.add(index..=index, report);
        } else if let Some(count) = COUNT.find(line).and_then(|found| found.text("message")) {
            counts = counts + count + ", ";
        } else if let Some(ran) = RAN.find(line) {
            scan.count_tests(ran.count("total"), count_of(&counts, &["fail"]), count_of(&counts, &["skip", "todo"]));
            counts.clear();
        }
        index += 1;
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_bad_json() {
        let expected = [
            "E - /w/package.json:1:9 @4-5 Unexpected end of file",
            "E ParserError -:-:- @6-6 failed to parse '/w/package.json'",
        ];
        assert_eq!(rows("bun/bad_json"), expected);
    }

    #[test]
    fn fixture_build() {
        let expected = [r#"E - /w/b.ts:1:15 @3-4 Could not resolve: "./nowhere""#];
        assert_eq!(rows("bun/build"), expected);
    }

    #[test]
    fn fixture_missing_script() {
        let expected = [r#"E - -:-:- @1-1 Script not found "nowhere""#];
        assert_eq!(rows("bun/missing_script"), expected);
    }

    #[test]
    fn fixture_not_found() {
        let expected = [
            "E - -:-:- @4-4 GET https://registry.example.com/no-such-package-of-this-dem",
            "E - -:-:- @5-5 no-such-package-of-this-demo-1@1.0.0 failed to resolve",
        ];
        assert_eq!(rows("bun/not_found"), expected);
    }

    #[test]
    fn fixture_test() {
        let expected = [
            "E - /w/a.test.ts:1:66 @6-12 adds - expect(received).toBe(expected) - Expected: 2, Receiv",
            "1 passed, 1 failed, 1 skipped, 3 in all",
        ];
        assert_eq!(rows("bun/test"), expected);
    }

    #[test]
    fn fixtures_without_diagnostics() {
        for name in ["install", "script_failed", "success"] {
            assert!(rows(&format!("bun/{name}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn kinds_of_errors_count_with_a_place() {
        let text = concat!(
            "AssertionError: of another tool\n",
            "\n",
            "  at nothing\n",
            "TypeError: undefined is not a function\n",
            "      at f (/w/a.ts:3:7)\n",
            "      at /w/b.ts:1:1\n",
            "(fail) group > calls [0.10ms]\n",
            "(fail) group > quiet\n",
            "warn: incorrect peer dependency \"react@17.0.2\"",
        );
        let expected = [
            "E TypeError /w/a.ts:3:7 @4-7 group > calls - undefined is not a function",
            "E - -:-:- @8-8 group > quiet failed",
            r#"W - -:-:- @9-9 incorrect peer dependency "react@17.0.2""#,
        ];
        assert_eq!(rows_in("bun", text), expected);
    }
}
