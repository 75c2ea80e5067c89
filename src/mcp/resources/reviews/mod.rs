//! Reviews as resources: `review://{id}`, as Markdown, its findings one by one, and the latest of a repository.
//!
//! A run without a review is reported as `review-run/1`: `id`, `state` (`running`, `failed`, `interrupted`), `started_at`; while it runs
//! `stage`, `done` and `of`, `turn` and `turns_at_most`, `input_tokens`, `total` and `bySeverity` of the findings so far, `doing` (one
//! line), `markdown` (the review so far, for people) and `warnings`; after a failure `message` and `exit_code`. Unknown values are null.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{LOCAL, ListedResource, ReadFault, ResourceFamily, ResourceText, UriTemplate, query};
use crate::app::{ChangeNotice, FindFault, ReviewListing, ReviewSnapshot, ReviewState, RunningReview, Service};
use crate::domain::finding::FindingId;
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::run_record::RunRecord;
use crate::domain::text::strip_line;
use crate::present::{RenderOptions, describe_suggestion, json as document, presenter};

/// The prefix of every URI.
const SCHEME: &str = "review://";
/// The schema of the report of a run without a review.
const RUN_SCHEMA: &str = "review-run/1";
/// Upper bound on listed reviews.
const LISTED: usize = 100;
/// Number of reviews that are searched for the ids of findings.
const LOOKED_INTO: usize = 5;

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

const ONE: &str = "review://{id}";
const AS_MARKDOWN: &str = "review://{id}/markdown";
const FINDING: &str = "review://{id}/findings/{finding}";
const LATEST: &str = "review://latest{?repo}";

/// The row of the table.
pub(super) const FAMILY: ResourceFamily = ResourceFamily {
    templates: &[
        UriTemplate {
            uri: ONE,
            name: "review",
            description: "A review, whole (review/1); while it runs, how far it is (review-run/1)",
            mime: JSON,
        },
        UriTemplate {
            uri: AS_MARKDOWN,
            name: "review-markdown",
            description: "A review for people to read",
            mime: MARKDOWN,
        },
        UriTemplate {
            uri: FINDING,
            name: "review-finding",
            description: "One finding: text, quotes, suggested change",
            mime: JSON,
        },
        UriTemplate {
            uri: LATEST,
            name: "review-latest",
            description: "The latest review of a repository that there is something to read of (the server's where none is named)",
            mime: JSON,
        },
    ],
    list,
    read,
    complete,
    changed,
    ..LOCAL
};

fn list(service: &Service) -> Result<Vec<ListedResource>, ReadFault> {
    let reviews = service.list_reviews().map_err(|error| ReadFault::Failed(error.to_string()))?;
    Ok(reviews
        .iter()
        .take(LISTED)
        .flat_map(|listing| [Some(list_entry(listing)), markdown_entry(listing)])
        .flatten()
        .collect())
}

/// Returns the entry of a review as Markdown: some clients read listed URIs only. One that runs or failed has no such page yet.
fn markdown_entry(listing: &ReviewListing) -> Option<ListedResource> {
    let is_readable = match listing {
        ReviewListing::Kept(_) => true,
        ReviewListing::Here(snapshot) => matches!(snapshot.state, ReviewState::Ended(_)),
    };
    let entry = is_readable.then(|| list_entry(listing))?;
    let (uri, name) = (format!("{}/markdown", entry.uri), format!("{} for people", entry.name));
    Some(ListedResource { uri, name, mime: MARKDOWN, ..entry })
}

fn list_entry(listing: &ReviewListing) -> ListedResource {
    let id = listing.id();
    let description = match listing {
        ReviewListing::Kept(record) => summarize(record),
        ReviewListing::Here(snapshot) => match &snapshot.state {
            ReviewState::Running(running) => format!("running: {}", running.line()),
            ReviewState::Failed { message, .. } => format!("failed: {message}"),
            ReviewState::Ended(ended) => format!("{}, not kept", ended.outcome.as_str()),
        },
    };
    ListedResource {
        uri: uri(id),
        name: format!("review {}", id.to_string().chars().take(8).collect::<String>()),
        description: strip_line(&description),
        mime: JSON,
        changed: Some(listing.started_at().to_owned()),
    }
}

