//! Anthropic's Messages: <https://docs.anthropic.com/en/api/messages>, streaming: <https://docs.anthropic.com/en/api/messages-streaming>.

use serde_json::{Value, json};

use super::super::answer::{Answer, Call, deltas, event};
use super::super::asked::{Asked, Block, CallResult, Turn, content, list, nothing, text};
use super::super::ledger;
use super::super::script::{Figures, Input, StopWord, Thought};

pub(super) fn read(body: &Value) -> (Asked, Vec<String>) {
    let mut refused = Vec::new();
    let mut asked = Asked {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: body.get("system").map(|system| content(system, "\n\n")).unwrap_or_default(),
        tools: list(body, "tools").iter().filter_map(|tool| text(tool, "name")).map(str::to_owned).collect(),
        stream: body["stream"] == true,
        max_output: body["max_tokens"].as_u64(),
        marks: marks(body),
        ..Asked::default()
    };
    for message in list(body, "messages") {
        match text(message, "role") {
            Some("user") => user(&message["content"], &mut asked),
            Some("assistant") => asked.push(Turn::Model(model(&message["content"]))),
            other => refused.push(format!("messages: a role {other:?}")),
        }
    }
    if asked.max_output.is_none_or(|most| most == 0) {
        refused.push("max_tokens: field required".to_owned());
    }
    if asked.marks.len() > 4 {
        refused.push(format!("a maximum of 4 blocks with cache_control may be provided: {:?}", asked.marks));
    }
    if !list(body, "tools").iter().all(|tool| tool["input_schema"]["type"] == "object") {
        refused.push("tools: an input_schema must be an object".to_owned());
    }
    if list(body, "messages")
        .iter()
        .any(|message| matches!(&message["content"], Value::String(text) if text.is_empty()))
    {
        refused.push("messages: text content blocks must be non-empty".to_owned());
    }
    (asked, refused)
}

fn user(said: &Value, asked: &mut Asked) {
    let Value::Array(parts) = said else {
        asked.push(Turn::User(content(said, "")));
        return;
    };
    for part in parts {
        match text(part, "type") {
            Some("tool_result") => asked.push(Turn::Results(vec![CallResult {
                id: text(part, "tool_use_id").map(str::to_owned),
                name: None,
                text: content(&part["content"], ""),
                is_error: Some(part["is_error"] == true),
            }])),
            Some("text") => asked.push(Turn::User(text(part, "text").unwrap_or_default().to_owned())),
            other => asked.push(Turn::User(format!("[{other:?}]"))),
        }
    }
}

fn model(said: &Value) -> Vec<Block> {
    let Value::Array(parts) = said else { return vec![Block::Text(content(said, ""))] };
    let blocks = parts.iter().map(|part| match text(part, "type") {
        Some("text") => Block::Text(text(part, "text").unwrap_or_default().to_owned()),
        Some("tool_use") => Block::Call {
            id: text(part, "id").map(str::to_owned),
            name: text(part, "name").unwrap_or_default().to_owned(),
            input: part["input"].clone(),
        },
        _ => Block::Opaque(opaque(part)),
    });
    blocks.collect()
}

/// Where marks stand.
fn marks(body: &Value) -> Vec<String> {
    let marked = |value: &Value| value.get("cache_control").is_some();
    let mut marks = Vec::new();
    if list(body, "tools").iter().any(marked) {
        marks.push("tools".to_owned());
    }
    marks.extend(list(body, "system").iter().filter(|part| marked(part)).map(|_| "system".to_owned()));
    for (n, message) in list(body, "messages").iter().enumerate() {
        marks.extend(list(message, "content").iter().filter(|part| marked(part)).map(|_| format!("messages.{n}")));
    }
    marks
}

pub(super) fn blocks(answer: &Answer) -> Vec<Block> {
    let opaque = answer.thinking.iter().map(|thought| opaque(&thinking(thought)));
    ledger::blocks(answer, opaque.collect(), true)
}

/// The fields of a part that goes back as it came, whatever their order.
fn opaque(part: &Value) -> String {
    ["type", "thinking", "signature", "data"].map(|field| text(part, field).unwrap_or_default()).join("\0")
}

