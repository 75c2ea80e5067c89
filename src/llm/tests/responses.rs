//! `OpenAI`'s Responses.

use serde_json::{Value, json};

use super::*;

fn added(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn completed(extra: Value) -> Value {
    let mut response = json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "a-model", "output": [],
        "usage": { "input_tokens": 100, "input_tokens_details": { "cached_tokens": 60 }, "output_tokens": 42,
            "output_tokens_details": { "reasoning_tokens": 7 }, "total_tokens": 142 } });
    response.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({ "type": "response.completed", "response": response })
}

fn reasoning(number: u32) -> Value {
    json!({ "id": format!("rs_{number}"), "type": "reasoning", "summary": [], "encrypted_content": format!("Y2lwaGVy{number}") })
}

fn function(id: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read", "arguments": arguments, "status": "completed" })
}

fn pieces(index: u64, text: &str) -> Value {
    json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": text })
}

pub(super) fn whole() -> Vec<Value> {
    let message = json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{ "type": "output_text", "text": "I will look – twice.", "annotations": [] }] });
    let mut first = reasoning(1);
    first["status"] = Value::Null;
    vec![
        json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress" } }),
        added(0, json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        done(0, first),
        added(1, json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] })),
        json!({ "type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "I will look –" }),
        json!({ "type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": " twice." }),
        done(1, message),
        added(2, function("call_a", "")),
        added(4, function("call_b", "")),
        pieces(2, "{\"path\":"),
        pieces(4, "{\"pa"),
        pieces(2, "\"a\"}"),
        pieces(4, "th\":\"b\"}"),
        done(2, function("call_a", "{\"path\":\"a\"}")),
        done(3, reasoning(2)),
        done(4, function("call_b", "{\"path\":\"b\"}")),
        completed(json!({})),
    ]
}

#[test]
fn an_answer_is_read_with_its_usage() {
    let (answer, seen) = ask("openai", ServerReply::events(&whole()), &question());
    let answer = answer.unwrap();
    tale(&answer, "call_a", "call_b");
    assert_eq!(answer.usage, usage(100, 42, Some(60), None));
    assert!(seen.head.starts_with("post /responses http/1.1"), "{}", seen.head);
    assert!(seen.head.contains("authorization: bearer sk-test-0123456789"), "{}", seen.head);
}

#[test]
fn a_request_says_what_the_interface_wants_and_nothing_else() {
    let (_, seen) = ask("openai", ServerReply::events(&whole()), &question());
    let mut body = seen.body;
    let key = body["prompt_cache_key"].take();
    assert!(key.as_str().unwrap().starts_with("review-"), "{key}");
    assert_eq!(
        body,
        json!({
            "model": "a-model", "stream": true, "store": false, "max_output_tokens": 1000, "prompt_cache_key": null,
            "instructions": "You review.", "include": ["reasoning.encrypted_content"],
            "tools": [{ "type": "function", "name": "read", "description": "Reads a file.", "strict": false,
                "parameters": { "type": "object", "additionalProperties": false, "properties": { "path": { "type": "string" } }, "required": ["path"] } }],
            "input": [{ "role": "user", "content": "The change." }],
        })
    );
}

#[test]
fn reasoning_goes_back_verbatim_where_it_stood() {
    let (answer, _) = ask("openai", ServerReply::events(&whole()), &question());
    let sent = sent_back("openai", "a-model", &answer.unwrap());
    assert_eq!(
        sent["input"],
        json!([
            { "role": "user", "content": "The change." },
            reasoning(1),
            { "role": "assistant", "content": "I will look – twice.", "phase": "commentary" },
            { "type": "function_call", "call_id": "call_a", "name": "read", "arguments": "{\"path\":\"a\"}" },
            reasoning(2),
            { "type": "function_call", "call_id": "call_b", "name": "read", "arguments": "{\"path\":\"b\"}" },
            { "type": "function_call_output", "call_id": "call_a", "output": "result of call_a" },
            { "type": "function_call_output", "call_id": "call_b", "output": "result of call_b" },
        ])
    );
}

#[test]
fn an_answer_that_comes_only_at_the_end_is_read_too() {
    let frames = [completed(json!({ "output": [reasoning(1), function("call_a", "{}")] }))];
    let (answer, _) = ask("openai", ServerReply::events(&frames), &question());
    let answer = answer.unwrap();
    assert_eq!(answer.parts.len(), 2);
    assert_eq!(answer.parts[1], call("call_a", "read", &json!({})));
}

#[test]
fn an_answer_that_the_limit_cut_off_says_so() {
    let mut frames = whole();
    frames.truncate(10);
    let mut last =
        completed(json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" } }));
    last["type"] = json!("response.incomplete");
    frames.push(last);
    let (answer, _) = ask("openai", ServerReply::events(&frames), &question());
    let answer = answer.unwrap();
    assert_eq!(answer.stop, FinishReason::OutputLimit);
    assert_eq!(answer.calls().next().unwrap().input, ToolInput::Malformed("{\"path\":".to_owned()));
}

#[test]
fn a_refusal_is_one() {
    let message = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I cannot." }] });
    let (answer, _) = ask("openai", ServerReply::events(&[done(0, message), completed(json!({}))]), &question());
    let answer = answer.unwrap();
    assert_eq!((answer.stop.clone(), answer.text()), (FinishReason::Refused, "I cannot.".to_owned()));
}

#[test]
fn a_model_that_does_not_reason_is_asked_without_reasoning() {
    let refusal = r#"{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include"}}"#;
    let server = ScriptedServer::new(vec![ServerReply::status(400, "", refusal), ServerReply::events(&whole())]);
    let (answer, _) = wait(provider("openai", "a-model", &server.address).as_ref(), &question(), QUIET);
    answer.unwrap();
    assert!(server.seen().body.get("include").is_some());
    assert!(server.seen().body.get("include").is_none());
}

#[test]
fn any_name_of_a_model_goes_out_as_it_is() {
    let server = ScriptedServer::new(vec![ServerReply::events(&whole())]);
    let (answer, _) = wait(provider("openai", "ns::gpt-6-high", &server.address).as_ref(), &question(), QUIET);
    answer.unwrap();
    let body = server.seen().body;
    assert_eq!(body["model"], "ns::gpt-6-high");
    assert!(body.get("reasoning").is_none() && body.get("prompt_cache_options").is_none(), "{body}");
}
