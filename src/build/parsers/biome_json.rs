//! Biome's `--reporter=json`, of version 1 and 2. Main function: [`parse`].
//!
//! `fatal` and `error` are errors, `warning` is a warning, `information` and `hint` inform. Its text belongs elsewhere.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, severity, text};
use crate::domain::diagnostic::Diagnostic;

/// Reads the diagnostics of all commands.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| document["diagnostics"].is_array()) {
        for found in items(&document["diagnostics"]) {
            parsed.add(log, lines.clone(), diagnostic(found));
        }
    }
    parsed
}

fn diagnostic(found: &Value) -> Diagnostic {
    let location = &found["location"];
    let path = if location["path"].is_object() { &location["path"]["file"] } else { &location["path"] };
    // Version 1 writes the message as parts and the place as bytes of the source.
    let parts: String = items(&found["message"]).iter().map(|part| text(&part["content"])).collect();
    let message =
        [text(&found["message"]), text(&found["description"]), parts].into_iter().find(|text| !text.trim().is_empty());
    let at = |end: usize| place(location["sourceCode"].as_str()?, location["span"][end].as_u64()?);
    let (start, end) = (at(0), at(1));
    Diagnostic {
        file: filled(&text(path)),
        line: number(&location["start"]["line"]).or(start.map(|(line, _)| line)),
        column: number(&location["start"]["column"]).or(start.map(|(_, column)| column)),
        end_line: number(&location["end"]["line"]).or(end.map(|(line, _)| line)),
        ..report(severity(&text(&found["severity"])), &message.unwrap_or_default(), &text(&found["category"]))
    }
}

/// Returns the line and the column, from 1, of a byte.
fn place(source: &str, byte: u64) -> Option<(u32, u32)> {
    let before = source.get(..usize::try_from(byte).ok()?)?;
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn diagnostics_of_version_2() {
        let parsed = parse(&fixture("biome_json/failure"));
        let rows = rows(&parsed);
        let expected = [
            "Warning src/a.js:2:9-2 lint/correctness/noUnusedVariables: This variable unused is unused.",
            "Error src/a.js:3:12-3 lint/suspicious/noDoubleEquals: Using == may be unsafe if",
            "Error src/a.js:-:--- format: Formatter would have printed the following content:",
            "Error src/b.js:2:1-2 parse: Expected an identifier, a member name",
            "Error src/b.js:1:25-1 lint/correctness/noEmptyPattern: Unexpected empty object pattern.",
            "Error src/b.js:-:--- format: Code formatting aborted due to parsing errors.",
        ];
        assert_eq!(rows.len(), expected.len());
        assert!(rows.iter().zip(expected).all(|(row, start)| row.starts_with(start)), "{rows:#?}");
        assert_eq!(log_lines(&parsed).len(), 6);
        assert_eq!(parse(&fixture("biome_json/success")), Parsed::default());
    }

    #[test]
    fn diagnostics_of_version_1() {
        let rows = rows(&parse(&fixture("biome_json/failure_v1")));
        let expected = [
            "Error src/a.js:3:12-3 lint/suspicious/noDoubleEquals: Use === instead of ==.",
            "Error src/b.js:2:1-2 parse: Expected an identifier, a member name",
            "Error src/b.js:1:25-1 lint/correctness/noEmptyPattern: Unexpected empty object pattern.",
        ];
        assert_eq!(rows.len(), expected.len());
        assert!(rows.iter().zip(expected).all(|(row, start)| row.starts_with(start)), "{rows:#?}");
    }
}
