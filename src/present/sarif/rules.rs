//! The rules of results. Main type: [`RuleDescriptors`].
//!
//! A finding of a rule has that rule, a finding of a model `review/<category>`, a report of a build tool `build/<tool>`. Code scanning
//! takes the severity of a weakness from its rule, not from the result, so the two categories about attacks have a rule for each severity;
//! for all others the level of the result counts.

use std::collections::HashMap;

use serde_json::json;
use serde_sarif::sarif::{ReportingConfiguration, ReportingDescriptor};

use super::notice::{self, NotificationTopic};
use super::place::described;
use super::{bag, text};
use crate::domain::finding::{Category, Finding, OriginKind, Severity};

/// Upper bound on a description that code scanning accepts.
const LONGEST_TEXT: usize = 1024;

/// The rules of a run, in the order in which results named them.
#[derive(Default)]
pub(super) struct RuleDescriptors {
    known: HashMap<String, i64>,
    list: Vec<ReportingDescriptor>,
}

impl RuleDescriptors {
    /// Returns the rule of a finding: its id and its index in the list. The first finding of a rule must be its worst.
    pub(super) fn index_of_rule(&mut self, finding: &Finding) -> (String, i64) {
        let id = id(finding);
        if let Some(index) = self.known.get(&id) {
            return (id, *index);
        }
        let index = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
        self.list.push(descriptor(&id, finding));
        self.known.insert(id.clone(), index);
        (id, index)
    }

    /// Returns the rule of a result about the review itself: its id and its index in the list.
    pub(super) fn index_of_topic(&mut self, topic: NotificationTopic) -> (String, i64) {
        let id = topic.id().to_owned();
        let index = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
        let mut rule = notice::descriptor(topic);
        rule.default_configuration = Some(ReportingConfiguration::builder().level(json!("error")).build());
        let known = [("precision", json!("very-high")), ("problem.severity", json!("error"))];
        rule.properties = Some(bag(known, vec!["review".to_owned()]));
        self.list.push(rule);
        self.known.insert(id.clone(), index);
        (id, index)
    }

    /// Returns the number of rules so far.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    pub(super) fn descriptors(self) -> Vec<ReportingDescriptor> {
        self.list
    }
}

/// Returns the level of a severity (§3.27.10).
pub(super) const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit => "note",
    }
}

/// Returns a severity as code scanning scores weaknesses, in tenths: over 90 is critical, from 70 high, from 40 medium, below it low.
pub(super) const fn score(severity: Severity) -> u8 {
    match severity {
        Severity::Critical => 95,
        Severity::High => 80,
        Severity::Medium => 55,
        Severity::Low => 20,
        Severity::Nit => 5,
    }
}

const fn is_about_attacks(category: Category) -> bool {
    matches!(category, Category::Security | Category::AccessControl)
}

fn id(finding: &Finding) -> String {
    let name = text::truncate(&text::line(&finding.origin.name), text::LONGEST_NAME - "build/".len());
    match finding.origin.kind {
        OriginKind::Model if is_about_attacks(finding.category) => {
            format!("review/{}/{}", finding.category, finding.severity)
        }
        OriginKind::Model => format!("review/{}", finding.category),
        OriginKind::Rule if name.is_empty() => "rule".to_owned(),
        OriginKind::Rule => name,
        OriginKind::Build if name.is_empty() => "build".to_owned(),
        OriginKind::Build => format!("build/{name}"),
    }
}

fn descriptor(id: &str, worst: &Finding) -> ReportingDescriptor {
    let (short, full, help) = texts(id, worst);
    let mut rule = ReportingDescriptor::builder().id(id).build();
    rule.name = Some(name(id)).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(id));
    rule.short_description = Some(described(&text::truncate(&short, LONGEST_TEXT)));
    rule.full_description = Some(described(&text::truncate(&full, LONGEST_TEXT)));
    rule.help = Some(described(&help));
    let is_weakness = is_about_attacks(worst.category);
    // A model's findings of one category have any severity: the result gives it.
    let is_of_one_severity = worst.origin.kind != OriginKind::Model || is_weakness;
    let severity = if is_of_one_severity { worst.severity } else { Severity::Medium };
    rule.default_configuration = Some(ReportingConfiguration::builder().level(json!(level(severity))).build());
    let mut tags = vec![worst.category.word().to_owned(), worst.origin.kind.word().to_owned()];
    if is_weakness && worst.category != Category::Security {
        tags.push(Category::Security.word().to_owned());
    }
    let points = score(worst.severity);
    rule.properties = Some(bag(
        [
            ("precision", json!(precision(worst.origin.kind))),
            ("problem.severity", json!((!is_weakness && is_of_one_severity).then_some(problem(severity)))),
            ("security-severity", json!(is_weakness.then(|| format!("{}.{}", points / 10, points % 10)))),
        ],
        tags,
    ));
    rule
}

/// Returns the precision of results, in code scanning's terms: a tool's reports are facts, a rule matches a pattern, a model judges.
const fn precision(kind: OriginKind) -> &'static str {
    match kind {
        OriginKind::Build => "very-high",
        OriginKind::Rule => "high",
        OriginKind::Model => "medium",
    }
}

const fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Nit => "recommendation",
    }
}

/// Describes a rule: in short, in full, and what to do with its results. None of it depends on a finding.
fn texts(id: &str, finding: &Finding) -> (String, String, String) {
    let (kind, what) = category(finding.category);
    match finding.origin.kind {
        OriginKind::Model => {
            let severity =
                if is_about_attacks(finding.category) { format!(" ({})", finding.severity) } else { String::new() };
            (
                format!("{kind}{severity}."),
                format!("A model reviewed the change and found that {what}; the lines it rests on were checked against the code."),
                "Read the message of the result: it says what goes wrong and what to do. A model judged the change; it can be wrong."
                    .to_owned(),
            )
        }
        OriginKind::Rule => (
            format!("{}.", readable_name(id)),
            format!("The built-in rule {id} matched the change: {what}."),
            "Read the message of the result: it says what goes wrong and what to do.".to_owned(),
        ),
        OriginKind::Build => (
            format!("{}.", readable_name(id)),
            format!("A build tool reported that {what}."),
            "Read the message of the result: it is what the tool said.".to_owned(),
        ),
    }
}

const fn category(category: Category) -> (&'static str, &'static str) {
    match category {
        Category::Logic => ("Wrong result", "it computes the wrong thing"),
        Category::Security => ("Security weakness", "it can be attacked"),
        Category::AccessControl => ("Missing access control", "somebody can do what they may not"),
        Category::Performance => ("Waste of time or memory", "it wastes time or memory"),
        Category::Quality => ("Hard to change", "it will be hard to change"),
        Category::SideEffects => ("Unasked side effect", "it changes something elsewhere that nobody asked for"),
        Category::Testing => ("Missing or empty test", "it is not tested, or the test proves nothing"),
        Category::Documentation => ("Wrong documentation", "what is written about it is wrong or missing"),
    }
}

/// Formats `rust/compared-with-nan` as `Compared with nan (rust/compared-with-nan)`.
fn readable_name(id: &str) -> String {
    let last = id.rsplit('/').next().unwrap_or(id).replace(['-', '_'], " ");
    let mut letters = last.trim().chars();
    let first: String = letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{} ({id})", letters.as_str())
}

/// Formats `rust/compared-with-nan` as `RustComparedWithNan`.
fn name(id: &str) -> String {
    let parts = id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let name = parts.fold(String::new(), |name, part| name + &part[..1].to_ascii_uppercase() + &part[1..]);
    text::truncate(&name, text::LONGEST_NAME)
}
