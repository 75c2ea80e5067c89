//! `review`: starts a review in the background, waits for one, stops one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::finding_line;
use crate::app::{
    AppError, ClientConnection, FindFault, FinishedRun, ReviewSnapshot, ReviewState, RunningReview, Service,
    StartFault, StartReview,
};
use crate::domain::finding::Severity;
use crate::domain::review::{Review, ReviewOutcome, StopReason};
use crate::domain::run::{Engine, RunId};
use crate::domain::run_record::RunRecord;
use crate::domain::text::strip_line;
use crate::mcp::tool::{McpLink, McpTool, McpToolCall, McpToolResult, ToolHints, UNTRUSTED};
use crate::present::brief;
use crate::tools::{ToolFault, input};

/// The tool's name.
pub(in crate::mcp) const NAME: &str = "review";
/// Default waiting time of a call, in seconds.
const WAIT: u32 = 20;
/// Maximum waiting time, in seconds: some clients give up after a minute.
const LONGEST_WAIT: u32 = 45;
/// Number of findings in a result; `findings` lists all of them.
const LISTED: usize = 10;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        name: NAME,
        title: "Review a change",
        description: "Reviews a change by the engine the user set up (a model or built-in rules) and keeps the review. Answers when it \
            ended or wait_seconds passed: while it runs, call again with its id. Then call findings."
            .into(),
        input: |_, _| input::schema::<Input>(),
        output: |_| schema(),
        hints: |_| ToolHints::Sends,
        alias_of: None,
        is_first: true,
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
    repo: Option<String>,
    /// Branch or commit to compare with. Default: found.
    #[serde(default, deserialize_with = "input::text")]
    target: Option<String>,
    /// Revision, A..B, A...B, staged, uncommitted, or a pull request (#12, owner/repo#12). Default: HEAD.
    #[serde(default, deserialize_with = "input::text")]
    at: Option<String>,
    /// Ask no model.
    #[serde(default, deserialize_with = "flag")]
    rules_only: bool,
    /// Default: 20; at most 45.
    #[serde(default, deserialize_with = "input::number")]
    wait_seconds: Option<u32>,
    /// A started review to wait for.
    #[serde(default, deserialize_with = "input::text")]
    id: Option<String>,
    /// Stop that review; what was found is kept.
    #[serde(default, deserialize_with = "flag")]
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
    /// The folder of the repository.
    repository: Option<String>,
    /// The change that was reviewed, with its size; null while unknown.
    change: Option<String>,
    /// The first ten findings; the tool `findings` lists all of them.
    findings: Vec<Value>,
    /// The current step of a review that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    /// The resource that holds all of it.
    uri: String,
    /// The reviewer: a model, or `rules`; null while unknown.
    engine: Option<String>,
    /// The reviewer with its time, tokens and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewer: Option<String>,
    /// Notices and remarks: who receives the code, what was withheld, skipped or limited.
    notes: Vec<String>,
    /// A note on parts that were left out, on an empty change, or on what becomes of a review that runs.
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

impl ReviewToolOutput {
    /// Builds the result for a review of which nothing else is known.
    fn new(id: RunId, state: ToolReviewState, repository: Option<String>) -> Self {
        Self {
            untrusted: UNTRUSTED,
            id: id.to_string(),
            state,
            reasons: Vec::new(),
            total: 0,
            by_severity: BTreeMap::new(),
            repository,
            change: None,
            findings: Vec::new(),
            progress: None,
            uri: uri(id),
            engine: None,
            reviewer: None,
            notes: Vec::new(),
            note: None,
            next: None,
        }
    }

