//! The review as a `JUnit` report: a test case for each finding, and one for the review itself.
//!
//! Each reader shows other parts. Jenkins and Azure show the class, the name and the message of a case; GitLab shows the suite, the name
//! and the text; none shows lines. So a case is named by its file and its title, with the id of the finding, which keeps names unique and
//! is the same on every run; its class is the check; the place with its lines begins the message and the text. One suite holds the review,
//! and there is one for each file with findings.
//!
//! The format follows the schema of Jenkins' xUnit plugin, which rejects unknown attributes: no `disabled` of a suite, no file or line of a
//! case.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::report::{ReportEntry, describe_suggestion, entries, facts, list_related, plain_line};
use super::{Presenter, RenderOptions, Syntax, digest};
use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::text::{shorten, strip_block, strip_line};

/// The presenter of this file.
pub(super) const PRESENTER: Presenter =
    Presenter { name: "junit", extension: "junit.xml", syntax: Syntax::Xml, render };

/// The name of the case for findings that are hidden and count for the gate.
const HIDDEN: &str = "Nothing that fails the gate is hidden by the severity floor";
/// Upper bounds on the characters of a message, which is one line, and of a body.
const MESSAGE: usize = 500;
const TEXT: usize = 30_000;

/// The report if serialization fails, which must not look like one without failures.
const UNWRITABLE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <testsuites name=\"review\" tests=\"1\" failures=\"0\" errors=\"1\">\
    <testsuite name=\"review\" tests=\"1\" errors=\"1\" failures=\"0\">\
    <testcase name=\"The whole change was reviewed\" classname=\"review\">\
    <error message=\"the report could not be written\" type=\"review/failed\"/></testcase></testsuite></testsuites>\n";

fn render(review: &Review, options: &RenderOptions) -> Vec<u8> {
    let entries = entries(review);
    let mut report = Report::new("review");
    report.set_time(Duration::from_millis(review.provenance.took_ms));
    let mut own = TestSuite::new("review");
    own.add_test_case(review_case(review, entries.iter().find(|entry| entry.finding.is_none())));
    own.add_test_cases(hidden(review, options.fail_on));
    let mut files: BTreeMap<Option<&RepoPath>, TestSuite> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.finding.is_some()) {
        let path = entry.place.as_ref().map(|place| &place.path);
        files.entry(path).or_insert_with(|| suite(path)).add_test_case(case(entry, options.fail_on));
    }
    report.add_test_suite(own).add_test_suites(files.into_values());
    let text = report.to_string().unwrap_or_else(|_| UNWRITABLE.to_owned());
    // Quotes are escaped in every text, so this matches only the attribute that the library always writes.
    text.replace(" disabled=\"0\"", "").into_bytes()
}

fn suite(path: Option<&RepoPath>) -> TestSuite {
    let Some(path) = path else { return TestSuite::new("(no file)") };
    let spelled = line(&path.display_name());
    let mut suite = TestSuite::new(&spelled);
    suite.extra.insert("file".into(), spelled.into());
    suite
}

/// Returns the case for the review itself: passed if it is complete, else an error.
fn review_case(review: &Review, unfinished: Option<&ReportEntry<'_>>) -> TestCase {
    let rows = digest::receipt(review);
    let rows = rows.iter().map(|row| format!("{}: {}", row.label, row.render(strip_line, strip_line)));
    let rows: Vec<String> = rows.chain(digest::closing(review)).collect();
    let said = format!("{}\n{}\n\n{}", digest::verdict(review), digest::reviewer(review), rows.join("\n"));
    let status = match (review.outcome, unfinished) {
        (ReviewOutcome::Complete, _) | (_, None) => TestCaseStatus::success(),
        (ReviewOutcome::Incomplete | ReviewOutcome::Failed, Some(entry)) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(line(&entry.title)).set_type(line(&entry.check));
            status.set_description(text(&format!("{}\n\n{}\n\n{said}", entry.title, entry.body)));
            status
        }
    };
    let mut case = TestCase::new(format!("The whole change was {}", review.provenance.engine.past_tense()), status);
    case.set_classname("review");
    if unfinished.is_none() {
        case.set_system_out(text(&said));
    }
    case
}

