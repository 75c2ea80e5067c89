//! Cargo's `--message-format=json` (build, check, clippy), also rustc's own `--error-format=json`. Main function: [`parse`].
//!
//! `error` levels are errors, `warning` is a warning, the rest informs. Notes below a message are not diagnostics of their own, and
//! neither are the closing counts. Errors that cargo itself writes as text have no file. Test results belong in `cargo_test`.

use std::collections::HashSet;

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_line, number, report, severity, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Maximum number of expansions of macros around a place.
const MOST_EXPANSIONS: usize = 64;

/// Reads the compiler's messages; one that several targets share is read once.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    let (mut known, mut given_up) = (HashSet::new(), Vec::new());
    for (index, line) in log.lines.iter().enumerate() {
        if line.text.starts_with('{') {
            let found = json_line(line).as_ref().and_then(message).and_then(diagnostic);
            let found = found.filter(|found| known.insert(format!("{found:?}")));
            if let Some(found) = found {
                parsed.add(log, index..=index, found);
            }
        } else if let Some(error) = line.head().strip_prefix("error: ")
            && !is_about_tests(error)
        {
            let (message, last) = with_causes(log, index, error);
            let found = (index..=last, report(DiagnosticSeverity::Error, &message, ""));
            if error.starts_with("could not compile") {
                given_up.push(found);
            } else {
                parsed.add(log, found.0, found.1);
            }
        }
    }
    // Cargo gives up on a crate whose errors were read: nothing new. It says so on another pipe, which may be read first.
    if !parsed.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error) {
        for (lines, found) in given_up {
            parsed.add(log, lines, found);
        }
    }
    parsed
}

fn is_about_tests(error: &str) -> bool {
    error.contains("to rerun pass") || error.ends_with("target failed:") || error.ends_with("targets failed:")
}

/// Returns the compiler's message in a line of cargo, or the line if it is rustc's own.
fn message(object: &Value) -> Option<&Value> {
    match object["reason"].as_str() {
        Some("compiler-message") => Some(&object["message"]),
        Some(_) => None,
        None => Some(object),
    }
}

fn diagnostic(message: &Value) -> Option<Diagnostic> {
    let (level, words) = (message["level"].as_str()?, text(&message["message"]));
    let is_count = words.starts_with("aborting due to ")
        || (words.ends_with(" emitted") && words.starts_with(|letter: char| letter.is_ascii_digit()));
    if level == "failure-note" || is_count || !message["spans"].is_array() {
        return None;
    }
    // The compiler's own failure is `error: internal compiler error`.
    let level = level.split(':').next().unwrap_or_default();
    let found = report(severity(level), &words, &text(&message["code"]["code"]));
    let primary = items(&message["spans"]).iter().find(|span| span["is_primary"] == true);
    Some(match primary.map(outermost) {
        Some(span) => Diagnostic {
            file: filled(&text(&span["file_name"])),
            line: number(&span["line_start"]),
            column: number(&span["column_start"]),
            end_line: number(&span["line_end"]),
            ..found
        },
        None => found,
    })
}

/// Returns the place in the project where a place in a macro of another crate comes from.
fn outermost(span: &Value) -> &Value {
    let is_foreign = |span: &Value| {
        span["file_name"].as_str().is_some_and(|file| file.starts_with('<') || file.starts_with("/rustc/"))
    };
    let mut at = span;
    for _ in 0..MOST_EXPANSIONS {
        let outer = &at["expansion"]["span"];
        if !is_foreign(at) || !outer.is_object() {
            break;
        }
        at = outer;
    }
    at
}

/// Adds the lines below an error of cargo that say why; returns the index of the last.
fn with_causes(log: &Log, index: usize, error: &str) -> (String, usize) {
    let (mut message, mut last) = (error.to_owned(), index);
    for (at, line) in log.lines.iter().enumerate().skip(index + 1).take(20) {
        let line = line.head();
        if line.starts_with("  ") || line == "Caused by:" {
            message.push('\n');
            message.push_str(line);
            last = at;
        } else if !line.is_empty() {
            break;
        }
    }
    (message, last)
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn errors_and_warnings_without_the_closing_notes() {
        let parsed = parse(&fixture("cargo_json/failure"));
        let expected = [
            "Error src/lib.rs:14:5-14 E0308: mismatched types",
            "Warning src/lib.rs:4:9-4 unused_variables: unused variable: `unused`",
            "Error src/lib.rs:19:5-19 E0382: borrow of moved value: `v`",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(log_lines(&parsed), [(2, 2), (3, 3), (4, 4)]);
        let parsed = parse(&fixture("cargo_json/warnings"));
        assert_eq!(rows(&parsed), ["Warning src/lib.rs:4:9-4 unused_variables: unused variable: `unused`"]);
        assert_eq!(parse(&fixture("cargo_json/success")), Parsed::default());
    }

    #[test]
    fn errors_of_cargo_itself() {
        let parsed = parse(&fixture("cargo_json/manifest"));
        let expected = "Error -:-:--- -: failed to parse manifest at `/w/Cargo.toml`; Caused by: failed to parse the \
            `edition` key; Caused by: supported edition values are `2015`, `2018`, `2021`, or `2024`, but `3024` is unknown";
        assert_eq!(rows(&parsed), [expected]);
        assert_eq!(log_lines(&parsed), [(1, 7)]);
        let killed = Log::of_output(b"error: could not compile `a` (lib)\n\nCaused by:\n  process: (signal: 9)\n");
        assert_eq!(
            rows(&parse(&killed)),
            ["Error -:-:--- -: could not compile `a` (lib); Caused by: process: (signal: 9)"]
        );
    }

    #[test]
    fn giving_up_is_no_error_beside_one_whatever_is_read_first() {
        let error = r#"{"reason":"compiler-message","message":{"level":"error","message":"m","code":null,"spans":[]}}"#;
        let given_up = "error: could not compile `a` (lib) due to 1 previous error";
        for log in [format!("{error}\n{given_up}\n"), format!("{given_up}\n{error}\n")] {
            assert_eq!(rows(&parse(&Log::of_output(log.as_bytes()))), ["Error -:-:--- -: m"], "{log}");
        }
        assert_eq!(parse(&Log::of_output(given_up.as_bytes())).diagnostics.len(), 1);
    }

    #[test]
    fn a_place_in_a_foreign_macro_is_that_of_its_use() {
        let log = Log::of_output(
            br#"{"level":"error","message":"m","code":null,"spans":[{"is_primary":true,"file_name":"/rustc/x/m.rs",
            "line_start":1,"expansion":{"span":{"file_name":"src/a.rs","line_start":7,"column_start":3,"line_end":7}}}]}"#
                .iter()
                .copied()
                .filter(|byte| *byte != b'\n')
                .collect::<Vec<_>>()
                .as_slice(),
        );
        assert_eq!(rows(&parse(&log)), ["Error src/a.rs:7:3-7 -: m"]);
    }
}
