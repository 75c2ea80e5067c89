//! Anthropic's Messages (`POST /v1/messages`, events of a stream: platform.claude.com/docs, "Streaming messages").
//!
//! A block goes back to its place, because newer models check that nothing before a block of their thinking has changed ("Preserved thinking").

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::parts::{error_from, input, list, text, tools};
use super::{WireRequest, WireSetup};
use crate::llm::draft::{CallArguments, CallDraft, DraftBlock, ResponseDraft};
use crate::llm::frames::{Decoder, ResponseFault};
use crate::llm::opaque::Opaque;
use crate::llm::optional_fields::OptionalField;
use crate::llm::turn::{FinishReason, Message, MessagePart, ToolChoice, TurnRequest};
use crate::llm::usage::{ReportedUsage, TokenCount};

/// Cache marks after the one at the end of the system text; four are allowed in all.
const MARKS: usize = 3;

/// Header that lets a request decide about thinking that was bound to another conversation.
const BINDING: (&str, &str) = ("anthropic-beta", "thinking-binding-controls-2026-08-01");

pub(super) fn request(request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    let mut body = json!({ "model": setup.model, "stream": true });
    if !request.tools.is_empty() {
        body["tools"] =
            tools(request, &["input_schema"], |name, description| json!({ "name": name, "description": description }));
    }
    body["system"] = json!([{ "type": "text", "text": request.system, "cache_control": { "type": "ephemeral" } }]);
    body["messages"] = Value::from(messages(&request.messages));
    body["max_tokens"] = json!(request.max_output);
    if request.choice == ToolChoice::Required && setup.given.contains(OptionalField::ForcedCall) {
        body["tool_choice"] = json!({ "type": "any" });
    }
    if setup.given.contains(OptionalField::BoundThinking) {
        return WireRequest::plain(body);
    }
    body["thinking"] = json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    WireRequest { body, headers: &[BINDING] }
}

/// Converts the conversation, with the last marks only: the server still finds the earlier ones.
fn messages(messages: &[Message]) -> Vec<Value> {
    let marked =
        |message: &&Message| matches!(message, Message::User { mark: true, .. } | Message::Results { mark: true, .. });
    let mut skip = messages.iter().filter(marked).count().saturating_sub(MARKS);
    let mut said: Vec<Value> = Vec::new();
    for message in messages {
        let (role, mut content) = match message {
            Message::User { text, .. } => ("user", vec![json!({ "type": "text", "text": text })]),
            Message::Assistant { parts } => ("assistant", parts.iter().filter_map(assistant).collect()),
            Message::Results { results, .. } => {
                let result = |result: &crate::llm::turn::ToolResult| {
                    let mut value = json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.text });
                    if result.is_error {
                        value["is_error"] = json!(true);
                    }
                    value
                };
                ("user", results.iter().map(result).collect::<Vec<_>>())
            }
        };
        if marked(&message) {
            if skip > 0 {
                skip -= 1;
            } else if let Some(last) = content.last_mut() {
                last["cache_control"] = json!({ "type": "ephemeral" });
            }
        }
        // Later messages never change an earlier one: the API joins two of one role in a row.
        if !content.is_empty() {
            said.push(json!({ "role": role, "content": content }));
        }
    }
    said
}

fn assistant(part: &MessagePart) -> Option<Value> {
    match part {
        // The API refuses blocks of white space, although models write them.
        MessagePart::Text { text } if text.trim().is_empty() => None,
        MessagePart::Text { text } => Some(json!({ "type": "text", "text": text })),
        MessagePart::Call(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input(call) }))
        }
        MessagePart::Opaque { value } => {
            Opaque::block_in(value).filter(|block| text(block, "type").contains("thinking"))
        }
    }
}

/// Reads the events.
#[derive(Default)]
pub(super) struct MessagesReader {
    draft: ResponseDraft,
    open: BTreeMap<u64, OpenBlock>,
}

/// Block under construction.
struct OpenBlock {
    block: Value,
    text: String,
    signature: String,
    arguments: String,
}

impl OpenBlock {
    fn new(block: Value) -> Self {
        let text = format!("{}{}", text(&block, "text"), text(&block, "thinking"));
        let signature = self::text(&block, "signature").to_owned();
        Self { block, text, signature, arguments: String::new() }
    }
}