/// Returns a failed case if the severity threshold hides findings that the gate counts: the process exits with 1 for them.
fn hidden(review: &Review, fail_on: Option<Severity>) -> Option<TestCase> {
    let floor = fail_on?;
    let counted = review.coverage.below_floor.iter().filter(|(severity, count)| **severity <= floor && **count > 0);
    let counts: Vec<String> = counted.map(|(severity, count)| format!("{count} {severity}")).collect();
    if counts.is_empty() {
        return None;
    }
    let message = format!("{}: at or above --fail-on {floor}, and below the severity floor", counts.join(", "));
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    // GitLab shows the text, and no message.
    status.set_message(line(&message)).set_type("review/below-floor").set_description(text(&message));
    let mut case = TestCase::new(HIDDEN, status);
    case.set_classname("review");
    Some(case)
}

/// Returns the case for a finding: failed at or above the gate; without a gate, every finding fails.
fn case(entry: &ReportEntry<'_>, fail_on: Option<Severity>) -> TestCase {
    let fails = fail_on.is_none_or(|floor| entry.severity <= floor);
    let file = entry.place.as_ref().map(|place| format!("{}: ", place.path.display_name())).unwrap_or_default();
    let said = describe(entry);
    let status = if fails {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let message = format!("{}: {}, {}", place(entry), entry.severity, entry.title);
        status.set_message(line(&message)).set_type(line(&entry.check)).set_description(text(&said));
        status
    } else {
        TestCaseStatus::success()
    };
    let mut case = TestCase::new(line(&format!("{file}{} ({})", entry.title, entry.id)), status);
    case.set_classname(line(&entry.check));
    if !fails {
        case.set_system_out(text(&said));
    }
    case
}

/// Formats the place of a finding; for deleted lines, their former place.
fn place(entry: &ReportEntry<'_>) -> String {
    match &entry.place {
        Some(place) if !place.note.is_empty() => place.note.clone(),
        _ => entry.finding.and_then(|finding| finding.anchors.first()).map(digest::place).unwrap_or_default(),
    }
}

