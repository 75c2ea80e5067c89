//! Parses the text of an artefact into the review that it claims to be: strict in form, bounded, and free of secrets. Main function:
//! [`read`].
//!
//! Matching the pull request belongs in `which`, verifying the findings in `hunks`.

use std::collections::HashSet;

use serde_json::Value;

use super::error::ArtefactError;
use crate::domain::finding::Finding;
use crate::domain::review::Review;
use crate::domain::text::{secrets_in, shorten, strip_line};
use crate::present::json::{self, ExactParseError};

/// Limits on the parts of a review.
const FINDINGS: usize = 2_000;
const ANCHORS: usize = 21;
const SECTIONS: usize = 100;
const COMMITS: usize = 10_000;
const FILES: usize = 50_000;
const LINES: usize = 10_000;
/// Limits in characters on a line, a text, a quote.
const LINE: usize = 1_000;
const TEXT: usize = 64 << 10;
const QUOTE: usize = 256 << 10;
/// Limit in characters on an artefact's text in a message.
const SHOWN: usize = 300;

/// Parses the claimed review.
pub(super) fn read(text: &str) -> Result<Review, ArtefactError> {
    let document = |error: &ExactParseError| ArtefactError::Document { why: sanitize(&error.to_string()) };
    let value = json::value(text.as_bytes()).map_err(|error| document(&error))?;
    // Before any of its text is shown.
    if let Some((at, kind)) = secret(&value) {
        return Err(ArtefactError::Secret { at: at.trim_start_matches('.').to_owned(), kind });
    }
    let review = json::parse_exactly(text.as_bytes(), &value).map_err(|error| document(&error))?;
    bounded(&review)?;
    check_ids(&review.findings)?;
    Ok(review)
}

/// Formats a text of the artefact on one line of a message.
pub(super) fn sanitize(text: &str) -> String {
    shorten(&strip_line(text), SHOWN)
}

