//! SARIF 2.1 of any tool. Main function: [`parse`].
//!
//! `error` and `warning` are what they say; `note`, `none` and suppressed results inform. A result without a level has its rule's
//! and else is a warning, as the standard says. Results that passed or are gone since the baseline are no diagnostics.

use serde_json::Value;

use super::super::log::Log;
use super::Parsed;
use super::machine::{filled, items, json_documents, number, report, severity, text};
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Maximum number of rules among which one is looked up by name.
const MOST_RULES: usize = 5000;
/// Maximum number of characters of an argument of a message, and of the message while they are put in.
const LONGEST_PARTS: (usize, usize) = (200, 2000);

/// Reads the results of all runs, and what the tools say about themselves.
pub(super) fn parse(log: &Log) -> Parsed {
    let mut parsed = Parsed::default();
    for (document, lines) in json_documents(log, |document| document["runs"].is_array()) {
        for run in items(&document["runs"]) {
            for found in items(&run["results"]).iter().filter_map(|result| diagnostic(run, result)) {
                parsed.add(log, lines.clone(), found);
            }
            for invocation in items(&run["invocations"]) {
                let notes = ["toolExecutionNotifications", "toolConfigurationNotifications"];
                for note in notes.iter().flat_map(|name| items(&invocation[*name])) {
                    let level = severity(note["level"].as_str().unwrap_or("warning"));
                    let own = report(level, &message(note, &Value::Null), &text(&note["descriptor"]["id"]));
                    if level != DiagnosticSeverity::Info {
                        parsed.add(log, lines.clone(), placed(run, note, own));
                    }
                }
            }
        }
    }
    parsed
}

fn diagnostic(run: &Value, result: &Value) -> Option<Diagnostic> {
    let is_gone = result["baselineState"] == "absent";
    if is_gone || matches!(result["kind"].as_str(), Some("pass" | "notApplicable")) {
        return None;
    }
    let rule = rule(run, result);
    let is_failure = result["kind"].as_str().is_none_or(|kind| kind == "fail");
    let level = result["level"].as_str().or_else(|| rule["defaultConfiguration"]["level"].as_str());
    let is_suppressed = items(&result["suppressions"]).iter().any(|found| found["status"] != "rejected");
    let severity =
        if is_suppressed || !is_failure { DiagnosticSeverity::Info } else { severity(level.unwrap_or("warning")) };
    let code = [&result["ruleId"], &result["rule"]["id"], &rule["id"]].into_iter().map(text);
    let code = code.into_iter().find(|code| !code.is_empty()).unwrap_or_default();
    Some(placed(run, result, report(severity, &message(result, rule), &code)))
}

/// Returns the rule of a result by its index or name.
fn rule<'a>(run: &'a Value, result: &Value) -> &'a Value {
    let rules = &run["tool"]["driver"]["rules"];
    let index = result["ruleIndex"].as_u64().or_else(|| result["rule"]["index"].as_u64());
    let by_index = index.and_then(|index| rules.get(usize::try_from(index).ok()?));
    let by_name =
        || items(rules).iter().take(MOST_RULES).find(|rule| rule["id"].is_string() && rule["id"] == result["ruleId"]);
    by_index.or_else(by_name).unwrap_or(&Value::Null)
}

/// Returns the message of a result; one given by name is the rule's, with its arguments.
fn message(result: &Value, rule: &Value) -> String {
    let own = &result["message"];
    let named = &rule["messageStrings"][own["id"].as_str().unwrap_or_default()]["text"];
    let texts = [&own["text"], &own["markdown"], named, &rule["shortDescription"]["text"]].into_iter().map(text);
    let found = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    // An argument may bear the mark of the next: cut each time, they cannot grow without end.
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    items(&own["arguments"]).iter().take(10).enumerate().fold(found, |found, (at, argument)| {
        cut(&found, LONGEST_PARTS.1).replace(&format!("{{{at}}}"), &cut(&text(argument), LONGEST_PARTS.0))
    })
}

/// Adds the first place of a result.
fn placed(run: &Value, result: &Value, found: Diagnostic) -> Diagnostic {
    let place = &result["locations"][0]["physicalLocation"];
    let (file, region) = (&place["artifactLocation"], &place["region"]);
    let artifact = file["index"].as_u64().and_then(|index| run["artifacts"].get(usize::try_from(index).ok()?));
    let by_index = artifact.map_or(&Value::Null, |artifact| &artifact["location"]["uri"]);
    let uri = file["uri"].as_str().or_else(|| by_index.as_str()).unwrap_or_default();
    Diagnostic {
        file: filled(&path(uri)),
        line: number(&region["startLine"]),
        column: number(&region["startColumn"]),
        end_line: number(&region["endLine"]),
        ..found
    }
}

/// Makes a path of the address of a file.
fn path(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    // The address of `C:\x` is `file:///C:/x`.
    let is_drive = path.strip_prefix('/').is_some_and(|rest| rest.as_bytes().get(1) == Some(&b':'));
    let mut rest = path.get(usize::from(is_drive)..).unwrap_or_default();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let code = after.get(..2).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::machine::testing::{fixture, log_lines, rows};
    use super::*;

    #[test]
    fn results_of_two_tools() {
        let parsed = parse(&fixture("sarif/ruff"));
        assert_eq!(rows(&parsed), ["Error /w/a.py:9:7-9 F821: Undefined name `missing`"]);
        let parsed = parse(&fixture("sarif/biome"));
        let found = rows(&parsed);
        assert_eq!(found.len(), 4);
        let first = "Warning /w/src/a.js:2:9-2 lint/correctness/noUnusedVariables: This variable unused is unused.";
        assert_eq!(found[0], first);
        assert_eq!(log_lines(&parsed)[3].0, 1);
        assert_eq!(parse(&fixture("sarif/success")), Parsed::default());
    }

    #[test]
    fn what_a_result_leaves_to_its_rule_and_run() {
        let log = Log::of_output(
            br#"{"runs":[{"tool":{"driver":{"rules":[{"id":"R1","defaultConfiguration":{"level":"error"},
            "messageStrings":{"m":{"text":"no {0} in {1}"}}}]}},"artifacts":[{"location":{"uri":"file:///C:/a%20b%.cs"}}],
            "results":[{"ruleIndex":0,"message":{"id":"m","arguments":["x","y"]},
            "locations":[{"physicalLocation":{"artifactLocation":{"index":0},"region":{"startLine":0}}}]},
            {"message":{"text":"z"},"suppressions":[{"kind":"inSource"}]},{"kind":"pass","message":{"text":"p"}},{}],
            "invocations":[{"toolExecutionNotifications":[{"level":"error","message":{"text":"crashed"}}]}]}]}"#,
        );
        let expected = [
            "Error C:/a b%.cs:-:--- R1: no x in y",
            "Info -:-:--- -: z",
            "Warning -:-:--- -: no message",
            "Error -:-:--- -: crashed",
        ];
        assert_eq!(rows(&parse(&log)), expected);
    }
}
