//! The commands of `workspace/executeCommand`. Main function: [`execute`].

use std::collections::HashMap;

use gen_lsp_types::{
    ApplyWorkspaceEditParams, ExecuteCommandParams, MessageActionItem, MessageType, ShowDocumentParams,
    ShowMessageRequestParams, Uri,
};
use lsp_server::RequestId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{AwaitedReply, RequestFault};
use super::edit::suggested_edit;
use super::report;
use super::running::EditorRun;
use super::session::EditorSession;
use crate::app::{self, DismissAsk, Overrides, StartReview};
use crate::domain::finding::FindingId;
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::present::rule_list;

pub(super) const START: &str = "review.start";
pub(super) const CANCEL: &str = "review.cancel";
pub(super) const DISMISS: &str = "review.dismiss";
pub(super) const APPLY: &str = "review.apply";
pub(super) const EXPLAIN_RULE: &str = "review.explainRule";
pub(super) const OPEN_THREAD: &str = "review.openThread";

/// The commands.
pub(super) const ALL: [&str; 6] = [START, CANCEL, DISMISS, APPLY, EXPLAIN_RULE, OPEN_THREAD];

/// The reasons for a dismissal that a client offers, if the command has none.
const REASONS: [&str; 3] = ["False positive", "Intended", "Not worth a change"];

