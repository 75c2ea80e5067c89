//! Text of Maven: compilers, Surefire tests and failed goals. Main function: [`parse`].
//!
//! Severities: `[ERROR]` and `[FATAL]` are errors, `[WARNING]` is a warning.

use std::collections::HashSet;

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static AT_PLACE: LinePattern = LinePattern::new(concat!(
    r"^\[(?<severity>ERROR|WARNING)\] (?:file://)?(?<file>\S.*?\.\w+): ?[\[(](?<line>\d+)(?:, ?(?<col>\d+))?[\])]:? ",
    r"(?:error: |warning: )?(?:\[(?<code>[\w.-]+)\] )?(?<message>.*)$"
));
static DETAIL: LinePattern =
    LinePattern::new(r"^(?:\[ERROR\])?\s+(?<message>(?:symbol|location|required|found|reason):\s.*)$");
static TEST: LinePattern =
    LinePattern::new(r"^\[ERROR\]\s+(?<name>\S.*?)\s+(?:-- )?Time elapsed: .*<<< (?:FAILURE|ERROR)!");
static FRAME: LinePattern =
    LinePattern::new(r"^\s+at (?<class>[\w.$/@]+)\.[\w$<>]+\((?<file>\w+\.\w+):(?<line>\d+)\)$");
static LISTED: LinePattern =
    LinePattern::new(r"^\[ERROR\]\s\s+(?<name>[\w$.]+)(?:->\S*?)?:(?<line>\d+)(?:->\S+)? (?<message>.*)$");
static TOTALS: LinePattern = LinePattern::new(
    r"Tests run: (?<total>\d+), Failures: (?<failed>\d+), Errors: (?<errors>\d+), Skipped: (?<skipped>\d+)(?<class>, Time elapsed)?",
);
static FATAL: LinePattern = LinePattern::new(r"^\[FATAL\] (?<message>\S.*)$");
static WARNING: LinePattern = LinePattern::new(r"^\[(?<severity>WARNING)\] (?<message>.*[\w)].*)$");
static GOAL: LinePattern = LinePattern::new(r"^\[ERROR\] (?<message>\S.*?)(?: -> \[Help \d+\])?$");
static ADVICE: LinePattern = LinePattern::new(concat!(
    r"^\[ERROR\] (?:To see the full|Re-run Maven|For more information|After correcting|Please refer|\[Help|COMPILATION ERROR",
    r"|Failures: ?$|Errors: ?$|-> \[Help|\[ERROR\] Some problems)"
));

/// Finds the errors, warnings and failed tests; the list at the end repeats them and counts only if it is all there is.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let (mut seen, mut listed, mut goals) = (HashSet::new(), Vec::new(), Vec::new());
    let (mut classes, mut has_totals) = ([0_u64; 3], false);
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = TOTALS.find(line) {
            let failed = found.count("failed").saturating_add(found.count("errors"));
            let numbers = [found.count("total"), failed, found.count("skipped")];
            if found.text("class").is_none() {
                has_totals = true;
                scan.count_tests(numbers[0], numbers[1], numbers[2]);
            } else {
                classes = std::array::from_fn(|at| classes[at].saturating_add(numbers[at]));
            }
        } else if let Some(found) = AT_PLACE.find(line) {
            let mut report = found.diagnostic();
            let last = scan.last_of_block(index, |line| !DETAIL.is_in(line));
            let details: Vec<_> =
                scan.range(index + 1..=last).map(|(_, line)| line.trim_start_matches("[ERROR]")).collect();
            report.message = join([report.message.as_str()].into_iter().chain(details), "; ");
            if seen.insert((report.file.clone(), report.line, report.column, report.message.clone())) {
                scan.add(index..=last, report);
            }
        } else if let Some(name) = TEST.find(line).and_then(|found| found.text("name")) {
            add_test(&mut scan, index, name);
        } else if let Some(found) = LISTED.find(line) {
            listed.push((index, found));
        } else if let Some(found) = FATAL.find(line).or_else(|| WARNING.find(line)) {
            scan.add(index..=index, found.diagnostic());
        } else if let Some(found) = GOAL.find(line).filter(|_| !ADVICE.is_in(line)) {
            goals.push((index, found));
        }
    }
    if !has_totals && classes[0] > 0 {
        scan.count_tests(classes[0], classes[1], classes[2]);
    }
    if scan.has_no_error() {
        for (index, found) in listed {
            let mut report = found.diagnostic();
            report.message = join([found.text("name").unwrap_or_default(), &report.message], ": ");
            scan.add(index..=index, report);
        }
    }
    if scan.has_no_error()
        && let Some((index, found)) = goals.first()
    {
        scan.add(*index..=*index, found.diagnostic());
    }
    scan.finish()
}

