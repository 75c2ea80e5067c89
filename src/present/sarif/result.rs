//! Converts findings to results (§3.27), and an incomplete review to one. Main functions: [`render_finding`], [`render_unfinished`].

use std::collections::BTreeMap;

use serde_json::json;
use serde_sarif::sarif::{
    ArtifactChange, ArtifactContent, Fix, Location, Message, Replacement, Result, ResultKind, ResultLevel, Suppression,
};

use super::super::markdown::escape::inline;
use super::super::markdown::escape::prose;
use super::place::{SarifLocations, whole_lines};
use super::rules::{self, RuleDescriptors};
use super::{bag, notice, text};
use crate::domain::finding::{Anchor, Finding, FindingStatus, Severity, Suggestion};
use crate::domain::place::DiffSide;
use crate::domain::review::Review;
use crate::present::{digest, report};

/// Upper bound on the further places of a result: code scanning rejects more than a thousand and shows a hundred.
const RELATED: usize = 100;

/// Converts a finding to a result; registers its rule and its files.
pub(super) fn render_finding(
    finding: &Finding,
    rules: &mut RuleDescriptors,
    places: &mut SarifLocations<'_>,
) -> Result {
    let related = related(finding);
    let (rule, index) = rules.index_of_rule(finding);
    let mut result = Result::builder().message(message(finding, &related)).rule_id(rule).rule_index(index).build();
    result.kind = Some(ResultKind::Fail);
    result.level = Some(level(finding.severity));
    result.rank = Some(f64::from(rules::score(finding.severity)));
    result.locations = finding.anchors.first().map(|anchor| vec![places.first(anchor)]);
    let related: Vec<Location> =
        related.iter().map(|place| places.related(place.anchor, place.id, place.what)).collect();
    result.related_locations = (!related.is_empty()).then_some(related);
    // The standard requires that all results of a run say whether they are suppressed, or none.
    result.suppressions = Some(suppressions(finding));
    result.baseline_state = Some(json!(baseline(finding.status)));
    result.fingerprints = single_entry("reviewFinding/v1", &finding.id.0);
    // Not `primaryLocationLineHash`: that is a hash of the file around the line, which an output does not read. The uploader of the file
    // adds it.
    result.partial_fingerprints = single_entry("reviewFingerprint/v1", &finding.fingerprint.0);
    if !finding.status.is_resolved() {
        result.fixes = finding.suggestion.as_ref().map(|suggestion| vec![fix(suggestion, places)]);
    }
    let verification = &finding.verification;
    result.properties = Some(bag(
        [
            ("id", json!(text::line(&finding.id.0))),
            ("severity", json!(finding.severity.word())),
            ("prominence", json!(finding.prominence.word())),
            ("category", json!(finding.category.word())),
            ("status", json!(finding.status.word())),
            ("confidence", json!(finding.confidence.map(crate::domain::finding::Confidence::value))),
            ("origin", json!(finding.origin.kind.word())),
            ("originName", json!(text::line(&finding.origin.name))),
            ("verification", json!(finding.mark().map(|_| verification.state.word()))),
            ("verifiedBy", json!(verification.by.as_deref().map(text::line))),
            ("rationale", json!(verification.rationale.as_deref().map(text::block))),
            ("guideline", json!(finding.guideline.as_ref().map(|on| format!("{}:{}", on.path, on.line)))),
            ("carriedFrom", json!(finding.carried_from.map(|run| run.to_string()))),
            ("placesOmitted", json!(omitted(finding))),
        ],
        Vec::new(),
    ));
    result
}

/// Builds the result for an incomplete review, if the change has a file for it: readers that show results show no notifications, and a
/// review that covered half of the change would look like one without findings.
pub(super) fn render_unfinished(
    review: &Review,
    rules: &mut RuleDescriptors,
    places: &mut SarifLocations<'_>,
) -> Option<Result> {
    let topic = notice::unfinished_topic(review.outcome)?;
    let entry = report::unfinished(review)?;
    let place = entry.place.as_ref()?;
    let (rule, index) = rules.index_of_topic(topic);
    let said = format!("{}\n\n{}", text::sentence(&entry.title), text::block(&entry.body));
    let message = Message::builder().text(said).build();
    let mut result = Result::builder().message(message).rule_id(rule).rule_index(index).build();
    result.kind = Some(ResultKind::Fail);
    result.level = Some(level(entry.severity));
    result.rank = Some(f64::from(rules::score(entry.severity)));
    // Not at the lines that other outputs name: a saved review does not have its hunks, and must give the same bytes.
    result.locations = Some(vec![places.whole(&place.path)]);
    result.suppressions = Some(Vec::new());
    result.baseline_state = Some(json!("new"));
    result.properties = Some(bag([("id", json!(entry.id)), ("severity", json!(entry.severity.word()))], Vec::new()));
    Some(result)
}

fn single_entry(key: &str, value: &str) -> Option<BTreeMap<String, String>> {
    let value = text::line(value);
    (!value.is_empty()).then(|| BTreeMap::from([(key.to_owned(), value)]))
}

