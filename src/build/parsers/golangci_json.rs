//! golangci-lint's JSON, of version 1 and 2. Main function: [`parse`].
//!
//! An issue without a severity is an error, since it fails the run, and so is one with a word unknown here. `warning`, `medium`,
//! `minor` and `low` are warnings; `info` and `note` inform. The report's own error and warnings have no file.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the issues and the report.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    let documents = json_documents(log, |document| document.get("Issues").is_some() || document["Report"].is_object());
    for (document, lines) in documents {
        for issue in items(&document["Issues"]) {
            parsed.add(log, lines.clone(), diagnostic(issue));
        }
        let own = &document["Report"];
        if let Some(error) = filled(&text(&own["Error"])) {
            parsed.add(log, lines.clone(), report(DiagnosticSeverity::Error, &error, ""));
        }
        for warning in items(&own["Warnings"]) {
            let found = report(DiagnosticSeverity::Warning, &text(&warning["Text"]), &text(&warning["Tag"]));
            parsed.add(log, lines.clone(), found);
        }
    }
    parsed
}

fn diagnostic(issue: &Value) -> Diagnostic {
    let severity = match text(&issue["Severity"]).to_ascii_lowercase().as_str() {
        "warning" | "medium" | "minor" | "low" => DiagnosticSeverity::Warning,
        "info" | "note" => DiagnosticSeverity::Info,
        _ => DiagnosticSeverity::Error,
    };
    let place = &issue["Pos"];
    Diagnostic {
        file: filled(&text(&place["Filename"])),
        line: number(&place["Line"]),
        column: number(&place["Column"]),
        end_line: number(&issue["LineRange"]["To"]),
        ..report(severity, &text(&issue["Text"]), &text(&issue["FromLinter"]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn issues_and_the_report() {
        let parsed = parse(&fixture("golangci_json/failure"));
        let expected = [
            "Error store/file.go:21:9-- errcheck: Error return value of `f.Close` is not checked",
            "Warning store/file.go:30:2-32 staticcheck: SA4006: this value of `err` is never used",
            "Error api/api.go:7:8-- typecheck: undefined: Handler",
            "Warning -:-:--- runner: The linter 'golint' is deprecated",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(log_lines(&parsed), [(1, 1); 4]);
        assert_eq!(parse(&fixture("golangci_json/success")), Parsed::default());
        let log = Log::of_output(br#"{"Issues":null,"Report":{"Error":"no go files to analyze"}}"#);
        assert_eq!(rows(&parse(&log)), ["Error -:-:--- -: no go files to analyze"]);
    }
}
