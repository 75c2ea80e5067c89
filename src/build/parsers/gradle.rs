//! Text of Gradle: failed builds and tests. Main function: [`parse`].
//!
//! Severities: all that it reports is an error. Errors of the compilers that Gradle runs belong in `javac`.

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::DiagnosticSeverity;

static PLACE: LinePattern = LinePattern::new(
    r"^(?:Build|Settings|Initialization script|Script|Precompiled script|Kotlin script)[^']*'(?<file>[^']+)' line: (?<line>\d+)$",
);
static HEADING: LinePattern = LinePattern::new(r"^\* (?<name>Where|What went wrong|Try|Exception is|Get more help)\b");
static TEST: LinePattern = LinePattern::new(r"^(?<name>\S.* > .*\S) FAILED$");
static FRAMES: [LinePattern; 2] = [
    LinePattern::new(r"^\s+(?<message>[\w.$]+) at (?<file>\w+\.\w+):(?<line>\d+)$"),
    LinePattern::new(r"^\s+at (?<class>[\w.$/@]+)\.[\w$<>]+\((?<file>\w+\.\w+):(?<line>\d+)\)$"),
];
static TOTALS: LinePattern =
    LinePattern::new(r"^(?<total>\d+) tests? completed(?:, (?<failed>\d+) failed)?(?:, (?<skipped>\d+) skipped)?$");

/// Finds the reasons of failed builds and the failed tests, and adds up the numbers of all test tasks.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut place = None;
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = PLACE.find(line) {
            place = Some((index, found));
        } else if HEADING.find(line).is_some_and(|found| found.text("name") == Some("What went wrong")) {
            let last = scan.last_of_block(index, |line| line.is_empty() || HEADING.is_in(line));
            let lines = scan.range(index + 1..=last).map(|(_, line)| line.trim().trim_start_matches("> "));
            let mut report = diagnostic(DiagnosticSeverity::Error, join(lines, " "));
            let mut first = index;
            if let Some((at, place)) = place.take() {
                place.move_to_place(&mut report);
                first = at;
            }
            scan.add(first..=last, report);
        } else if let Some(name) = TEST.find(line).and_then(|found| found.text("name")) {
            add_test(&mut scan, index, name);
        } else if let Some(found) = TOTALS.find(line) {
            scan.count_tests(found.count("total"), found.count("failed"), found.count("skipped"));
        }
    }
    scan.finish()
}

fn add_test(scan: &mut LogScan, index: usize, name: &str) {
    let last = scan.last_of_block(index, |line| !line.starts_with(' '));
    let lines: Vec<_> = scan.range(index + 1..=last).map(|(_, line)| line).collect();
    let class = name.split(" > ").next().unwrap_or_default();
    let frames: Vec<_> = lines.iter().filter_map(|line| FRAMES.iter().find_map(|pattern| pattern.find(line))).collect();
    let own = frames.iter().find(|frame| frame.text("class").is_some_and(|found| found.ends_with(class)));
    let place = own.or(frames.first());
    let thrown = place.and_then(|place| place.text("message"));
    let reason = thrown.or(lines.first().copied()).unwrap_or_default();
    let mut report = diagnostic(DiagnosticSeverity::Error, join([name, reason], " - "));
    if let Some(place) = place {
        place.move_to_place(&mut report);
    }
    scan.add(index..=last, report);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::rows;

    #[test]
    fn fixture_compile() {
        let expected = ["E - -:-:- @21-23 Execution failed for task ':compileJava'. Compilation failed"];
        assert_eq!(rows("gradle/compile"), expected);
    }

    #[test]
    fn fixture_modern() {
        let expected = [
            "E - ShapeTest.java:6:- @4-7 ShapeTest > area - org.opentest4j.AssertionFailedError: expe",
            "E - ShapeTest.java:11:- @9-10 ShapeTest > sides(int) > [2] 4 - java.lang.IllegalStateExcep",
            "E - -:-:- @18-20 Execution failed for task ':test'. There were failing tests.",
            "E - -:-:- @28-32 Could not resolve all files for configuration ':app:compileC",
            "5 passed, 2 failed, 0 skipped, 7 in all",
        ];
        assert_eq!(rows("gradle/modern"), expected);
    }

    #[test]
    fn fixture_no_task() {
        let expected = ["E - -:-:- @7-8 Task 'nowhere' not found in root project 'gradle2'."];
        assert_eq!(rows("gradle/no_task"), expected);
    }

    #[test]
    fn fixture_script() {
        let expected = ["E - /w/build.gradle:2:- @8-14 Could not compile build file '/w/build.gradle'. startup fail"];
        assert_eq!(rows("gradle/script"), expected);
    }

    #[test]
    fn fixture_test() {
        let expected = [
            "E - ShapeTest.java:6:- @18-19 demo.ShapeTest > area - java.lang.AssertionError",
            "E - ShapeTest.java:7:- @21-22 demo.ShapeTest > fails - java.lang.IllegalStateException",
            "E - -:-:- @29-31 Execution failed for task ':test'. There were failing tests.",
            "1 passed, 2 failed, 1 skipped, 4 in all",
        ];
        assert_eq!(rows("gradle/test"), expected);
    }

    #[test]
    fn fixture_success() {
        assert!(rows("gradle/success").is_empty());
    }
}
