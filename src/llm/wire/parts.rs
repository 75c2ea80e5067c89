//! Helpers for all wire formats: tools, inputs, opaque parts, errors in the middle of a stream.

use serde_json::{Map, Value, json};

use crate::llm::frames::ResponseFault;
use crate::llm::turn::{ModelToolCall, ToolDefinition, ToolInput, TurnRequest};

/// Returns the tools, each as one format writes it: name, description, and the schema at the keys of a path.
pub(super) fn tools(request: &TurnRequest, schema_at: &[&str], say: impl Fn(&str, &str) -> Value) -> Value {
    let tool = |tool: &ToolDefinition| {
        let mut said = say(&tool.name, &tool.description);
        // Put in its place: the macro would copy it once more.
        *schema_at.iter().fold(&mut said, |place, key| &mut place[*key]) = schema(&tool.schema);
        said
    };
    request.tools.iter().map(tool).collect()
}

/// Returns the tools in the format of chat completions and Ollama. `strict` is omitted: some servers refuse it.
pub(super) fn functions(request: &TurnRequest) -> Value {
    tools(
        request,
        &["function", "parameters"],
        |name, description| json!({ "type": "function", "function": { "name": name, "description": description } }),
    )
}

/// Returns a schema without keys about the schema itself. The rest (`type`, `properties`, `required`, `enum`, `minimum`, `description`,
/// `additionalProperties`, `$defs`) is accepted by every provider, including Gemini since it is sent as `parametersJsonSchema`.
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

/// Returns the input of a call for the history. Formats require an object, so any other input is sent as its text.
pub(super) fn input(call: &ModelToolCall) -> Value {
    match &call.input {
        ToolInput::Object(object) => Value::Object(object.clone()),
        ToolInput::Malformed(text) => json!({ "unreadable_arguments": text }),
    }
}

/// Returns the text under a key, or an empty one.
pub(in crate::llm) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the list under a key, or an empty one.
pub(in crate::llm) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns an object without null values, which a server need not get back.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Reads the error in a frame: `{"message", "type" or "code"}` or a text.
pub(in crate::llm) fn error_from(error: &Value) -> ResponseFault {
    let message = match error {
        Value::String(text) => text.clone(),
        _ if !text(error, "message").is_empty() => text(error, "message").to_owned(),
        other => other.to_string(),
    };
    let mut words = ["code", "type", "status"].iter().filter_map(|key| error.get(key));
    let status = words.find_map(status);
    ResponseFault::Said { status, message }
}

/// Returns the status for a provider's error code, from their lists of errors.
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
