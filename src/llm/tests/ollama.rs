//! Ollama's own format.

use serde_json::{Value, json};

use super::*;

fn line(message: Value) -> Value {
    json!({ "model": "a-model", "message": message, "done": false })
}

fn last(reason: &str) -> Value {
    json!({ "model": "a-model", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": reason,
        "prompt_eval_count": 100, "eval_count": 42 })
}

fn function(path: &str) -> Value {
    json!({ "function": { "name": "read", "arguments": { "path": path } } })
}

pub(super) fn whole() -> Vec<Value> {
    vec![
        line(json!({ "role": "assistant", "content": "", "thinking": "Let me see." })),
        line(json!({ "role": "assistant", "content": "I will look –" })),
        line(json!({ "role": "assistant", "content": " twice.", "tool_calls": [function("a"), function("b")] })),
        last("stop"),
    ]
}

#[test]
fn an_answer_is_read_with_its_usage() {
    let (answer, seen) = ask("ollama", ServerReply::lines(&whole()), &question());
    let answer = answer.unwrap();
    tale(&answer, "call_0", "call_1");
    assert_eq!(answer.usage, usage(100, 42, None, None));
    assert!(seen.head.starts_with("post /api/chat http/1.1"), "{}", seen.head);
    assert!(seen.head.contains("authorization: bearer sk-test-0123456789"), "{}", seen.head);
}

#[test]
fn a_request_sets_the_context_window() {
    let (_, seen) = ask("ollama", ServerReply::lines(&whole()), &question());
    assert_eq!(
        seen.body,
        json!({
            "model": "a-model", "stream": true, "options": { "num_ctx": 32000, "num_predict": 1000 },
            "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads a file.", "parameters": { "type": "object",
                "additionalProperties": false, "properties": { "path": { "type": "string" } }, "required": ["path"] } } }],
            "messages": [{ "role": "system", "content": "You review." }, { "role": "user", "content": "The change." }],
        })
    );
}

#[test]
fn thoughts_calls_and_every_result_go_back() {
    let (answer, _) = ask("ollama", ServerReply::lines(&whole()), &question());
    let sent = sent_back("ollama", "a-model", &answer.unwrap());
    assert_eq!(
        sent["messages"].as_array().unwrap()[2..],
        [
            json!({ "role": "assistant", "content": "I will look – twice.", "thinking": "Let me see.", "tool_calls": [function("a"), function("b")] }),
            json!({ "role": "tool", "tool_name": "read", "content": "result of call_0" }),
            json!({ "role": "tool", "tool_name": "read", "content": "result of call_1" }),
        ]
    );
}

#[test]
fn the_last_line_needs_no_end() {
    let reply = ServerReply::lines(&whole()[..3]).and(&last("length").to_string());
    let (answer, _) = ask("ollama", reply, &question());
    assert_eq!(answer.unwrap().stop, FinishReason::OutputLimit);
}
