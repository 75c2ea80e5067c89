//! The delivery receipt, as JSON (`delivery/1`) and in lines for people. Main functions: [`json`], [`lines`], [`requests`].

use serde::Serialize;
use serde_json::Value;

use crate::domain::forge::{Delivery, DeliveryAct, DeliveryItem, DeliveryVerdict, SummaryAct};
use crate::domain::text::strip_line;

/// The version of the receipt.
const SCHEMA: &str = "delivery/1";
/// The version of the output of a dry run.
const PLAN_SCHEMA: &str = "delivery-plan/1";

#[derive(Serialize)]
struct DeliveryJson<'a> {
    schema: &'static str,
    run: String,
    pull: DeliveryPullJson<'a>,
    reviewed: String,
    head: String,
    at: &'a str,
    by: &'a str,
    whole: bool,
    verdict: &'static str,
    review_url: Option<&'a str>,
    summary: DeliverySummaryJson<'a>,
    counts: Vec<(&'static str, usize)>,
    items: Vec<DeliveryItemJson<'a>>,
    notes: &'a [String],
    failures: &'a [String],
}

#[derive(Serialize)]
struct DeliveryPullJson<'a> {
    owner: &'a str,
    repo: &'a str,
    number: u32,
}

#[derive(Serialize)]
struct DeliverySummaryJson<'a> {
    act: &'static str,
    url: Option<&'a str>,
}

#[derive(Serialize)]
struct DeliveryItemJson<'a> {
    finding: &'a str,
    severity: &'static str,
    title: &'a str,
    act: &'static str,
    reason: Option<&'a str>,
    url: Option<&'a str>,
}

/// Every act, in the order in which people see them.
const ACTS: [DeliveryAct; 11] = [
    DeliveryAct::Posted,
    DeliveryAct::PostedAgain,
    DeliveryAct::Reopened,
    DeliveryAct::Left,
    DeliveryAct::StillOpen,
    DeliveryAct::Resolved,
    DeliveryAct::ResolveRefused,
    DeliveryAct::ResolvedByOthers,
    DeliveryAct::InSummary,
    DeliveryAct::InArtefact,
    DeliveryAct::Late,
];

const fn word(act: DeliveryAct) -> &'static str {
    match act {
        DeliveryAct::Posted => "posted",
        DeliveryAct::Left => "left",
        DeliveryAct::Resolved => "resolved",
        DeliveryAct::ResolveRefused => "resolve_refused",
        DeliveryAct::Reopened => "reopened",
        DeliveryAct::PostedAgain => "posted_again",
        DeliveryAct::ResolvedByOthers => "resolved_by_others",
        DeliveryAct::StillOpen => "still_open",
        DeliveryAct::InSummary => "in_summary",
        DeliveryAct::InArtefact => "in_artefact",
        DeliveryAct::Late => "late",
        DeliveryAct::Refused => "refused",
    }
}

const fn phrase(act: DeliveryAct) -> &'static str {
    match act {
        DeliveryAct::Posted => "posted",
        DeliveryAct::Left => "left as they are",
        DeliveryAct::Resolved => "resolved",
        DeliveryAct::ResolveRefused => "fixed but not resolved",
        DeliveryAct::Reopened => "reopened",
        DeliveryAct::PostedAgain => "posted again",
        DeliveryAct::ResolvedByOthers => "resolved by others",
        DeliveryAct::StillOpen => "still open",
        DeliveryAct::InSummary => "in the summary",
        DeliveryAct::InArtefact => "only in the kept review",
        DeliveryAct::Late => "late and not raised",
        DeliveryAct::Refused => "refused",
    }
}

const fn verdict(verdict: DeliveryVerdict) -> &'static str {
    match verdict {
        DeliveryVerdict::Comment => "comment",
        DeliveryVerdict::RequestChanges => "request_changes",
    }
}

