//! Google's `generateContent` (`POST /v1beta/models/{model}:streamGenerateContent`), the Gemini API.

use serde_json::{Value, json};

use super::parts::{error_from, input, list, text, tools};
use super::{WireRequest, WireSetup};
use crate::llm::draft::{CallArguments, CallDraft, DraftBlock, ResponseDraft};
use crate::llm::frames::{Decoder, ResponseFault};
use crate::llm::opaque::Opaque;
use crate::llm::optional_fields::OptionalField;
use crate::llm::turn::{FinishReason, Message, MessagePart, ToolChoice, ToolResult, TurnRequest};
use crate::llm::usage::{ReportedUsage, TokenCount};

/// Builds a request. The model is part of the address.
pub(super) fn request(request: &TurnRequest, setup: &WireSetup<'_>) -> WireRequest {
    let mut body = json!({});
    if !request.tools.is_empty() {
        // `parametersJsonSchema` accepts JSON Schema; the older `parameters` only a subset.
        let tools = tools(
            request,
            &["parametersJsonSchema"],
            |name, description| json!({ "name": name, "description": description }),
        );
        body["tools"] = json!([{ "functionDeclarations": tools }]);
    }
    body["systemInstruction"] = json!({ "parts": [{ "text": request.system }] });
    let mut contents = Vec::new();
    for message in &request.messages {
        let (role, parts) = match message {
            Message::User { text, .. } => ("user", vec![json!({ "text": text })]),
            Message::Assistant { parts } => ("model", model(parts)),
            Message::Results { results, .. } => ("user", results.iter().map(result).collect()),
        };
        if !parts.is_empty() {
            contents.push(json!({ "role": role, "parts": parts }));
        }
    }
    body["contents"] = Value::from(contents);
    body["generationConfig"] = json!({ "maxOutputTokens": request.max_output });
    if request.choice == ToolChoice::Required && setup.given.contains(OptionalField::ForcedCall) {
        body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "ANY" } });
    }
    WireRequest::plain(body)
}

/// Converts the model's message. A signature goes back with its part: its call, or the text after it.
fn model(parts: &[MessagePart]) -> Vec<Value> {
    let mut said = Vec::new();
    let mut signature = None;
    for part in parts {
        let (mut part, own) = match part {
            MessagePart::Opaque { value } => {
                if let Some(Opaque::Signature(text)) = Opaque::read(value) {
                    signature = Some(text);
                }
                continue;
            }
            MessagePart::Text { text } => (json!({ "text": text }), None),
            MessagePart::Call(call) => {
                let mut function = json!({ "name": call.name, "args": input(call) });
                if !is_own_id(&call.id) {
                    function["id"] = json!(call.id);
                }
                (json!({ "functionCall": function }), call.signatures.first().cloned())
            }
        };
        if let Some(signature) = own.or_else(|| signature.take()) {
            part["thoughtSignature"] = json!(signature);
        }
        said.push(part);
    }
    said
}

/// Converts a result. Those without an id are matched by name and order.
fn result(result: &ToolResult) -> Value {
    let mut response = json!({ "name": result.name, "response": { "name": result.name, "content": result.text } });
    if !is_own_id(&result.id) {
        response["id"] = json!(result.id);
    }
    json!({ "functionResponse": response })
}

/// Creates the id of a call that has none from the server.
pub(super) fn own_id(name: &str, number: usize) -> String {
    format!("call#{name}#{number}")
}

fn is_own_id(id: &str) -> bool {
    let rest = id.strip_prefix("call#").and_then(|rest| rest.rsplit_once('#'));
    rest.is_some_and(|(name, number)| !name.is_empty() && number.parse::<usize>().is_ok())
}

/// Reads the chunks.
#[derive(Default)]
pub(super) struct GeminiReader {
    draft: ResponseDraft,
    /// `true` if the last text has a signature: the text that follows is a part of its own.
    sealed: bool,
}

impl Decoder for GeminiReader {
    fn draft(&mut self) -> &mut ResponseDraft {
        &mut self.draft
    }

    fn read(&mut self, frame: &Value) -> Result<(), ResponseFault> {
        // An error in the middle may be a list.
        let frame = frame.get(0).unwrap_or(frame);
        if let Some(error) = frame.get("error") {
            return Err(error_from(error));
        }
        self.count(&frame["usageMetadata"]);
        let blocked = text(&frame["promptFeedback"], "blockReason");
        let Some(candidate) = list(frame, "candidates").first() else {
            if !blocked.is_empty() {
                self.draft.stop = Some(FinishReason::Refused);
                self.draft.ended = true;
            }
            return Ok(());
        };
        for part in list(&candidate["content"], "parts") {
            self.part(part);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.draft.stop = Some(stop(reason));
            self.draft.ended = true;
        }
        Ok(())
    }
}

impl GeminiReader {
    /// `promptTokenCount` includes cached ones; thoughts are not candidates. A zero field is omitted, as in all of the provider's JSON: without
    /// cached tokens none were read.
    fn count(&mut self, usage: &Value) {
        let input = TokenCount::at(usage, "/promptTokenCount").plus(TokenCount::at(usage, "/toolUsePromptTokenCount"));
        // Google's JSON leaves out numbers that are zero.
        let cache_read = match TokenCount::at(usage, "/cachedContentTokenCount") {
            TokenCount::Unsaid if input != TokenCount::Unsaid => TokenCount::Said(0),
            said => said,
        };
        let counted = ReportedUsage {
            input,
            output: TokenCount::at(usage, "/candidatesTokenCount").plus(TokenCount::at(usage, "/thoughtsTokenCount")),
            cache_read,
            cache_write: TokenCount::Unsaid,
        };
        self.draft.counted = self.draft.counted.merge_later(counted);
    }

    fn part(&mut self, part: &Value) {
        let signature = text(part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            let arguments = call.get("args").cloned().unwrap_or_default();
            self.draft.record_growth(&arguments.to_string());
            let (id, name) = (text(call, "id").to_owned(), text(call, "name").to_owned());
            let signatures = if signature.is_empty() { Vec::new() } else { vec![signature.to_owned()] };
            self.draft.blocks.push(DraftBlock::Call(CallDraft {
                id,
                name,
                arguments: CallArguments::Value(arguments),
                signatures,
            }));
            self.sealed = false;
            return;
        }
        let words = text(part, "text");
        let thought = part["thought"].as_bool().unwrap_or_default();
        if signature.is_empty() {
            if thought {
                self.draft.record_growth(words);
            } else if self.sealed && !words.is_empty() {
                self.draft.record_growth(words);
                self.draft.blocks.push(DraftBlock::Text(words.to_owned()));
                self.sealed = false;
            } else {
                self.draft.text(words);
            }
            return;
        }
        // A signature belongs to the part that holds it, even if that is empty.
        self.draft.record_growth(words);
        self.draft.blocks.push(DraftBlock::Opaque(Opaque::Signature(signature.to_owned())));
        self.draft.blocks.push(DraftBlock::Text(if thought { String::new() } else { words.to_owned() }));
        self.sealed = true;
    }
}

fn stop(reason: &str) -> FinishReason {
    match reason {
        "STOP" => FinishReason::Done,
        "MAX_TOKENS" => FinishReason::OutputLimit,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => FinishReason::Refused,
        other => FinishReason::Other(other.to_owned()),
    }
}