    /// Renders the last lines of the text: the fields that programs read, for clients that show their model the text alone.
    fn closing(&self) -> Vec<String> {
        let state = serde_json::to_value(self.state).unwrap_or_default();
        let state = format!("State: {}.", state.as_str().unwrap_or_default());
        let repository = self.repository.as_ref().map(|folder| format!("Repository: {}.", strip_line(folder)));
        let facts = [Some(state), repository, Some(format!("Resource: {}", self.uri))];
        let next = self.next.as_ref().map(|next| format!("Next: {} {}", next.tool, Value::Object(next.input.clone())));
        let marked = format!("(Titles and paths are {UNTRUSTED}. Review {}.)", self.id);
        [facts.into_iter().flatten().collect::<Vec<_>>().join(" ")].into_iter().chain([marked]).chain(next).collect()
    }
}

fn schema() -> Value {
    let mut schema = output_schema::<ReviewToolOutput>();
    schema["properties"]["findings"]["items"] = finding_line::schema();
    schema
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
    #[error("not waiting any more: the review {0} goes on; wait for it with its id, or stop it with its id and cancel")]
    NotWaiting(RunId),
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
    let limit = waiting_time(input.wait_seconds);
    let id = match &input.id {
        Some(_) => find_or_cancel(&input, &call.service).await?,
        None => start(input, &call.service).await?,
    };
    let wait = call.service.wait_review(id, limit, |line| call.progress.report(line));
    let snapshot = tokio::select! {
        snapshot = wait => snapshot,
        // Clients cancel calls that take them too long. The review is paid for: only the waiting ends.
        () = call.cancelled.cancelled() => return Err(ReviewToolFault::NotWaiting(id)),
    };
    let until = if call.connection == ClientConnection::Process { "session" } else { "server" };
    let render = move |service: &Arc<Service>| render(service, id, snapshot, until);
    Ok(call.service.spawn_blocking("reading the review", render).await?)
}

/// Returns how long a call waits at most.
fn waiting_time(given: Option<u32>) -> Duration {
    Duration::from_secs(given.unwrap_or(WAIT).min(LONGEST_WAIT).into())
}

