//! `review`: starts a review in the background, waits for one, stops one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::app::{
    AppError, FindFault, FinishedRun, ReviewSnapshot, ReviewState, RunningReview, Service, StartFault, StartReview,
};
use crate::domain::finding::Severity;
use crate::domain::review::{Review, ReviewOutcome, StopReason};
use crate::domain::run::RunId;
use crate::domain::run_record::RunRecord;
use crate::mcp::tool::{McpLink, McpTool, McpToolCall, McpToolResult, ToolHints, UNTRUSTED};
use crate::present::{brief, engine};
use crate::tools::{ToolFault, input};

/// The tool's name.
pub(in crate::mcp) const NAME: &str = "review";
/// Default waiting time of a call, in seconds.
const WAIT: u32 = 20;
/// Maximum waiting time, in seconds.
const LONGEST_WAIT: u32 = 600;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        name: NAME,
        title: "Review a change",
        description: "Reviews a change in the background by the engine the user set up (a model or built-in rules) and keeps the review. Answers when it \
            ended or wait_seconds passed; while it runs, call again with its id. Then call findings."
            .into(),
        input: |_, _| input::schema::<Input>(),
        output: |_| output_schema::<ReviewToolOutput>(),
        hints: |_| ToolHints::Sends,
        alias_of: None,
        by_default: true,
        group: None,
        call,
    }
}

/// The change to review, or the started review.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Repository folder. Default: the server's.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String")]
    repo: Option<String>,
    /// Branch or commit to compare with. Default: found.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String")]
    target: Option<String>,
    /// Revision, A..B, A...B, staged, uncommitted, or a pull request (#12, owner/repo#12). Default: HEAD.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String")]
    at: Option<String>,
    /// Ask no model.
    #[serde(default, deserialize_with = "flag")]
    #[schemars(with = "bool")]
    rules_only: bool,
    /// Default: 20; at most 600.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32")]
    wait_seconds: Option<u32>,
    /// A started review to wait for.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String")]
    id: Option<String>,
    /// Stop that review; what was found is kept.
    #[serde(default, deserialize_with = "flag")]
    #[schemars(with = "bool")]
    cancel: bool,
}

/// Deserializes a flag; `null` and an empty string are `false`.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Bool(flag) => Ok(flag),
        Value::Null => Ok(false),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.trim().is_empty() || text.eq_ignore_ascii_case("false") => Ok(false),
        other => Err(serde::de::Error::custom(format!("{other} is not true or false"))),
    }
}

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ToolReviewState {
    Running,
    Complete,
    Incomplete,
    Failed,
    Interrupted,
}

/// A review as the tool answers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Output")]
struct ReviewToolOutput {
    /// Marks the texts of the other fields as data.
    untrusted: &'static str,
    /// The review.
    id: String,
    /// Its state. Only `complete` means that the whole change was reviewed.
    state: ToolReviewState,
    /// The reasons why it is not complete.
    reasons: Vec<String>,
    /// Number of findings that need action; so far, while it runs.
    total: u32,
    /// Number of findings of each severity.
    #[serde(rename = "bySeverity")]
    #[schemars(with = "BTreeMap<String, u32>")]
    by_severity: BTreeMap<Severity, u32>,
    /// The resource that holds all of it.
    uri: String,
    /// The reviewer: a model, or `rules`; null while unknown.
    engine: Option<String>,
    /// A note on parts that were left out, or on an empty change.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The call to make next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<SuggestedCall>,
}

/// A call to make.
#[derive(Debug, Serialize, JsonSchema)]
struct SuggestedCall {
    /// The tool.
    tool: &'static str,
    /// Its input.
    input: Map<String, Value>,
}

/// Returns the JSON Schema of a result, without references.
pub(super) fn output_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns the URI of a review.
pub(super) fn uri(id: RunId) -> String {
    format!("review://{id}")
}

/// Returns the links to a review.
pub(super) fn links(id: RunId) -> Vec<McpLink> {
    let link = |uri: String, name: &str, mime| McpLink { uri, name: name.to_owned(), mime };
    vec![
        link(uri(id), "the review (JSON)", "application/json"),
        link(format!("{}/markdown", uri(id)), "the review (Markdown)", "text/markdown"),
    ]
}