/// The answer to a command.
pub(super) enum CommandAnswer {
    Now(Value),
    /// It is given when the client has answered a request.
    Later,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartArguments {
    kind: StartKind,
    target: Option<String>,
    pull_request: Option<String>,
    folder: Option<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum StartKind {
    Branch,
    Staged,
    Uncommitted,
    PullRequest,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FolderArguments {
    folder: Option<String>,
}

#[derive(Deserialize)]
struct FindingArguments {
    finding: String,
    reason: Option<String>,
    folder: Option<String>,
}

#[derive(Deserialize)]
struct RuleArguments {
    rule: String,
    folder: Option<String>,
    /// `true` to show the page as a message too, for clients that do nothing with the result.
    #[serde(default)]
    show: bool,
}

/// Executes a command; `id` is the request.
pub(super) fn execute(
    session: &mut EditorSession,
    id: &RequestId,
    params: ExecuteCommandParams,
) -> Result<CommandAnswer, RequestFault> {
    let argument = params.arguments.unwrap_or_default().into_iter().next();
    let done = match params.command.as_str() {
        START => start(session, &read(argument)?),
        CANCEL => cancel(session, &argument.map_or_else(|| Ok(FolderArguments::default()), |one| read(Some(one)))?),
        DISMISS => dismiss(session, read(argument)?),
        APPLY => return apply(session, id, &read(argument)?),
        EXPLAIN_RULE => explain_rule(session, &read(argument)?),
        OPEN_THREAD => open_thread(session, &read(argument)?),
        other => Err(RequestFault::params(format!("there is no command {other:?}"))),
    };
    done.map(CommandAnswer::Now)
}

fn read<T: DeserializeOwned>(argument: Option<Value>) -> Result<T, RequestFault> {
    serde_json::from_value(argument.unwrap_or_default())
        .map_err(|error| RequestFault::params(format!("the argument of the command: {error}")))
}

fn start(session: &mut EditorSession, given: &StartArguments) -> Result<Value, RequestFault> {
    let at = session.folder(given.folder.as_deref())?;
    let mut request = StartReview::default();
    match given.kind {
        StartKind::Branch => request.target.clone_from(&given.target),
        StartKind::Staged => request.at = Some("staged".to_owned()),
        StartKind::Uncommitted => request.at = Some("uncommitted".to_owned()),
        StartKind::PullRequest => {
            let named = given.pull_request.as_deref().map(str::trim).filter(|named| !named.is_empty());
            let named = named.ok_or_else(|| RequestFault::params("pullRequest: its number or its URL is missing"))?;
            let is_number = named.bytes().all(|byte| byte.is_ascii_digit());
            request.at = Some(if is_number { format!("#{named}") } else { named.to_owned() });
        }
    }
    if given.kind != StartKind::Branch && given.target.is_some() {
        return Err(RequestFault::params("target: only a branch is compared with one"));
    }
    let folder = &session.folders[at];
    let started = folder.service.start_review(&request).map_err(RequestFault::failed)?;
    if !session.runs.iter().any(|run| run.run == started.id) {
        let run = EditorRun::start(&mut session.client, folder, started.id);
        session.runs.push(run);
    }
    Ok(json!({ "run": started.id.to_string() }))
}

fn cancel(session: &EditorSession, given: &FolderArguments) -> Result<Value, RequestFault> {
    let only = match &given.folder {
        Some(uri) => Some(session.folders[session.folder(Some(uri))?].uri.clone()),
        None => None,
    };
    let runs = session.runs.iter().filter(|run| only.as_ref().is_none_or(|uri| run.folder == *uri));
    let cancelled = runs.inspect(|run| run.cancel()).count();
    Ok(json!({ "cancelled": cancelled }))
}

fn dismiss(session: &mut EditorSession, given: FindingArguments) -> Result<Value, RequestFault> {
    let finding = FindingId(given.finding);
    let at = session.folder_with(given.folder.as_deref(), &finding)?;
    let reason = given.reason.filter(|reason| !reason.trim().is_empty());
    let Some(reason) = reason else {
        ask_for_reason(session, at, finding);
        return Ok(Value::Null);
    };
    dismiss_with(session, at, &finding, reason)
}

/// Lets the user choose a reason; the finding is dismissed when it comes.
fn ask_for_reason(session: &mut EditorSession, at: usize, finding: FindingId) {
    let folder = &session.folders[at];
    let title = folder.finding(&finding).map(|(_, finding)| report::title(finding)).unwrap_or_default();
    let action = |title: &&str| MessageActionItem { title: (*title).to_owned(), properties: HashMap::new() };
    let params = ShowMessageRequestParams {
        kind: MessageType::Info,
        message: format!("Why is this finding dismissed? {title}"),
        actions: Some(REASONS.iter().map(action).collect()),
    };
    let reply = AwaitedReply::DismissalReason { folder: folder.uri.clone(), finding };
    session.client.request("window/showMessageRequest", params, reply);
}

/// Dismisses a finding for the project, and takes it out of the diagnostics.
fn dismiss_with(
    session: &mut EditorSession,
    at: usize,
    finding: &FindingId,
    reason: String,
) -> Result<Value, RequestFault> {
    let folder = &session.folders[at];
    let ask = DismissAsk {
        directory: folder.directory().to_owned(),
        run: folder.review.as_ref().map(|current| current.review.id.to_string()),
        finding: finding.0.clone(),
        reason,
        until: None,
        glob: None,
    };
    let done = app::dismiss_for_project(&session.env, &ask)?;
    if let Some(why) = &done.not_marked {
        session.client.log(MessageType::Warning, &format!("the saved review could not be marked: {why}"));
    }
    session.reload();
    session.show_changes();
    Ok(json!({ "finding": done.finding.id.0, "file": done.file.display().to_string() }))
}

/// Goes on with a dismissal when the user has chosen a reason, or none.
pub(super) fn dismiss_as_chosen(session: &mut EditorSession, folder: &str, finding: &FindingId, chosen: &Value) {
    let Some(reason) = chosen["title"].as_str() else { return };
    let done =
        session.folder_with(Some(folder), finding).and_then(|at| dismiss_with(session, at, finding, reason.to_owned()));
    if let Err(fault) = done {
        session.client.show(MessageType::Error, format!("The finding was not dismissed: {}", fault.message));
    }
}

fn apply(session: &mut EditorSession, id: &RequestId, given: &FindingArguments) -> Result<CommandAnswer, RequestFault> {
    if !session.client.features.apply_edit {
        return Err(RequestFault::failed(
            "this editor lets no server edit: apply the code action, or run `review apply`",
        ));
    }
    let id_of_finding = FindingId(given.finding.clone());
    let at = session.folder_with(given.folder.as_deref(), &id_of_finding)?;
    let Some((_, finding)) = session.folders[at].finding(&id_of_finding) else {
        return Ok(CommandAnswer::Now(Value::Null));
    };
    let label = Some(format!("Apply the suggestion: {}", report::title(finding)));
    let edit = suggested_edit(session, at, finding)?;
    let params = ApplyWorkspaceEditParams { label, edit, metadata: None };
    session.client.request("workspace/applyEdit", params, AwaitedReply::EditApplied(id.clone()));
    Ok(CommandAnswer::Later)
}

fn explain_rule(session: &EditorSession, given: &RuleArguments) -> Result<Value, RequestFault> {
    let folder = &session.folders[session.folder(given.folder.as_deref())?];
    let request = ReviewRequest {
        directory: folder.directory().to_owned(),
        scope: ReviewScope::Branch { target: None, head: None },
        settings_from_worktree: false,
    };
    let page = app::explain_rule(&request, &given.rule, &Overrides::default(), &session.env)?;
    let text = rule_list::page(&page, false, 100);
    if given.show {
        session.client.show(MessageType::Info, text.clone());
    }
    Ok(json!({ "rule": page.info.name, "text": text }))
}

fn open_thread(session: &mut EditorSession, given: &FindingArguments) -> Result<Value, RequestFault> {
    let finding = FindingId(given.finding.clone());
    let at = session.folder_with(given.folder.as_deref(), &finding)?;
    let run = session.folders[at].review.as_ref().map(|current| current.review.id);
    let url = run.and_then(|run| app::posted_url(&session.env, run, &finding));
    let url = url.ok_or_else(|| RequestFault::failed("the review was not posted to a pull request"))?;
    if session.client.features.show_document {
        let params =
            ShowDocumentParams { uri: Uri(url.clone()), external: Some(true), take_focus: Some(true), selection: None };
        session.client.request("window/showDocument", params, AwaitedReply::Ignored);
    }
    Ok(json!({ "url": url }))
}
