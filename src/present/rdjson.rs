//! Reviewdog's `RdjsonResult` as JSON. Main function: [`diagnostic`], which `rdjsonl` uses too.
//!
//! The format: `proto/rdf/reviewdog.proto` of reviewdog. Lines without columns mean whole lines, the last one included; findings quote
//! whole lines, so no column is ever written. Reviewdog posts a message as Markdown, so text of a model is sanitized like in our own
//! Markdown. A suggestion has lines and no path: one for another file than the finding's is put into the message.

use serde::Serialize;

use super::Presenter;
use super::RenderOptions;
use super::Syntax;
use super::brief::describe_suggestion;
use super::digest;
use super::json::escape_invisible;
use super::markdown::escape::{code, fenced, inline, prose};
use super::report::{EntryPlace, HeadPlaces, ReportEntry, entries_with_limits, facts, severity_names};
use crate::domain::finding::{Anchor, Finding, Suggestion};
use crate::domain::place::LineRange;
use crate::domain::review::Review;
use crate::domain::text::shorten;

/// The presenter of this file.
pub(super) const PRESENTER: Presenter = Presenter { name: "rdjson", extension: "rdjson", syntax: Syntax::Json, render };

/// Upper bound on the characters of a body: a comment of GitHub holds 65 536, and reviewdog adds to it.
pub(super) const BODY: usize = 30_000;

#[derive(Serialize)]
struct RdjsonResult {
    source: RdjsonSource,
    diagnostics: Vec<RdjsonDiagnostic>,
}

/// A `RdjsonDiagnostic` of reviewdog.
#[derive(Serialize)]
pub(super) struct RdjsonDiagnostic {
    message: String,
    location: RdjsonLocation,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<RdjsonSource>,
    code: RdjsonCode,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<RdjsonSuggestion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<RdjsonRelatedLocation>,
}

#[derive(Serialize)]
struct RdjsonSource {
    name: &'static str,
}

#[derive(Serialize)]
struct RdjsonCode {
    value: String,
}

#[derive(Serialize)]
struct RdjsonLocation {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<RdjsonRange>,
}

#[derive(Serialize)]
struct RdjsonRange {
    start: RdjsonPosition,
    end: RdjsonPosition,
}

#[derive(Serialize)]
struct RdjsonPosition {
    line: u32,
}

#[derive(Serialize)]
struct RdjsonSuggestion {
    range: RdjsonRange,
    text: String,
}

#[derive(Serialize)]
struct RdjsonRelatedLocation {
    message: String,
    location: RdjsonLocation,
}

const SOURCE: RdjsonSource = RdjsonSource { name: "review" };

fn render(review: &Review, _: &RenderOptions) -> Vec<u8> {
    let places = HeadPlaces::of(&review.change);
    let diagnostics = entries_with_limits(review).iter().map(|entry| diagnostic(entry, &places, BODY)).collect();
    // Plain fields always serialize.
    let mut text = serde_json::to_string_pretty(&RdjsonResult { source: SOURCE, diagnostics }).unwrap_or_default();
    text.push('\n');
    escape_invisible(text).into_bytes()
}

/// Converts an entry to a diagnostic with at most `most` characters of its body.
pub(super) fn diagnostic(entry: &ReportEntry<'_>, places: &HeadPlaces<'_>, most: usize) -> RdjsonDiagnostic {
    let suggestion = entry.finding.and_then(|finding| finding.suggestion.as_ref());
    let (carried, told) = match (suggestion, &entry.place) {
        (Some(suggestion), Some(place)) if place.exists && place.path == suggestion.path => (Some(suggestion), None),
        (told, _) => (None, told),
    };
    RdjsonDiagnostic {
        message: message(entry, told, most),
        location: location(entry.place.as_ref()),
        severity: severity_names(entry.severity).rdjson,
        source: None,
        code: RdjsonCode { value: entry.check.clone() },
        suggestions: carried.map(replacement).into_iter().collect(),
        related_locations: entry.finding.map(|finding| related(finding, places)).unwrap_or_default(),
    }
}

impl RdjsonDiagnostic {
    /// Adds the source, for a diagnostic that is read on its own.
    pub(super) fn with_source(self) -> Self {
        Self { source: Some(SOURCE), ..self }
    }