/// Summarizes a run: `demo: main → feature: complete, 3 findings (1 high, 2 low)`.
fn summarize(record: &RunRecord) -> String {
    let total: u32 = record.findings.values().sum();
    let parts: Vec<String> = record.findings.iter().map(|(severity, count)| format!("{count} {severity}")).collect();
    let findings = match total {
        0 => "no findings".to_owned(),
        1 => format!("1 finding ({})", parts.join(", ")),
        _ => format!("{total} findings ({})", parts.join(", ")),
    };
    let (repository, target, head) = (&record.repository, &record.target, &record.head_name);
    format!("{repository}: {target} → {head}: {}, {findings}", record.outcome.as_str())
}

fn uri(id: RunId) -> String {
    format!("{SCHEME}{id}")
}

fn read(service: &Service, uri: &str) -> Option<Result<ResourceText, ReadFault>> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (path, query) = split_query(rest);
    let parts: Vec<&str> = path.split('/').collect();
    Some(match parts.as_slice() {
        ["latest"] => latest(service, query).and_then(|id| read_whole(service, id)),
        [id] if query.is_none() => find(service, id).and_then(|id| read_whole(service, id)),
        [id, "markdown"] if query.is_none() => find(service, id).and_then(|id| markdown(service, id)),
        [id, "findings", finding] if query.is_none() => {
            find(service, id).and_then(|id| read_finding(service, id, finding))
        }
        _ => Err(ReadFault::NotFound(format!(
            "there is no resource {uri:?}; of reviews there are {ONE}, {AS_MARKDOWN}, {FINDING} and {LATEST}"
        ))),
    })
}

fn split_query(rest: &str) -> (&str, Option<&str>) {
    rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)))
}

fn find(service: &Service, given: &str) -> Result<RunId, ReadFault> {
    service.find_review(Some(given), None).map_err(fault)
}

fn fault(fault: FindFault) -> ReadFault {
    match fault {
        FindFault::App(error) => ReadFault::Failed(error.to_string()),
        other => ReadFault::NotFound(other.to_string()),
    }
}

fn latest(service: &Service, query: Option<&str>) -> Result<RunId, ReadFault> {
    let repo = query.and_then(|query| query::value(query, "repo")).filter(|repo| !repo.is_empty());
    // An inaccessible folder is a wrong URI: the caller can name another.
    service.find_review(None, repo.as_deref()).map_err(|fault| ReadFault::NotFound(fault.to_string()))
}

/// The review if there is one, else the state of the run. Nothing is rendered yet: every notice of a change asks for it.
enum ReviewOrRun {
    Review(std::sync::Arc<Review>),
    Running { started_at: String, running: Box<RunningReview> },
    Failed { started_at: String, message: String, exit_code: u8 },
}

fn load(service: &Service, id: RunId) -> Result<ReviewOrRun, ReadFault> {
    match service.snapshot(id) {
        Some(ReviewSnapshot { state: ReviewState::Running(running), started_at, .. }) => {
            Ok(ReviewOrRun::Running { started_at, running })
        }
        Some(ReviewSnapshot { state: ReviewState::Failed { message, exit_code }, started_at, .. }) => {
            Ok(ReviewOrRun::Failed { started_at, message, exit_code })
        }
        Some(ReviewSnapshot { state: ReviewState::Ended(_), .. }) | None => {
            service.review(id).map(ReviewOrRun::Review).map_err(|error| ReadFault::Failed(error.to_string()))
        }
    }
}

fn running_report(id: RunId, started_at: &str, running: &RunningReview) -> Value {
    let (done, of) = running.progress.unzip();
    let (turn, most) = running.turn.unzip();
    json!({
        "schema": RUN_SCHEMA, "id": id.to_string(), "state": "running", "started_at": started_at,
        "stage": running.stage, "done": done, "of": of, "turn": turn, "turns_at_most": most,
        "input_tokens": running.input_tokens, "total": running.total(), "bySeverity": running.findings,
        "doing": running.line(), "warnings": running.warnings, "markdown": markdown_so_far(running),
    })
}

fn failed_state(exit_code: u8) -> &'static str {
    if exit_code == 130 { "interrupted" } else { "failed" }
}

/// Renders what an editor shows of a review that runs.
fn markdown_so_far(running: &RunningReview) -> String {
    crate::mcp::sanitize::text(&format!("{}\n{}\n", running.live.render(), indented(&running.line())))
}

