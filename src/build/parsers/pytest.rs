//! Text of pytest: failed tests, errors, warnings and numbers. Main function: [`parse`].
//!
//! Severities: a failure and an error are errors, an entry of the summary of warnings is a warning.

use std::collections::{HashMap, VecDeque};

use super::super::log::Log;
use super::Parsed;
use super::text::{LineMatch, LinePattern, LogScan, count_of, diagnostic, join};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Maximum number of tests of one name in several files that are distinguished.
const MOST_CANDIDATES: usize = 64;

static HEADER: LinePattern =
    LinePattern::new(r"^(?:_{3,} (?<name>\S.*?) _{3,}|(?<import>ImportError while loading conftest) .*)$");
static RULE: LinePattern =
    LinePattern::new(r"^(?:_{3,} .* _{3,}|={3,}.*|!{3,} .*|FAILED \S.*|ERROR \S.*|INTERNALERROR> .*)$");
static REASON: LinePattern = LinePattern::new(r"^E {1,7}(?<message>\S.*)$");
static KIND: LinePattern =
    LinePattern::new(r"^(?<code>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Failed))\b(?:: |$)");
static PLACES: [LinePattern; 3] = [
    LinePattern::new(r"^(?<file>\S.*?\.\w+):(?<line>\d+): (?:in .*|[A-Za-z_][\w.]*)$"),
    LinePattern::new(r#"^(?:E? +)File "(?<file>.+)", line (?<line>\d+)"#),
    LinePattern::new(r"^(?<file>\S.*?\.py):(?<line>\d+): .*$"),
];
static LOOSE: LinePattern = LinePattern::new(r"^(?<file>\S.*?\.py):(?<line>\d+): (?<message>.+)$");
static SHORT: LinePattern = LinePattern::new(
    r"^(?:FAILED|ERROR|SUBFAIL\w*) (?<file>[^\s:]\S*?\.\w+|\S+?)(?:::(?<name>.*?))?(?: - (?<message>.*))?$",
);
static WARNING: LinePattern =
    LinePattern::new(r"^\s+(?<file>\S.*?):(?<line>\d+): (?<code>\w*(?<severity>Warning)): (?<message>.*)$");
static USAGE: LinePattern = LinePattern::new(
    r"^(?:ERROR: |(?:__main__\.py|pytest(?:\.py)?): error: |INTERNALERROR> (?:E +)?)(?<message>[^\s].*)$",
);
static TOTALS: LinePattern =
    LinePattern::new(r"^(?:=+ )?(?<counts>(?:\d+ \w+(?:, )?)+|no tests ran) in \d[\d.:()s ]*(?: =+)?$");

/// One failure as its traceback describes it.
struct PytestFailure {
    first: usize,
    last: usize,
    name: String,
    report: Diagnostic,
    is_listed: bool,
}

/// Finds the failures with their places and adds up the numbers.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut failures: Vec<PytestFailure> = Vec::new();
    let mut listed = Vec::new();
    let (mut index, mut internal) = (0, None);
    while index < scan.len() {
        let line = scan.line(index);
        if let Some(found) = HEADER.find(line) {
            let name = found.text("name").or(found.text("import")).unwrap_or_default();
            let failure = read_traceback(&scan, index, name);
            index = failure.last;
            failures.push(failure);
        } else if let Some(found) = LOOSE.find(line) {
            let report = found.diagnostic();
            failures.push(PytestFailure { first: index, last: index, name: String::new(), report, is_listed: false });
        } else if let Some(found) = WARNING.find(line) {
            scan.add(index..=index, found.diagnostic());
        } else if let Some(found) = USAGE.find(line) {
            if line.starts_with("INTERNALERROR") {
                internal = Some((index, found));
            } else {
                scan.add(index..=index, found.diagnostic());
            }
        } else if let Some(found) = SHORT.find(line) {
            listed.push((index, found));
        } else if let Some(counts) = TOTALS.find(line).and_then(|found| found.text("counts")) {
            let failed = count_of(counts, &["failed", "error", "errors"]);
            let skipped = count_of(counts, &["skipped", "xfailed"]);
            let total = failed.saturating_add(skipped).saturating_add(count_of(counts, &["passed", "xpassed"]));
            scan.count_tests(total, failed, skipped);
        }
        index += 1;
    }
    add_listed(&mut scan, &listed, &mut failures);
    // Without the list at the end, or with one cut short, the tracebacks are all there is.
    for failure in failures.into_iter().filter(|failure| !failure.is_listed && !failure.name.is_empty()) {
        let mut report = failure.report;
        report.message = join([failure.name.as_str(), &report.message], " - ");
        scan.add(failure.first..=failure.last, report);
    }
    if let Some((index, found)) = internal {
        scan.add(index..=index, found.diagnostic());
    }
    scan.finish()
}

