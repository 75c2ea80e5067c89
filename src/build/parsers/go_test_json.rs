//! `go test -json`. Main function: [`parse`].
//!
//! Failed tests, packages that failed without a test, and messages of the build are errors. Before Go 1.24 the build writes text
//! between the events, which is read too. The text of a failure belongs in `go_failure`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::go_failure::{GoOutput, build_message, reason};
use super::machine::{failed_test, filled, json_line, one_line, report, text};
use crate::domain::diagnostic::{DiagnosticSeverity, TestSummary};

/// Maximum number of lines of output remembered of a test.
const MOST_LINES: usize = 2000;

/// A run as far as it was read.
struct GoRun<'a> {
    log: &'a Log,
    parsed: Parsed,
    /// The output of the tests that run, by package and test; of a package itself, with a blank test.
    running: HashMap<String, BTreeMap<String, Vec<GoOutput>>>,
    /// The packages whose failure has a diagnostic.
    blamed: HashSet<String>,
    /// The tests of which a subtest failed, by package and test.
    outer: HashSet<(String, String)>,
    /// The package whose build writes.
    building: String,
    /// `true` if the line before was a message of the build.
    is_message_open: bool,
}

/// Reads the events, and the lines between them.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut run = GoRun {
        log,
        parsed: Parsed::default(),
        running: HashMap::new(),
        blamed: HashSet::new(),
        outer: HashSet::new(),
        building: String::new(),
        is_message_open: false,
    };
    for (index, line) in log.lines.iter().enumerate() {
        match json_line(line) {
            Some(event) => run.event(index, &event),
            None => run.line(index, line.head()),
        }
    }
    run.parsed
}