/// Starts a review, or joins a running one of the same change.
async fn start(input: Input, service: &Arc<Service>) -> Result<RunId, ReviewToolFault> {
    if input.cancel {
        return Err(ReviewToolFault::CancelWhat);
    }
    let start = StartReview { repo: input.repo, target: input.target, at: input.at, rules_only: input.rules_only };
    let started = service.spawn_blocking("starting the review", move |service| service.start_review(&start)).await??;
    Ok(started.id)
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

/// Renders the state of the review, in fields and as text. A running one ends with the `until` that it runs in.
fn render(service: &Service, id: RunId, snapshot: Option<ReviewSnapshot>, until: &str) -> McpToolResult {
    let repository = service.folder_of(id).ok().map(|folder| folder.display().to_string());
    let note = snapshot.as_ref().and_then(|snapshot| snapshot.note.clone()).map(|note| format!("{note}."));
    let keyless = snapshot.as_ref().filter(|snapshot| !snapshot.rules_only).and_then(|_| service.keyless_note());
    let warnings = match snapshot.map(|snapshot| snapshot.state) {
        Some(ReviewState::Running(running)) => {
            let output = ReviewToolOutput::new(id, ToolReviewState::Running, repository);
            return render_running(output, id, &running, note, until);
        }
        Some(ReviewState::Failed { message, exit_code }) => {
            let state = if exit_code == 130 { ToolReviewState::Interrupted } else { ToolReviewState::Failed };
            return failed(ReviewToolOutput::new(id, state, repository), message);
        }
        Some(ReviewState::Ended(ended)) => warnings_of(ended),
        None => Vec::new(),
    };
    match service.review(id) {
        Ok(review) => {
            let keyless = keyless.filter(|_| review.provenance.engine == Engine::Rules).map(str::to_owned);
            render_ended(&review, repository, warnings, note.into_iter().chain(keyless).collect())
        }
        Err(error) => McpToolResult::error(error.to_string()),
    }
}

fn warnings_of(ended: FinishedRun) -> Vec<String> {
    let not_kept = ended.not_kept.map(|why| format!("This review could not be kept: {why}"));
    ended.warnings.into_iter().chain(not_kept).collect()
}

fn render_running(
    output: ReviewToolOutput,
    id: RunId,
    running: &RunningReview,
    note: Option<String>,
    until: &str,
) -> McpToolResult {
    let fate = format!(
        "It ends with this {until}: wait for it before you finish. The user can go on with one that was cut short: review --resume {id}."
    );
    let output = ReviewToolOutput {
        total: running.total(),
        by_severity: running.findings.clone(),
        progress: Some(running.line()),
        notes: running.warnings.clone(),
        note: Some(note.into_iter().chain([fate]).collect::<Vec<_>>().join(" ")),
        next: Some(next(NAME, id)),
        ..output
    };
    let mut text = output.notes.clone();
    text.push(format!("The review {id} is running: {}.", running.line()));
    text.extend(output.note.clone());
    text.push(format!("Call {NAME} with this id to wait for it, with cancel to stop it."));
    let link = McpLink { uri: uri(id), name: "the running review".to_owned(), mime: "application/json" };
    to_answer(&output, text, vec![link])
}

fn failed(output: ReviewToolOutput, message: String) -> McpToolResult {
    let text = format!("The review {} ended before anything was reviewed: {message}", output.id);
    let output = ReviewToolOutput { reasons: vec![message], ..output };
    McpToolResult { is_error: true, ..to_answer(&output, vec![text], Vec::new()) }
}

/// Checks whether the change was empty, so that the review is not taken for one without findings.
pub(super) fn is_empty(review: &Review) -> bool {
    review.outcome == ReviewOutcome::Complete
        && review.ended != StopReason::Interrupted
        && review.coverage.files.is_empty()
}

fn render_ended(
    review: &Review,
    repository: Option<String>,
    warnings: Vec<String>,
    left_out: Vec<String>,
) -> McpToolResult {
    let state = match review.outcome {
        _ if review.ended == StopReason::Interrupted => ToolReviewState::Interrupted,
        ReviewOutcome::Complete => ToolReviewState::Complete,
        ReviewOutcome::Incomplete => ToolReviewState::Incomplete,
        ReviewOutcome::Failed => ToolReviewState::Failed,
    };
    let by_severity = RunRecord::of(review, None, None).findings;
    let total = by_severity.values().sum();
    let empty = is_empty(review);
    let notes: Vec<String> = empty.then(|| EMPTY.to_owned()).into_iter().chain(left_out).collect();
    let listed = review.main_findings().chain(review.also_noticed()).take(LISTED);
    let mut text = warnings.clone();
    text.push(brief::brief(review));
    text.extend(notes.clone());
    let output = ReviewToolOutput {
        reasons: review.reasons.clone(),
        total,
        by_severity,
        change: Some(brief::change(review)),
        findings: listed.map(finding_line::render).collect(),
        engine: Some(brief::engine(review)),
        reviewer: Some(brief::reviewer(review)),
        notes: warnings.into_iter().chain(brief::pull(review)).chain(brief::remarks(review)).collect(),
        note: (!notes.is_empty()).then(|| notes.join(" ")),
        next: (total > 0).then(|| next("findings", review.id)),
        ..ReviewToolOutput::new(review.id, state, repository)
    };
    McpToolResult { is_error: empty || state == ToolReviewState::Failed, ..to_answer(&output, text, links(review.id)) }
}

fn next(tool: &'static str, id: RunId) -> SuggestedCall {
    let mut input = Map::new();
    input.insert("id".to_owned(), json!(id.to_string()));
    SuggestedCall { tool, input }
}

fn to_answer(output: &ReviewToolOutput, mut text: Vec<String>, links: Vec<McpLink>) -> McpToolResult {
    text.extend(output.closing());
    let structured = serde_json::to_value(output).ok();
    McpToolResult { structured, text: Some(text.join("\n")), links, is_error: false }
}

#[cfg(test)]
mod tests;
