//! What the wire formats share: tools, inputs, opaque parts, errors in the middle of a stream.

use genai::chat::{ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool, ToolResponse};
use serde_json::{Map, Value, json};

use crate::llm::frames::Trouble;
use crate::llm::turn::{Message, Part, ToolCall, ToolDefinition, ToolInput, ToolResult, TurnRequest};

/// The conversation for the client library. Every result carries its tool's name, because one of the formats matches by it.
pub(super) fn conversation(messages: &[Message]) -> Vec<ChatMessage> {
    let say = |message: &Message| match message {
        Message::User { text, .. } => Some(ChatMessage::user(text.clone())),
        Message::Assistant { parts } => assistant(parts),
        Message::Results { results, .. } => {
            let response = |result: &ToolResult| {
                ToolResponse::new(result.id.clone(), result.text.clone()).with_fn_name(result.name.clone())
            };
            Some(ChatMessage::from(results.iter().map(response).collect::<Vec<_>>()))
        }
    };
    messages.iter().filter_map(say).collect()
}

/// The tools for the client library. `strict` is said only where the format has a default that is not wanted.
pub(super) fn tools(request: &TurnRequest, strict: Option<bool>) -> Vec<Tool> {
    let tool = |definition: &ToolDefinition| {
        let tool = Tool::new(definition.name.clone()).with_description(definition.description.clone());
        let tool = tool.with_schema(schema(&definition.schema));
        match strict {
            Some(strict) => tool.with_strict(strict),
            None => tool,
        }
    };
    request.tools.iter().map(tool).collect()
}

/// A request with its tools. An empty list is left out: not every server takes one.
pub(super) fn with_tools(chat: ChatRequest, tools: Vec<Tool>) -> ChatRequest {
    if tools.is_empty() { chat } else { chat.with_tools(tools) }
}

/// The assistant's message for the client library; none where nothing of it can be said.
pub(super) fn assistant(parts: &[Part]) -> Option<ChatMessage> {
    let content: Vec<ContentPart> = parts.iter().filter_map(content).collect();
    (!content.is_empty()).then(|| ChatMessage::assistant(MessageContent::from_parts(content)))
}

/// The tools as chat completions and Ollama take them. `strict` is left out: some servers refuse to know it.
pub(super) fn functions(request: &TurnRequest) -> Value {
    let function = |definition: &ToolDefinition| {
        json!({ "type": "function", "function": {
            "name": definition.name, "description": definition.description, "parameters": schema(&definition.schema),
        }})
    };
    request.tools.iter().map(function).collect()
}

/// A schema without what describes the schema instead of the input. The rest (`type`, `properties`, `required`, `enum`, `minimum`,
/// `description`, `additionalProperties`, `$defs`) is taken by every provider, also by Gemini since it is given as `parametersJsonSchema`.
fn schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("$schema");
        object.shift_remove("title");
        object.entry("type").or_insert_with(|| json!("object"));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The input of a call on its way back. Formats want an object, so one that was none goes as the text it was.
pub(super) fn input(call: &ToolCall) -> Value {
    match &call.input {
        ToolInput::Object(object) => Value::Object(object.clone()),
        ToolInput::Malformed(text) => json!({ "unreadable_arguments": text }),
    }
}

/// An opaque part for the client library; none for what it does not know.
pub(super) fn opaque(part: &Value) -> Option<ContentPart> {
    serde_json::from_value(part.clone()).ok()
}

/// The provider's own block within an opaque part.
pub(super) fn block(part: &Value) -> Option<Value> {
    match opaque(part)? {
        ContentPart::Custom(custom) => Some(custom.data),
        ContentPart::Text(_)
        | ContentPart::Binary(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResponse(_)
        | ContentPart::ThoughtSignature(_)
        | ContentPart::ReasoningContent(_) => None,
    }
}

/// A provider's own block as an opaque part.
pub(super) fn custom(data: Value) -> ContentPart {
    ContentPart::Custom(CustomPart { model_iden: None, data })
}

/// A part of the assistant's for the client library.
fn content(part: &Part) -> Option<ContentPart> {
    Some(match part {
        Part::Text { text } => ContentPart::Text(text.clone()),
        Part::Opaque { value } => opaque(value)?,
        Part::Call(call) => ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: input(call),
            thought_signatures: (!call.signatures.is_empty()).then(|| call.signatures.clone()),
        }),
    })
}

/// The text under a key, empty where there is none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list under a key, empty where there is none.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// An object without the keys that hold nothing: what a server sends as `null` it need not take back.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The error that a frame holds: `{"message", "type" or "code"}` or a text.
pub(super) fn said(error: &Value) -> Trouble {
    let message = match error {
        Value::String(text) => text.clone(),
        _ if !text(error, "message").is_empty() => text(error, "message").to_owned(),
        other => other.to_string(),
    };
    let mut words = ["code", "type", "status"].iter().filter_map(|key| error.get(key));
    let status = words.find_map(status);
    Trouble::Said { status, message }
}

/// The status that belongs to a provider's word for what went wrong, from their lists of errors.
fn status(word: &Value) -> Option<u16> {
    if let Some(number) = word.as_u64().or_else(|| word.as_str()?.parse().ok()) {
        return u16::try_from(number).ok().filter(|status| (400..600).contains(status));
    }
    Some(match word.as_str()?.to_ascii_lowercase().as_str() {
        "overloaded_error" => 529,
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" | "insufficient_quota" => 429,
        "api_error" | "server_error" | "internal" | "internal_server_error" => 500,
        "unavailable" | "service_unavailable" => 503,
        "timeout_error" | "deadline_exceeded" => 504,
        "authentication_error" | "invalid_api_key" | "unauthenticated" => 401,
        "permission_error" | "permission_denied" => 403,
        "not_found_error" | "not_found" | "model_not_found" => 404,
        "request_too_large" => 413,
        "invalid_request_error" | "invalid_argument" | "context_length_exceeded" | "invalid_prompt" => 400,
        _ => return None,
    })
}
