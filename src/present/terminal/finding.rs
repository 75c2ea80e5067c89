//! Findings on a page: equal ones are one group, with their text once and their places listed. Main items: [`EqualFindings`], [`draw`].

use std::collections::HashMap;

use super::code;
use super::page::TerminalPage;
use super::{DIM, INDENT, severity_style};
use crate::domain::finding::{Anchor, Finding, FindingStatus, OriginKind, Severity};
use crate::domain::place::DiffSide;
use crate::present::digest;
use crate::present::matched::{other_place, place_with_column};

/// Maximum number of further places that are listed.
const PLACES: usize = 20;
/// The fewest characters of an id in a command.
const SHORT_ID: usize = 6;
/// The command that explains a rule.
const EXPLAIN: &str = "review rules explain ";
/// Maximum number of ids in one command.
const IDS: usize = 4;

/// Findings that differ only in their places; the first determines where they are shown.
pub(super) struct EqualFindings<'r> {
    pub(super) first: &'r Finding,
    pub(super) others: Vec<&'r Finding>,
}

/// The text of a finding, by which equal ones are found.
#[derive(PartialEq, Eq, Hash)]
struct FindingText<'r> {
    severity: Severity,
    title: &'r str,
    body: &'r str,
    origin: &'r str,
    status: FindingStatus,
    mark: Option<String>,
    /// A suggestion is shown with the lines that it replaces.
    suggestion: Option<(&'r str, Option<&'r str>)>,
}

/// Groups findings, in the order of the first of each group.
pub(super) fn group<'r>(findings: impl Iterator<Item = &'r Finding>) -> Vec<EqualFindings<'r>> {
    let mut groups: Vec<EqualFindings<'r>> = Vec::new();
    let mut known: HashMap<FindingText<'r>, usize> = HashMap::new();
    for finding in findings {
        let quote = finding.anchors.first().map(|anchor| anchor.quote.as_str());
        let text = FindingText {
            severity: finding.severity,
            title: &finding.title,
            body: split_related(finding).0,
            origin: &finding.origin.name,
            status: finding.status,
            mark: finding.describe_mark(),
            suggestion: finding.suggestion.as_ref().map(|suggestion| (suggestion.replacement.as_str(), quote)),
        };
        let index = *known.entry(text).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.others.push(finding),
            None => groups.push(EqualFindings { first: finding, others: Vec::new() }),
        }
    }
    groups
}

/// The shortest ids that commands accept: unique prefixes among the findings of a review.
pub(super) struct ShortIds<'r>(HashMap<&'r str, &'r str>);

impl<'r> ShortIds<'r> {
    pub(super) fn of(findings: &'r [Finding]) -> Self {
        let mut ids: Vec<&str> = findings.iter().map(|finding| finding.id.0.as_str()).collect();
        ids.sort_unstable();
        let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let short = ids.iter().enumerate().map(|(index, id)| {
            let before = index.checked_sub(1).and_then(|before| ids.get(before)).map_or(0, |other| shared(id, other));
            let after = ids.get(index + 1).map_or(0, |other| shared(id, other));
            (*id, id.get(..SHORT_ID.max(before.max(after) + 1)).unwrap_or(id))
        });
        Self(short.collect())
    }

    pub(super) fn short(&self, finding: &'r Finding) -> &'r str {
        self.0.get(finding.id.0.as_str()).copied().unwrap_or(&finding.id.0)
    }
}

/// The commands that a page names: for which run, or none at all.
pub(super) struct NextSteps<'r> {
    pub(super) ids: ShortIds<'r>,
    /// ` --run ID` if the run is not the newest; `None` if the change has no repository, so that no command knows it.
    pub(super) run: Option<String>,
}

impl<'r> NextSteps<'r> {
    fn of(&self, group: &EqualFindings<'r>) -> Vec<String> {
        let finding = group.first;
        let Some(run) = self.run.as_ref().filter(|_| is_word(&finding.id.0)) else { return Vec::new() };
        let mut steps = Vec::new();
        if finding.suggestion.is_some() {
            let others = group.others.iter().copied().filter(|other| is_word(&other.id.0));
            let all = std::iter::once(finding).chain(others);
            let ids = all.take(IDS).map(|finding| self.ids.short(finding)).collect::<Vec<_>>().join(" ");
            steps.push(format!("review apply {ids}{run}"));
        }
        steps.push(format!("review dismiss {}{run} …", self.ids.short(finding)));
        if finding.origin.kind == OriginKind::Rule && is_word(&finding.origin.name) {
            steps.push(format!("{EXPLAIN}{}", finding.origin.name));
        }
        steps
    }
}

/// Checks that a name is safe in a command that somebody copies into a shell.
fn is_word(name: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_safe)
}

/// Draws a group in full.
pub(super) fn draw<'r>(page: &mut TerminalPage<'_>, group: &EqualFindings<'r>, steps: &NextSteps<'r>, why: bool) {
    let finding = group.first;
    headline(page, finding, title(finding));
    code::draw(page, finding);
    let (body, remarks) = split_related(finding);
    let (body, weakness) = split_weakness(body);
    if !body.trim().is_empty() {
        page.prose(INDENT, body);
    }
    if let Some(rationale) = digest::rationale(finding).filter(|_| why) {
        page.prose(INDENT, &rationale);
    }
    places(page, group, &remarks, steps);
    let steps = steps.of(group);
    let is_explained = steps.iter().any(|step| step.starts_with(EXPLAIN));
    page.parts(INDENT, "", &facts(finding, weakness, !is_explained), DIM);
    page.parts(INDENT, "→ ", &steps, DIM);
}