fn thinking(thought: &Thought) -> Value {
    if thought.redacted {
        json!({ "type": "redacted_thinking", "data": thought.signature })
    } else {
        json!({ "type": "thinking", "thinking": thought.text, "signature": thought.signature })
    }
}

pub(super) fn streamed(answer: &Answer) -> Vec<Vec<u8>> {
    let start = json!({ "type": "message_start", "message": message(answer, &json!([]), None) });
    let mut events = vec![event("message_start", &start)];
    let mut index = 0;
    let mut block = |start: Value, pieces: Vec<Value>| {
        let mut events = vec![event(
            "content_block_start",
            &json!({ "type": "content_block_start", "index": index, "content_block": start }),
        )];
        for delta in pieces {
            let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            events.push(event("content_block_delta", &delta));
        }
        events.push(event("content_block_stop", &json!({ "type": "content_block_stop", "index": index })));
        index += 1;
        events
    };
    for (n, thought) in answer.thinking.iter().enumerate() {
        events.extend(if thought.redacted {
            block(thinking(thought), Vec::new())
        } else {
            let texts = deltas(&thought.text, answer.delta).into_iter();
            let mut pieces: Vec<_> = texts.map(|text| json!({ "type": "thinking_delta", "thinking": text })).collect();
            let signed = deltas(&thought.signature, 24).into_iter();
            pieces.extend(signed.map(|part| json!({ "type": "signature_delta", "signature": part })));
            block(json!({ "type": "thinking", "thinking": "", "signature": "" }), pieces)
        });
        if n == 0 {
            events.push(event("ping", &json!({ "type": "ping" })));
        }
    }
    if !answer.text.is_empty() {
        let texts = deltas(&answer.text, answer.delta).into_iter();
        let pieces = texts.map(|text| json!({ "type": "text_delta", "text": text })).collect();
        events.extend(block(json!({ "type": "text", "text": "" }), pieces));
    }
    for call in &answer.calls {
        // The first piece is an empty one.
        let parts = std::iter::once(String::new()).chain(deltas(&call.arguments(), answer.delta));
        let pieces = parts.map(|part| json!({ "type": "input_json_delta", "partial_json": part })).collect();
        let start = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        events.extend(block(start, pieces));
    }
    events.push(event("ping", &json!({ "type": "ping" })));
    let mut end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop(answer.stop), "stop_sequence": null },
    });
    if let Some(figures) = &answer.usage {
        end["usage"] = usage(figures, figures.output);
    }
    events.push(event("message_delta", &end));
    events.push(event("message_stop", &json!({ "type": "message_stop" })));
    events
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut parts: Vec<Value> = answer.thinking.iter().map(thinking).collect();
    if !answer.text.is_empty() {
        parts.push(json!({ "type": "text", "text": answer.text }));
    }
    parts.extend(
        answer
            .calls
            .iter()
            .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input(call) })),
    );
    let mut message = message(answer, &Value::Array(parts), Some(stop(answer.stop)));
    if let Some(figures) = &answer.usage {
        message["usage"] = usage(figures, figures.output);
    }
    message
}

fn input(call: &Call) -> Value {
    match &call.input {
        Input::Object(fields) => Value::Object(fields.clone()),
        Input::Malformed(_) => nothing(),
    }
}

fn message(answer: &Answer, content: &Value, stop_reason: Option<&str>) -> Value {
    let mut message = json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
    });
    if let Some(figures) = &answer.usage {
        message["usage"] = usage(figures, 1);
    }
    message
}

/// Here what a cache gave or took is not part of `input_tokens`.
fn usage(figures: &Figures, output: u64) -> Value {
    json!({
        "input_tokens": figures.input.saturating_sub(figures.cached + figures.written),
        "cache_creation_input_tokens": figures.written,
        "cache_read_input_tokens": figures.cached,
        "cache_creation": { "ephemeral_5m_input_tokens": figures.written, "ephemeral_1h_input_tokens": 0 },
        "output_tokens": output,
        "service_tier": "standard",
    })
}

const fn stop(word: StopWord) -> &'static str {
    match word {
        StopWord::Done => "end_turn",
        StopWord::Calls => "tool_use",
        StopWord::Limit => "max_tokens",
        StopWord::Refusal | StopWord::Filter => "refusal",
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500..=528 => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_0001" })
}
