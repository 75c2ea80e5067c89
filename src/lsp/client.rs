//! The client: its capabilities, and the messages to it. Main types: [`Client`], [`ClientFeatures`].

use gen_lsp_types::{LogMessageParams, MessageType, PositionEncodingKind};
use lsp_server::{ErrorCode, Message, Notification, ReqQueue, RequestId, Response};
use serde::Serialize;
use serde_json::Value;

use super::position::PositionUnit;
use super::transport::Outbox;
use crate::app::AppError;
use crate::domain::finding::FindingId;
use crate::domain::run::RunId;
use crate::domain::text::strip_line;

/// The capabilities of a client that make a difference here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub(super) struct ClientFeatures {
    /// The unit of columns.
    pub(super) unit: PositionUnit,
    /// It asks for diagnostics: then none are published.
    pub(super) pulls: bool,
    /// It can be made to ask again.
    pub(super) refreshes: bool,
    pub(super) related_information: bool,
    pub(super) progress: bool,
    pub(super) show_document: bool,
    pub(super) apply_edit: bool,
    /// Edits may name the version of the document.
    pub(super) versioned_edits: bool,
    /// Hovers may be Markdown.
    pub(super) markdown: bool,
    /// Code actions may have an edit.
    pub(super) literal_actions: bool,
}

impl ClientFeatures {
    /// Reads the capabilities of `initialize`. Those of an unexpected form count as missing.
    pub(super) fn of(capabilities: &Value) -> Self {
        let at = |pointer: &str| capabilities.pointer(pointer);
        let is_true = |pointer: &str| at(pointer).and_then(Value::as_bool).unwrap_or(false);
        let encodings = at("/general/positionEncodings").cloned().unwrap_or_default();
        let encodings: Vec<PositionEncodingKind> = serde_json::from_value(encodings).unwrap_or_default();
        let hovers = at("/textDocument/hover/contentFormat").and_then(Value::as_array);
        Self {
            unit: PositionUnit::negotiate(&encodings),
            pulls: at("/textDocument/diagnostic").is_some_and(Value::is_object),
            refreshes: is_true("/workspace/diagnostics/refreshSupport"),
            related_information: is_true("/textDocument/publishDiagnostics/relatedInformation")
                || is_true("/textDocument/diagnostic/relatedInformation"),
            progress: is_true("/window/workDoneProgress"),
            show_document: is_true("/window/showDocument/support"),
            apply_edit: is_true("/workspace/applyEdit"),
            versioned_edits: is_true("/workspace/workspaceEdit/documentChanges"),
            markdown: hovers.is_some_and(|formats| formats.iter().any(|format| format == "markdown")),
            literal_actions: at("/textDocument/codeAction/codeActionLiteralSupport").is_some_and(Value::is_object),
        }
    }
}

/// The follow-up of a request to the client, when it answers.
#[derive(Debug, Clone)]
pub(super) enum AwaitedReply {
    /// There is none.
    Ignored,
    /// It asks for diagnostics again.
    Refreshed,
    /// It shows the progress of a review.
    ProgressCreated(RunId),
    /// The user gives the reason for a dismissal; of the folder with this URI.
    DismissalReason { folder: String, finding: FindingId },
    /// It applied an edit: then the command that led to it is answered.
    EditApplied(RequestId),
}

/// An error in handling a request.
#[derive(Debug)]
pub(super) struct RequestFault {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl RequestFault {
    /// The parameters are not those of the method.
    pub(super) fn params(why: impl std::fmt::Display) -> Self {
        Self { code: ErrorCode::InvalidParams, message: strip_line(&why.to_string()) }
    }

    /// The request is fine, but cannot be met.
    pub(super) fn failed(why: impl std::fmt::Display) -> Self {
        Self { code: ErrorCode::RequestFailed, message: strip_line(&why.to_string()) }
    }
}

impl From<AppError> for RequestFault {
    fn from(error: AppError) -> Self {
        Self::failed(error)
    }
}

/// The client, as messages to it.
pub(super) struct Client {
    outbox: Outbox,
    requests: ReqQueue<(), AwaitedReply>,
    pub(super) features: ClientFeatures,
}

impl Client {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { outbox, requests: ReqQueue::default(), features: ClientFeatures::default() }
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: impl Serialize) {
        self.outbox.send(&Message::Notification(Notification::new(method.to_owned(), params)));
    }

    /// Sends a request; its answer leads to `reply`.
    pub(super) fn request(&mut self, method: &str, params: impl Serialize, reply: AwaitedReply) {
        let request = self.requests.outgoing.register(method.to_owned(), params, reply);
        self.outbox.send(&Message::Request(request));
    }

    /// Returns the follow-up of a response; `None` if nothing was requested with that id.
    pub(super) fn complete(&mut self, id: RequestId) -> Option<AwaitedReply> {
        self.requests.outgoing.complete(id)
    }

    /// Answers a request.
    pub(super) fn respond(&self, id: RequestId, answer: Result<Value, RequestFault>) {
        let response = match answer {
            Ok(value) => Response::new_ok(id, value),
            Err(fault) => Response::new_err(id, fault.code as i32, fault.message),
        };
        self.outbox.send(&Message::Response(response));
    }

    /// Writes a line to the client's log.
    pub(super) fn log(&self, kind: MessageType, text: &str) {
        self.notify("window/logMessage", LogMessageParams { kind, message: strip_line(text) });
    }

    /// Shows a message to the user.
    pub(super) fn show(&self, kind: MessageType, text: String) {
        self.notify("window/showMessage", LogMessageParams { kind, message: text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn odd_capabilities_count_as_missing() {
        let plain = ClientFeatures::default();
        for odd in [json!(null), json!([]), json!({ "window": 3, "general": { "positionEncodings": "utf-8" } })] {
            assert_eq!(ClientFeatures::of(&odd), plain, "{odd}");
        }
        let full = ClientFeatures::of(&json!({
            "general": { "positionEncodings": ["utf-8", "utf-16"] },
            "textDocument": { "diagnostic": {}, "hover": { "contentFormat": ["markdown"] } },
            "window": { "workDoneProgress": true },
        }));
        assert!(full.pulls && full.markdown && full.progress && !full.refreshes);
        assert_eq!(full.unit, PositionUnit::Utf8);
    }
}
