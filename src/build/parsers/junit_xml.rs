//! `JUnit` XML of any test runner. Main function: [`parse`].
//!
//! A `failure` or an `error` of a test, or of a suite that could not run, is an error; the rest is in the numbers, which are counted
//! from the tests. Tests that passed when run again (`flakyFailure`) passed.

use super::super::log::Log;
use super::Parsed;
use super::machine::{SourcePlace, digits, failed_test, filled, source_places};
use super::xml::{XmlElement, xml_roots};
use crate::domain::diagnostic::{Diagnostic, TestSummary};

/// Reads the tests of all documents.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    let roots = xml_roots(log, &["testsuites", "testsuite"]);
    let mut summary = TestSummary::default();
    for root in &roots {
        add_suite(log, root, None, &mut parsed, &mut summary);
    }
    parsed.summary = (!roots.is_empty()).then_some(summary);
    parsed
}

fn add_suite(
    log: &Log,
    suite: &XmlElement,
    outer_file: Option<String>,
    parsed: &mut Parsed,
    summary: &mut TestSummary,
) {
    let named = source_name(suite.attribute("name"));
    let file = filled(suite.attribute("file")).or(named).or(outer_file);
    for child in &suite.children {
        match child.name.as_str() {
            "testsuite" => add_suite(log, child, file.clone(), parsed, summary),
            "testcase" => add_case(log, child, file.as_deref(), parsed, summary),
            "failure" | "error" => {
                let name = suite.attribute("name");
                parsed.add(log, child.lines.clone(), diagnostic(name, suite, child, file.as_deref()));
            }
            _ => {}
        }
    }
}

fn add_case(log: &Log, case: &XmlElement, file: Option<&str>, parsed: &mut Parsed, summary: &mut TestSummary) {
    let failures = || case.children.iter().filter(|child| matches!(child.name.as_str(), "failure" | "error"));
    let is_failed = failures().next().is_some();
    if !is_failed && !case.is_whole {
        // The log ends before it says how the test went.
        return;
    }
    summary.total += 1;
    if is_failed {
        summary.failed += 1;
    } else if case.child("skipped").is_some() {
        summary.skipped += 1;
    } else {
        summary.passed += 1;
    }
    let class = [case.attribute("classname"), case.attribute("class")].into_iter().find(|class| !class.is_empty());
    let name = case.attribute("name");
    let name = match class {
        Some(class) if !name.contains(class) => format!("{class} > {name}"),
        _ => name.to_owned(),
    };
    for failure in failures() {
        parsed.add(log, case.lines.clone(), diagnostic(&name, case, failure, file));
    }
}

fn diagnostic(name: &str, owner: &XmlElement, failure: &XmlElement, outer_file: Option<&str>) -> Diagnostic {
    // The text often is the message again, then a stack; the first paragraph is what a reader needs.
    let text = failure.text.trim();
    let lines = text.lines().take_while(|line| !line.trim().is_empty() && !line.trim_start().starts_with("at "));
    let start: String = lines.take(12).flat_map(|line| [line, "\n"]).collect();
    let reasons = [failure.attribute("message"), start.as_str(), failure.attribute("type")];
    let reason = reasons.into_iter().find(|reason| !reason.trim().is_empty()).unwrap_or_default();
    let place = place(owner, &failure.text, outer_file);
    let (file, line, column) =
        place.map_or((None, None, None), |place| (filled(&place.file), place.line, place.column));
    Diagnostic { file, line, column, ..failed_test(name, reason) }
}

/// Finds where a test failed: the first place of the text in the test's own file or class, then what the attributes say, then the
/// first place of the text.
fn place(owner: &XmlElement, text: &str, outer_file: Option<&str>) -> Option<SourcePlace> {
    let file = filled(owner.attribute("file"));
    let known = file.as_deref().or(outer_file);
    let class = owner.attribute("classname").rsplit(['.', '/', '\\']).next().unwrap_or_default();
    let is_own = |place: &SourcePlace| match known {
        Some(known) => is_same_file(known, &place.file),
        None => {
            let name = place.file.rsplit(['/', '\\']).next().unwrap_or_default();
            !class.is_empty() && name.split('.').next() == Some(class)
        }
    };
    let attributes = known.map(|known| SourcePlace {
        file: known.to_owned(),
        line: digits(owner.attribute("line")),
        column: digits(owner.attribute("column")),
        end: 0,
    });
    source_places(text).find(is_own).or(attributes).or_else(|| source_places(text).find(is_of_project))
}

fn is_of_project(place: &SourcePlace) -> bool {
    !["node_modules", "site-packages", "/vendor/", "/gems/"].iter().any(|other| place.file.contains(other))
}

fn is_same_file(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
    };
    let bare = |path: &str| path.trim_start_matches("./").to_owned();
    ends(&bare(one), &bare(other)) || ends(&bare(other), &bare(one))
}

/// Returns a suite's name if it is the path of a source.
fn source_name(name: &str) -> Option<String> {
    let probe = format!("{name}:1");
    source_places(&probe).next().filter(|place| place.file == name).map(|place| place.file)
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows, summary};
    use super::*;

    #[test]
    fn pytest_places_are_taken_from_the_text() {
        let expected = [
            "Error test_a.py:13:--- -: test_a > test_sum: AssertionError: wrong sum; assert 2 == 3",
            "Error test_a.py:23:--- -: test_a > test_setup: failed on setup with \"RuntimeError: no database\"",
        ];
        for name in ["junit_xml/pytest", "junit_xml/pytest_xunit1"] {
            let parsed = parse(&fixture(name));
            assert_eq!(rows(&parsed), expected);
            assert_eq!(parsed.summary, Some(summary(1, 2, 1)));
        }
        let parsed = parse(&fixture("junit_xml/success"));
        assert_eq!((parsed.diagnostics.len(), parsed.summary), (0, Some(summary(1, 0, 0))));
    }

    #[test]
    fn node_and_phpunit() {
        let parsed = parse(&fixture("junit_xml/node"));
        let expected = [
            "Error /w/n/a.test.mjs:4:29-- -: test > adds: Expected values to be strictly equal:2 !== 3",
            "Error /w/n/a.test.mjs:8:30-- -: test > throws: no luck",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(1, 2, 1)));
        assert_eq!(log_lines(&parsed)[0].0, 4);
        let parsed = parse(&fixture("junit_xml/phpunit"));
        let expected = [
            "Error /w/pu/ATest.php:8:--- -: ATest > testSum: ATest::testSum; Failed asserting that 2 is identical to 3.",
            "Error /w/pu/ATest.php:16:--- -: ATest > testBoom: ATest::testBoom; RuntimeException: no luck",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(1, 2, 1)));
    }

    #[test]
    fn a_linter_and_java() {
        let rows_of_ruff = rows(&parse(&fixture("junit_xml/ruff")));
        assert_eq!(rows_of_ruff[0], "Error /w/a.py:1:8-- -: /w/a > org.ruff.F401: `os` imported but unused");
        let parsed = parse(&fixture("junit_xml/surefire"));
        let expected = [
            "Error CartTest.java:18:--- -: com.example.CartTest > totals: expected: <3> but was: <2>",
            "Error OtherTest.java:11:--- -: com.example.OtherTest > loads: java.lang.IllegalStateException: no cart",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(parsed.summary, Some(summary(1, 2, 1)));
    }
}
