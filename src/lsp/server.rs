//! The server: lifecycle, and one function for each method. Main type: [`LanguageServer`].

use std::time::Duration;

use futures_util::future::join_all;
use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProvider, DiagnosticOptions, DiagnosticProvider,
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentDiagnosticParams, ExecuteCommandOptions, HoverParams, HoverProvider,
    InitializeResult, MessageType, PreviousResultId, Save, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions, WorkspaceDiagnosticParams, WorkspaceFolder,
    WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::actions::code_actions;
use super::client::{AwaitedReply, Client, ClientFeatures, RequestFault};
use super::commands::{self, CommandAnswer};
use super::folder::{EditorFolder, NOTHING};
use super::position::contains;
use super::report;
use super::session::EditorSession;
use super::transport::{Outbox, Received};
use crate::app::{self, Overrides, ProcessEnv};

/// Interval between two looks at the saved runs, the files on disk and the client's process.
const POLL: Duration = Duration::from_secs(2);
/// Interval between two looks at running reviews.
const RUN_POLL: Duration = Duration::from_millis(250);
/// Time without an edit after which diagnostics are published anew.
const QUIET: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifecycle {
    /// Nothing but `initialize` is answered.
    Uninitialized,
    Initialized,
    /// Nothing but `exit` is expected.
    ShutDown,
}

/// The server of one client.
pub(super) struct LanguageServer {
    session: EditorSession,
    lifecycle: Lifecycle,
    /// The URIs of the folders that the client began with, until it is ready.
    folders: Vec<String>,
    /// The client's process: without it nobody is served.
    parent: Option<u32>,
    poll_at: Instant,
    run_poll_at: Instant,
    publish_at: Option<Instant>,
}

impl LanguageServer {
    pub(super) fn new(env: ProcessEnv, flags: Overrides, outbox: Outbox) -> Self {
        let session = EditorSession::new(env, flags, Client::new(outbox));
        let (lifecycle, now) = (Lifecycle::Uninitialized, Instant::now());
        let (folders, parent, publish_at) = (Vec::new(), None, None);
        Self { session, lifecycle, folders, parent, poll_at: now + POLL, run_poll_at: now, publish_at }
    }

    /// Handles a message. Returns `true` if the session is over.
    pub(super) fn receive(&mut self, received: Received) -> bool {
        match received {
            Received::Fault(fault) => self.session.client.outbox().send_fault(&fault),
            Received::Message(Message::Response(response)) => self.complete(response),
            Received::Message(Message::Notification(notice)) if notice.method == "exit" => return true,
            Received::Message(Message::Notification(notice)) => {
                if self.lifecycle == Lifecycle::Initialized
                    && let Err(fault) = self.notice(notice)
                {
                    self.session.client.log(MessageType::Warning, &fault.message);
                }
            }
            Received::Message(Message::Request(request)) => {
                let id = request.id.clone();
                match self.request(request) {
                    Ok(CommandAnswer::Now(answer)) => self.session.client.respond(id, Ok(answer)),
                    Ok(CommandAnswer::Later) => {}
                    Err(fault) => self.session.client.respond(id, Err(fault)),
                }
            }
        }
        false
    }

    /// The time at which [`tick`](Self::tick) has something to do.
    pub(super) fn next_tick(&self) -> Instant {
        let run = (!self.session.runs.is_empty()).then_some(self.run_poll_at);
        [run, self.publish_at].into_iter().flatten().fold(self.poll_at, Instant::min)
    }

    /// Does what is due. Returns `true` if the client's process is gone.
    pub(super) fn tick(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.run_poll_at && !self.session.runs.is_empty() {
            self.session.update_runs();
            self.run_poll_at = Instant::now() + RUN_POLL;
        }
        let is_due = self.publish_at.is_some_and(|at| now >= at);
        if now >= self.poll_at {
            if self.parent.is_some_and(|parent| !app::is_process_alive(parent)) {
                return true;
            }
            if self.lifecycle == Lifecycle::Initialized {
                self.session.reload();
                self.session.show_changes();
            }
            self.poll_at = Instant::now() + POLL;
        } else if is_due {
            self.session.show_changes();
        }
        if is_due {
            self.publish_at = None;
        }
        false
    }

    /// Stops the running reviews and waits until they are saved. Returns `true` if the client had asked for the end.
    pub(super) async fn shut_down(&mut self, grace: Duration) -> bool {
        // Also those of folders that were removed: what they stop has to be saved.
        let folders = self.session.folders.iter().map(|folder| &folder.service);
        join_all(
            folders.chain(self.session.runs.iter().map(|run| &run.service)).map(|service| service.shut_down(grace)),
        )
        .await;
        self.lifecycle == Lifecycle::ShutDown
    }

