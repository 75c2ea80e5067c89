//! Ollama's own format (`POST /api/chat`, one JSON document a line).
//!
//! The request states the size of the context window, because the server cuts the conversation silently otherwise.

use serde_json::{Value, json};

use super::parts::{error_from, functions, input, list, text};
use super::{WireRequest, WireSetup};
use crate::llm::draft::{CallArguments, CallDraft, DraftBlock, ResponseDraft};
use crate::llm::frames::{Decoder, ResponseFault};
use crate::llm::opaque::Opaque;
use crate::llm::turn::{FinishReason, Message, MessagePart, TurnRequest};
use crate::llm::usage::{ReportedUsage, TokenCount};

/// Builds a request. There is no way to force a call.
pub(super) fn request(request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    let mut messages = vec![json!({ "role": "system", "content": request.system })];
    for message in &request.messages {
        match message {
            Message::User { text, .. } => messages.push(json!({ "role": "user", "content": text })),
            Message::Assistant { parts } if parts.is_empty() => {}
            Message::Assistant { parts } => messages.push(assistant(parts)),
            Message::Results { results, .. } => messages.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "tool_name": result.name, "content": result.text })),
            ),
        }
    }
    let mut body = json!({ "model": setup.model, "stream": true });
    if !request.tools.is_empty() {
        body["tools"] = functions(request);
    }
    body["messages"] = Value::from(messages);
    body["options"] = json!({ "num_ctx": setup.context_window, "num_predict": request.max_output });
    WireRequest::plain(body)
}

fn assistant(parts: &[MessagePart]) -> Value {
    let mut message = json!({ "role": "assistant", "content": "" });
    let mut words = String::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            MessagePart::Text { text } => words.push_str(text),
            MessagePart::Call(call) => {
                calls.push(json!({ "function": { "name": call.name, "arguments": input(call) } }));
            }
            MessagePart::Opaque { value } => {
                if let Some(Opaque::Reasoning(thinking)) = Opaque::read(value) {
                    message["thinking"] = json!(thinking);
                }
            }
        }
    }
    message["content"] = json!(words);
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    message
}

/// Reads the lines.
#[derive(Default)]
pub(super) struct OllamaReader {
    draft: ResponseDraft,
    thinking: String,
}

impl Decoder for OllamaReader {
    fn draft(&mut self) -> &mut ResponseDraft {
        &mut self.draft
    }

    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault> {
        if let Some(error) = frame.get("error") {
            return Err(error_from(error));
        }
        let message = &frame["message"];
        let thought = text(message, "thinking");
        self.draft.record_growth(thought);
        self.thinking.push_str(thought);
        self.draft.text(text(message, "content"));
        for call in list(message, "tool_calls") {
            let arguments = call["function"]["arguments"].clone();
            self.draft.record_growth(&arguments.to_string());
            let (id, name) = (text(call, "id").to_owned(), text(&call["function"], "name").to_owned());
            self.draft.blocks.push(DraftBlock::Call(CallDraft {
                id,
                name,
                arguments: CallArguments::Value(arguments),
                signatures: Vec::new(),
            }));
        }
        if frame["done"] == Value::Bool(true) {
            self.draft.counted = ReportedUsage {
                input: TokenCount::at(frame, "/prompt_eval_count"),
                output: TokenCount::at(frame, "/eval_count"),
                cache_read: TokenCount::at(frame, "/prompt_eval_cached_count"),
                cache_write: TokenCount::Unsaid,
            };
            self.draft.stop = Some(match text(frame, "done_reason") {
                "stop" | "" => FinishReason::Done,
                "length" => FinishReason::OutputLimit,
                other => FinishReason::Other(other.to_owned()),
            });
            self.draft.ended = true;
        }
        Ok(())
    }

    fn close(&mut self) {
        if !self.thinking.is_empty() {
            let thinking = std::mem::take(&mut self.thinking);
            self.draft.blocks.insert(0, DraftBlock::Opaque(Opaque::Reasoning(thinking)));
        }
    }
}
