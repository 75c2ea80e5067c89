//! `OpenAI`'s Responses: <https://platform.openai.com/docs/api-reference/responses>, streaming:
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use serde_json::{Value, json};

use super::super::answer::{Answer, deltas, event};
use super::super::asked::{Asked, Block, CallResult, Turn, content, input, list, text};
use super::super::ledger;
use super::super::script::{Figures, StopWord};

pub(super) fn read(body: &Value) -> (Asked, Vec<String>) {
    let mut refused = Vec::new();
    let mut asked = Asked {
        model: text(body, "model").unwrap_or_default().to_owned(),
        system: text(body, "instructions").unwrap_or_default().to_owned(),
        tools: list(body, "tools").iter().filter_map(|tool| text(tool, "name")).map(str::to_owned).collect(),
        stream: body["stream"] == true,
        max_output: body["max_output_tokens"].as_u64(),
        ..Asked::default()
    };
    if let Some(said) = text(body, "input") {
        asked.push(Turn::User(said.to_owned()));
    }
    for item in list(body, "input") {
        match (text(item, "type").unwrap_or("message"), text(item, "role")) {
            ("message", Some("system" | "developer")) => {
                let between = if asked.system.is_empty() { "" } else { "\n\n" };
                asked.system = format!("{}{between}{}", asked.system, content(&item["content"], ""));
            }
            ("message", Some("user")) => asked.push(Turn::User(content(&item["content"], ""))),
            ("message", Some("assistant")) => asked.push(Turn::Model(vec![Block::Text(content(&item["content"], ""))])),
            ("reasoning", _) => {
                asked.push(Turn::Model(vec![Block::Opaque(
                    text(item, "encrypted_content").unwrap_or_default().to_owned(),
                )]));
            }
            ("function_call", _) => asked.push(Turn::Model(vec![Block::Call {
                id: text(item, "call_id").map(str::to_owned),
                name: text(item, "name").unwrap_or_default().to_owned(),
                input: input(text(item, "arguments").unwrap_or_default()),
            }])),
            ("function_call_output", _) => asked.push(Turn::Results(vec![CallResult {
                id: text(item, "call_id").map(str::to_owned),
                name: None,
                text: content(&item["output"], ""),
                is_error: None,
            }])),
            (kind, role) => refused.push(format!("input: an item of type {kind:?} and role {role:?}")),
        }
    }
    if list(body, "tools").iter().any(|tool| tool.get("function").is_some()) {
        refused.push("tools: the fields of a function stand beside its type".to_owned());
    }
    (asked, refused)
}

pub(super) fn blocks(answer: &Answer) -> Vec<Block> {
    let opaque = answer.thinking.iter().map(|thought| thought.signature.clone());
    ledger::blocks(answer, opaque.collect(), true)
}

/// The items of an answer, and for each the events between its beginning and its end.
fn items(answer: &Answer) -> Vec<(Value, Vec<Value>)> {
    let mut items = Vec::new();
    let id = |prefix: &str, n: usize| format!("{prefix}_{}_{n}", answer.id);
    for (n, thought) in answer.thinking.iter().enumerate() {
        let id = id("rs", n);
        let mut events = Vec::new();
        let mut summary = json!([]);
        if !thought.text.is_empty() && !thought.redacted {
            let part = json!({ "type": "summary_text", "text": thought.text });
            let place = |mut event: Value| {
                event["item_id"] = json!(id);
                event["summary_index"] = json!(0);
                event
            };
            let empty = json!({ "type": "summary_text", "text": "" });
            events.push(place(json!({ "type": "response.reasoning_summary_part.added", "part": empty })));
            let deltas = deltas(&thought.text, answer.delta).into_iter();
            events.extend(
                deltas.map(|delta| place(json!({ "type": "response.reasoning_summary_text.delta", "delta": delta }))),
            );
            events.push(place(json!({ "type": "response.reasoning_summary_text.done", "text": thought.text })));
            events.push(place(json!({ "type": "response.reasoning_summary_part.done", "part": part })));
            summary = json!([part]);
        }
        let item = json!({ "id": id, "type": "reasoning", "summary": summary, "encrypted_content": thought.signature });
        items.push((item, events));
    }
    if !answer.text.is_empty() {
        items.push(message(&id("msg", 0), &answer.text, answer));
    }
    for (n, call) in answer.calls.iter().enumerate() {
        let (id, arguments) = (id("fc", n), call.arguments());
        let mut events: Vec<_> = deltas(&arguments, answer.delta)
            .into_iter()
            .map(|delta| json!({ "type": "response.function_call_arguments.delta", "item_id": id, "delta": delta }))
            .collect();
        events.push(json!({
            "type": "response.function_call_arguments.done", "item_id": id, "name": call.name, "arguments": arguments,
        }));
        let item = json!({
            "id": id, "type": "function_call", "status": "completed", "arguments": arguments, "call_id": call.id, "name": call.name,
        });
        items.push((item, events));
    }
    items
}

