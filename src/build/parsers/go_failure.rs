//! Messages in the output of a Go build or a failed Go test. Main functions: [`reason`], [`build_message`].
//!
//! The order and the fate of the tests belong in `go_test_json`.

use super::machine::{digits, one_line};
use crate::domain::diagnostic::Diagnostic;
use crate::domain::text::LazyPattern;

/// A message of the compiler or of vet: `file.go:line:column: message`.
static BUILD: LazyPattern = LazyPattern::new(r"^(?:vet: )?((?:[A-Za-z]:)?[^\s:][^:]*\.\w+):(\d+):(?:(\d+):)? (.+)$");
/// A message of a test: `    file_test.go:line: message`.
static LOGGED: LazyPattern = LazyPattern::new(r"^\s+((?:[A-Za-z]:)?[^\s:][^:]*\.go):(\d+): ?(.*)$");
/// A frame of a stack: a tab, then `file.go:line`.
static FRAME: LazyPattern = LazyPattern::new(r"^\t(.+\.go):(\d+)(?: \+0x[0-9a-f]+)?$");

/// A line of a test's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoOutput {
    /// The index of its line in the log.
    pub(super) index: usize,
    /// The text without its end.
    pub(super) text: String,
    /// `true` if the tool marks it as an error.
    pub(super) is_error: bool,
}

/// Why something failed, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GoReason {
    /// The message.
    pub(super) message: String,
    /// The file, as written: for a test, without its folder.
    pub(super) file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

impl GoReason {
    /// Adds the place to a diagnostic.
    pub(super) fn diagnostic(&self, found: Diagnostic) -> Diagnostic {
        Diagnostic { file: self.file.clone(), line: self.line, column: self.column, ..found }
    }
}

/// Reads a message of the build: its place, and the rest of the line.
pub(super) fn build_message(line: &str) -> Option<(GoReason, &str)> {
    let found = BUILD.regex()?.captures(line)?;
    let part = |group: usize| found.get(group).map_or("", |part| part.as_str());
    let place = GoReason {
        file: Some(part(1).to_owned()),
        line: digits(part(2)),
        column: digits(part(3)),
        message: String::new(),
    };
    Some((place, found.get(4)?.as_str()))
}

/// Finds why a test or a package failed: a panic, what the test logged, or else its output.
pub(super) fn reason(output: &[GoOutput]) -> GoReason {
    if let Some(at) = output.iter().position(|line| line.text.trim_start().starts_with("panic: ")) {
        return panic_of(output.get(at..).unwrap_or_default());
    }
    let mut found = GoReason::default();
    let (mut is_open, mut is_settled) = (false, false);
    let has_errors = output.iter().any(|line| line.is_error);
    for line in output.iter().filter(|line| !is_frame_of_runner(&line.text)) {
        let place = LOGGED.regex().and_then(|pattern| pattern.captures(&line.text));
        if let Some(place) = place {
            // Without the mark of newer versions, logs and errors look alike: all are read, and the last is taken as the cause.
            is_open = line.is_error || !has_errors;
            let part = |group: usize| place.get(group).map_or("", |part| part.as_str());
            if is_open {
                add_line(&mut found.message, part(3));
            }
            if is_open && !is_settled {
                (found.file, found.line) = (Some(part(1).to_owned()), digits(part(2)));
                is_settled = line.is_error;
            }
        } else if is_open && line.text.starts_with("        ") {
            add_line(&mut found.message, &line.text);
        } else {
            is_open = false;
        }
    }
    if found.file.is_none() {
        found.message.clear();
        output
            .iter()
            .filter(|line| !is_frame_of_runner(&line.text))
            .for_each(|line| add_line(&mut found.message, &line.text));
        if found.message.trim().is_empty() && output.is_empty() {
            "did not finish".clone_into(&mut found.message);
        }
    }
    found
}

fn add_line(message: &mut String, line: &str) {
    message.push_str(line);
    message.push('\n');
}

fn is_frame_of_runner(line: &str) -> bool {
    let line = line.trim_start();
    ["=== ", "--- ", "FAIL", "PASS", "ok  \t", "coverage: "].iter().any(|start| line.starts_with(start))
}

/// Reads a panic and the first frame outside Go's own packages.
fn panic_of(output: &[GoOutput]) -> GoReason {
    let message = output.first().map_or("", |line| line.text.trim());
    let message = message.split_once(" [recovered").map_or(message, |(message, _)| message);
    let mut found = GoReason { message: one_line(message), ..GoReason::default() };
    for pair in output.windows(2) {
        let [function, frame] = pair else { continue };
        let own = ["testing.", "runtime.", "runtime/", "panic(", "created by ", "goroutine "];
        let is_own = own.iter().any(|own| function.text.starts_with(own));
        if let Some(place) = FRAME.regex().filter(|_| !is_own).and_then(|pattern| pattern.captures(&frame.text)) {
            found.file = place.get(1).map(|file| file.as_str().to_owned());
            found.line = place.get(2).and_then(|line| digits(line.as_str()));
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<GoOutput> {
        let line = |(index, text): (usize, &str)| GoOutput { index, text: text.to_owned(), is_error: false };
        text.split('\n').enumerate().map(line).collect()
    }

    #[test]
    fn logged_lines_go_on_below() {
        let found = reason(&lines(
            "=== RUN   T\n    a_test.go:3: start\n    a_test.go:9: \n        \tError:  \tNot equal\n--- FAIL: T",
        ));
        assert_eq!((found.file.as_deref(), found.line), (Some("a_test.go"), Some(9)));
        assert_eq!(one_line(&found.message), "start; Error:   Not equal");
    }

    #[test]
    fn messages_of_the_build_have_a_place() {
        let (place, message) = build_message("vet: C:/w/a.go:3:4: undefined: x").expect("a message");
        assert_eq!((place.file.as_deref(), place.column, message), (Some("C:/w/a.go"), Some(4), "undefined: x"));
        assert_eq!(build_message("ok: 3:4: x"), None);
        assert_eq!(build_message("listening on host.com:80: x y").map(|(_, message)| message), Some("x y"));
    }
}
