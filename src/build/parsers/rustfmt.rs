//! rustfmt's `--check`, also as `cargo fmt --check`. Main function: [`parse`].
//!
//! Each place that is not formatted is an error, since it fails the check, and so is a file that cannot be read as Rust.

use super::super::log::Log;
use super::Parsed;
use super::machine::{digits, filled, report};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Maximum number of lines between an error and its place.
const PLACE_WITHIN: usize = 4;

/// Reads the differences and the errors.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (index, line) in log.lines.iter().enumerate() {
        if let Some((file, at)) = difference(line.head()) {
            let diff = log.lines.iter().skip(index + 1).map(|line| line.text.as_str());
            let last = index + diff.take_while(|line| line.starts_with(['+', '-', ' '])).count();
            let found = report(DiagnosticSeverity::Error, "not formatted as rustfmt would", "rustfmt");
            parsed.add(log, index..=last, Diagnostic { file: filled(file), line: at, ..found });
        } else if let Some(file) = line.head().strip_prefix("Incorrect newline style in ") {
            let found = report(DiagnosticSeverity::Error, "incorrect newline style", "rustfmt");
            parsed.add(log, index..=index, Diagnostic { file: filled(file), ..found });
        } else if let Some((code, message)) = line.head().strip_prefix("error").and_then(|rest| rest.split_once(": ")) {
            let found = report(DiagnosticSeverity::Error, message, code.trim_matches(['[', ']']));
            let (last, found) = placed(log, index, found);
            parsed.add(log, index..=last, found);
        }
    }
    parsed
}

/// Reads `Diff in FILE:LINE:` or the older `Diff in FILE at line LINE:`.
fn difference(line: &str) -> Option<(&str, Option<u32>)> {
    let place = line.strip_prefix("Diff in ")?.trim_end().strip_suffix(':')?;
    let (file, at) = place.rsplit_once(" at line ").or_else(|| place.rsplit_once(':'))?;
    Some((file, digits(at)))
}

/// Adds the place that the lines below an error name; returns the index of that line.
fn placed(log: &Log, index: usize, found: Diagnostic) -> (usize, Diagnostic) {
    let mut below = log.lines.iter().enumerate().skip(index + 1).take(PLACE_WITHIN);
    let place = below.find_map(|(at, line)| Some((at, line.head().trim_start().strip_prefix("--> ")?)));
    let Some((last, place)) = place else { return (index, found) };
    let mut parts = place.rsplitn(3, ':');
    let (column, line, file) = (parts.next(), parts.next(), parts.next());
    let file = file.and_then(filled);
    (last, Diagnostic { file, line: line.and_then(digits), column: column.and_then(digits), ..found })
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn differences_old_and_new() {
        let parsed = parse(&fixture("rustfmt/failure"));
        assert_eq!(rows(&parsed), ["Error /w/src/lib.rs:1:--- rustfmt: not formatted as rustfmt would"]);
        assert_eq!(log_lines(&parsed), [(1, 9)]);
        let parsed = parse(&Log::of_output(b"Diff in C:\\w\\a.rs at line 12:\n-a\n+b\n\nx\n"));
        assert_eq!(rows(&parsed), ["Error C:\\w\\a.rs:12:--- rustfmt: not formatted as rustfmt would"]);
        assert_eq!(parse(&fixture("rustfmt/success")), Parsed::default());
    }

    #[test]
    fn a_file_that_is_not_rust() {
        let parsed = parse(&fixture("rustfmt/syntax"));
        assert_eq!(rows(&parsed), ["Error /w/src/lib.rs:1:9-- -: this file contains an unclosed delimiter"]);
        assert_eq!(log_lines(&parsed), [(1, 2)]);
    }
}
