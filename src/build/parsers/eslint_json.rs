//! `ESLint`'s `--format json`. Main function: [`parse`].
//!
//! Severity 2 and what stops the parser (`fatal`) are errors, 1 is a warning. Its text formats belong in parsers of their own.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the messages of all files.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, is_result) {
        for file in items(&document) {
            for message in items(&file["messages"]) {
                let severity = match (message["fatal"].as_bool(), message["severity"].as_u64()) {
                    (Some(true), _) | (_, Some(2)) => DiagnosticSeverity::Error,
                    (_, Some(1)) => DiagnosticSeverity::Warning,
                    _ => DiagnosticSeverity::Info,
                };
                let found = Diagnostic {
                    file: filled(&text(&file["filePath"])),
                    line: number(&message["line"]),
                    column: number(&message["column"]),
                    end_line: number(&message["endLine"]),
                    ..report(severity, &text(&message["message"]), &text(&message["ruleId"]))
                };
                parsed.add(log, lines.clone(), found);
            }
        }
    }
    parsed
}

fn is_result(document: &Value) -> bool {
    items(document).iter().any(|file| file["filePath"].is_string() && file["messages"].is_array())
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn messages_are_found_below_the_banner_of_npm() {
        let parsed = parse(&fixture("eslint_json/failure"));
        let expected = [
            "Warning /w/src/a.js:2:9-2 no-unused-vars: 'unused' is assigned a value but never used.",
            "Error /w/src/a.js:3:12-3 eqeqeq: Expected '===' and instead saw '=='.",
            "Error /w/src/b.js:2:1-- -: Parsing error: Unexpected token",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(log_lines(&parsed), [(5, 5); 3]);
        assert_eq!(parse(&fixture("eslint_json/success")), Parsed::default());
    }

    #[test]
    fn odd_fields_lose_no_message() {
        let log = Log::of_output(br#"[1,{"filePath":"a","messages":[{"line":-1,"column":"x","severity":2}]}]"#);
        assert_eq!(rows(&parse(&log)), ["Error a:-:--- -: no message"]);
    }
}