fn read_traceback(scan: &LogScan, first: usize, name: &str) -> PytestFailure {
    let end = scan.last_of_block(first, |line| RULE.is_in(line));
    let lines: Vec<_> = scan.range(first + 1..=end).map(|(_, line)| line).collect();
    let last = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(first, |at| first + 1 + at);
    let reasons: Vec<_> = lines.iter().filter_map(|line| REASON.find(line)?.text("message")).collect();
    let named = reasons.iter().find(|reason| KIND.is_in(reason)).or(reasons.first()).copied();
    // The native style of tracebacks has no mark before the reason.
    let bare = || lines.iter().rfind(|line| KIND.is_in(line)).copied();
    let mut report = diagnostic(DiagnosticSeverity::Error, named.or_else(bare).unwrap_or_default());
    let is_own = |found: &LineMatch| {
        found.text("file").is_some_and(|file| !file.contains("-packages/") && !file.contains("/lib/python"))
    };
    let places = || lines.iter().filter_map(|line| PLACES.iter().find_map(|pattern| pattern.find(line)));
    if let Some(place) = places().rfind(is_own).or_else(|| places().next_back()) {
        place.move_to_place(&mut report);
    }
    let name = name.strip_prefix("ERROR collecting ").unwrap_or(name).to_owned();
    report.code = code_of(&report.message);
    PytestFailure { first, last, name, report, is_listed: false }
}

fn code_of(message: &str) -> Option<String> {
    KIND.find(message)?.text("code").map(str::to_owned)
}

/// Returns the key by which the list at the end names a failure.
fn key_of(failure: &PytestFailure) -> &str {
    match failure.name.rsplit_once(" of ") {
        _ if failure.name.is_empty() => &failure.report.message,
        Some((step, test)) if step.starts_with("ERROR at ") => test,
        _ => &failure.name,
    }
}

/// Takes the traceback of a test: one in its file rather than one of the same name.
fn take_traceback(
    unlisted: &mut HashMap<String, VecDeque<usize>>,
    failures: &[PytestFailure],
    keys: [&str; 2],
    file: &str,
) -> Option<usize> {
    keys.into_iter().find_map(|key| {
        let candidates = unlisted.get_mut(key)?;
        let is_in_file = |at: &usize| {
            let failure = failures.get(*at);
            failure.and_then(|failure| failure.report.file.as_deref()).is_some_and(|place| place.ends_with(file))
        };
        let at = candidates.iter().take(MOST_CANDIDATES).position(is_in_file).unwrap_or(0);
        candidates.remove(at)
    })
}