fn add_test(scan: &mut LogScan, index: usize, name: &str) {
    let last = scan.last_of_block(index, |line| line.is_empty() || line.starts_with('['));
    let lines: Vec<_> = scan.range(index + 1..=last).map(|(_, line)| line).collect();
    let frames: Vec<_> = lines.iter().filter_map(|line| FRAME.find(line)).collect();
    let reason = lines.iter().take_while(|line| !FRAME.is_in(line)).copied();
    let mut report = diagnostic(DiagnosticSeverity::Error, join([name, &join(reason, " ")], ": "));
    // The frame of the test class is the place, not the library that throws.
    let own = frames.iter().find(|frame| frame.text("class").is_some_and(|class| name.contains(class)));
    if let Some(frame) = own.or(frames.first()) {
        frame.move_to_place(&mut report);
    }
    scan.add(index..=last, report);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_bad_pom() {
        let expected = ["E - -:-:- @3-3 Non-readable POM /w/worse.xml: no more data available - expe"];
        assert_eq!(rows("maven/bad_pom"), expected);
    }

    #[test]
    fn fixture_compile() {
        let expected = [
            "E - /w/src/main/java/demo/Shape.java:3:16 @16-16 incompatible types: java.lang.String cannot be converted to ",
            "E - /w/src/main/java/demo/Shape.java:4:19 @17-19 cannot find symbol; symbol: method missing(); location: clas",
        ];
        assert_eq!(rows("maven/compile"), expected);
    }

    #[test]
    fn fixture_missing_dependency() {
        let expected = ["W - -:-:- @6-6 The POM for junit:junit:jar:99.9 is missing, no dependency i"];
        assert_eq!(rows("maven/missing_dependency"), expected);
    }

    #[test]
    fn fixture_modern_tests() {
        let expected = [
            "E - ShapeTest.java:6:- @3-6 demo.ShapeTest.area: org.opentest4j.AssertionFailedError: ex",
            "1 passed, 1 failed, 0 skipped, 2 in all",
        ];
        assert_eq!(rows("maven/modern_tests"), expected);
    }

    #[test]
    fn fixture_test() {
        let expected = [
            "W - /w/src/main/java/demo/Shape.java:6:16 @13-13 Date(int,int,int) in java.util.Date has been deprecated",
            "E - ShapeTest.java:6:- @29-31 area(demo.ShapeTest): java.lang.AssertionError: the area exp",
            "E - ShapeTest.java:7:- @33-35 fails(demo.ShapeTest): java.lang.IllegalStateException: bad ",
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("maven/test"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("maven/success").is_empty());
    }

    #[test]
    fn the_list_counts_if_it_is_all_there_is() {
        let text = concat!(
            "[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 1 s - in A\n",
            "[ERROR]   ATest.one:6->check:9 bad\n",
            "[ERROR] Failed to execute goal x: There are test failures. -> [Help 1]",
        );
        let expected = ["E - -:6:- @2-2 ATest.one: bad", "0 passed, 1 failed, 0 skipped, 1 in all"];
        assert_eq!(rows_in("maven", text), expected);
    }

    #[test]
    fn places_of_kotlin_and_of_warnings_with_a_code() {
        let text = concat!(
            "[ERROR] file:///w/src/Main.kt:[2,18] Type mismatch\n",
            "[ERROR] /w/src/Old.kt: (3, 7) Unresolved reference: x\n",
            "[WARNING] /w/A.java:[4,5] [deprecation] f() is old\n",
            "[WARNING] \n",
            "[WARNING] *****",
        );
        let expected = [
            "E - /w/src/Main.kt:2:18 @1-1 Type mismatch",
            "E - /w/src/Old.kt:3:7 @2-2 Unresolved reference: x",
            "W deprecation /w/A.java:4:5 @3-3 f() is old",
        ];
        assert_eq!(rows_in("maven", text), expected);
    }
}