const fn summary(act: SummaryAct) -> &'static str {
    match act {
        SummaryAct::Created => "created",
        SummaryAct::Updated => "updated",
        SummaryAct::Unchanged => "unchanged",
        SummaryAct::Failed => "failed",
    }
}

fn counts(items: &[DeliveryItem]) -> impl Iterator<Item = (DeliveryAct, usize)> {
    let acts = ACTS.into_iter().chain([DeliveryAct::Refused]);
    acts.map(|act| (act, items.iter().filter(|item| item.act == act).count())).filter(|(_, count)| *count > 0)
}

fn items(items: &[DeliveryItem]) -> Vec<DeliveryItemJson<'_>> {
    items.iter().map(item).collect()
}

fn item(item: &DeliveryItem) -> DeliveryItemJson<'_> {
    DeliveryItemJson {
        finding: &item.finding.0,
        severity: item.severity.word(),
        title: &item.title,
        act: word(item.act),
        reason: item.reason.as_deref(),
        url: item.url.as_deref(),
    }
}

/// Renders the contents of `delivery.json`.
pub fn json(delivery: &Delivery) -> Vec<u8> {
    to_pretty_json(&value(delivery))
}

/// Renders the receipt as a JSON value.
pub(super) fn value(delivery: &Delivery) -> Value {
    let receipt = DeliveryJson {
        schema: SCHEMA,
        run: delivery.run.to_string(),
        pull: DeliveryPullJson {
            owner: delivery.pull.repo.owner(),
            repo: delivery.pull.repo.name(),
            number: delivery.pull.number.value(),
        },
        reviewed: delivery.reviewed.to_string(),
        head: delivery.head.to_string(),
        at: &delivery.at,
        by: &delivery.by,
        whole: delivery.is_complete(),
        verdict: verdict(delivery.verdict),
        review_url: delivery.delivered.review_url.as_deref(),
        summary: DeliverySummaryJson { act: summary(delivery.summary), url: delivery.delivered.summary_url.as_deref() },
        counts: Vec::new(),
        items: items(&delivery.items),
        notes: &delivery.notes,
        failures: &delivery.failures,
    };
    let mut value = serde_json::to_value(receipt).unwrap_or_default();
    value["counts"] = counts(&delivery.items).map(|(act, count)| (word(act).to_owned(), Value::from(count))).collect();
    value
}

/// Renders the output of a dry run: the exact requests in order, and their expected result.
pub fn requests(requests: &[Value], of: &[DeliveryItem], notes: &[String], spoken: DeliveryVerdict) -> Vec<u8> {
    to_pretty_json(&serde_json::json!({
        "schema": PLAN_SCHEMA,
        "verdict": verdict(spoken),
        "requests": requests,
        "items": items(of),
        "notes": notes,
    }))
}

fn to_pretty_json(value: &Value) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Renders the receipt in lines for people, without a final line feed; harmless on a terminal.
pub fn lines(delivery: &Delivery) -> String {
    let mut lines = Vec::new();
    let counted: Vec<String> = counts(&delivery.items).map(|(act, count)| format!("{count} {}", phrase(act))).collect();
    let what = if counted.is_empty() { "nothing to say on lines".to_owned() } else { counted.join(", ") };
    lines.push(format!("{}: {what}", delivery.pull));
    // Without a posted review there is no verdict to report.
    let asked = match (delivery.verdict, &delivery.delivered.review_url) {
        (DeliveryVerdict::Comment, Some(_)) => "the review comments; ",
        (DeliveryVerdict::RequestChanges, Some(_)) => "the review requests changes; ",
        (DeliveryVerdict::RequestChanges, None) => "changes stay requested; ",
        (DeliveryVerdict::Comment, None) => "",
    };
    let summary = match delivery.summary {
        SummaryAct::Created => "was written",
        SummaryAct::Updated => "was brought up to date",
        SummaryAct::Unchanged => "says the same already",
        SummaryAct::Failed => "was not written",
    };
    lines.push(format!("{asked}the summary {summary}"));
    lines.extend([&delivery.delivered.review_url, &delivery.delivered.summary_url].into_iter().flatten().cloned());
    lines.extend(delivery.notes.iter().cloned());
    lines.iter().map(|line| strip_line(line)).collect::<Vec<_>>().join("\n")
}