fn level(severity: Severity) -> ResultLevel {
    match severity {
        Severity::Critical | Severity::High => ResultLevel::Error,
        Severity::Medium => ResultLevel::Warning,
        Severity::Low | Severity::Nit => ResultLevel::Note,
    }
}

/// A further place: its anchor, its number, and its description.
struct RelatedPlace<'a> {
    anchor: &'a Anchor,
    id: i64,
    what: &'static str,
}

/// Returns every place but the first; also the first one if it lies before the change, since its result is put at the file.
fn related(finding: &Finding) -> Vec<RelatedPlace<'_>> {
    let skipped = usize::from(finding.anchors.first().is_some_and(|anchor| anchor.side == DiffSide::New));
    let anchors = finding.anchors.iter().skip(skipped).take(RELATED);
    let what = |anchor: &Anchor| match anchor.side {
        DiffSide::New => "Also here",
        DiffSide::Old => "Before the change",
    };
    (1..).zip(anchors).map(|(id, anchor)| RelatedPlace { anchor, id, what: what(anchor) }).collect()
}

/// Returns the number of places that are left out.
fn omitted(finding: &Finding) -> Option<usize> {
    finding.anchors.len().checked_sub(RELATED + 1).filter(|more| *more > 0)
}

fn message(finding: &Finding, related: &[RelatedPlace<'_>]) -> Message {
    let title = if finding.title.trim().is_empty() { "(no title)" } else { &finding.title };
    let (mut plain, mut marked) =
        (vec![text::sentence(title)], vec![format!("**{}**", text::neutralize(&inline(title)))]);
    let body = text::block(&finding.body);
    if !body.is_empty() {
        plain.push(body);
        marked.push(text::neutralize(&prose(&finding.body)));
    }
    let whole = finding.anchors.first().is_some_and(|anchor| anchor.lines.is_none() && anchor.side == DiffSide::New);
    let mut notes = Vec::new();
    if whole {
        notes.push("This is about the file as a whole.".to_owned());
    }
    let old: Vec<String> =
        places(related, DiffSide::Old).map(|place| text::neutralize(&digest::place(place.anchor))).collect();
    if !old.is_empty() {
        notes.push(format!("Before the change: {}.", old.join(", ")));
    }
    if let Some(guideline) = &finding.guideline {
        notes.push(format!("Guideline: {}.", text::neutralize(&format!("{}:{}", guideline.path, guideline.line))));
    }
    marked.extend(notes.iter().map(|note| text::neutralize(&inline(note))));
    // Linked places are the only ones that code scanning shows. It takes a path for one at the head, so old ones are only named.
    let new: Vec<String> =
        places(related, DiffSide::New).map(|place| text::link(&digest::place(place.anchor), place.id)).collect();
    if !new.is_empty() {
        let also = format!("See also {}.", new.join(", "));
        notes.push(also.clone());
        marked.push(also);
    }
    if !notes.is_empty() {
        plain.push(notes.join(" "));
    }
    let mut message = Message::builder().text(plain.join("\n\n")).build();
    message.markdown = Some(marked.join("\n\n"));
    message
}

fn places<'a>(related: &'a [RelatedPlace<'a>], side: DiffSide) -> impl Iterator<Item = &'a RelatedPlace<'a>> {
    related.iter().filter(move |place| place.anchor.side == side)
}

/// Returns the suppressions of a dismissed finding; they are external to the code (§3.35).
fn suppressions(finding: &Finding) -> Vec<Suppression> {
    if finding.status != FindingStatus::Dismissed {
        return Vec::new();
    }
    let mut dismissed = Suppression::builder().kind(json!("external")).build();
    dismissed.status = Some(json!("accepted"));
    let why = finding.dismissed.as_ref().map(|why| text::line(&why.describe()));
    dismissed.justification = Some(why.unwrap_or_else(|| "Dismissed by the project.".to_owned()));
    vec![dismissed]
}

/// Returns the state compared with the previous review of the branch (§3.27.24). A reopened finding was not there then.
const fn baseline(status: FindingStatus) -> &'static str {
    match status {
        FindingStatus::New | FindingStatus::Reopened => "new",
        FindingStatus::Open | FindingStatus::Dismissed => "unchanged",
        FindingStatus::Fixed | FindingStatus::Refuted => "absent",
    }
}

/// Replaces whole lines by whole lines. Deleted lines take their line break with them.
fn fix(suggestion: &Suggestion, places: &mut SarifLocations<'_>) -> Fix {
    let mut region = whole_lines(suggestion.lines);
    region.start_column = Some(1);
    let mut replacement = Replacement::builder().deleted_region(region).build();
    if suggestion.replacement.is_empty() {
        replacement.deleted_region.end_line = Some(i64::from(suggestion.lines.end()) + 1);
        replacement.deleted_region.end_column = Some(1);
    } else {
        replacement.inserted_content = Some(ArtifactContent::builder().text(suggestion.replacement.as_str()).build());
    }
    let location = places.artifact(DiffSide::New, &suggestion.path);
    let change = ArtifactChange::builder().artifact_location(location).replacements(vec![replacement]).build();
    let mut fix = Fix::builder().artifact_changes(vec![change]).build();
    fix.description = Some(Message::builder().text("The suggested replacement of these lines.").build());
    fix
}