fn describe(entry: &ReportEntry<'_>) -> String {
    let head = format!("{}: {}", place(entry), entry.title);
    let mut parts = vec![head, shorten(&entry.body, TEXT)];
    if let Some(finding) = entry.finding {
        parts.push(list_related(finding));
        parts.push(shorten(&describe_suggestion(finding).unwrap_or_default(), TEXT));
        parts.push(facts(finding));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

/// Strips text to one line for an attribute.
fn line(text: &str) -> String {
    allowed(&plain_line(text, MESSAGE)).into_owned()
}

fn text(text: &str) -> String {
    allowed(strip_block(text).trim()).into_owned()
}

/// Removes the characters that XML 1.0 (§2.2) does not allow, of which two are left once escapes and controls are gone, and the marker by
/// which plugins of Jenkins and GitLab attach a file of the machine to a report.
fn allowed(text: &str) -> Cow<'_, str> {
    if text.contains(['\u{fffe}', '\u{ffff}']) || text.contains("[[") {
        return Cow::Owned(text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").replace("[[ATTACHMENT", "[ [ATTACHMENT"));
    }
    Cow::Borrowed(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};
    use proptest::prelude::*;

    fn rendered(document: &[u8], fail_on: Option<Severity>, change: impl FnOnce(&mut Review)) -> (String, Report) {
        let mut review = json::parse(document).unwrap();
        change(&mut review);
        let options = RenderOptions { fail_on, ..RenderOptions::default() };
        let text = String::from_utf8((presenter("junit").unwrap().render)(&review, &options)).unwrap();
        let report = Report::deserialize_from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
        (text, report)
    }

    const TYPICAL: &[u8] = include_bytes!("../../fixtures/documents/typical.json");

    #[test]
    fn without_a_gate_every_finding_fails() {
        let (_, report) = rendered(TYPICAL, None, |_| ());
        assert_eq!((report.tests, report.failures, report.errors), (6, 5, 0));
        let names: Vec<&str> = report.test_suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["review", "src/config.py", "src/storage/client.rs", "tests/test_upload.py", "web/app.ts"]);
    }

    #[test]
    fn with_a_gate_what_is_below_it_passes_and_is_told_all_the_same() {
        let (text, report) = rendered(TYPICAL, Some(Severity::High), |_| ());
        assert_eq!((report.tests, report.failures, report.errors), (6, 2, 0));
        let passed = report.test_suites[4].test_cases[0].system_out.as_ref().unwrap();
        assert!(passed.as_str().contains("so a wrong call is found by users"), "{text}");
        let (_, report) = rendered(TYPICAL, Some(Severity::Nit), |_| ());
        assert_eq!(report.failures, 5);
    }

    #[test]
    fn what_the_gate_counts_and_the_floor_hides_fails() {
        let change = |review: &mut Review| {
            review.coverage.below_floor = [(Severity::Low, 3), (Severity::Nit, 1)].into_iter().collect();
        };
        let (text, report) = rendered(TYPICAL, Some(Severity::Low), change);
        assert_eq!((report.tests, report.failures), (7, 5), "{text}");
        assert!(text.contains("3 low: at or above --fail-on low") && !text.contains("1 nit: at"), "{text}");
        assert_eq!(rendered(TYPICAL, Some(Severity::Medium), change).1.tests, 6);
        assert_eq!(rendered(TYPICAL, None, change).1.failures, 5, "without a gate nobody counts them");
    }

    #[test]
    fn an_unfinished_review_is_an_error_whatever_the_gate() {
        for (document, findings) in [
            (&include_bytes!("../../fixtures/documents/incomplete.json")[..], 2),
            (include_bytes!("../../fixtures/documents/failed.json"), 0),
        ] {
            let (text, report) = rendered(document, Some(Severity::Critical), |_| ());
            assert_eq!((report.tests, report.errors), (findings + 1, 1), "{text}");
            assert!(matches!(
                report.test_suites[0].test_cases[0].status,
                TestCaseStatus::NonSuccess { kind: NonSuccessKind::Error, .. }
            ));
        }
    }

    #[test]
    fn a_review_without_findings_is_one_passed_case() {
        let (_, report) = rendered(include_bytes!("../../fixtures/documents/empty.json"), None, |_| ());
        assert_eq!((report.tests, report.failures, report.errors), (1, 0, 0));
    }

    #[test]
    fn nothing_stands_in_the_report_that_the_schema_of_jenkins_refuses() {
        let (text, _) = rendered(TYPICAL, None, |review| review.findings[0].body = "\" disabled=\"0\" ".repeat(3));
        assert!(!text.contains("<testsuite disabled") && !text.contains("\" disabled=\""), "{text}");
        assert!(text.contains("&quot; disabled=&quot;0&quot;"), "a text is left alone");
        assert!(Report::deserialize_from_str(UNWRITABLE).unwrap().errors == 1);
    }

    #[test]
    fn a_text_attaches_no_file() {
        let (text, _) = rendered(TYPICAL, Some(Severity::Critical), |review| {
            review.findings[4].body = "[[ATTACHMENT|/etc/passwd]]".to_owned();
            review.findings[0].title = "[[ATTACHMENT|/etc/passwd]]".to_owned();
        });
        assert!(!text.contains("[[ATTACHMENT"), "{text}");
    }

    proptest! {
        #[test]
        fn whatever_is_said_reads_back_as_one_report(title in any::<String>(), body in "(]]>|<!--|&#0;|[\\x00-\\x1f\\ufffe\\uffff]|<x>|\\PC){0,30}") {
            let (text, report) = rendered(TYPICAL, None, |review| {
                review.findings[0].title.clone_from(&title);
                review.findings[0].body.clone_from(&body);
                review.findings[0].origin.name = title;
            });
            prop_assert_eq!((report.tests, report.failures), (6, 5));
            let illegal = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}');
            prop_assert!(!text.contains(illegal));
        }
    }
}