impl Decoder for MessagesReader {
    fn draft(&mut self) -> &mut ResponseDraft {
        &mut self.draft
    }

    fn pieces(&mut self) -> usize {
        self.draft.blocks.len() + self.open.len()
    }

    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault> {
        let index = frame.get("index").and_then(Value::as_u64).unwrap_or_default();
        match text(frame, "type") {
            "message_start" => self.count(&frame["message"]["usage"]),
            "content_block_start" => {
                let open = OpenBlock::new(frame.get("content_block").cloned().unwrap_or_default());
                self.draft.record_growth(&open.text);
                self.open.insert(index, open);
            }
            "content_block_delta" => {
                let delta = &frame["delta"];
                let Some(open) = self.open.get_mut(&index) else {
                    return Err(ResponseFault::Unreadable("a piece came of a block that did not begin".to_owned()));
                };
                let come = match text(delta, "type") {
                    "input_json_delta" => (&mut open.arguments, text(delta, "partial_json")),
                    "signature_delta" => (&mut open.signature, text(delta, "signature")),
                    "thinking_delta" => (&mut open.text, text(delta, "thinking")),
                    "text_delta" => (&mut open.text, text(delta, "text")),
                    _ => return Ok(()),
                };
                come.0.push_str(come.1);
                self.draft.record_growth(come.1);
            }
            "content_block_stop" => {
                if let Some(open) = self.open.remove(&index) {
                    self.draft.blocks.extend(finished(open));
                }
            }
            "message_delta" => {
                self.count(&frame["usage"]);
                if let Some(reason) = frame["delta"]["stop_reason"].as_str() {
                    self.draft.stop = Some(stop(reason));
                }
            }
            "message_stop" => self.draft.ended = true,
            // All of it at once, as in the results of a batch.
            "message" => {
                self.count(&frame["usage"]);
                for block in list(frame, "content") {
                    let open = OpenBlock::new(block.clone());
                    self.draft.record_growth(&open.text);
                    self.draft.blocks.extend(finished(open));
                }
                self.draft.stop = frame["stop_reason"].as_str().map(stop);
                self.draft.ended = self.draft.stop.is_some();
            }
            "error" => return Err(error_from(&frame["error"])),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        // A call that the limit cut off gets no end of its own.
        for (_, open) in std::mem::take(&mut self.open) {
            self.draft.blocks.extend(finished(open));
        }
    }
}

impl MessagesReader {
    /// `input_tokens` excludes tokens read from or written to a cache.
    fn count(&mut self, usage: &Value) {
        let cache_read = TokenCount::at(usage, "/cache_read_input_tokens");
        let cache_write = TokenCount::at(usage, "/cache_creation_input_tokens");
        let fresh = TokenCount::at(usage, "/input_tokens");
        let input = if fresh == TokenCount::Unsaid { fresh } else { fresh.plus(cache_read).plus(cache_write) };
        let output = TokenCount::at(usage, "/output_tokens");
        self.draft.counted = self.draft.counted.merge_later(ReportedUsage { input, output, cache_read, cache_write });
    }
}

fn finished(open: OpenBlock) -> Option<DraftBlock> {
    let mut block = open.block;
    match text(&block, "type").to_owned().as_str() {
        "text" => Some(DraftBlock::Text(open.text)),
        "tool_use" => {
            let whole =
                block.get("input").filter(|input| input.as_object().is_some_and(|input| !input.is_empty())).cloned();
            let arguments = match whole {
                Some(input) if open.arguments.is_empty() => CallArguments::Value(input),
                Some(_) | None => CallArguments::Text(open.arguments),
            };
            let (id, name) = (text(&block, "id").to_owned(), text(&block, "name").to_owned());
            Some(DraftBlock::Call(CallDraft { id, name, arguments, signatures: Vec::new() }))
        }
        // Without its signature the interface refuses it.
        "thinking" if open.signature.is_empty() => None,
        "thinking" => {
            block["thinking"] = json!(open.text);
            block["signature"] = json!(open.signature);
            Some(DraftBlock::Opaque(Opaque::block(block)))
        }
        "redacted_thinking" => Some(DraftBlock::Opaque(Opaque::block(block))),
        _ => None,
    }
}

fn stop(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Done,
        "tool_use" => FinishReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::OutputLimit,
        "refusal" => FinishReason::Refused,
        other => FinishReason::Other(other.to_owned()),
    }
}
