//! `ShellCheck`'s `--format=json` and `json1`. Main function: [`parse`].
//!
//! `error` and `warning` are what they say; `info` and `style` inform. Codes are written `SC2086`, as in its text and comments.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, severity, text};
use crate::domain::diagnostic::Diagnostic;

/// Reads the comments.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| !comments(document).is_empty()) {
        for found in comments(&document) {
            let code = number(&found["code"]).map_or_else(String::new, |code| format!("SC{code}"));
            let diagnostic = Diagnostic {
                file: filled(&text(&found["file"])),
                line: number(&found["line"]),
                column: number(&found["column"]),
                end_line: number(&found["endLine"]),
                ..report(severity(&text(&found["level"])), &text(&found["message"]), &code)
            };
            parsed.add(log, lines.clone(), diagnostic);
        }
    }
    parsed
}

/// Returns the comments; none if they are of another tool.
fn comments(document: &Value) -> &[Value] {
    let comments = items(if document.is_array() { document } else { &document["comments"] });
    let is_own = comments.iter().any(|found| found["file"].is_string() && found["level"].is_string());
    if is_own { comments } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, rows};
    use super::*;

    #[test]
    fn both_formats_are_read_alike() {
        let read = |name| rows(&parse(&fixture(name)));
        let rows = read("shellcheck_json/failure");
        assert_eq!(rows.len(), 8);
        assert_eq!(rows[0], "Info b.sh:2:1-2 SC1009: The mentioned syntax error was in this if expression.");
        assert_eq!(rows[1], "Error b.sh:2:10-2 SC1073: Couldn't parse this then clause. Fix to allow more checks.");
        assert_eq!(rows[4], "Warning a.sh:4:5-4 SC2046: Quote this to prevent word splitting.");
        assert_eq!(read("shellcheck_json/failure_json1"), rows);
        assert_eq!(parse(&fixture("shellcheck_json/success")), Parsed::default());
    }
}