    /// Removes long parts other than the message, which mentions that.
    pub(super) fn without_optional_parts(mut self) -> Self {
        if !self.suggestions.is_empty() || !self.related_locations.is_empty() {
            self.message.push_str("\n\nIts suggestion and its other places were too long for this format.");
        }
        self.suggestions.clear();
        self.related_locations.clear();
        self
    }
}

fn message(entry: &ReportEntry<'_>, told: Option<&Suggestion>, most: usize) -> String {
    let mut parts = vec![format!("**{}**", inline(&entry.title))];
    if let Some(place) = entry.place.as_ref().filter(|place| !place.note.is_empty()) {
        parts.push(inline(&place.note));
    }
    parts.push(prose(&shorten(&entry.body, most)));
    if let (Some(suggestion), Some(diff)) = (told, entry.finding.and_then(describe_suggestion)) {
        let lines = digest::describe_lines(suggestion.lines);
        let said = format!("Suggested for {lines} of {}:", code(&suggestion.path.display_name()));
        parts.push(format!("{said}\n\n{}", fenced("diff", &shorten(&diff, most))));
    }
    parts.extend(entry.finding.map(|finding| inline(&facts(finding))));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

fn location(place: Option<&EntryPlace>) -> RdjsonLocation {
    match place {
        Some(place) => RdjsonLocation { path: place.path.display_name().into_owned(), range: place.lines.map(range) },
        None => RdjsonLocation { path: ".".to_owned(), range: None },
    }
}

fn range(lines: LineRange) -> RdjsonRange {
    RdjsonRange { start: RdjsonPosition { line: lines.start() }, end: RdjsonPosition { line: lines.end() } }
}

fn replacement(suggestion: &Suggestion) -> RdjsonSuggestion {
    RdjsonSuggestion { range: range(suggestion.lines), text: suggestion.replacement.clone() }
}

fn related(finding: &Finding, places: &HeadPlaces<'_>) -> Vec<RdjsonRelatedLocation> {
    let one = |anchor: &Anchor| {
        let place = places.at_head(anchor);
        let message = if place.note.is_empty() { "Also here".to_owned() } else { inline(&place.note) };
        RdjsonRelatedLocation { message, location: location(Some(&place)) }
    };
    finding.anchors.iter().skip(1).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::{json, presenter};

    fn rendered(change: impl FnOnce(&mut Review)) -> serde_json::Value {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        change(&mut review);
        let bytes = (presenter("rdjson").unwrap().render)(&review, &RenderOptions::default());
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn a_suggestion_replaces_whole_lines_of_the_file_of_its_finding() {
        let document = rendered(|_| ());
        let one = &document["diagnostics"][1];
        assert_eq!(one["location"]["range"], serde_json::json!({"start": {"line": 88}, "end": {"line": 90}}));
        let suggestion = &one["suggestions"][0];
        assert_eq!(suggestion["range"], serde_json::json!({"start": {"line": 89}, "end": {"line": 89}}));
        assert_eq!(suggestion["text"], "            self.put(part)?;");
        assert_eq!(document["diagnostics"][4]["suggestions"][0]["text"], "", "lines that go are replaced by nothing");
    }

    #[test]
    fn a_suggestion_for_another_file_is_told_and_not_applied_to_this_one() {
        let document = rendered(|review| {
            let other = crate::domain::path::RepoPath::parse("src/other.rs").unwrap();
            review.findings[1].suggestion.as_mut().unwrap().path = other;
        });
        let one = &document["diagnostics"][1];
        assert!(one.get("suggestions").is_none());
        let message = one["message"].as_str().unwrap();
        assert!(message.contains("line 89 of `src/other.rs`") && message.contains("self.put(part)?;"), "{message}");
    }

    #[test]
    fn a_place_that_is_gone_names_no_line_of_the_head() {
        let one = rendered(|_| ())["diagnostics"][2].clone();
        assert_eq!(one["location"], serde_json::json!({"path": "tests/test_upload.py"}));
        let message = one["message"].as_str().unwrap();
        assert!(message.contains("Before the change: lines 40-44 of tests/test\\_upload.py"), "{message}");
    }

    #[test]
    fn a_long_body_is_cut() {
        let document = rendered(|review| review.findings[0].body = "word ".repeat(1_000_000));
        let message = document["diagnostics"][0]["message"].as_str().unwrap();
        assert!(message.len() < BODY + 1000 && message.contains('…'));
        assert!(message.ends_with("id `4be01c9d72fa`"), "{}", &message[message.len() - 80..]);
    }
}
