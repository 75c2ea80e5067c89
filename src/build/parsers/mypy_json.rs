//! Mypy's `--output json`: an object on each line. Main function: [`parse`].
//!
//! `error` is an error, `note` informs. Columns count from 0 there. Failures that mypy writes as text (`mypy: error: …`,
//! `x.py: error: Cannot read file`) are taken too; its whole text format belongs in a parser of its own.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, json_line, number, number_from_zero, report, severity, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the lines.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (index, line) in log.lines.iter().enumerate() {
        if let Some(found) = json_line(line).as_ref().map_or_else(|| failure(line.head()), diagnostic) {
            parsed.add(log, index..=index, found);
        }
    }
    parsed
}

fn diagnostic(found: &Value) -> Option<Diagnostic> {
    let (file, word) = (found["file"].as_str()?, found["severity"].as_str()?);
    let message = [text(&found["message"]), text(&found["hint"])].join("\n");
    Some(Diagnostic {
        file: filled(file),
        line: number(&found["line"]),
        column: number_from_zero(&found["column"]),
        end_line: number(&found["end_line"]),
        ..report(severity(word), &message, &text(&found["code"]))
    })
}

/// Reads a failure that has no line: of mypy itself or of a file.
fn failure(line: &str) -> Option<Diagnostic> {
    let (before, message) = line.split_once(": error: ")?;
    let is_file = std::path::Path::new(before).extension().is_some_and(|end| end == "py" || end == "pyi");
    let file = is_file.then(|| before.to_owned());
    (is_file || before == "mypy").then(|| Diagnostic { file, ..report(DiagnosticSeverity::Error, message, "") })
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn lines_and_failures() {
        let parsed = parse(&fixture("mypy_json/failure"));
        let rows = rows(&parsed);
        let expected = [
            "Info d.py:2:17-2 misc: Revealed type is \"int\"",
            "Error d.py:5:1-5 import-untyped: Library stubs not installed for \"yaml\"; Hint: \"python3",
            "Error a.py:5:12-5 return-value: Incompatible return value type",
            "Error a.py:8:8-8 arg-type: Argument 1 to \"double\" has",
            "Error a.py:9:7-9 name-defined: Name \"missing\" is not defined",
            "Error zz.py:-:--- -: Cannot read file: No such file or directory",
        ];
        assert_eq!(rows.len(), expected.len());
        assert!(rows.iter().zip(expected).all(|(row, start)| row.starts_with(start)), "{rows:#?}");
        assert_eq!(log_lines(&parsed), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]);
        assert_eq!(parse(&fixture("mypy_json/success")), Parsed::default());
    }
}
