//! `OpenAI`'s chat completions (`POST /chat/completions`), in the variants of many servers.
//!
//! Servers differ: an index may be missing or always 0, the end may be `[DONE]` or only a reason, arguments may be an object, the reasoning may be
//! under one of two names. What is sent is the least that all of them take.

use serde_json::{Value, json};

use super::parts::{error_from, functions, input, list, text};
use super::{WireRequest, WireSetup};
use crate::llm::draft::{CallArguments, CallDraft, DraftBlock, ResponseDraft};
use crate::llm::frames::{Decoder, PIECES, ResponseFault};
use crate::llm::opaque::Opaque;
use crate::llm::optional_fields::OptionalField;
use crate::llm::price;
use crate::llm::turn::{FinishReason, Message, MessagePart, ToolChoice, TurnRequest};
use crate::llm::usage::{ReportedUsage, TokenCount};

pub(super) fn request(request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    let mut body = json!({ "model": setup.model, "stream": true });
    if setup.given.contains(OptionalField::Usage) {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = functions(request);
    }
    let mut messages = vec![json!({ "role": "system", "content": request.system })];
    for message in &request.messages {
        match message {
            Message::User { text, .. } => messages.push(json!({ "role": "user", "content": text })),
            Message::Assistant { parts } => messages.extend(assistant(parts)),
            Message::Results { results, .. } => messages.extend(
                results
                    .iter()
                    .map(|result| json!({ "role": "tool", "content": result.text, "tool_call_id": result.id })),
            ),
        }
    }
    body["messages"] = Value::from(messages);
    let limit = if setup.given.contains(OptionalField::OldLimitName) { "max_tokens" } else { "max_completion_tokens" };
    body[limit] = json!(request.max_output);
    if request.choice == ToolChoice::Required && setup.given.contains(OptionalField::ForcedCall) {
        body["tool_choice"] = json!("required");
    }
    WireRequest::plain(body)
}

/// Converts the model's message; `None` if nothing of it can be expressed in this format.
fn assistant(parts: &[MessagePart]) -> Option<Value> {
    let (mut words, mut calls, mut reasoning, mut details) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            MessagePart::Text { text } => words.push(text.as_str()),
            MessagePart::Call(call) => calls.push(json!({
                "type": "function", "id": call.id, "function": { "name": call.name, "arguments": input(call).to_string() },
            })),
            MessagePart::Opaque { value } => match Opaque::read(value) {
                Some(Opaque::Reasoning(text)) => reasoning.push(text),
                Some(Opaque::Block { data }) if text(&data, "type").starts_with("reasoning.") => details.push(data),
                Some(Opaque::Block { .. } | Opaque::Signature(_)) | None => {}
            },
        }
    }
    if words.is_empty() && calls.is_empty() && reasoning.is_empty() && details.is_empty() {
        return None;
    }
    let mut message = json!({ "role": "assistant", "content": words.join("\n\n") });
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning.join("\n"));
    }
    if !details.is_empty() {
        message["reasoning_details"] = json!(details);
    }
    Some(message)
}

/// Reads the chunks.
#[derive(Default)]
pub(super) struct ChatReader {
    draft: ResponseDraft,
    reasoning: String,
    /// Details that gateways want back verbatim (`reasoning_details`).
    details: Vec<Value>,
    words: String,
    calls: Vec<(Option<u64>, CallDraft)>,
    /// `true` once the final mark was seen.
    done: bool,
}

impl Decoder for ChatReader {
    fn draft(&mut self) -> &mut ResponseDraft {
        &mut self.draft
    }

    /// Some servers give no reason for the end. But an empty response without one was unreadable.
    fn done(&mut self) {
        self.draft.ended |= self.pieces() > 0 || !self.words.is_empty() || !self.reasoning.is_empty();
        self.done = true;
    }

    /// Checks for the final mark: the usage follows the reason for the end.
    fn complete(&mut self) -> bool {
        self.done
    }

    fn pieces(&mut self) -> usize {
        self.calls.len() + self.details.len()
    }

    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault> {
        if let Some(error) = frame.get("error").filter(|error| !error.is_null()) {
            return Err(error_from(error));
        }
        self.count(&frame["usage"]);
        let Some(choice) = list(frame, "choices").first() else { return Ok(()) };
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(error_from(error));
        }
        // A server that does not stream sends a whole message.
        self.delta(choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null));
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some("error") => return Err(ResponseFault::Cut("the server says that it failed".to_owned())),
            Some(reason) => {
                if self.draft.stop != Some(FinishReason::Refused) {
                    self.draft.stop = Some(stop(reason));
                }
                self.draft.ended = true;
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let blocks = &mut self.draft.blocks;
        if !self.reasoning.is_empty() {
            blocks.push(DraftBlock::Opaque(Opaque::Reasoning(std::mem::take(&mut self.reasoning))));
        }
        blocks.extend(
            std::mem::take(&mut self.details).into_iter().map(|detail| DraftBlock::Opaque(Opaque::block(detail))),
        );
        if !self.words.is_empty() {
            blocks.push(DraftBlock::Text(std::mem::take(&mut self.words)));
        }
        blocks.extend(std::mem::take(&mut self.calls).into_iter().map(|(_, call)| DraftBlock::Call(call)));
    }
}

