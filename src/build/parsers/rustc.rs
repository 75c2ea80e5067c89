//! Text of rustc, Cargo and its test runner. Main function: [`parse`].
//!
//! Severities: `error` and a failed test are errors, `warning` is a warning, notes belong to the diagnostic before them.
//! The messages that Cargo writes as JSON belong elsewhere.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static HEAD: LinePattern = LinePattern::new(r"^(?<severity>error|warning)(?:\[(?<code>[\w:]+)\])?: (?<message>.*)$");
static PLACE: LinePattern = LinePattern::new(r"^\s*--> (?<file>\S.*?):(?<line>\d+):(?<col>\d+)$");
static LINT: LinePattern = LinePattern::new(r"`#\[(?:warn|deny|forbid)\((?<code>[\w:]+)\)\]`");
static SUM: LinePattern = LinePattern::new(concat!(
    r"^(?:error: could not compile|error: aborting due to|error: test failed, to rerun|error: \d+ targets? failed",
    r"|warning: `.*` \(.*\) generated \d+ warnings?|warning: \d+ warnings? emitted)"
));
static PANIC: LinePattern = LinePattern::new(
    r"^thread '(?<name>.*)'(?: \(\d+\))? panicked at (?<file>\S.*?):(?<line>\d+):(?<col>\d+):(?<message>)$",
);
static OLD_PANIC: LinePattern =
    LinePattern::new(r"^thread '(?<name>.*)' panicked at '(?<message>.*)', (?<file>\S.*?):(?<line>\d+):(?<col>\d+)$");
static SECTION: LinePattern = LinePattern::new(r"^---- (?<name>\S.*) stdout ----$");
static SECTION_END: LinePattern = LinePattern::new(r"^(?:---- |failures:|test result: |thread ')");
static WITHOUT_PANIC: LinePattern =
    LinePattern::new(r"^(?:note: )?(?<message>\S.*?)(?: at (?<file>\S+):(?<line>\d+):(?<col>\d+))?$");
static PANIC_END: LinePattern = LinePattern::new(r"^(?:stack backtrace:|note: |\s*$|---- |thread ')");
static TOTALS: LinePattern =
    LinePattern::new(r"^test result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<skipped>\d+) ignored;");

