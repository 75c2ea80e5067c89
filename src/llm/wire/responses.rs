//! `OpenAI`'s Responses (`POST /responses`, its streaming events). Nothing is stored on the server (`store: false`), so reasoning is returned
//! encrypted.
//!
//! Items go back unchanged, each with its id and in its place. Summaries of the reasoning are not requested: some accounts may not have them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::parts::{error_from, input, list, text, tools, without_nulls};
use super::{WireRequest, WireSetup};
use crate::llm::draft::{CallArguments, CallDraft, DraftBlock, ResponseDraft};
use crate::llm::frames::{Decoder, ResponseFault};
use crate::llm::opaque::Opaque;
use crate::llm::optional_fields::OptionalField;
use crate::llm::price;
use crate::llm::turn::{FinishReason, Message, MessagePart, ToolChoice, TurnRequest};
use crate::llm::usage::{ReportedUsage, TokenCount};

/// Our own kind of block: the phase of the message after it. Dropping phases makes newer models worse.
const PHASE: &str = "review.phase";

pub(super) fn request(request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    let mut body = json!({ "model": setup.model, "stream": true, "store": false });
    if setup.given.contains(OptionalField::Reasoning) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if setup.given.contains(OptionalField::CacheKey) {
        body["prompt_cache_key"] = json!(cache_key(request));
    }
    if !request.tools.is_empty() {
        // Strict is the default here, and would make every optional field a required one.
        body["tools"] = tools(
            request,
            &["parameters"],
            |name, description| json!({ "type": "function", "name": name, "description": description, "strict": false }),
        );
    }
    body["instructions"] = json!(request.system);
    body["input"] = Value::from(items(&request.messages));
    body["max_output_tokens"] = json!(request.max_output);
    if request.choice == ToolChoice::Required && setup.given.contains(OptionalField::ForcedCall) {
        body["tool_choice"] = json!("required");
    }
    WireRequest::plain(body)
}

/// Returns the cache key, the same for all turns of a conversation: they begin alike, and the key sends them to the machine with the cache.
fn cache_key(request: &TurnRequest) -> String {
    let mut hash = Sha256::new();
    hash.update(request.system.as_bytes());
    if let Some(Message::User { text, .. }) = request.messages.first() {
        hash.update(text.as_bytes());
    }
    let digest = hash.finalize();
    let number = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    format!("review-{number:016x}")
}

fn items(messages: &[Message]) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        match message {
            Message::User { text, .. } => items.push(json!({ "role": "user", "content": text })),
            Message::Assistant { parts } => assistant(parts, &mut items),
            Message::Results { results, .. } => {
                items.extend(results.iter().map(
                    |result| json!({ "type": "function_call_output", "call_id": result.id, "output": result.text }),
                ));
            }
        }
    }
    items
}

fn assistant(parts: &[MessagePart], items: &mut Vec<Value>) {
    let mut phase = None;
    for part in parts {
        match part {
            MessagePart::Text { text } => {
                let mut item = json!({ "role": "assistant", "content": text });
                if let Some(phase) = phase.take() {
                    item["phase"] = phase;
                }
                items.push(item);
            }
            MessagePart::Call(call) => items.push(json!({
                "type": "function_call", "call_id": call.id, "name": call.name, "arguments": input(call).to_string(),
            })),
            MessagePart::Opaque { value } => match Opaque::block_in(value) {
                Some(block) if text(&block, "type") == "reasoning" => items.push(block),
                Some(block) if text(&block, "type") == PHASE => phase = Some(block["phase"].clone()),
                Some(_) | None => {}
            },
        }
    }
}

/// Reads the events.
#[derive(Default)]
pub(super) struct ResponsesReader {
    draft: ResponseDraft,
    items: BTreeMap<u64, OutputItem>,
    refused: bool,
}

/// Item of the output: its announcement, its pieces, and its final state.
#[derive(Default)]
struct OutputItem {
    value: Value,
    whole: bool,
    pieces: String,
}

impl Decoder for ResponsesReader {
    fn draft(&mut self) -> &mut ResponseDraft {
        &mut self.draft
    }

