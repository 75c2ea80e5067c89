//! Ruff's `--output-format json`. Main function: [`parse`].
//!
//! `severity` is taken where it is written; without one everything is an error, since it fails the check.

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, severity, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the violations.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    let documents = json_documents(log, |document| {
        items(document).iter().any(|found| found["filename"].is_string() && found["message"].is_string())
    });
    for (document, lines) in documents {
        for found in items(&document) {
            let severity = found["severity"].as_str().map_or(DiagnosticSeverity::Error, severity);
            let diagnostic = Diagnostic {
                file: filled(&text(&found["filename"])),
                line: number(&found["location"]["row"]),
                column: number(&found["location"]["column"]),
                end_line: number(&found["end_location"]["row"]),
                ..report(severity, &text(&found["message"]), &text(&found["code"]))
            };
            parsed.add(log, lines.clone(), diagnostic);
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn violations_and_syntax_errors() {
        let parsed = parse(&fixture("ruff_json/failure"));
        let expected = [
            "Error /w/a.py:1:8-1 F401: `os` imported but unused",
            "Error /w/a.py:9:7-9 F821: Undefined name `missing`",
            "Error /w/b.py:1:12-1 invalid-syntax: Expected a parameter or the end of the parameter list",
            "Error /w/b.py:1:13-2 invalid-syntax: Expected `)`, found newline",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(log_lines(&parsed).first(), Some(&(1, 94)));
        assert_eq!(parse(&fixture("ruff_json/success")), Parsed::default());
    }
}
