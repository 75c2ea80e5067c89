//! Google's `generateContent`: <https://ai.google.dev/api/generate-content>, signatures:
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>.
//!
//! Calls have ids only with models whose name holds `gemini-3`, as there.

use serde_json::{Value, json};

use super::super::answer::{Answer, data, deltas};
use super::super::asked::{Asked, Block, CallResult, Turn, list, text};
use super::super::ledger;
use super::super::script::{Figures, Input, StopWord};

pub(super) fn read(path: &str, body: &Value) -> (Asked, Vec<String>) {
    let mut refused = Vec::new();
    let (model, method) = path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
    let declared = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    let names = declared.filter_map(|tool| text(tool, "name"));
    let mut asked = Asked {
        model: model.to_owned(),
        system: parts_text(&body["systemInstruction"]),
        tools: names.map(str::to_owned).collect(),
        stream: method.starts_with("stream"),
        max_output: body["generationConfig"]["maxOutputTokens"].as_u64(),
        ..Asked::default()
    };
    for message in list(body, "contents") {
        match text(message, "role") {
            Some("user") | None => user(message, &mut asked),
            Some("model") => asked.push(Turn::Model(model_blocks(message, &mut refused))),
            other => refused.push(format!("contents: please use a valid role, not {other:?}")),
        }
        if list(message, "parts").is_empty() {
            refused.push("contents: parts must not be empty".to_owned());
        }
    }
    (asked, refused)
}

fn parts_text(value: &Value) -> String {
    list(value, "parts").iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n\n")
}

fn user(message: &Value, asked: &mut Asked) {
    for part in list(message, "parts") {
        match part.get("functionResponse") {
            Some(answer) => {
                // Either of the fields holds the text; an object of another shape is shown as it is.
                let response = &answer["response"];
                let said = ["content", "output", "result", "error"].iter().find_map(|field| text(response, field));
                asked.push(Turn::Results(vec![CallResult {
                    id: text(answer, "id").map(str::to_owned),
                    name: text(answer, "name").map(str::to_owned),
                    text: said.map_or_else(|| response.to_string(), str::to_owned),
                    is_error: response.get("error").is_some().then_some(true),
                }]));
            }
            None => asked.push(Turn::User(text(part, "text").unwrap_or_default().to_owned())),
        }
    }
}

fn model_blocks(message: &Value, refused: &mut Vec<String>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in list(message, "parts") {
        if let Some(signature) = text(part, "thoughtSignature") {
            blocks.push(Block::Opaque(signature.to_owned()));
        }
        if let Some(call) = part.get("functionCall") {
            blocks.push(Block::Call {
                id: text(call, "id").map(str::to_owned),
                name: text(call, "name").unwrap_or_default().to_owned(),
                input: call["args"].clone(),
            });
            if !call["args"].is_object() {
                refused.push("contents: the args of a functionCall must be a struct".to_owned());
            }
        } else if part["thought"] != true
            && let Some(said) = text(part, "text")
        {
            blocks.push(Block::Text(said.to_owned()));
        }
    }
    blocks
}

fn has_ids(answer: &Answer) -> bool {
    answer.model.contains("gemini-3")
}

/// A signature comes on the first call, and with the models that give ids always.
fn signature(answer: &Answer) -> Option<String> {
    let thought = answer.thinking.first().map(|thought| thought.signature.clone());
    thought
        .or_else(|| has_ids(answer).then(|| format!("signature-of-{}", answer.id)))
        .filter(|_| !answer.calls.is_empty())
}

pub(super) fn blocks(answer: &Answer) -> Vec<Block> {
    if is_malformed(answer) {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    if !answer.text.is_empty() {
        blocks.push(Block::Text(answer.text.clone()));
    }
    blocks.extend(signature(answer).map(Block::Opaque));
    blocks.extend(ledger::call_blocks(answer, has_ids(answer)));
    blocks
}

fn is_malformed(answer: &Answer) -> bool {
    answer.calls.iter().any(|call| matches!(call.input, Input::Malformed(_)))
}

fn calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls.iter().enumerate().map(|(n, call)| {
        let mut part = json!({ "functionCall": { "name": call.name, "args": call.value() } });
        if has_ids(answer) {
            part["functionCall"]["id"] = json!(call.id);
        }
        if let Some(signature) = signature(answer).filter(|_| n == 0) {
            part["thoughtSignature"] = json!(signature);
        }
        part
    });
    calls.collect()
}

