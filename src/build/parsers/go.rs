//! Text of the go command: build, vet and test. Main function: [`parse`].
//!
//! Severities: errors, apart from lines that call themselves a warning. Numbers of tests exist only in verbose runs.

use std::collections::HashMap;

use super::super::log::Log;
use super::Parsed;
use super::text::{LinePattern, LogScan, diagnostic, join};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

static COMPILER: LinePattern =
    LinePattern::new(r"^(?:vet: )?(?<file>\S.*?\.(?:go|mod|s|c|h)):(?<line>\d+)(?::(?<col>\d+))?: (?<message>.*)$");
static COMMAND: LinePattern = LinePattern::new(concat!(
    r"^(?:go(?: \w+)?: (?:(?<severity>warning): )?(?<message>.*)",
    r"|(?<plain>(?:stat|pattern|package|no required module|cannot find|build constraints|import cycle|found packages) .*))$"
));
static PROGRESS: LinePattern = LinePattern::new(
    r"^go: (?:downloading|extracting|finding|found|added|removed|upgraded|downgraded|creating|to add|trying|updating) ",
);
static RUN: LinePattern = LinePattern::new(r"^=== (?:RUN|CONT|NAME)\s+(?<name>\S+)");
static RESULT: LinePattern = LinePattern::new(r"^(?<indent>\s*)--- (?<word>PASS|FAIL|SKIP|BENCH): (?<name>\S+)");
static OUTPUT: LinePattern = LinePattern::new(r"^\s+(?<file>[^\s:]+\.go):(?<line>\d+): (?<message>.*)$");
static PANIC: LinePattern = LinePattern::new(r"^(?<message>(?:panic|fatal error): .*?)(?: \[recovered\].*)?$");
static FRAME: LinePattern = LinePattern::new(r"^\t(?<file>\S.*?\.go):(?<line>\d+)(?: \+0x|$)");
static PACKAGE: LinePattern = LinePattern::new(r"^FAIL\s+(?<message>\S+ \[(?:build|setup) failed\])$");

/// The state between the lines of a test run.
#[derive(Default)]
struct GoTestRun {
    running: String,
    outputs: HashMap<String, Vec<(usize, Diagnostic)>>,
    failed: Option<String>,
    numbers: [u64; 3],
    is_verbose: bool,
}

/// Finds the errors and the failed tests.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut scan = LogScan::new(log);
    let mut run = GoTestRun::default();
    for index in 0..scan.len() {
        let line = scan.line(index);
        if let Some(found) = RUN.find(line) {
            found.text("name").unwrap_or_default().clone_into(&mut run.running);
            run.is_verbose = true;
        } else if let Some(found) = RESULT.find(line) {
            run.running.clear();
            let (word, name) = (found.text("word").unwrap_or_default(), found.text("name").unwrap_or_default());
            if let Some(number) = ["PASS", "FAIL", "SKIP"].iter().position(|other| *other == word) {
                run.numbers[number] += 1;
            }
            if word == "FAIL" {
                add_failed_test(&mut scan, index, name, &mut run);
            } else {
                run.outputs.remove(name);
            }
        } else if let Some(found) = PANIC.find(line) {
            let name = run.failed.take().unwrap_or_else(|| run.running.clone());
            add_panic(&mut scan, index, &name, found.text("message").unwrap_or_default());
        } else if let Some(found) = OUTPUT.find(line) {
            if !run.running.is_empty() {
                run.outputs.entry(run.running.clone()).or_default().push((index, found.diagnostic()));
            }
        } else if let Some(found) = COMPILER.find(line) {
            let last = scan.last_of_block(index, |line| !line.starts_with('\t'));
            let mut error = found.diagnostic();
            let more = scan.range(index + 1..=last).map(|(_, line)| line);
            error.message = join([error.message.as_str()].into_iter().chain(more), "; ");
            scan.add(index..=last, error);
        } else if let Some(found) = COMMAND.find(line).filter(|_| !PROGRESS.is_in(line)) {
            let mut error = found.diagnostic();
            error.message = join([error.message.as_str(), found.text("plain").unwrap_or_default()], " ");
            scan.add(index..=index, error);
        } else if let Some(found) = PACKAGE.find(line)
            && scan.has_no_error()
        {
            scan.add(index..=index, found.diagnostic());
        }
        if line == "FAIL" || line.starts_with("FAIL\t") {
            add_silent_test(&mut scan, index, &mut run);
        }
    }
    add_silent_test(&mut scan, log.lines.len().saturating_sub(1), &mut run);
    let [passed, failed, skipped] = run.numbers;
    if run.is_verbose {
        scan.count_tests(passed + failed + skipped, failed, skipped);
    }
    scan.finish()
}

