//! `findings`: the findings of a review, one of them, or its dismissal.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::finding_line;
use super::review::{EMPTY, is_empty, links, uri};
use crate::app::{self, AppError, DismissFault, FindFault, FindingsAsk, ReviewState, Service};
use crate::domain::filter::FilterError;
use crate::domain::finding::{FindingId, Severity};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::mcp::answer_size;
use crate::mcp::tool::{McpLink, McpTool, McpToolCall, McpToolResult, ToolHints, UNTRUSTED};
use crate::mcp::tool_selection::ToolSelection;
use crate::present::{describe_suggestion, json as document};
use crate::tools::{ToolFault, input};

const NAME: &str = "findings";
/// Default number of listed findings.
const LIMIT: u32 = 20;
/// Maximum number of listed findings.
const MOST: u32 = 100;
/// Characters of an answer that are left for the notes and the next call.
const RESERVE: usize = 1_500;
/// The note on a finding that was just dismissed.
const DISMISSED: &str =
    "It is dismissed in this review. Another one raises it again, unless the project dismisses it: review dismiss.";

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        name: NAME,
        title: "Findings of a review",
        description: "Lists the findings of a review, worst first, or shows one whole: text, quotes, suggested change."
            .into(),
        input,
        output: |_| output(),
        hints: |offer| if offer.allow_write { ToolHints::Keeps } else { ToolHints::ReadsOnly },
        alias_of: None,
        is_first: false,
        by_default: true,
        group: None,
        call,
    }
}

/// The selection of findings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Review. Default: the latest.
    #[serde(default, deserialize_with = "input::text")]
    id: Option<String>,
    /// Repository folder.
    #[serde(default, deserialize_with = "input::text")]
    repo: Option<String>,
    /// Show this one.
    #[serde(default, deserialize_with = "input::text")]
    finding: Option<String>,
    /// At least: critical, high, medium, low, nit.
    #[serde(default, deserialize_with = "input::text")]
    severity: Option<String>,
    /// File, folder or glob.
    #[serde(default, deserialize_with = "input::text")]
    path: Option<String>,
    /// Default: 0.
    #[serde(default, deserialize_with = "input::number")]
    skip: Option<u32>,
    /// Default: 20; at most 100.
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<u32>,
    /// Dismiss `finding`: the reason why it is none.
    #[serde(default, deserialize_with = "reason")]
    dismiss: Option<String>,
}

/// Deserializes a reason: a string, or an object that holds one.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Object(fields) => match fields.get("reason") {
            Some(Value::String(text)) => Ok(Some(text.clone())),
            _ => Err(serde::de::Error::missing_field("reason")),
        },
        other => Err(serde::de::Error::custom(format!("{other} is not a reason"))),
    }
}

fn input(_: &str, offer: &ToolSelection) -> Value {
    let mut schema = input::schema::<Input>();
    // An operation that the server does not support is not offered.
    if !offer.allow_write
        && let Some(fields) = schema["properties"].as_object_mut()
    {
        fields.shift_remove("dismiss");
    }
    schema
}

fn output() -> Value {
    let mut finding = document::finding_schema();
    finding["properties"]["diff"] = json!({ "type": "string", "description": "The suggested change as the lines of a diff; it was applied in memory and stood." });
    json!({
        "type": "object",
        "properties": {
            "untrusted": { "type": "string", "const": UNTRUSTED, "description": "What the texts of the other fields are." },
            "id": { "type": "string", "description": "The review." },
            "uri": { "type": "string", "description": "The resource that holds what is shown." },
            "outcome": { "type": "string", "enum": ["complete", "incomplete", "failed"], "description": "Without complete, no finding is no pass." },
            "total": { "type": "integer", "description": "How many there are of those that were asked for." },
            "findings": { "type": "array", "items": finding_line::schema() },
            "finding": finding,
            "next": { "type": "object", "description": "The call that goes on." },
            "note": { "type": "string" }
        },
        "required": ["untrusted", "id", "uri", "outcome"]
    })
}

