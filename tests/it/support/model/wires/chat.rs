//! `OpenAI`'s chat completions: <https://platform.openai.com/docs/api-reference/chat>, streaming:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.
//!
//! Reasoning is shown only by models whose name holds `reasoner`, as servers of open models do.

use serde_json::{Value, json};

use super::super::answer::{Answer, data, deltas};
use super::super::asked::{Asked, Block, CallResult, Turn, content, input, list, text};
use super::super::script::{Figures, StopWord};

pub(super) fn read(body: &Value) -> (Asked, Vec<String>) {
    let mut refused = Vec::new();
    let tools = list(body, "tools").iter().filter_map(|tool| text(&tool["function"], "name"));
    let mut asked = Asked {
        model: text(body, "model").unwrap_or_default().to_owned(),
        tools: tools.map(str::to_owned).collect(),
        stream: body["stream"] == true,
        stream_usage: Some(body["stream_options"]["include_usage"] == true),
        max_output: body["max_completion_tokens"].as_u64().or_else(|| body["max_tokens"].as_u64()),
        ..Asked::default()
    };
    for message in list(body, "messages") {
        let said = content(&message["content"], "");
        match text(message, "role") {
            Some("system" | "developer") => {
                let between = if asked.system.is_empty() { "" } else { "\n\n" };
                asked.system = format!("{}{between}{said}", asked.system);
            }
            Some("user") => asked.push(Turn::User(said)),
            Some("assistant") => {
                let mut blocks = Vec::new();
                if !said.is_empty() {
                    blocks.push(Block::Text(said));
                }
                blocks.extend(list(message, "tool_calls").iter().map(|call| Block::Call {
                    id: text(call, "id").map(str::to_owned),
                    name: text(&call["function"], "name").unwrap_or_default().to_owned(),
                    input: input(text(&call["function"], "arguments").unwrap_or_default()),
                }));
                asked.push(Turn::Model(blocks));
            }
            Some("tool") => asked.push(Turn::Results(vec![CallResult {
                id: text(message, "tool_call_id").map(str::to_owned),
                name: None,
                text: said,
                is_error: None,
            }])),
            other => refused.push(format!("messages: a role {other:?}")),
        }
    }
    if body.get("stream_options").is_some() && !asked.stream {
        refused.push("stream_options: only allowed when streaming".to_owned());
    }
    (asked, refused)
}

pub(super) fn streamed(answer: &Answer, with_usage: bool) -> Vec<Vec<u8>> {
    let chunk = |choices: Value| {
        let mut chunk = json!({
            "id": answer.id, "object": "chat.completion.chunk", "created": 1_767_225_600, "model": answer.model,
            "service_tier": "default", "system_fingerprint": "fp_scripted", "choices": choices,
        });
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    };
    let choice = |delta: Value, finish: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]))
    };
    let mut chunks = vec![choice(json!({ "role": "assistant", "content": "", "refusal": null }), Value::Null)];
    let shown = answer.model.contains("reasoner");
    let thoughts = answer.thinking.iter().filter(|thought| shown && !thought.redacted);
    let reasoning = thoughts.flat_map(|thought| deltas(&thought.text, answer.delta));
    chunks.extend(reasoning.map(|part| choice(json!({ "reasoning_content": part }), Value::Null)));
    let field = if answer.stop == StopWord::Refusal { "refusal" } else { "content" };
    let texts = deltas(&answer.text, answer.delta).into_iter();
    chunks.extend(texts.map(|part| choice(json!({ field: part }), Value::Null)));
    chunks.extend(interleaved(answer).into_iter().map(|call| choice(json!({ "tool_calls": [call] }), Value::Null)));
    chunks.push(choice(json!({}), json!(finish(answer.stop))));
    if let Some(figures) = answer.usage.as_ref().filter(|_| with_usage) {
        let mut last = chunk(json!([]));
        last["usage"] = usage(figures);
        chunks.push(last);
    }
    let mut events: Vec<_> = chunks.iter().map(|chunk| data(chunk, "\n")).collect();
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// The pieces of all calls in turn: first the heads, then arguments from each.
fn interleaved(answer: &Answer) -> Vec<Value> {
    let heads = answer.calls.iter().enumerate().map(|(index, call)| {
        json!({ "index": index, "id": call.id, "type": "function", "function": { "name": call.name, "arguments": "" } })
    });
    let mut pieces: Vec<Value> = heads.collect();
    let mut rest: Vec<_> =
        answer.calls.iter().map(|call| deltas(&call.arguments(), answer.delta).into_iter()).collect();
    loop {
        let before = pieces.len();
        for (index, parts) in rest.iter_mut().enumerate() {
            let part = parts.next();
            pieces.extend(part.map(|part| json!({ "index": index, "function": { "arguments": part } })));
        }
        if pieces.len() == before {
            return pieces;
        }
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let refused = answer.stop == StopWord::Refusal;
    let said = if answer.text.is_empty() { Value::Null } else { json!(answer.text) };
    let mut message = json!({
        "role": "assistant",
        "content": if refused { Value::Null } else { said.clone() },
        "refusal": if refused { said } else { Value::Null },
        "annotations": [],
    });
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            json!({
                "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.arguments() },
            })
        });
        message["tool_calls"] = calls.collect();
    }
    let mut whole = json!({
        "id": answer.id, "object": "chat.completion", "created": 1_767_225_600, "model": answer.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(answer.stop) }],
        "service_tier": "default", "system_fingerprint": "fp_scripted",
    });
    if let Some(figures) = &answer.usage {
        whole["usage"] = usage(figures);
    }
    whole
}

fn usage(figures: &Figures) -> Value {
    json!({
        "prompt_tokens": figures.input,
        "completion_tokens": figures.output,
        "total_tokens": figures.input + figures.output,
        "prompt_tokens_details": { "cached_tokens": figures.cached, "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

const fn finish(word: StopWord) -> &'static str {
    match word {
        StopWord::Done | StopWord::Refusal => "stop",
        StopWord::Calls => "tool_calls",
        StopWord::Limit => "length",
        StopWord::Filter => "content_filter",
    }
}