/// Finds the first secret: its place and kind. A key that contains one is not named.
fn secret(value: &Value) -> Option<(String, &'static str)> {
    let kind = |text: &str| secrets_in(text).first().map(|hit| hit.kind);
    match value {
        Value::String(text) => kind(text).map(|kind| (String::new(), kind)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(n, item)| secret(item).map(|(at, kind)| (format!("[{n}]{at}"), kind)))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, value)| match kind(key) {
            Some(kind) => Some((".(the name of a field)".to_owned(), kind)),
            None => secret(value).map(|(at, kind)| (format!(".{}{at}", sanitize(key)), kind)),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn count(at: &str, what: &str, found: usize, most: usize) -> Result<(), ArtefactError> {
    let error = || ArtefactError::TooMuch { at: format!("in {at}"), what: format!("{found} {what}"), most };
    if found <= most { Ok(()) } else { Err(error()) }
}

fn bounded(review: &Review) -> Result<(), ArtefactError> {
    let (change, coverage) = (&review.change, &review.coverage);
    count("findings", "findings", review.findings.len(), FINDINGS)?;
    count("sections", "sections", review.sections.len(), SECTIONS)?;
    count("change.commits", "commits", change.commits.len(), COMMITS)?;
    count("change.files", "files", change.files.len(), FILES)?;
    count("coverage.files", "files", coverage.files.len(), FILES)?;
    count("coverage.withheld", "claims", coverage.withheld.len(), LINES)?;
    let lines = |at: &str, texts: &[String]| {
        count(at, "lines", texts.len(), LINES)?;
        texts.iter().try_for_each(|text| length(at, text, TEXT))
    };
    lines("reasons", &review.reasons)?;
    lines("coverage.limits_hit", &coverage.limits_hit)?;
    lines("coverage.notes", &coverage.notes)?;
    length("summary.text", &review.summary, TEXT)?;
    for (n, section) in review.sections.iter().enumerate() {
        length(&format!("sections[{n}].title"), &section.title, LINE)?;
        length(&format!("sections[{n}].body"), &section.body, TEXT)?;
    }
    review.findings.iter().enumerate().try_for_each(|(n, finding)| bounded_finding(n, finding))
}

fn bounded_finding(n: usize, finding: &Finding) -> Result<(), ArtefactError> {
    let at = |name: &str| format!("findings[{n}].{name}");
    length(&at("title"), &finding.title, LINE)?;
    length(&at("body"), &finding.body, TEXT)?;
    length(&at("origin.name"), &finding.origin.name, LINE)?;
    for text in [&finding.verification.by, &finding.verification.rationale].into_iter().flatten() {
        length(&at("verification"), text, TEXT)?;
    }
    count(&at("anchors"), "anchors", finding.anchors.len(), ANCHORS)?;
    for anchor in &finding.anchors {
        length(&at("anchors.quote"), &anchor.quote, QUOTE)?;
    }
    let Some(suggestion) = &finding.suggestion else { return Ok(()) };
    length(&at("suggestion.replacement"), &suggestion.replacement, TEXT)?;
    // Quotes are compared with the files, so they may contain whatever the files do; a replacement has no such check.
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    if suggestion.replacement.contains(is_odd) {
        let why = format!("{}: it has a control character", at("suggestion.replacement"));
        return Err(ArtefactError::Document { why });
    }
    Ok(())
}

fn length(at: &str, text: &str, most: usize) -> Result<(), ArtefactError> {
    // A text never has fewer bytes than characters.
    if text.len() <= most { Ok(()) } else { count(at, "characters", text.chars().count(), most) }
}

/// Checks that ids have this program's format and are unique.
fn check_ids(findings: &[Finding]) -> Result<(), ArtefactError> {
    let hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut known = HashSet::new();
    for (n, finding) in findings.iter().enumerate() {
        let wrong =
            |name: &str, what: &str| Err(ArtefactError::Document { why: format!("findings[{n}].{name}: {what}") });
        let (stem, ordinal) = finding.id.0.split_once('-').unwrap_or((&finding.id.0, "2"));
        let counts = ordinal.len() <= 6 && ordinal.parse::<u32>().is_ok_and(|at| at >= 2 && at.to_string() == ordinal);
        if !hex(stem, 12) || !counts {
            return wrong("id", "not the name of a finding");
        }
        if !hex(&finding.fingerprint.0, 32) {
            return wrong("fingerprint", "not a fingerprint");
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | ':' | '+' | '-' | ' ');
        if !finding.origin.name.chars().all(is_plain) {
            return wrong("origin.name", "not the name of a rule or of a model");
        }
        if !known.insert(&finding.id) {
            return wrong("id", "another finding has the same");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_found_wherever_they_stand_and_are_not_told() {
        let key = "AKIAZ7QWERTY3UIOPA2X";
        for (document, at) in [
            (json!({"a": [{"b": format!("x {key}")}]}), "a[0].b"),
            (json!({"a": {key: 1}}), "a.(the name of a field)"),
            (json!([["\u{41}KIAZ7QWERTY3UIOPA2X"]]), "[0][0]"),
        ] {
            // Escapes of JSON hide nothing.
            let text = document.to_string().replace("AKIA", "\\u0041KI\\u0041");
            let fault = read(&text).unwrap_err();
            assert_eq!(fault, ArtefactError::Secret { at: at.to_owned(), kind: "aws-access-key" });
            assert!(!fault.to_string().contains("Z7QWERTY3UIOPA2X"), "{fault}");
        }
    }

    #[test]
    fn names_are_those_that_this_program_makes() {
        let review = json::parse(include_bytes!("../../../../fixtures/documents/typical.json")).unwrap();
        let with = |id: &str, fingerprint: &str| {
            let mut one = review.findings[0].clone();
            one.id.0 = id.to_owned();
            one.fingerprint.0 = fingerprint.to_owned();
            check_ids(&[one])
        };
        let fingerprint = "0f".repeat(16);
        for id in ["0123456789ab", "0123456789ab-2", "0123456789ab-17"] {
            assert_eq!(with(id, &fingerprint), Ok(()), "{id}");
        }
        for id in [
            "",
            "0123456789a",
            "0123456789AB",
            "0123456789ab-1",
            "0123456789ab-02",
            "0123456789ab-",
            "0123456789ab-2-3",
            "--> <b>",
        ] {
            assert!(with(id, &fingerprint).is_err(), "{id}");
        }
        assert!(with("0123456789ab", "0f").is_err());
    }

    #[test]
    fn what_is_shown_is_one_short_line() {
        assert_eq!(sanitize("a\nb\u{1b}[31mc"), "a b c".replace(" c", "c"));
        assert_eq!(sanitize(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }
}
