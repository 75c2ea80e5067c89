//! Ollama's own: <https://docs.ollama.com/api/chat>.

use serde_json::{Value, json};

use super::super::answer::{Answer, deltas};
use super::super::asked::{Asked, Block, CallResult, Turn, list, text};
use super::super::script::{Figures, StopWord};

const WHEN: &str = "2026-01-01T00:00:00.123456Z";

pub(super) fn read(body: &Value) -> (Asked, Vec<String>) {
    let mut refused = Vec::new();
    let tools = list(body, "tools").iter().filter_map(|tool| text(&tool["function"], "name"));
    let mut asked = Asked {
        model: text(body, "model").unwrap_or_default().to_owned(),
        tools: tools.map(str::to_owned).collect(),
        // It streams unless told otherwise.
        stream: body["stream"] != false,
        max_output: body["options"]["num_predict"].as_u64(),
        ..Asked::default()
    };
    for message in list(body, "messages") {
        let said = text(message, "content").unwrap_or_default().to_owned();
        match text(message, "role") {
            Some("system") => {
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
                    input: call["function"]["arguments"].clone(),
                }));
                if !list(message, "tool_calls").iter().all(|call| call["function"]["arguments"].is_object()) {
                    refused.push("messages: the arguments of a call must be an object".to_owned());
                }
                asked.push(Turn::Model(blocks));
            }
            Some("tool") => asked.push(Turn::Results(vec![CallResult {
                id: text(message, "tool_call_id").map(str::to_owned),
                name: text(message, "tool_name").map(str::to_owned),
                text: said,
                is_error: None,
            }])),
            other => refused.push(format!("messages: a role {other:?}")),
        }
    }
    (asked, refused)
}

fn line(answer: &Answer, message: Value) -> Value {
    let mut whole = json!({ "model": answer.model, "created_at": WHEN });
    let mut said = json!({ "role": "assistant", "content": "" });
    if let (Value::Object(said), Value::Object(more)) = (&mut said, message) {
        said.extend(more);
    }
    whole["message"] = said;
    whole["done"] = json!(false);
    whole
}

fn calls(answer: &Answer) -> Vec<Value> {
    let calls = answer.calls.iter().enumerate().map(|(index, call)| {
        json!({ "id": call.id, "function": { "index": index, "name": call.name, "arguments": call.value() } })
    });
    calls.collect()
}

fn thoughts(answer: &Answer) -> String {
    answer.thinking.iter().filter(|thought| !thought.redacted).map(|thought| thought.text.as_str()).collect()
}

pub(super) fn streamed(answer: &Answer) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    lines.extend(deltas(&thoughts(answer), answer.delta).iter().map(|part| line(answer, json!({ "thinking": part }))));
    lines.extend(deltas(&answer.text, answer.delta).iter().map(|part| line(answer, json!({ "content": part }))));
    // Each call comes whole, in a line of its own.
    lines.extend(calls(answer).into_iter().map(|call| line(answer, json!({ "tool_calls": [call] }))));
    let mut last = line(answer, json!({}));
    end(answer, &mut last);
    lines.push(last);
    lines.iter().map(|line| format!("{line}\n").into_bytes()).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "content": answer.text });
    if !answer.thinking.is_empty() {
        message["thinking"] = json!(thoughts(answer));
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = json!(calls(answer));
    }
    let mut whole = line(answer, message);
    end(answer, &mut whole);
    whole
}

fn end(answer: &Answer, last: &mut Value) {
    last["done"] = json!(true);
    last["done_reason"] = json!(match answer.stop {
        StopWord::Limit => "length",
        StopWord::Done | StopWord::Calls | StopWord::Refusal | StopWord::Filter => "stop",
    });
    last["total_duration"] = json!(4_883_583_458_u64);
    last["load_duration"] = json!(1_334_875);
    if let Some(Figures { input, cached, output, .. }) = answer.usage {
        last["prompt_eval_count"] = json!(input);
        last["prompt_eval_cached_count"] = json!(cached);
        last["prompt_eval_duration"] = json!(342_546_000);
        last["eval_count"] = json!(output);
        last["eval_duration"] = json!(4_535_599_000_u64);
    }
}