/// Lists the result for each finding and thread, one line each.
pub fn item_lines(delivery: &Delivery) -> Vec<String> {
    let line = |item: &DeliveryItem| {
        let reason = item.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let (severity, id, act) = (item.severity.word(), &item.finding.0, phrase(item.act));
        strip_line(&format!("{severity}: {} [{id}]: {act}{reason}", item.title))
    };
    delivery.items.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::{FindingId, Severity};
    use crate::domain::forge::{DeliveryResult, PullId, PullNumber, RepoName};
    use crate::domain::id::{CommitId, ObjectId};

    fn delivery() -> Delivery {
        let item = |act, reason: Option<&str>| DeliveryItem {
            finding: FindingId("0123456789ab".to_owned()),
            severity: Severity::High,
            title: "Leaks \u{1b}[31ma handle".to_owned(),
            act,
            reason: reason.map(str::to_owned),
            url: None,
        };
        Delivery {
            run: "a0000000-0000-4000-8000-000000000001".parse().unwrap(),
            pull: PullId { repo: RepoName::new("ada", "engine").unwrap(), number: PullNumber::new(7).unwrap() },
            reviewed: CommitId(ObjectId::new([1; 20])),
            head: CommitId(ObjectId::new([2; 20])),
            at: "2026-01-01T00:00:00.000Z".to_owned(),
            by: "robot".to_owned(),
            verdict: DeliveryVerdict::RequestChanges,
            delivered: DeliveryResult { review_url: Some("https://forge.example/r".to_owned()), summary_url: None },
            summary: SummaryAct::Updated,
            items: vec![
                item(DeliveryAct::Posted, None),
                item(DeliveryAct::Posted, None),
                item(DeliveryAct::InSummary, Some("Not in the diff.")),
            ],
            notes: vec!["Two\nlines".to_owned()],
            failures: Vec::new(),
            is_forbidden: false,
        }
    }

    #[test]
    fn every_act_is_counted() {
        let mut acts: Vec<&str> = ACTS.into_iter().chain([DeliveryAct::Refused]).map(word).collect();
        acts.sort_unstable();
        acts.dedup();
        assert_eq!(acts.len(), 12);
    }

    #[test]
    fn the_receipt_is_whole_only_without_failures() {
        let mut delivery = delivery();
        let value: Value = serde_json::from_slice(&json(&delivery)).unwrap();
        assert_eq!((&value["schema"], &value["whole"]), (&Value::from("delivery/1"), &Value::from(true)));
        assert_eq!(value["counts"], serde_json::json!({"posted": 2, "in_summary": 1}));
        assert_eq!(value["items"][2]["reason"], "Not in the diff.");
        delivery.failures.push("no".to_owned());
        let value: Value = serde_json::from_slice(&json(&delivery)).unwrap();
        assert_eq!(value["whole"], false);
    }

    #[test]
    fn each_finding_has_a_line_of_its_own() {
        let lines = item_lines(&delivery());
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| !line.contains('\u{1b}') && line.starts_with("high: Leaks ")), "{lines:#?}");
        assert!(lines[2].ends_with("[0123456789ab]: in the summary (Not in the diff.)"), "{lines:#?}");
    }

    #[test]
    fn people_are_told_in_lines_that_no_terminal_obeys() {
        insta::assert_snapshot!(lines(&delivery()), @r"
        ada/engine#7: 2 posted, 1 in the summary
        the review requests changes; the summary was brought up to date
        https://forge.example/r
        Two lines
        ");
    }
}