impl GoRun<'_> {
    fn event(&mut self, index: usize, event: &Value) {
        let (action, output) = (event["Action"].as_str().unwrap_or_default(), text(&event["Output"]));
        let (package, test) = (text(&event["Package"]), text(&event["Test"]));
        match action {
            "build-output" => {
                self.building = first_word(&text(&event["ImportPath"]));
                self.build(index, output.trim_end(), true);
            }
            "build-fail" => {
                let package = first_word(&text(&event["ImportPath"]));
                self.blame(index, &package, "build failed");
            }
            "run" | "output" => {
                let lines = self.running.entry(package).or_default().entry(test).or_default();
                if action == "output" && lines.len() < MOST_LINES {
                    let is_error = event["OutputType"].as_str().is_some_and(|kind| kind.starts_with("error"));
                    lines.push(GoOutput { index, text: output.trim_end().to_owned(), is_error });
                }
            }
            "pass" | "skip" | "fail" if test.is_empty() => {
                self.end_package(index, &package, action, &text(&event["FailedBuild"]));
            }
            "pass" | "skip" | "fail" => {
                let output = self.running.get_mut(&package).and_then(|tests| tests.remove(&test));
                self.end_test(index, &package, &test, action, &output.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn end_test(&mut self, index: usize, package: &str, test: &str, action: &str, output: &[GoOutput]) {
        let summary = self.parsed.summary.get_or_insert_default();
        summary.total += 1;
        match action {
            "pass" => summary.passed += 1,
            "skip" => summary.skipped += 1,
            _ => {
                summary.failed += 1;
                let why = reason(output);
                // A test fails with its subtests; only what it says itself is news.
                if !self.outer.contains(&(package.to_owned(), test.to_owned())) || why.file.is_some() {
                    let name = format!("{package} {test}");
                    let first = output.first().map_or(index, |line| line.index);
                    self.parsed.add(self.log, first..=index, why.diagnostic(failed_test(&name, &why.message)));
                }
                if let Some((outer, _)) = test.rsplit_once('/') {
                    self.outer.insert((package.to_owned(), outer.to_owned()));
                }
                self.blamed.insert(package.to_owned());
            }
        }
    }

    fn end_package(&mut self, index: usize, package: &str, action: &str, failed_build: &str) {
        self.parsed.summary.get_or_insert_with(TestSummary::default);
        let mut tests = self.running.remove(package).unwrap_or_default();
        let output = tests.remove("").unwrap_or_default();
        if action != "fail" {
            return;
        }
        // The process ended while these ran; inner tests come first, as they do where they end themselves.
        for (at, (test, mut lines)) in tests.into_iter().rev().enumerate() {
            if at == 0 {
                lines.extend(output.iter().cloned());
            }
            self.end_test(index, package, &test, "fail", &lines);
        }
        if !self.blamed.contains(package) && !self.blamed.contains(&first_word(failed_build)) {
            let why = reason(&output);
            let first = output.first().map_or(index, |line| line.index);
            self.parsed.add(self.log, first..=index, why.diagnostic(failed_test(package, &why.message)));
        }
    }

    /// Reads a line that is no event.
    fn line(&mut self, index: usize, line: &str) {
        if let Some(package) = line.strip_prefix("# ") {
            self.building = first_word(package);
            self.is_message_open = false;
        } else if let Some((package, fate)) = line.strip_prefix("FAIL\t").and_then(|rest| rest.split_once(" [")) {
            self.blame(index, package, fate.trim_end_matches(']'));
        } else {
            self.build(index, line, false);
        }
    }

    /// Reads a line of the build; one without a place is news only if it `is_known` to be the build's.
    fn build(&mut self, index: usize, line: &str, is_known: bool) {
        let is_own_failure = line.starts_with("go: ")
            && !["downloading ", "finding ", "extracting ", "added ", "upgraded ", "warning: "]
                .iter()
                .any(|step| line.get(4..).is_some_and(|rest| rest.starts_with(step)));
        if let Some((found, message)) = build_message(line) {
            let found = found.diagnostic(report(DiagnosticSeverity::Error, message, ""));
            self.parsed.add(self.log, index..=index, found);
            self.is_message_open = true;
        } else if self.is_message_open && line.starts_with(['\t', ' ']) {
            if let Some(last) = self.parsed.diagnostics.last_mut() {
                last.message = one_line(&format!("{}\n{line}", last.message));
            }
            return;
        } else if (is_known && !line.starts_with("# ") && filled(line).is_some()) || is_own_failure {
            self.parsed.add(self.log, index..=index, report(DiagnosticSeverity::Error, line, ""));
            self.is_message_open = true;
        } else {
            self.is_message_open = false;
            return;
        }
        self.blamed.insert(self.building.clone());
    }

    /// Adds that a package failed unless its messages were read.
    fn blame(&mut self, index: usize, package: &str, fate: &str) {
        if self.blamed.insert(package.to_owned()) {
            self.parsed.add(self.log, index..=index, failed_test(package, fate));
        }
    }
}

/// Returns the package of `package [package.test]`.
fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows, summary};
    use super::*;

    #[test]
    fn tests_panics_and_builds() {
        let parsed = parse(&fixture("go_test_json/failure"));
        let found = rows(&parsed);
        let expected = [
            "Error bad/bad.go:3:23-- -: cannot use \"x\" (untyped string constant) as int value in return statement",
            "Error novet/a_test.go:8:40-- -: fmt.Printf format %d has arg \"x\" of wrong type string",
            "Error calc_test.go:8:--- -: example.com/p/calc TestAdd/two: Add(1, 2) = -1, want 3",
            "Error /w/calc/calc.go:5:--- -: example.com/p/calc TestPanic: panic: runtime error: index out of range [0] with length 0",
        ];
        for row in expected {
            assert!(found.iter().any(|found| found == row), "{row}\n{found:#?}");
        }
        assert_eq!(found.len(), expected.len());
        assert_eq!(parsed.summary, Some(summary(3, 3, 2)));
        assert_eq!(log_lines(&parsed).len(), 4);
        let parsed = parse(&fixture("go_test_json/success"));
        assert_eq!((parsed.diagnostics.len(), parsed.summary), (0, Some(summary(1, 0, 1))));
    }

    #[test]
    fn builds_before_go_1_24_are_text() {
        let parsed = parse(&fixture("go_test_json/failure_1_19"));
        let found = rows(&parsed);
        assert_eq!(found.len(), 3, "{found:#?}");
        let expected =
            "Error bad/bad.go:3:23-- -: cannot use \"x\" (untyped string constant) as int value in return statement";
        assert_eq!(found[0], expected);
        assert_eq!(log_lines(&parsed)[0], (2, 2));
        assert_eq!(parsed.summary, Some(summary(3, 3, 2)));
    }

    #[test]
    fn a_package_that_failed_without_a_test() {
        let log = Log::of_output(
            b"FAIL\tp/dep [setup failed]\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestX\"}\n\
            {\"Action\":\"output\",\"Package\":\"q\",\"Output\":\"exit status 3\\n\"}\n\
            {\"Action\":\"fail\",\"Package\":\"q\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
        );
        let parsed = parse(&log);
        let expected = [
            "Error -:-:--- -: p/dep: setup failed",
            "Error -:-:--- -: q: exit status 3",
            "Error -:-:--- -: p TestX: did not finish",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(0, 1, 0)));
    }
}