/// Finds the errors, warnings and panics, and adds up the numbers of all test programs.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = TOTALS.find(line) {
            let (failed, skipped) = (found.count("failed"), found.count("skipped"));
            let total = found.count("passed").saturating_add(failed).saturating_add(skipped);
            scan.count_tests(total, failed, skipped);
        } else if let Some(found) = PANIC.find(line).or_else(|| OLD_PANIC.find(line)) {
            let mut report = found.diagnostic();
            // Old versions of the compiler write the reason in the same line.
            let has_reason = !report.message.is_empty();
            let last = scan.last_of_block(index, |line| has_reason || PANIC_END.is_in(line));
            let more = scan.range(index + 1..=last).map(|(_, line)| line);
            let reason = join([report.message.as_str()].into_iter().chain(more), " ");
            report.message = join([found.text("name").unwrap_or_default(), &reason], ": ");
            scan.add(index..=last, report);
        } else if let Some(name) = SECTION.find(line).and_then(|found| found.text("name")) {
            // A test also fails if it returns an error, or does not panic as it should.
            let last = scan.last_of_block(index, |line| SECTION_END.is_in(line));
            let reason = scan.range(index + 1..=last).find_map(|(at, line)| Some((at, WITHOUT_PANIC.find(line)?)));
            if !scan.line(last + 1).starts_with("thread '") {
                let mut report = diagnostic(DiagnosticSeverity::Error, format!("{name} failed"));
                if let Some((_, reason)) = &reason {
                    reason.move_to_place(&mut report);
                    report.message = join([name, reason.text("message").unwrap_or_default()], ": ");
                }
                scan.add(index..=reason.map_or(index, |(at, _)| at), report);
            }
        } else if let Some(found) = HEAD.find(line) {
            // The sums at the end count if they are all there is.
            if SUM.is_in(line) && (line.starts_with("warning") || !scan.has_no_error()) {
                continue;
            }
            let mut report = found.diagnostic();
            let last = scan.last_of_block(index, |line| line.is_empty() || HEAD.is_in(line));
            if let Some(place) = PLACE.find(scan.line(index + 1)) {
                place.move_to_place(&mut report);
            }
            let lint = || scan.range(index..=last).find_map(|(_, line)| LINT.find(line)?.text("code"));
            report.code = report.code.or_else(|| lint().map(str::to_owned));
            scan.add(index..=last, report);
        }
    }
    scan.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_colors() {
        let expected = [
            "W unused_imports src/lib.rs:1:5 @2-8 unused import: `std::fmt`",
            "E E0277 src/lib.rs:5:7 @10-33 cannot add `&str` to `i32`",
            "E E0425 src/lib.rs:9:5 @35-39 cannot find function `missing` in this scope",
            "E E0308 src/lib.rs:10:5 @41-53 mismatched types",
        ];
        assert_eq!(rows("rustc/colors"), expected);
    }

    #[test]
    fn fixture_failures() {
        assert_eq!(rows("rustc/failures"), rows("rustc/colors"));
    }

    #[test]
    fn fixture_manifest() {
        let expected = ["E - Cargo.toml:2:8 @1-5 invalid type: integer `1`, expected a string"];
        assert_eq!(rows("rustc/manifest"), expected);
    }

    #[test]
    fn fixture_syntax() {
        let expected = ["E - src/lib.rs:1:12 @2-9 this file contains an unclosed delimiter"];
        assert_eq!(rows("rustc/syntax"), expected);
    }

    #[test]
    fn fixture_test() {
        let expected = [
            "E - src/lib.rs:19:16 @15-16 gone: called `Option::unwrap()` on a `None` value",
            "E - src/lib.rs:14:5 @40-43 bad: assertion `left == right` failed: not two left: 1 right",
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("rustc/test"), expected);
    }

    #[test]
    fn fixture_warnings() {
        let expected = ["W unused_variables src/lib.rs:2:9 @2-8 unused variable: `unused`"];
        assert_eq!(rows("rustc/warnings"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("rustc/success").is_empty());
    }

    #[test]
    fn old_panics_and_errors_without_a_place() {
        let text = concat!(
            "thread 'main' panicked at 'no way', src/main.rs:4:5\n",
            "error: linking with `cc` failed: exit status: 1\n",
            "  |\n",
            "  = note: x\n",
            "\n",
            "warning: 2 warnings emitted\n",
            "error: could not compile `a`",
        );
        let expected =
            ["E - src/main.rs:4:5 @1-1 main: no way", "E - -:-:- @2-4 linking with `cc` failed: exit status: 1"];
        assert_eq!(rows_in("rustc", text), expected);
    }

    #[test]
    fn tests_that_fail_without_a_panic() {
        let text = concat!(
            "---- a::returns stdout ----\n",
            "Error: ParseIntError { kind: InvalidDigit }\n",
            "\n",
            "---- a::calm stdout ----\n",
            "note: test did not panic as expected at src/lib.rs:9:4\n",
            "\n",
            "---- a::loud stdout ----\n",
            "\n",
            "thread 'a::loud' (5) panicked at src/lib.rs:3:5:\n",
            "boom\n",
            "\n",
            "failures:\n",
            "    a::calm",
        );
        let expected = [
            "E - -:-:- @1-2 a::returns: Error: ParseIntError { kind: InvalidDigit }",
            "E - src/lib.rs:9:4 @4-5 a::calm: test did not panic as expected",
            "E - src/lib.rs:3:5 @9-10 a::loud: boom",
        ];
        assert_eq!(rows_in("rustc", text), expected);
    }
}