/// Adds one diagnostic for each output of a failed test; in a verbose run it was written before, else it follows.
fn add_failed_test(scan: &mut LogScan, index: usize, name: &str, run: &mut GoTestRun) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(scan.line(index));
    let last = scan.last_of_block(index, |line| indent(line) <= depth || RESULT.is_in(line));
    let mut outputs: Vec<_> =
        scan.range(index + 1..=last).filter_map(|(at, line)| Some((at, OUTPUT.find(line)?.diagnostic()))).collect();
    outputs.extend(run.outputs.remove(name).unwrap_or_default());
    let children = format!("{name}/");
    if outputs.is_empty() && !run.failed.as_ref().is_some_and(|failed| failed.starts_with(&children)) {
        // The reason may be a panic, or in a test within this one.
        add_silent_test(scan, index, run);
        run.failed = Some(name.to_owned());
        return;
    }
    if run.failed.as_ref().is_some_and(|failed| name.starts_with(&format!("{failed}/"))) {
        run.failed = None;
    }
    for (at, mut output) in outputs {
        let message = scan.line(at);
        let depth = indent(message);
        let end = scan.last_of_block(at, |line| indent(line) <= depth || RESULT.is_in(line) || OUTPUT.is_in(line));
        let more: Vec<_> = scan.range(at + 1..=end).map(|(_, line)| line).collect();
        output.message = join([name, &join([output.message.as_str()].into_iter().chain(more), " ")], ": ");
        scan.add(at..=end, output);
    }
}

/// Adds a failed test that has said nothing, unless a test within it has.
fn add_silent_test(scan: &mut LogScan, index: usize, run: &mut GoTestRun) {
    if let Some(name) = run.failed.take() {
        scan.add(index..=index, diagnostic(DiagnosticSeverity::Error, format!("{name} failed")));
    }
}

fn add_panic(scan: &mut LogScan, index: usize, name: &str, message: &str) {
    let last = scan
        .last_of_block(index, |line| line.starts_with("FAIL") || line.starts_with("exit status") || PANIC.is_in(line));
    let mut error = diagnostic(DiagnosticSeverity::Error, join([name, message], ": "));
    let mut frames = scan.range(index..=last).filter_map(|(at, line)| Some((at, FRAME.find(line)?)));
    let place = frames.find(|(_, frame)| {
        let file = frame.text("file").unwrap_or_default();
        !["/src/runtime/", "/src/testing/", "/src/internal/"].iter().any(|folder| file.contains(folder))
    });
    drop(frames);
    if let Some((_, place)) = &place {
        place.move_to_place(&mut error);
    }
    let end = place.map_or(index, |(at, _)| at);
    scan.add(index..=end, error);
}

#[cfg(test)]
mod tests {
    use super::super::tests_text::{rows, rows_in};

    #[test]
    fn fixture_build() {
        let expected = [
            r#"E - ./main.go:5:2 @2-2 imported and not used: "os""#,
            r#"E - ./main.go:11:14 @3-3 cannot use "text" (untyped string constant) as int value in "#,
            "E - ./main.go:12:22 @4-6 not enough arguments in call to sub.Add; have (number); want",
            "E - ./main.go:12:26 @7-7 undefined: undefined",
        ];
        assert_eq!(rows("go/build"), expected);
    }

    #[test]
    fn fixture_missing_module() {
        let expected = ["E - dep/dep.go:3:8 @2-2 cannot find module providing package example.org/nowhere: mo"];
        assert_eq!(rows("go/missing_module"), expected);
    }

    #[test]
    fn fixture_no_module() {
        let expected = ["E - -:-:- @1-1 stat /w/nowhere: directory not found"];
        assert_eq!(rows("go/no_module"), expected);
    }

    #[test]
    fn fixture_panic() {
        let expected = ["E - /w/boom/boom_test.go:7:- @2-13 TestBoom: panic: assignment to entry in nil map"];
        assert_eq!(rows("go/panic"), expected);
    }

    #[test]
    fn fixture_test() {
        let expected = [
            "E - sub_test.go:7:- @3-3 TestAdd: Add(1, 2) = 3, want 4",
            "E - sub_test.go:13:- @6-7 TestSub/case_one: not ready",
        ];
        assert_eq!(rows("go/test"), expected);
    }

    #[test]
    fn fixture_test_build_failed() {
        assert_eq!(rows("go/test_build_failed"), rows("go/missing_module"));
    }

    #[test]
    fn fixture_test_verbose() {
        let expected = [
            "E - sub_test.go:7:- @3-3 TestAdd: Add(1, 2) = 3, want 4",
            "E - sub_test.go:13:- @7-8 TestSub/case_one: not ready",
            "2 passed, 3 failed, 1 skipped, 6 in all",
        ];
        assert_eq!(rows("go/test_verbose"), expected);
    }

    #[test]
    fn fixture_vet() {
        let expected = [r#"E - sub/sub.go:6:2 @2-2 fmt.Printf format %d has arg "text" of wrong type string"#];
        assert_eq!(rows("go/vet"), expected);
    }

    #[test]
    fn fixtures_without_diagnostics() {
        for name in ["success", "test_success"] {
            assert!(rows(&format!("go/{name}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn commands_without_a_package_and_silent_tests() {
        let text = concat!(
            "go: downloading example.org/a v1.0.0\n",
            "go: go.mod file not found in current directory\n",
            "go: warning: \"./...\" matched no packages\n",
            "--- FAIL: TestQuiet (0.00s)\n",
            "FAIL\n",
            "FAIL\texample.com/demo [build failed]",
        );
        let expected = [
            "E - -:-:- @2-2 go.mod file not found in current directory",
            r#"W - -:-:- @3-3 "./..." matched no packages"#,
            "E - -:-:- @5-5 TestQuiet failed",
        ];
        assert_eq!(rows_in("go", text), expected);
    }
}
