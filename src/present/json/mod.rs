//! The JSON document of a review, `review/1`: written by `PRESENTER`, read back by [`parse()`], described by [`schema`].
//!
//! The wire types are in `wire`, the only module that knows field names. Prose (titles, bodies, messages) is stripped of escapes and
//! invisible characters; quotes and replacements are verbatim, with invisible characters written as `\uXXXX`.
//!
//! `docs/review.schema.json` is the output of [`schema`], and a test compares the two. After a change of `wire`, refresh it with
//! `REVIEW_REFRESH=1 cargo test --lib present::json`.

mod parse;
mod strict;
mod wire;
mod write;

use std::fmt::Write as _;

use super::{Presenter, RenderOptions, Syntax};
use crate::domain::finding::Finding;
use crate::domain::review::Review;
use crate::domain::run::Usage;
use crate::domain::text::is_invisible;

pub use parse::{DocumentValueError, ParseError, parse, parse_finding};
pub use strict::{ExactParseError, parse_exactly, value};

/// The value of the document's field `schema`.
pub const SCHEMA: &str = "review/1";

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "json", extension: "json", syntax: Syntax::Json, render };

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    // Maps with string keys and plain fields always serialize.
    let mut text = serde_json::to_string_pretty(&write::document(review)).unwrap_or_default();
    text.push('\n');
    escape_invisible(text).into_bytes()
}

/// Renders tokens and cost, as in every document.
pub(super) fn usage(usage: Usage) -> serde_json::Value {
    serde_json::to_value(usage).unwrap_or_default()
}

/// Renders the document on one line, without its line ending.
pub(super) fn render_on_one_line(review: &Review) -> String {
    escape_invisible(serde_json::to_string(&write::document(review)).unwrap_or_default())
}

/// Writes invisible characters as `\uXXXX`: the same data, without effect on a terminal that shows the document.
///
/// Outside of strings a document is plain ASCII, so only text inside strings is affected.
pub(super) fn escape_invisible(json: String) -> String {
    let hidden = |c: char| (c.is_control() && c != '\n') || is_invisible(c);
    if !json.chars().any(hidden) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Renders any value on one line, with invisible characters written as `\uXXXX`.
pub fn text(value: &serde_json::Value) -> String {
    escape_invisible(value.to_string())
}

/// Renders one finding as in the document.
pub fn finding(finding: &Finding) -> serde_json::Value {
    serde_json::to_value(write::finding(finding)).unwrap_or_default()
}

/// Returns the JSON Schema of [`finding`], without references.
pub fn finding_schema() -> serde_json::Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<wire::FindingJson>().to_value()
}

/// Returns the JSON Schema (draft 2020-12) of the document.
pub fn schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<wire::ReviewJson>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let schema = serde_json::to_string_pretty(&schema()).unwrap();
        crate::generated::assert_file("docs/review.schema.json", &format!("{schema}\n"));
    }

    #[test]
    fn a_document_of_another_version_is_refused_by_name() {
        let fault = parse(br#"{"schema":"review/2","id":"x"}"#).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the document has the schema \"review/2\", this program reads review/1: use the version that wrote it"
        );
        assert!(matches!(parse(b"{}"), Err(ParseError::NotADocument(_))));
        assert!(matches!(parse(b"\x80"), Err(ParseError::NotADocument(_))));
    }

    #[test]
    fn a_value_that_cannot_be_is_named_with_its_place() {
        let good = include_str!("../../../fixtures/documents/typical.json");
        let mut document: serde_json::Value = serde_json::from_str(good).unwrap();
        document["findings"][1]["anchors"][0]["path"] = "../etc/passwd".into();
        let fault = parse(document.to_string().as_bytes()).unwrap_err();
        assert_eq!(fault.to_string(), "findings[1].anchors[0].path: the path leaves the reviewed tree (`..`)");

        let mut document: serde_json::Value = serde_json::from_str(good).unwrap();
        document["findings"][0]["anchors"] = serde_json::json!([]);
        let fault = parse(document.to_string().as_bytes()).unwrap_err();
        assert_eq!(fault.to_string(), "findings[0].anchors: a finding has at least one anchor");

        let mut document: serde_json::Value = serde_json::from_str(good).unwrap();
        document["findings"][0]["confidence"] = 11.into();
        assert!(parse(document.to_string().as_bytes()).is_err());
    }

    #[test]
    fn a_second_look_reads_back_and_a_document_without_one_does_too() {
        use crate::domain::finding::Severity;
        use crate::domain::run::Usage;
        use crate::domain::verification::VerificationTotals;

        let mut review = parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
        assert!(review.provenance.second_look.is_none() && review.coverage.below_confidence.is_empty());
        let usage = Usage { input_tokens: Some(9), cost: None, ..Usage::NOTHING };
        let (confirmed, uncertain, refuted, unchecked) = (1, 2, 3, 4);
        let by = "gemini/x".to_owned();
        let look = VerificationTotals { by, confirmed, uncertain, refuted, unchecked, turns: 5, usage };
        review.provenance.second_look = Some(look.clone());
        review.coverage.below_confidence = [(Severity::High, 2)].into();
        let again = parse(&render(&review, &RenderOptions::default())).unwrap();
        assert_eq!(again.provenance.second_look, Some(look));
        assert_eq!(again.coverage.below_confidence, review.coverage.below_confidence);
        assert_eq!(
            again.count_blocking(Severity::Nit),
            review.count_blocking(Severity::Nit),
            "what nobody is sure of is no reason to fail"
        );
    }

    #[test]
    fn an_older_document_that_calls_checked_files_reviewed_is_read() {
        use crate::domain::review::CoverageState;

        let typical = include_str!("../../../fixtures/documents/typical.json");
        let older = typical.replace("\"state\": \"checked\"", "\"state\": \"reviewed\"");
        assert_ne!(older, typical);
        let states = |text: &str| -> Vec<CoverageState> {
            parse(text.as_bytes()).unwrap().coverage.files.iter().map(|file| file.state).collect()
        };
        assert_eq!(states(&older), states(typical));
        let by_model = states(&older.replace("\"engine\": \"rules\"", "\"engine\": \"model\""));
        assert!(by_model.contains(&CoverageState::Reviewed) && !by_model.contains(&CoverageState::Checked));
    }

    #[test]
    fn every_finding_has_a_prominence_and_an_older_document_has_main_ones_alone() {
        use crate::domain::finding::Prominence;

        let good = include_str!("../../../fixtures/documents/typical.json");
        let of =
            |text: &str| parse(text.as_bytes()).unwrap().findings.iter().map(|one| one.prominence).collect::<Vec<_>>();
        assert_eq!(of(good)[2..], [Prominence::Main, Prominence::Also, Prominence::Also]);
        let older: String = good.lines().filter(|line| !line.contains("\"prominence\"")).collect();
        assert_eq!(of(&older), [Prominence::Main; 5]);
    }

    #[test]
    fn what_cannot_be_seen_is_escaped_and_reads_back() {
        let text = "a\u{202e}\u{e0041}\u{9b}\u{7f}\u{1b}é\n";
        let json = escape_invisible(serde_json::to_string(text).unwrap());
        assert_eq!(json, r#""a\u202e\udb40\udc41\u009b\u007f\u001bé\n""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn the_first_field_names_the_schema() {
        let review = parse(include_bytes!("../../../fixtures/documents/empty.json")).unwrap();
        let text = String::from_utf8(render(&review, &RenderOptions::default())).unwrap();
        assert!(text.starts_with("{\n  \"schema\": \"review/1\",\n  \"id\": "), "{text}");
    }
}