impl ChatReader {
    fn count(&mut self, usage: &Value) {
        let counted = ReportedUsage {
            input: TokenCount::at(usage, "/prompt_tokens"),
            output: TokenCount::at(usage, "/completion_tokens"),
            cache_read: match TokenCount::at(usage, "/prompt_tokens_details/cached_tokens") {
                // The name on DeepSeek.
                TokenCount::Unsaid => TokenCount::at(usage, "/prompt_cache_hit_tokens"),
                said => said,
            },
            cache_write: TokenCount::at(usage, "/prompt_tokens_details/cache_write_tokens"),
        };
        self.draft.counted = self.draft.counted.merge_later(counted);
        self.draft.cost = price::reported_cost(usage).or(self.draft.cost);
    }

    fn delta(&mut self, delta: &Value) {
        match &delta["content"] {
            Value::String(words) => self.word(&words.clone()),
            Value::Array(chunks) => {
                for chunk in chunks {
                    self.word(text(chunk, "text"));
                    match &chunk["thinking"] {
                        Value::String(words) => self.thought(words),
                        Value::Array(inner) => inner.iter().for_each(|part| self.thought(text(part, "text"))),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        let thought = text(delta, "reasoning_content");
        self.thought(if thought.is_empty() { text(delta, "reasoning") } else { thought });
        for detail in list(delta, "reasoning_details") {
            self.detail(detail);
        }
        let refusal = text(delta, "refusal");
        if !refusal.is_empty() {
            self.draft.stop = Some(FinishReason::Refused);
            self.word(refusal);
        }
        for call in list(delta, "tool_calls") {
            // Each is compared with all before it; a response with this many is refused anyway.
            if self.calls.len() > PIECES {
                break;
            }
            self.call(call);
        }
    }

    fn word(&mut self, words: &str) {
        self.draft.record_growth(words);
        self.words.push_str(words);
    }

    fn thought(&mut self, words: &str) {
        self.draft.record_growth(words);
        self.reasoning.push_str(words);
    }

    /// Pieces of one block have one index; a signature counts for the whole of it.
    fn detail(&mut self, piece: &Value) {
        let same = |known: &&mut Value| {
            known["index"] == piece["index"] && known["type"] == piece["type"] && !piece["index"].is_null()
        };
        let Some(known) = self.details.last_mut().filter(same) else {
            self.details.push(piece.clone());
            return;
        };
        for (key, more) in piece.as_object().into_iter().flatten() {
            match (known.get_mut(key), more) {
                (Some(Value::String(text)), Value::String(more))
                    if matches!(key.as_str(), "text" | "summary" | "data") =>
                {
                    text.push_str(more);
                }
                (_, Value::Null) => {}
                (_, more) => known[key] = more.clone(),
            }
        }
    }

    /// Pieces of one call have one index. If it is missing, or always the same, a new id with a new name begins a new call.
    fn call(&mut self, piece: &Value) {
        let index = piece["index"].as_u64();
        let id = text(piece, "id");
        let name = text(&piece["function"], "name");
        let known = match index {
            Some(index) => self.calls.iter().rposition(|(at, _)| *at == Some(index)),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|(_, call)| !id.is_empty() && call.id == id),
        };
        let same = known.filter(|at| {
            let call = &self.calls[*at].1;
            name.is_empty() || call.name.is_empty() || id.is_empty() || call.id.is_empty() || call.id == id
        });
        let at = same.unwrap_or_else(|| {
            self.calls.push((index, CallDraft::default()));
            self.calls.len() - 1
        });
        let call = &mut self.calls[at].1;
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match &piece["function"]["arguments"] {
            Value::String(more) => {
                if let CallArguments::Text(arguments) = &mut call.arguments {
                    arguments.push_str(more);
                }
                self.draft.record_growth(more);
            }
            Value::Null => {}
            whole => call.arguments = CallArguments::Value(whole.clone()),
        }
    }
}

fn stop(reason: &str) -> FinishReason {
    match reason {
        "stop" | "eos" | "end_turn" | "stop_sequence" | "COMPLETE" => FinishReason::Done,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::Calls,
        "length" | "max_tokens" | "model_length" => FinishReason::OutputLimit,
        "content_filter" | "refusal" | "safety" => FinishReason::Refused,
        other => FinishReason::Other(other.to_owned()),
    }
}