fn add_listed(scan: &mut LogScan, listed: &[(usize, LineMatch)], failures: &mut [PytestFailure]) {
    let mut unlisted: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, failure) in failures.iter().enumerate() {
        unlisted.entry(key_of(failure).to_owned()).or_default().push_back(at);
    }
    for (index, found) in listed {
        let (file, name) = (found.text("file").unwrap_or_default(), found.text("name").unwrap_or_default());
        let message = found.text("message").unwrap_or_default();
        let header = if name.is_empty() { file.to_owned() } else { name.replace("::", ".") };
        let traceback = take_traceback(&mut unlisted, failures, [&header, message], file);
        let mut report = diagnostic(DiagnosticSeverity::Error, "");
        let (mut lines, mut reason) = (*index..=*index, message.to_owned());
        if let Some(failure) = traceback.and_then(|at| failures.get_mut(at)) {
            failure.is_listed = true;
            report = failure.report.clone();
            lines = failure.first..=failure.last;
            if reason.is_empty() {
                reason.clone_from(&report.message);
            }
        }
        report.file = report.file.or_else(|| Some(file.to_owned()));
        report.code = report.code.or_else(|| code_of(message));
        report.message = join([if name.is_empty() { file } else { name }, &reason], " - ");
        scan.add(lines, report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_collection() {
        let expected = [
            "E ModuleNotFoundError test_broken.py:1:- @7-16 test_broken.py - ModuleNotFoundError: No module named 'nowhe",
            "E SyntaxError /w/test_syntax.py:1:- @17-44 test_syntax.py - SyntaxError: invalid syntax",
            "0 passed, 2 failed, 0 skipped, 2 in all",
        ];
        assert_eq!(rows("pytest/collection"), expected);
    }

    #[test]
    fn fixture_colors() {
        let expected = [
            "E RuntimeError test_sum.py:38:- @9-16 test_fixture - RuntimeError: no fixture",
            "E - test_sum.py:9:- @18-25 test_add - assert -1 == 3",
            "E AssertionError test_sum.py:15:- @26-36 TestGroup::test_value[2] - AssertionError: the value is wron",
            "E ValueError test_sum.py:19:- @37-43 test_raises - ValueError: bad value",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("pytest/colors"), expected);
    }

    #[test]
    fn fixture_failures() {
        assert_eq!(rows("pytest/failures"), rows("pytest/colors"));
    }

    #[test]
    fn fixture_native() {
        let expected = [
            "E ValueError /w/test_sum.py:19:- @9-62 test_raises - ValueError: bad value",
            "0 passed, 1 failed, 0 skipped, 1 in all",
        ];
        assert_eq!(rows("pytest/native"), expected);
    }

    #[test]
    fn fixture_no_file() {
        let expected =
            ["E - -:-:- @7-7 file or directory not found: nowhere.py", "0 passed, 0 failed, 0 skipped, 0 in all"];
        assert_eq!(rows("pytest/no_file"), expected);
    }

    #[test]
    fn fixture_no_summary() {
        let expected = [
            "E RuntimeError test_sum.py:38:- @9-16 ERROR at setup of test_fixture - RuntimeError: no fixture",
            "E - test_sum.py:9:- @18-25 test_add - assert -1 == 3",
            "E AssertionError test_sum.py:15:- @26-36 TestGroup.test_value[2] - AssertionError: the value is wrong",
            "E ValueError test_sum.py:19:- @37-43 test_raises - ValueError: bad value",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("pytest/no_summary"), expected);
    }

    #[test]
    fn fixture_quiet() {
        let expected = [
            "E RuntimeError test_sum.py:-:- @3-4 test_fixture - RuntimeError: no fixture",
            "E - /w/test_sum.py:9:- @8-8 test_add - assert -1 == 3",
            "E AssertionError /w/test_sum.py:15:- @11-11 TestGroup::test_value[2] - AssertionError: the value is wron",
            "E ValueError /w/test_sum.py:19:- @13-13 test_raises - ValueError: bad value",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("pytest/quiet"), expected);
    }

    #[test]
    fn fixture_short() {
        let expected = [
            "E RuntimeError test_sum.py:38:- @3-6 test_fixture - RuntimeError: no fixture",
            "E - test_sum.py:9:- @8-12 test_add - assert -1 == 3",
            "E AssertionError test_sum.py:15:- @13-17 TestGroup::test_value[2] - AssertionError: the value is wron",
            "E ValueError test_sum.py:19:- @18-21 test_raises - ValueError: bad value",
            "2 passed, 4 failed, 2 skipped, 8 in all",
        ];
        assert_eq!(rows("pytest/short"), expected);
    }

    #[test]
    fn fixture_success() {
        let expected =
            ["W DeprecationWarning /w/ok/test_ok.py:5:- @10-10 old way", "1 passed, 0 failed, 0 skipped, 1 in all"];
        assert_eq!(rows("pytest/success"), expected);
    }

    #[test]
    fn loading_fails_and_words_in_the_output() {
        let text = concat!(
            "ImportError while loading conftest '/w/conftest.py'.\n",
            "conftest.py:1: in <module>\n",
            "    import nowhere\n",
            "E   ModuleNotFoundError: No module named 'nowhere'\n",
            "INTERNALERROR> Traceback\n",
            "INTERNALERROR> ValueError: bad",
        );
        let expected = [
            "E ModuleNotFoundError conftest.py:1:- @1-4 ImportError while loading conftest - ModuleNotFoundError: No",
            "E - -:-:- @6-6 ValueError: bad",
        ];
        assert_eq!(rows_in("pytest", text), expected);
    }
}