fn message(id: &str, said: &str, answer: &Answer) -> (Value, Vec<Value>) {
    let place = |mut event: Value| {
        event["item_id"] = json!(id);
        event["content_index"] = json!(0);
        event
    };
    let refusal = answer.stop == StopWord::Refusal;
    let part = |text: &str| {
        if refusal {
            json!({ "type": "refusal", "refusal": text })
        } else {
            json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
        }
    };
    let mut events = vec![place(json!({ "type": "response.content_part.added", "part": part("") }))];
    let pieces = deltas(said, answer.delta).into_iter();
    if refusal {
        events.extend(pieces.map(|delta| place(json!({ "type": "response.refusal.delta", "delta": delta }))));
        events.push(place(json!({ "type": "response.refusal.done", "refusal": said })));
    } else {
        let text =
            |delta: String| place(json!({ "type": "response.output_text.delta", "delta": delta, "logprobs": [] }));
        events.extend(pieces.map(text));
        events.push(place(json!({ "type": "response.output_text.done", "text": said, "logprobs": [] })));
    }
    events.push(place(json!({ "type": "response.content_part.done", "part": part(said) })));
    let item =
        json!({ "id": id, "type": "message", "status": "completed", "role": "assistant", "content": [part(said)] });
    (item, events)
}

pub(super) fn streamed(answer: &Answer) -> Vec<Vec<u8>> {
    let begun = response(answer, "in_progress", &json!([]), false);
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, (item, between)) in items(answer).into_iter().enumerate() {
        let mut begun = item.clone();
        for (field, empty) in
            [("status", json!("in_progress")), ("arguments", json!("")), ("content", json!([])), ("summary", json!([]))]
        {
            if begun.get(field).is_some() {
                begun[field] = empty;
            }
        }
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
        events.extend(between.into_iter().map(|mut event| {
            event["output_index"] = json!(index);
            event
        }));
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let (kind, last) = (format!("response.{}", status(answer)), whole(answer));
    events.push(json!({ "type": kind, "response": last }));
    numbered(events)
}

fn numbered(events: Vec<Value>) -> Vec<Vec<u8>> {
    let numbered = events.into_iter().enumerate().map(|(n, mut data)| {
        data["sequence_number"] = json!(n);
        let name = text(&data, "type").unwrap_or_default().to_owned();
        event(&name, &data)
    });
    numbered.collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    let output = items(answer).into_iter().map(|(item, _)| item).collect();
    response(answer, status(answer), &Value::Array(output), true)
}

const fn status(answer: &Answer) -> &'static str {
    match answer.stop {
        StopWord::Limit | StopWord::Filter => "incomplete",
        StopWord::Done | StopWord::Calls | StopWord::Refusal => "completed",
    }
}

fn response(answer: &Answer, status: &str, output: &Value, ended: bool) -> Value {
    let details = match answer.stop {
        StopWord::Limit if ended => json!({ "reason": "max_output_tokens" }),
        StopWord::Filter if ended => json!({ "reason": "content_filter" }),
        _ => Value::Null,
    };
    json!({
        "id": answer.id, "object": "response", "created_at": 1_767_225_600, "status": status, "background": false,
        "error": null, "incomplete_details": details, "instructions": null, "max_output_tokens": null,
        "model": answer.model, "output": output, "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null }, "service_tier": "default", "store": false, "temperature": 1.0,
        "text": { "format": { "type": "text" } }, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "usage": if ended { answer.usage.as_ref().map(usage) } else { None }, "user": null, "metadata": {},
    })
}

fn usage(figures: &Figures) -> Value {
    json!({
        "input_tokens": figures.input,
        "input_tokens_details": { "cached_tokens": figures.cached },
        "output_tokens": figures.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": figures.input + figures.output,
    })
}

pub(super) fn error_event(message: &str) -> Vec<u8> {
    let error =
        json!({ "type": "error", "code": "server_error", "message": message, "param": null, "sequence_number": 99 });
    event("error", &error)
}