/// Draws a group without its text: one line, and the further places.
pub(super) fn draw_line<'r>(page: &mut TerminalPage<'_>, group: &EqualFindings<'r>, steps: &NextSteps<'r>) {
    let mut parts: Vec<String> = group.first.describe_mark().into_iter().collect();
    parts.extend(status(group.first));
    parts.push(format!("id {}", group.first.id));
    headline(page, group.first, &format!("{} [{}]", title(group.first), parts.join(", ")));
    if !group.others.is_empty() {
        places(page, group, &[], steps);
    }
}

pub(super) fn title(finding: &Finding) -> &str {
    if finding.title.trim().is_empty() { "(no title)" } else { &finding.title }
}

fn headline(page: &mut TerminalPage<'_>, finding: &Finding, title: &str) {
    let anchor = finding.anchors.first();
    let note = anchor.map(digest::place_note).unwrap_or_default();
    let label = place_with_column(finding);
    // A file that is deleted at the head cannot be opened.
    let path = anchor.filter(|anchor| anchor.side == DiffSide::New).map(|anchor| &anchor.path);
    let severity = (severity_style(finding.severity), finding.severity.word());
    page.headline(severity, path, &label, note, title);
}

/// Lists the further places of a group: those of its findings, and the findings that say the same elsewhere.
fn places<'r>(
    page: &mut TerminalPage<'_>,
    group: &EqualFindings<'r>,
    remarks: &[RelatedRemark<'_>],
    steps: &NextSteps<'r>,
) {
    let related = group.first.anchors.iter().skip(1).map(|anchor| {
        let remark = remarks.iter().find(|remark| remark.is_about(anchor)).map(|remark| remark.text);
        let notes = [digest::place_note(anchor), remark.unwrap_or_default()];
        (other_place(anchor), anchor, notes.join(" ").trim().to_owned())
    });
    let elsewhere = group.others.iter().filter_map(|finding| {
        let anchor = finding.anchors.first()?;
        Some((place_with_column(finding), anchor, format!("id {}", steps.ids.short(finding))))
    });
    let all: Vec<_> = related.chain(elsewhere).collect();
    for (index, (label, anchor, note)) in all.iter().take(PLACES).enumerate() {
        let path = (anchor.side == DiffSide::New).then_some(&anchor.path);
        page.place(INDENT, if index == 0 { "also  " } else { "      " }, path, label, note);
    }
    if all.len() > PLACES {
        let text = format!("and {} more places; --format json lists all", all.len() - PLACES);
        page.wrapped("          ", "          ", &text, DIM);
    }
}

/// A remark on a related place, from the text of a finding.
struct RelatedRemark<'r> {
    place: &'r str,
    text: &'r str,
}

impl RelatedRemark<'_> {
    fn is_about(&self, anchor: &Anchor) -> bool {
        self.place == anchor.first_place()
    }
}

/// Splits the text of a finding into its prose and its remarks on the related places, which are listed with them. A text whose list is not
/// about these places is left as it is.
fn split_related(finding: &Finding) -> (&str, Vec<RelatedRemark<'_>>) {
    const HEADING: &str = "\n\nSee also:\n\n";
    let whole = (finding.body.as_str(), Vec::new());
    let Some((prose, list)) = finding.body.rsplit_once(HEADING) else { return whole };
    let remarks: Option<Vec<RelatedRemark<'_>>> = list
        .lines()
        .map(|line| {
            let (place, text) = line.strip_prefix("- ")?.split_once(": ")?;
            let remark = RelatedRemark { place, text };
            finding.anchors.iter().any(|anchor| remark.is_about(anchor)).then_some(remark)
        })
        .collect();
    remarks.map_or(whole, |remarks| (prose, remarks))
}

/// Splits the reference to a kind of weakness from the end of a rule's text: `CWE-89`.
fn split_weakness(body: &str) -> (&str, Option<&str>) {
    let found = body.rsplit_once("\n\nSee ").and_then(|(prose, last)| Some((prose, last.strip_suffix('.')?)));
    let is_weakness = |name: &str| {
        name.strip_prefix("CWE-").is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    found.filter(|(_, name)| is_weakness(name)).map_or((body, None), |(prose, name)| (prose, Some(name)))
}

/// Lists the facts of a finding; a rule only if no command names it.
fn facts(finding: &Finding, weakness: Option<&str>, with_rule: bool) -> Vec<String> {
    let mut parts: Vec<String> = finding.describe_mark().into_iter().collect();
    parts.push(finding.category.word().replace('_', " "));
    parts.extend(weakness.map(str::to_owned));
    let name = &finding.origin.name;
    match finding.origin.kind {
        _ if name.is_empty() => {}
        OriginKind::Rule if with_rule => parts.push(format!("rule {name}")),
        OriginKind::Build => parts.push(format!("reported by {name}")),
        OriginKind::Rule | OriginKind::Model => {}
    }
    if let Some(confidence) = finding.confidence {
        parts.push(format!("confidence {}/10", confidence.value()));
    }
    if let Some(guideline) = &finding.guideline {
        parts.push(format!("see {}:{}", guideline.path, guideline.line));
    }
    parts.extend(status(finding));
    parts.extend(digest::carried(finding));
    parts.push(format!("id {}", finding.id));
    parts
}

/// Describes the status of a finding that is not new.
fn status(finding: &Finding) -> Option<String> {
    match finding.status {
        FindingStatus::New => None,
        FindingStatus::Open => Some("still open".to_owned()),
        status @ (FindingStatus::Reopened
        | FindingStatus::Fixed
        | FindingStatus::Dismissed
        | FindingStatus::Refuted) => Some(status.to_string()),
    }
}