    fn request(&mut self, request: Request) -> Result<CommandAnswer, RequestFault> {
        match (self.lifecycle, request.method.as_str()) {
            (Lifecycle::Uninitialized, "initialize") => {
                return self.initialize(&request.params).map(CommandAnswer::Now);
            }
            (Lifecycle::Uninitialized, _) => {
                let message = "the session has not begun: send initialize first".to_owned();
                return Err(RequestFault { code: ErrorCode::ServerNotInitialized, message });
            }
            (Lifecycle::ShutDown, _) | (Lifecycle::Initialized, "initialize") => {
                let message = "the session has begun already, or is over".to_owned();
                return Err(RequestFault { code: ErrorCode::InvalidRequest, message });
            }
            (Lifecycle::Initialized, _) => {}
        }
        let Request { id, method, params } = request;
        // Every answer is about the text as it is now.
        if method.starts_with("textDocument/") || method == "workspace/diagnostic" || method == "review/findings" {
            self.session.refresh();
        }
        let answer = match method.as_str() {
            "shutdown" => {
                self.lifecycle = Lifecycle::ShutDown;
                self.session.runs.iter().for_each(super::running::EditorRun::cancel);
                Value::Null
            }
            "textDocument/diagnostic" => self.document_diagnostics(&read(params)?),
            "workspace/diagnostic" => self.workspace_diagnostics(&read(params)?),
            "textDocument/hover" => self.hover(&read(params)?),
            "textDocument/codeAction" => json!(code_actions(&self.session, &read::<CodeActionParams>(params)?)),
            "workspace/executeCommand" => return commands::execute(&mut self.session, &id, read(params)?),
            "review/findings" => {
                let folder = params["folder"].as_str();
                self.session.folders[self.session.folder(folder)?].rows()
            }
            other => {
                let message = format!("this server has no method {other:?}");
                return Err(RequestFault { code: ErrorCode::MethodNotFound, message });
            }
        };
        Ok(CommandAnswer::Now(answer))
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, RequestFault> {
        if !params["capabilities"].is_object() {
            return Err(RequestFault::params("initialize: the capabilities of the client are missing"));
        }
        let features = ClientFeatures::of(&params["capabilities"]);
        self.session.client.features = features;
        self.parent = params["processId"].as_u64().and_then(|id| u32::try_from(id).ok());
        let folders: Option<Vec<WorkspaceFolder>> = serde_json::from_value(params["workspaceFolders"].clone()).ok();
        let root = params["rootUri"].as_str().map(str::to_owned);
        let folders = folders.filter(|folders| !folders.is_empty());
        self.folders =
            folders.map_or_else(|| root.into_iter().collect(), |all| all.into_iter().map(|one| one.uri.0).collect());
        self.lifecycle = Lifecycle::Initialized;
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let server_info = Some(ServerInfo { name: report::SOURCE.to_owned(), version });
        Ok(json!(InitializeResult { capabilities: capabilities(features), server_info }))
    }

    fn notice(&mut self, notice: Notification) -> Result<(), RequestFault> {
        let Notification { method, params } = notice;
        match method.as_str() {
            "initialized" => {
                for uri in std::mem::take(&mut self.folders) {
                    self.session.add_folder(&uri);
                }
                self.session.show_changes();
            }
            "textDocument/didOpen" => {
                let document = read::<DidOpenTextDocumentParams>(params)?.text_document;
                self.session.documents.open(document.uri.0, document.version, &document.text);
                self.publish_soon(Duration::ZERO);
            }
            "textDocument/didChange" => {
                let params: DidChangeTextDocumentParams = read(params)?;
                let document = params.text_document;
                let unit = self.session.client.features.unit;
                let uri = &document.text_document_identifier.uri.0;
                self.session.documents.change(uri, document.version, &params.content_changes, unit);
                self.publish_soon(QUIET);
            }
            "textDocument/didClose" => {
                self.session.documents.close(&read::<DidCloseTextDocumentParams>(params)?.text_document.uri.0);
                self.publish_soon(Duration::ZERO);
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.session.reload();
                self.session.show_changes();
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = read::<DidChangeWorkspaceFoldersParams>(params)?.event;
                event.removed.iter().for_each(|folder| self.session.remove_folder(&folder.uri.0));
                event.added.iter().for_each(|folder| self.session.add_folder(&folder.uri.0));
                self.session.show_changes();
            }
            "window/workDoneProgress/cancel" => {
                let token = &params["token"];
                self.session.runs.iter().filter(|run| run.has_token(token)).for_each(super::running::EditorRun::cancel);
            }
            // Every request is answered before the next message is read: there is nothing to cancel. Others may be ignored.
            _ => {}
        }
        Ok(())
    }

    /// Publishes diagnostics after a while without further edits. Clients that ask do so by themselves.
    fn publish_soon(&mut self, after: Duration) {
        if !self.session.client.features.pulls {
            self.publish_at = Some(Instant::now() + after);
        }
    }

    fn complete(&mut self, response: Response) {
        let Some(reply) = self.session.client.complete(response.id) else { return };
        let answer = response.response_result;
        match reply {
            AwaitedReply::Ignored => {}
            AwaitedReply::Refreshed => self.session.refreshed(),
            AwaitedReply::ProgressCreated(id) => {
                let run = self.session.runs.iter_mut().find(|run| run.run == id);
                if let (Some(run), true) = (run, answer.is_ok()) {
                    run.show(&self.session.client);
                }
            }
            AwaitedReply::DismissalReason { folder, finding } => {
                commands::dismiss_as_chosen(&mut self.session, &folder, &finding, &answer.unwrap_or_default());
            }
            AwaitedReply::EditApplied(request) => self.answer_apply(request, &answer.unwrap_or_default()),
        }
    }

    fn answer_apply(&self, request: RequestId, answer: &Value) {
        let why = answer["failureReason"].as_str().unwrap_or("the editor did not apply the edit");
        let is_applied = answer["applied"] == true;
        let answer = if is_applied { Ok(json!({ "applied": true })) } else { Err(RequestFault::failed(why)) };
        self.session.client.respond(request, answer);
    }

    fn document_diagnostics(&self, params: &DocumentDiagnosticParams) -> Value {
        let report = self
            .session
            .locate(&params.text_document.uri.0)
            .and_then(|(at, path)| self.session.folders[at].reports.get(&path));
        let result_id = report.map_or(NOTHING, |report| &report.result_id);
        if params.previous_result_id.as_deref() == Some(result_id) {
            return json!({ "kind": "unchanged", "resultId": result_id });
        }
        let items = report.map_or(&[][..], |report| &report.diagnostics);
        json!({ "kind": "full", "resultId": result_id, "items": items })
    }

    fn workspace_diagnostics<'s>(&'s self, params: &WorkspaceDiagnosticParams) -> Value {
        let before = |uri: &str| params.previous_result_ids.iter().find(|before| before.uri.0 == uri);
        let of_folder = |(at, folder): (usize, &'s EditorFolder)| {
            folder.reports.values().filter(move |report| self.session.is_innermost(at, &report.uri))
        };
        let reports = || self.session.folders.iter().enumerate().flat_map(of_folder);
        let mut items: Vec<Value> = Vec::new();
        for report in reports() {
            let (uri, version, result_id) = (&report.uri, report.version, &report.result_id);
            let mut item = json!({ "uri": uri, "version": version, "resultId": result_id });
            if before(uri).is_some_and(|before| before.value == *result_id) {
                item["kind"] = json!("unchanged");
            } else {
                item["kind"] = json!("full");
                item["items"] = json!(report.diagnostics);
            }
            items.push(item);
        }
        let is_over =
            |before: &&PreviousResultId| before.value != NOTHING && !reports().any(|report| report.uri == before.uri.0);
        for before in params.previous_result_ids.iter().filter(is_over) {
            let uri = &before.uri;
            items.push(json!({ "kind": "full", "uri": uri, "version": null, "resultId": NOTHING, "items": [] }));
        }
        json!({ "items": items })
    }

