//! `PHPStan`'s `--error-format=json` and `prettyJson`. Main function: [`parse`].
//!
//! Everything it reports is an error: it has no other severity.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Reads the errors of the files and those without one.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| document["totals"]["file_errors"].is_number()) {
        // Without errors PHP writes the empty map as a list.
        for (file, found) in document["files"].as_object().into_iter().flatten() {
            for message in items(&found["messages"]) {
                parsed.add(log, lines.clone(), diagnostic(file, message));
            }
        }
        for message in items(&document["errors"]) {
            parsed.add(log, lines.clone(), report(DiagnosticSeverity::Error, &text(message), ""));
        }
    }
    parsed
}

fn diagnostic(file: &str, message: &Value) -> Diagnostic {
    // An error in a trait names the class that uses it behind the path.
    let file = file.split_once(" (in context of").map_or(file, |(file, _)| file);
    Diagnostic {
        file: filled(file),
        line: number(&message["line"]),
        ..report(DiagnosticSeverity::Error, &text(&message["message"]), &text(&message["identifier"]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn errors_with_and_without_a_file() {
        let parsed = parse(&fixture("phpstan_json/failure"));
        let expected = [
            "Error /w/src/Order.php:14:--- return.type: Method App\\Order::total() should return int but returns string.",
            "Error /w/src/Order.php:-:--- -: Class App\\Missing not found.",
            "Error /w/src/Stamps.php:7:--- property.notFound: Access to an undefined property App\\Order::$at.",
            "Error -:-:--- -: Ignored error pattern #^Old# was not matched in reported errors.",
        ];
        assert_eq!(rows(&parsed), expected);
        assert_eq!(log_lines(&parsed), [(2, 2); 4]);
        assert_eq!(parse(&fixture("phpstan_json/success")), Parsed::default());
    }
}