/// Reasons why nothing is shown.
#[derive(Debug, thiserror::Error)]
enum FindingsToolFault {
    #[error(transparent)]
    Input(#[from] ToolFault),
    #[error(transparent)]
    Find(#[from] FindFault),
    #[error(transparent)]
    App(#[from] AppError),
    #[error(transparent)]
    Dismiss(#[from] DismissFault),
    #[error("path: {0}")]
    Path(#[from] FilterError),
    #[error("the review {id} is still running ({found} found so far): wait for it with the tool review and its id")]
    Running { id: RunId, found: u32 },
    #[error("the review {id} ended before anything was reviewed: {message}")]
    NothingReviewed { id: RunId, message: String },
    #[error("dismiss needs the id of a finding, in the field finding")]
    DismissWhat,
    #[error("the review {id} has no finding {given:?}: {}", if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) })]
    NoFinding { id: RunId, given: String, known: Vec<String> },
    #[error("severity cannot be {given:?}; it takes {}", Severity::ALL.iter().map(|one| one.word()).collect::<Vec<_>>().join(", "))]
    Severity { given: String },
}

fn call(call: McpToolCall) -> BoxFuture<'static, McpToolResult> {
    Box::pin(async move {
        match answer(call).await {
            Ok(answer) => answer,
            Err(FindingsToolFault::Input(fault)) => McpToolResult::error_of(&fault.to_json()),
            Err(fault) => McpToolResult::error(fault.to_string()),
        }
    })
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, FindingsToolFault> {
    let input: Input = input::parse(Value::Object(call.input))?;
    let room = call.room;
    call.service.spawn_blocking("looking the findings up", move |service| look_up(service, &input, room)).await?
}

fn look_up(service: &Service, input: &Input, room: usize) -> Result<McpToolResult, FindingsToolFault> {
    let id = service.find_review(input.id.as_deref(), input.repo.as_deref())?;
    match service.snapshot(id).map(|snapshot| snapshot.state) {
        Some(ReviewState::Running(running)) => return Err(FindingsToolFault::Running { id, found: running.total() }),
        Some(ReviewState::Failed { message, .. }) => return Err(FindingsToolFault::NothingReviewed { id, message }),
        Some(ReviewState::Ended(_)) | None => {}
    }
    match (&input.dismiss, input.finding.clone().map(FindingId)) {
        (Some(_), None) => Err(FindingsToolFault::DismissWhat),
        (Some(reason), Some(finding)) => {
            let review = service.dismiss(id, &finding, reason)?;
            render_one(&review, &finding, Some(DISMISSED), room)
        }
        (None, Some(finding)) => {
            let review = service.review(id)?;
            let finding = app::finding_like(&review.findings, &finding.0).map_or(finding, |found| found.id.clone());
            render_one(&review, &finding, None, room)
        }
        (None, None) => render_list(&*service.review(id)?, input, later_review_note(service, id, input)?, room),
    }
}

/// Notes that the latest readable review is not the latest one; `None` if it is, or if a review was named.
fn later_review_note(service: &Service, id: RunId, input: &Input) -> Result<Option<String>, FindingsToolFault> {
    if !matches!(input.id.as_deref(), None | Some("last" | "latest")) {
        return Ok(None);
    }
    Ok(service.later_review(id)?.map(|later| match later.state {
        ReviewState::Failed { .. } => format!("The later review {} failed: these are older findings.", later.id),
        ReviewState::Running(_) | ReviewState::Ended(_) => {
            format!("The later review {} is still running: these are older findings.", later.id)
        }
    }))
}

/// Returns the fields of every result; the one that marks the others as untrusted comes first.
fn fields(review: &Review, uri: String) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("untrusted".to_owned(), UNTRUSTED.into());
    fields.insert("id".to_owned(), review.id.to_string().into());
    fields.insert("uri".to_owned(), uri.into());
    fields.insert("outcome".to_owned(), review.outcome.as_str().into());
    fields
}

/// Returns the URI of a finding.
fn uri_of(id: RunId, finding: &FindingId) -> String {
    format!("{}/findings/{finding}", uri(id))
}

fn render_one(
    review: &Review,
    wanted: &FindingId,
    note: Option<&str>,
    room: usize,
) -> Result<McpToolResult, FindingsToolFault> {
    let Some(finding) = review.findings.iter().find(|finding| finding.id == *wanted) else {
        let known = review.findings.iter().take(MOST as usize).map(|one| one.id.to_string()).collect();
        return Err(FindingsToolFault::NoFinding { id: review.id, given: wanted.0.clone(), known });
    };
    let uri = uri_of(review.id, wanted);
    let mut fields = fields(review, uri.clone());
    let mut whole = document::finding(finding);
    if let Some(diff) = describe_suggestion(finding) {
        whole["diff"] = diff.into();
    }
    fields.insert("finding".to_owned(), whole);
    if let Some(note) = note {
        fields.insert("note".to_owned(), note.into());
    }
    let answer = McpToolResult::of(Value::Object(fields));
    let link = McpLink { uri, name: format!("finding {wanted}"), mime: "application/json" };
    Ok(McpToolResult { links: vec![link], ..answer_size::bound(answer, room) })
}

fn render_list(
    review: &Review,
    input: &Input,
    later: Option<String>,
    room: usize,
) -> Result<McpToolResult, FindingsToolFault> {
    let severity = |word: &str| {
        Severity::from_word(word.trim()).ok_or_else(|| FindingsToolFault::Severity { given: word.to_owned() })
    };
    let floor = input.severity.as_deref().map(severity).transpose()?;
    let found = app::findings(review, &FindingsAsk { floor, path: input.path.clone() })?;
    let skip = input.skip.unwrap_or(0) as usize;
    let limit = input.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    let shown: Vec<Value> = found.iter().skip(skip).take(limit).map(|finding| finding_line::render(finding)).collect();
    let mut fields = fields(review, uri(review.id));
    fields.insert("total".to_owned(), found.len().into());
    fields.insert("findings".to_owned(), shown.into());
    let end = skip + answer_size::fit_list(&mut fields, "findings", room, RESERVE);
    let others = review.findings.len() - found.len();
    let others =
        (others > 0).then(|| format!("{others} of the review's findings are not asked for with severity and path."));
    let empty = is_empty(review).then(|| EMPTY.to_owned());
    let notes: Vec<String> = empty.into_iter().chain(later).chain(others).collect();
    if !notes.is_empty() {
        fields.insert("note".to_owned(), notes.join(" ").into());
    }
    if end < found.len() {
        let mut next = json!({ "id": review.id.to_string(), "skip": end, "limit": limit });
        for (name, value) in [("severity", &input.severity), ("path", &input.path)] {
            if let Some(value) = value {
                next[name] = value.clone().into();
            }
        }
        fields.insert("next".to_owned(), json!({ "tool": NAME, "input": next }));
    }
    Ok(McpToolResult { links: links(review.id), ..McpToolResult::of(Value::Object(fields)) })
}

#[cfg(test)]
mod tests;
