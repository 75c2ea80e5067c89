//! Pyright's `--outputjson`, also of basedpyright. Main function: [`parse`].
//!
//! `error` and `warning` are what they say, `information` informs. Lines and columns count from 0 there.

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number_from_zero, report, severity, text};
use crate::domain::diagnostic::Diagnostic;

/// Reads the general diagnostics.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| document["generalDiagnostics"].is_array()) {
        for found in items(&document["generalDiagnostics"]) {
            let (start, end) = (&found["range"]["start"], &found["range"]["end"]);
            let diagnostic = Diagnostic {
                file: filled(&text(&found["file"])),
                line: number_from_zero(&start["line"]),
                column: number_from_zero(&start["character"]),
                end_line: number_from_zero(&end["line"]),
                ..report(severity(&text(&found["severity"])), &text(&found["message"]), &text(&found["rule"]))
            };
            parsed.add(log, lines.clone(), diagnostic);
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, rows};
    use super::*;

    #[test]
    fn diagnostics_count_from_one() {
        let rows = rows(&parse(&fixture("pyright_json/failure")));
        let expected = [
            "Error /w/a.py:5:12-5 reportReturnType: Type \"str\" is not assignable to return type \"int\"; \"str\" is",
            "Error /w/a.py:8:8-8 reportArgumentType: Argument of type",
            "Error /w/a.py:9:7-9 reportUndefinedVariable: \"missing\" is not defined",
        ];
        assert_eq!(rows.len(), expected.len());
        assert!(rows.iter().zip(expected).all(|(row, start)| row.starts_with(start)), "{rows:#?}");
        assert_eq!(parse(&fixture("pyright_json/success")), Parsed::default());
    }
}