    fn pieces(&mut self) -> usize {
        self.items.len()
    }

    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault> {
        let index = frame.get("output_index").and_then(Value::as_u64).unwrap_or_default();
        match text(frame, "type") {
            "response.output_item.added" => {
                let item = self.items.entry(index).or_default();
                item.value = frame["item"].clone();
            }
            "response.output_item.done" => {
                let item = self.items.entry(index).or_default();
                item.value = frame["item"].clone();
                item.whole = true;
            }
            "response.output_text.delta" | "response.function_call_arguments.delta" | "response.refusal.delta" => {
                let delta = text(frame, "delta");
                self.draft.record_growth(delta);
                self.items.entry(index).or_default().pieces.push_str(delta);
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.draft.record_growth(text(frame, "delta"));
            }
            "response.completed" | "response.incomplete" | "response.cancelled" => return self.end(&frame["response"]),
            "response.failed" => return Err(failure(&frame["response"])),
            // All of it at once, as in the results of a batch.
            "" if text(frame, "object") == "response" => return self.end(frame),
            // The fields are in the event itself, or under `error`.
            "error" => {
                return Err(error_from(
                    frame.get("error").filter(|error| error.is_object()).unwrap_or(&without_type(frame)),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        for (_, item) in std::mem::take(&mut self.items) {
            self.finished(item);
        }
        if self.refused {
            self.draft.stop = Some(FinishReason::Refused);
        }
    }
}

impl ResponsesReader {
    fn end(&mut self, response: &Value) -> Result<(), ResponseFault> {
        for (index, value) in (0_u64..).zip(list(response, "output")) {
            let item = self.items.entry(index).or_default();
            if !item.whole {
                *item = OutputItem { value: value.clone(), whole: true, pieces: std::mem::take(&mut item.pieces) };
            }
        }
        // Its kind is unknown, so it would be dropped silently.
        if self.items.values().any(|item| !item.pieces.is_empty() && text(&item.value, "type").is_empty()) {
            return Err(ResponseFault::Unreadable("a piece came of an item that did not begin".to_owned()));
        }
        self.draft.counted = ReportedUsage {
            input: TokenCount::at(response, "/usage/input_tokens"),
            output: TokenCount::at(response, "/usage/output_tokens"),
            cache_read: TokenCount::at(response, "/usage/input_tokens_details/cached_tokens"),
            cache_write: TokenCount::at(response, "/usage/input_tokens_details/cache_write_tokens"),
        };
        self.draft.cost = price::reported_cost(&response["usage"]);
        let reason = text(&response["incomplete_details"], "reason");
        self.draft.stop = Some(match (text(response, "status"), reason) {
            ("failed", _) => return Err(failure(response)),
            ("cancelled", _) => return Err(ResponseFault::Cut("the server cancelled it".to_owned())),
            ("incomplete", "max_output_tokens") => FinishReason::OutputLimit,
            ("incomplete", "content_filter") => FinishReason::Refused,
            ("incomplete", reason) => FinishReason::Other(format!("incomplete {reason}").trim().to_owned()),
            (_, _) => FinishReason::Done,
        });
        self.draft.ended = true;
        Ok(())
    }

    fn finished(&mut self, item: OutputItem) {
        let OutputItem { value, pieces, .. } = item;
        match text(&value, "type") {
            "message" => {
                if let Some(phase) = value.get("phase").filter(|phase| phase.is_string()) {
                    self.draft.blocks.push(DraftBlock::Opaque(Opaque::block(json!({ "type": PHASE, "phase": phase }))));
                }
                let content = list(&value, "content");
                let mut said: String = content.iter().map(|part| text(part, "text")).collect();
                for refusal in content.iter().filter(|part| text(part, "type") == "refusal") {
                    self.refused = true;
                    said.push_str(text(refusal, "refusal"));
                }
                let said = if said.is_empty() { pieces } else { said };
                if !said.is_empty() {
                    self.draft.blocks.push(DraftBlock::Text(said));
                }
            }
            "function_call" => {
                let whole = text(&value, "arguments");
                let arguments = CallArguments::Text(if whole.is_empty() { pieces } else { whole.to_owned() });
                let (id, name) = (text(&value, "call_id").to_owned(), text(&value, "name").to_owned());
                self.draft.blocks.push(DraftBlock::Call(CallDraft { id, name, arguments, signatures: Vec::new() }));
            }
            // Reasoning that is not encrypted exists only on the server, which stores nothing.
            "reasoning" if !text(&value, "encrypted_content").is_empty() => {
                self.draft.blocks.push(DraftBlock::Opaque(Opaque::block(without_nulls(&value))));
            }
            _ => {}
        }
    }
}

fn failure(response: &Value) -> ResponseFault {
    match response.get("error").filter(|error| !error.is_null()) {
        Some(error) => error_from(error),
        None => ResponseFault::Said { status: None, message: "it failed without saying why".to_owned() },
    }
}

/// `type` only says that it is an error.
fn without_type(frame: &Value) -> Value {
    let mut frame = frame.clone();
    if let Some(object) = frame.as_object_mut() {
        object.shift_remove("type");
    }
    frame
}