/// The note on an empty change.
pub(super) const EMPTY: &str = "There was nothing to review. Name another target, or what is meant with at: uncommitted, staged, a commit or A..B.";

/// Reasons why a call did nothing.
#[derive(Debug, thiserror::Error)]
enum ReviewToolFault {
    #[error(transparent)]
    Input(#[from] ToolFault),
    #[error("cancel needs the id of the review that is to be stopped")]
    CancelWhat,
    #[error(
        "id names a review that was started already: leave out target, at and rules_only, or leave out id to start one"
    )]
    StartedAlready,
    #[error(transparent)]
    Start(#[from] StartFault),
    #[error(transparent)]
    Find(#[from] FindFault),
    #[error(transparent)]
    App(#[from] AppError),
    #[error("not waiting any more: {} ({id})", if *stopped { "the review is being stopped" } else { "the review goes on" })]
    NotWanted { id: RunId, stopped: bool },
}

fn call(call: McpToolCall) -> BoxFuture<'static, McpToolResult> {
    Box::pin(async move {
        match answer(call).await {
            Ok(answer) => answer,
            Err(ReviewToolFault::Input(fault)) => McpToolResult::error_of(&fault.to_json()),
            Err(fault) => McpToolResult::error(fault.to_string()),
        }
    })
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, ReviewToolFault> {
    let input: Input = input::parse(Value::Object(call.input))?;
    let limit = Duration::from_secs(input.wait_seconds.unwrap_or(WAIT).min(LONGEST_WAIT).into());
    let (id, own) = match &input.id {
        Some(_) => (find_or_cancel(&input, &call.service).await?, false),
        None => start(input, &call.service).await?,
    };
    let wait = call.service.wait_review(id, limit, |line| call.progress.report(line));
    let snapshot = tokio::select! {
        snapshot = wait => snapshot,
        () = call.cancelled.cancelled() => {
            return Err(ReviewToolFault::NotWanted { id, stopped: own && call.service.abandon_review(id) });
        }
    };
    Ok(call.service.spawn_blocking("reading the review", move |service| render(service, id, snapshot)).await?)
}

/// Starts a review; also returns whether this call started it.
async fn start(input: Input, service: &Arc<Service>) -> Result<(RunId, bool), ReviewToolFault> {
    if input.cancel {
        return Err(ReviewToolFault::CancelWhat);
    }
    let start = StartReview { repo: input.repo, target: input.target, at: input.at, rules_only: input.rules_only };
    let started = service.spawn_blocking("starting the review", move |service| service.start_review(&start)).await??;
    Ok((started.id, !started.joined))
}

/// Finds the review with the given `id`, and stops it if requested.
async fn find_or_cancel(input: &Input, service: &Arc<Service>) -> Result<RunId, ReviewToolFault> {
    if input.target.is_some() || input.at.is_some() || input.rules_only {
        return Err(ReviewToolFault::StartedAlready);
    }
    let (given, repo) = (input.id.clone(), input.repo.clone());
    let find = move |service: &Arc<Service>| service.find_review(given.as_deref(), repo.as_deref());
    let id = service.spawn_blocking("finding the review", find).await??;
    if input.cancel {
        service.stop_review(id);
    }
    Ok(id)
}

/// Renders the state of the review, in fields and as text.
fn render(service: &Service, id: RunId, snapshot: Option<ReviewSnapshot>) -> McpToolResult {
    let note = snapshot.as_ref().and_then(|snapshot| snapshot.note.clone());
    let warnings = match snapshot.map(|snapshot| snapshot.state) {
        Some(ReviewState::Running(running)) => return render_running(id, &running, note),
        Some(ReviewState::Failed { message, exit_code }) => return failed(id, message, exit_code),
        Some(ReviewState::Ended(ended)) => warnings_of(ended),
        None => Vec::new(),
    };
    match service.review(id) {
        Ok(review) => render_ended(&review, &warnings, note),
        Err(error) => McpToolResult::error(error.to_string()),
    }
}

fn warnings_of(ended: FinishedRun) -> Vec<String> {
    let not_kept = ended.not_kept.map(|why| format!("This review could not be kept: {why}"));
    ended.warnings.into_iter().chain(not_kept).collect()
}

fn render_running(id: RunId, running: &RunningReview, note: Option<String>) -> McpToolResult {
    let output = ReviewToolOutput {
        untrusted: UNTRUSTED,
        id: id.to_string(),
        state: ToolReviewState::Running,
        reasons: Vec::new(),
        total: running.total(),
        by_severity: running.findings.clone(),
        uri: uri(id),
        engine: None,
        note: note.map(|note| format!("{note}.")),
        next: Some(next(NAME, id)),
    };
    let mut text = running.warnings.clone();
    text.push(format!("The review {id} is running: {}.", running.line()));
    text.extend(output.note.clone());
    text.push(format!("Call {NAME} with this id to wait for it, with cancel to stop it."));
    to_answer(
        &output,
        &text,
        vec![McpLink { uri: uri(id), name: "the running review".to_owned(), mime: "application/json" }],
    )
}

fn failed(id: RunId, message: String, exit_code: u8) -> McpToolResult {
    let state = if exit_code == 130 { ToolReviewState::Interrupted } else { ToolReviewState::Failed };
    let text = format!("The review {id} ended before anything was reviewed: {message}");
    let output = ReviewToolOutput {
        untrusted: UNTRUSTED,
        id: id.to_string(),
        state,
        reasons: vec![message],
        total: 0,
        by_severity: BTreeMap::new(),
        uri: uri(id),
        engine: None,
        note: None,
        next: None,
    };
    McpToolResult { is_error: true, ..to_answer(&output, &[text], Vec::new()) }
}

/// Checks whether the change was empty, so that the review is not taken for one without findings.
pub(super) fn is_empty(review: &Review) -> bool {
    review.outcome == ReviewOutcome::Complete
        && review.ended != StopReason::Interrupted
        && review.coverage.files.is_empty()
}

fn render_ended(review: &Review, warnings: &[String], left_out: Option<String>) -> McpToolResult {
    let state = match review.outcome {
        _ if review.ended == StopReason::Interrupted => ToolReviewState::Interrupted,
        ReviewOutcome::Complete => ToolReviewState::Complete,
        ReviewOutcome::Incomplete => ToolReviewState::Incomplete,
        ReviewOutcome::Failed => ToolReviewState::Failed,
    };
    let by_severity = RunRecord::of(review, None, None).findings;
    let total = by_severity.values().sum();
    let empty = is_empty(review);
    let left_out = left_out.map(|note| format!("{note}."));
    let notes: Vec<String> = empty.then(|| EMPTY.to_owned()).into_iter().chain(left_out).collect();
    let output = ReviewToolOutput {
        untrusted: UNTRUSTED,
        id: review.id.to_string(),
        state,
        reasons: review.reasons.clone(),
        total,
        by_severity,
        uri: uri(review.id),
        engine: Some(engine(review)),
        note: (!notes.is_empty()).then(|| notes.join(" ")),
        next: (total > 0).then(|| next("findings", review.id)),
    };
    let mut text = warnings.to_vec();
    text.push(brief(review));
    text.extend(notes);
    text.push(format!("(Titles and paths are {UNTRUSTED}. Review {}.)", review.id));
    McpToolResult { is_error: empty || state == ToolReviewState::Failed, ..to_answer(&output, &text, links(review.id)) }
}

fn next(tool: &'static str, id: RunId) -> SuggestedCall {
    let mut input = Map::new();
    input.insert("id".to_owned(), json!(id.to_string()));
    SuggestedCall { tool, input }
}

fn to_answer(output: &ReviewToolOutput, text: &[String], links: Vec<McpLink>) -> McpToolResult {
    let structured = serde_json::to_value(output).ok();
    McpToolResult { structured, text: Some(text.join("\n")), links, is_error: false }
}

#[cfg(test)]
mod tests;