fn read_whole(service: &Service, id: RunId) -> Result<ResourceText, ReadFault> {
    let report = match load(service, id)? {
        ReviewOrRun::Review(review) => return rendered(&review, "json", JSON),
        ReviewOrRun::Running { started_at, running } => running_report(id, &started_at, &running),
        ReviewOrRun::Failed { started_at, message, exit_code } => json!({
            "schema": RUN_SCHEMA, "id": id.to_string(), "state": failed_state(exit_code), "started_at": started_at,
            "message": message, "exit_code": exit_code,
        }),
    };
    Ok(ResourceText { mime: JSON, text: document::text(&report) })
}

fn markdown(service: &Service, id: RunId) -> Result<ResourceText, ReadFault> {
    let text = match load(service, id)? {
        ReviewOrRun::Review(review) => return rendered(&review, "markdown", MARKDOWN),
        ReviewOrRun::Running { running, .. } => markdown_so_far(&running),
        ReviewOrRun::Failed { message, exit_code, .. } => {
            let (state, message) = (failed_state(exit_code), crate::mcp::sanitize::text(&indented(&message)));
            format!("# Code review\n\n**{state}**\n\n{message}\n")
        }
    };
    Ok(ResourceText { mime: MARKDOWN, text })
}

/// Renders text as a code block: it may hold text of the repository.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn rendered(review: &Review, format: &str, mime: &'static str) -> Result<ResourceText, ReadFault> {
    let bytes = presenter(format).map(|presenter| (presenter.render)(review, &RenderOptions::default()));
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| ReadFault::Failed(format!("the review cannot be written as {format}")))?;
    Ok(ResourceText { mime, text })
}

fn read_finding(service: &Service, id: RunId, wanted: &str) -> Result<ResourceText, ReadFault> {
    let ReviewOrRun::Review(review) = load(service, id)? else {
        return Err(ReadFault::NotFound(format!(
            "the review {id} has no findings to read yet: {} says how it stands",
            uri(id)
        )));
    };
    let Some(finding) = review.findings.iter().find(|finding| finding.id == FindingId(wanted.to_owned())) else {
        let known: Vec<String> = review.findings.iter().take(LISTED).map(|one| one.id.to_string()).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        return Err(ReadFault::NotFound(format!("the review {id} has no finding {wanted:?}: {known}")));
    };
    let mut value = document::finding(finding);
    value["review"] = id.to_string().into();
    if let Some(diff) = describe_suggestion(finding) {
        value["diff"] = diff.into();
    }
    Ok(ResourceText { mime: JSON, text: document::text(&value) })
}

fn complete(service: &Service, template: &str, variable: &str, typed: &str) -> Vec<String> {
    if ![ONE, AS_MARKDOWN, FINDING, LATEST].contains(&template) {
        return Vec::new();
    }
    let Ok(reviews) = service.list_reviews() else { return Vec::new() };
    match variable {
        "id" => {
            let ids = reviews.iter().map(|listing| listing.id().to_string());
            ids.filter(|id| id.starts_with(&typed.to_ascii_lowercase())).take(LISTED).collect()
        }
        "finding" => {
            // The template does not name the review yet; the ids of the newest ones are the likeliest.
            let newest = reviews.iter().filter_map(|listing| service.review(listing.id()).ok()).take(LOOKED_INTO);
            let ids: BTreeSet<String> = newest
                .flat_map(|review| review.findings.iter().map(|finding| finding.id.to_string()).collect::<Vec<_>>())
                .filter(|id| id.starts_with(typed))
                .collect();
            ids.into_iter().take(LISTED).collect()
        }
        "repo" => {
            let folders: BTreeSet<String> = reviews
                .iter()
                .filter_map(|listing| listing.folder()?.to_str().map(str::to_owned))
                .filter(|folder| folder.starts_with(typed))
                .collect();
            folders.into_iter().take(LISTED).collect()
        }
        _ => Vec::new(),
    }
}

fn changed(service: &Service, changed: &ChangeNotice, watched: &BTreeSet<String>) -> Vec<String> {
    let &ChangeNotice::Review(id) = changed else { return Vec::new() };
    let mut uris = vec![uri(id), format!("{}/markdown", uri(id))];
    if let Ok(ReviewOrRun::Review(review)) = load(service, id) {
        uris.extend(review.findings.iter().map(|finding| format!("{}/findings/{}", uri(id), finding.id)));
    }
    let is_latest = |uri: &&String| match uri.strip_prefix(SCHEME).map(split_query) {
        Some(("latest", query)) => latest(service, query).is_ok_and(|latest| latest == id),
        Some(_) | None => false,
    };
    uris.extend(watched.iter().filter(is_latest).cloned());
    uris
}

#[cfg(test)]
mod tests;
