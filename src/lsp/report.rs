//! Findings in the words of the protocol: diagnostics, hovers, and the rows of `review/findings`. Pure functions.

use std::collections::BTreeMap;

use gen_lsp_types::{
    Code, Contents, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Hover, Location, MarkupContent,
    MarkupKind, Message, Range, Uri,
};
use serde_json::{Value, json};

use crate::domain::finding::{Finding, OriginKind, Severity};
use crate::domain::review::Review;
use crate::domain::text::{shorten, strip_block, strip_line};
use crate::present;

/// The source of every diagnostic.
pub(super) const SOURCE: &str = "review";
/// Upper bound on the related places of a diagnostic.
const MOST_RELATED: usize = 20;
/// Upper bound on the findings in one hover.
const MOST_HOVERED: usize = 5;
/// Upper bound on the characters of a line.
const LINE: usize = 300;

/// A place that can be shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownPlace {
    pub(super) uri: String,
    pub(super) range: Range,
    /// `true` if the quoted lines were removed by the change, so that the range is the beginning of the file.
    pub(super) is_removed: bool,
}

/// Renders a finding as a diagnostic at the first of its places.
pub(super) fn diagnostic(finding: &Finding, places: &[ShownPlace], with_related: bool) -> Option<Diagnostic> {
    let (first, others) = places.split_first()?;
    let removed = if first.is_removed { " (on lines that the change removed)" } else { "" };
    let related = others.iter().take(MOST_RELATED).map(|place| DiagnosticRelatedInformation {
        location: Location { uri: Uri(place.uri.clone()), range: place.range },
        message: if place.is_removed { "removed lines of this file are part of it" } else { "this is part of it" }
            .to_owned(),
    });
    let related: Vec<_> = related.collect();
    Some(Diagnostic {
        range: first.range,
        severity: Some(severity(finding.severity)),
        code: Some(Code::String(rule(finding).map_or_else(|| finding.category.word().to_owned(), strip_line))),
        code_description: None,
        source: Some(SOURCE.to_owned()),
        message: Message::String(format!("{}{removed}", title(finding))),
        tags: None,
        related_information: (with_related && !related.is_empty()).then_some(related),
        data: Some(json!({ "finding": finding.id.0 })),
    })
}

/// The title of a finding in one line.
pub(super) fn title(finding: &Finding) -> String {
    let title = shorten(&strip_line(&finding.title), LINE);
    if title.trim().is_empty() { "(no title)".to_owned() } else { title }
}

/// The rule that reported a finding.
pub(super) fn rule(finding: &Finding) -> Option<&str> {
    (finding.origin.kind == OriginKind::Rule).then_some(finding.origin.name.as_str())
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Critical | Severity::High => DiagnosticSeverity::Error,
        Severity::Medium => DiagnosticSeverity::Warning,
        Severity::Low => DiagnosticSeverity::Information,
        Severity::Nit => DiagnosticSeverity::Hint,
    }
}

/// Renders the explanation of findings; `None` if there are none.
pub(super) fn hover(findings: &[&Finding], range: Range, as_markdown: bool) -> Option<Hover> {
    let text = |finding: &&Finding| {
        if as_markdown {
            return present::finding_markdown(finding);
        }
        format!("{}: {}\n\n{}", finding.severity, title(finding), strip_block(&finding.body))
    };
    let texts: Vec<String> = findings.iter().take(MOST_HOVERED).map(text).collect();
    let kind = if as_markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    let rule = if as_markdown { "\n---\n\n" } else { "\n\n" };
    let contents = Contents::MarkupContent(MarkupContent { kind, value: texts.join(rule) });
    (!texts.is_empty()).then_some(Hover { contents, range: Some(range) })
}

/// Renders a finding as a row of `review/findings`.
pub(super) fn row(finding: &Finding, place: &ShownPlace) -> Value {
    let mut row = json!({
        "id": finding.id.0,
        "title": title(finding),
        "severity": finding.severity.word(),
        "category": finding.category.word(),
        "origin": finding.origin.kind.word(),
        "uri": place.uri,
        "range": place.range,
        "prominence": finding.prominence.word(),
        "body": present::finding_markdown(finding),
    });
    if let Some(rule) = rule(finding) {
        row["rule"] = json!(strip_line(rule));
    }
    row
}

/// Counts findings by severity, with a number for each severity.
pub(super) fn counts<N: Copy + Default + Into<u64>>(counted: &BTreeMap<Severity, N>) -> Value {
    let of = |severity| (Severity::word(severity), counted.get(&severity).copied().unwrap_or_default().into());
    let all = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Nit].map(of);
    Value::from_iter(all.map(|(word, count): (_, u64)| (word, Value::from(count))))
}

/// Counts no findings.
pub(super) fn no_counts() -> Value {
    counts(&BTreeMap::<Severity, u32>::new())
}

/// Counts the findings of a review that still ask for something.
pub(super) fn counts_of(review: &Review) -> Value {
    counts(&review.by_severity().into_iter().map(|(severity, count)| (severity, count as u64)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json as document;
    use gen_lsp_types::Position;

    fn finding() -> Finding {
        document::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap().findings.remove(0)
    }

    fn place(line: u32, is_removed: bool) -> ShownPlace {
        let at = |line| Position { line, character: 0 };
        ShownPlace { uri: format!("file:///w/{line}"), range: Range { start: at(line), end: at(line + 1) }, is_removed }
    }

    #[test]
    fn a_finding_without_a_place_is_no_diagnostic() {
        assert_eq!(diagnostic(&finding(), &[], true), None);
    }

    #[test]
    fn other_places_are_related_where_the_client_shows_them() {
        let shown = diagnostic(&finding(), &[place(3, false), place(7, true)], true).unwrap();
        assert_eq!(shown.range.start.line, 3);
        assert_eq!(shown.related_information.unwrap()[0].location.uri.0, "file:///w/7");
        let plain = diagnostic(&finding(), &[place(3, true), place(7, false)], false).unwrap();
        assert_eq!(plain.related_information, None);
        assert!(matches!(plain.message, Message::String(text) if text.ends_with("(on lines that the change removed)")));
    }

    #[test]
    fn text_of_a_model_is_inert() {
        let mut hostile = finding();
        hostile.title = "a\u{202e}b\n# heading [x](command:run)".to_owned();
        hostile.body = "<img src=x> ![i](https://e/x.png) [run](command:evil) \x1b[31m".to_owned();
        let range = place(0, false).range;
        for as_markdown in [true, false] {
            let Contents::MarkupContent(shown) = hover(&[&hostile], range, as_markdown).unwrap().contents else {
                panic!()
            };
            assert!(!shown.value.contains(['\x1b', '\u{202e}']), "{}", shown.value);
            if as_markdown {
                // An escaped bracket ends no link.
                assert!(!shown.value.replace("\\]", "").contains("](command:"), "{}", shown.value);
                assert!(!shown.value.contains("<img"), "{}", shown.value);
            }
        }
        let shown = diagnostic(&hostile, &[place(0, false)], true).unwrap();
        assert!(matches!(shown.message, Message::String(text) if !text.contains(['\n', '\u{202e}'])));
        assert_eq!(hover(&[], range, true), None);
    }

    #[test]
    fn every_severity_has_a_number() {
        let counted = counts(&BTreeMap::from([(Severity::High, 2_u32)]));
        assert_eq!(counted, json!({ "critical": 0, "high": 2, "medium": 0, "low": 0, "nit": 0 }));
    }
}
