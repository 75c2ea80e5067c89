//! `RuboCop`'s `--format json`. Main function: [`parse`].
//!
//! `fatal` and `error` are errors; `warning`, `convention` and `refactor` are warnings; `info` and what `RuboCop` has corrected
//! itself inform.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the offenses of all files.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| document["files"].is_array()) {
        for file in items(&document["files"]) {
            for offense in items(&file["offenses"]) {
                let location = &offense["location"];
                let found = Diagnostic {
                    file: filled(&text(&file["path"])),
                    line: number(&location["start_line"]).or_else(|| number(&location["line"])),
                    column: number(&location["start_column"]).or_else(|| number(&location["column"])),
                    end_line: number(&location["last_line"]),
                    ..report(severity(offense), &text(&offense["message"]), &text(&offense["cop_name"]))
                };
                parsed.add(log, lines.clone(), found);
            }
        }
    }
    parsed
}

fn severity(offense: &Value) -> DiagnosticSeverity {
    match offense["severity"].as_str() {
        _ if offense["corrected"].as_bool() == Some(true) => DiagnosticSeverity::Info,
        Some("fatal" | "error") => DiagnosticSeverity::Error,
        Some("warning" | "convention" | "refactor") => DiagnosticSeverity::Warning,
        _ => DiagnosticSeverity::Info,
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn offenses_of_two_files() {
        let parsed = parse(&fixture("rubocop_json/failure"));
        let rows = rows(&parsed);
        assert_eq!(rows.len(), 8);
        assert_eq!(rows[2], "Warning a.rb:2:3-2 Lint/UselessAssignment: Useless assignment to variable - `x`.");
        assert_eq!(rows[4], "Warning a.rb:3:8-3 Style/NilComparison: Prefer the use of the `nil?` predicate.");
        assert!(rows[7].starts_with("Error b.rb:2:1-2 Lint/Syntax: unexpected token $end (Using Ruby 2.6"));
        assert_eq!(log_lines(&parsed), [(1, 1); 8]);
        assert_eq!(parse(&fixture("rubocop_json/success")), Parsed::default());
    }
}