    fn hover(&self, params: &HoverParams) -> Value {
        let place = &params.text_document_position_params;
        let Some((at, path)) = self.session.locate(&place.text_document.uri.0) else { return Value::Null };
        let folder = &self.session.folders[at];
        let here: Vec<_> =
            folder.shown_in(&path).filter(|(_, shown, _)| contains(shown.range, place.position)).collect();
        let Some((_, first, _)) = here.first() else { return Value::Null };
        let findings: Vec<_> = here.iter().map(|(finding, _, _)| *finding).collect();
        json!(report::hover(&findings, first.range, self.session.client.features.markdown))
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RequestFault> {
    serde_json::from_value(params).map_err(RequestFault::params)
}

fn capabilities(features: ClientFeatures) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::Incremental),
        save: Some(Save::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let actions =
        CodeActionOptions { code_action_kinds: Some(vec![CodeActionKind::QuickFix]), ..CodeActionOptions::default() };
    let diagnostics = DiagnosticOptions {
        identifier: Some(report::SOURCE.to_owned()),
        inter_file_dependencies: false,
        workspace_diagnostics: true,
        ..DiagnosticOptions::default()
    };
    let commands = commands::ALL.iter().map(|name| (*name).to_owned()).collect();
    let folders = WorkspaceFoldersServerCapabilities { supported: Some(true), change_notifications: Some(true.into()) };
    ServerCapabilities {
        position_encoding: Some(features.unit.kind()),
        text_document_sync: Some(TextDocumentSync::Options(sync)),
        hover_provider: Some(HoverProvider::Bool(true)),
        code_action_provider: Some(CodeActionProvider::CodeActionOptions(actions)),
        diagnostic_provider: features.pulls.then_some(DiagnosticProvider::DiagnosticOptions(diagnostics)),
        execute_command_provider: Some(ExecuteCommandOptions { commands, ..ExecuteCommandOptions::default() }),
        workspace: Some(WorkspaceOptions { workspace_folders: Some(folders), ..WorkspaceOptions::default() }),
        ..ServerCapabilities::default()
    }
}