/// One chunk: its parts, and what only the last one has.
fn chunk(answer: &Answer, parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({ "index": 0 });
    if !parts.is_empty() || !last {
        candidate["content"] = json!({ "parts": parts, "role": "model" });
    }
    if last {
        candidate["finishReason"] = json!(finish(answer));
        if is_malformed(answer) {
            candidate["finishMessage"] = json!("Malformed function call: the call could not be parsed.");
        }
    }
    let mut chunk = json!({ "candidates": [candidate] });
    if let Some(figures) = &answer.usage {
        chunk["usageMetadata"] = usage(figures, last);
    }
    chunk["modelVersion"] = json!(answer.model);
    chunk["responseId"] = json!(answer.id);
    chunk
}

/// A prompt that a filter stopped has no candidates.
fn blocked(answer: &Answer) -> Option<Value> {
    (answer.stop == StopWord::Filter).then(|| {
        let mut chunk = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
        if let Some(figures) = &answer.usage {
            chunk["usageMetadata"] = json!({ "promptTokenCount": figures.input, "totalTokenCount": figures.input });
        }
        chunk["modelVersion"] = json!(answer.model);
        chunk["responseId"] = json!(answer.id);
        chunk
    })
}

pub(super) fn streamed(answer: &Answer) -> Vec<Vec<u8>> {
    if let Some(blocked) = blocked(answer) {
        return vec![data(&blocked, "\r\n")];
    }
    let mut chunks = Vec::new();
    let thoughts = answer.thinking.iter().filter(|thought| !thought.text.is_empty() && !thought.redacted);
    chunks.extend(thoughts.map(|thought| chunk(answer, &[json!({ "text": thought.text, "thought": true })], false)));
    // Pieces are larger here than elsewhere.
    let texts = deltas(&answer.text, answer.delta.saturating_mul(4)).into_iter();
    chunks.extend(texts.map(|text| chunk(answer, &[json!({ "text": text })], false)));
    if is_malformed(answer) {
        chunks.push(chunk(answer, &[], true));
    } else {
        // Several calls may come in one chunk.
        let calls = calls(answer);
        chunks.extend(calls.chunks(2).map(|calls| chunk(answer, calls, false)));
        let end: &[Value] = if answer.is_empty() { &[] } else { &[json!({ "text": "" })] };
        chunks.push(chunk(answer, end, true));
    }
    chunks.iter().map(|chunk| data(chunk, "\r\n")).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    if let Some(blocked) = blocked(answer) {
        return blocked;
    }
    let thoughts = answer.thinking.iter().filter(|thought| !thought.text.is_empty() && !thought.redacted);
    let mut parts: Vec<_> = thoughts.map(|thought| json!({ "text": thought.text, "thought": true })).collect();
    if !answer.text.is_empty() {
        parts.push(json!({ "text": answer.text }));
    }
    if !is_malformed(answer) {
        parts.extend(calls(answer));
    }
    chunk(answer, &parts, true)
}

/// What is counted before the end is not final.
fn usage(figures: &Figures, last: bool) -> Value {
    let output = if last { figures.output } else { 1 };
    let mut usage = json!({
        "promptTokenCount": figures.input,
        "candidatesTokenCount": output,
        "totalTokenCount": figures.input + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": figures.input }],
    });
    if figures.cached > 0 {
        usage["cachedContentTokenCount"] = json!(figures.cached);
    }
    usage
}

fn finish(answer: &Answer) -> &'static str {
    match answer.stop {
        _ if is_malformed(answer) => "MALFORMED_FUNCTION_CALL",
        // Calls have no word of their own here.
        StopWord::Done | StopWord::Calls => "STOP",
        StopWord::Limit => "MAX_TOKENS",
        StopWord::Refusal | StopWord::Filter => "SAFETY",
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": word } })
}
