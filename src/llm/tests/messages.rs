//! Anthropic's Messages.

use serde_json::{Value, json};

use super::*;

fn start() -> Value {
    json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "a-model",
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 1 } } })
}

fn begin(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn piece(index: u64, json: &str) -> Value {
    delta(index, json!({ "type": "input_json_delta", "partial_json": json }))
}

fn end(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn last(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 42 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn thinking() -> Value {
    json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmF0dXJl" })
}

pub(super) fn whole() -> Vec<Value> {
    let mut frames = vec![
        start(),
        begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        json!({ "type": "ping" }),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Let me " })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "see." })),
        delta(0, json!({ "type": "signature_delta", "signature": "c2lnbmF0dXJl" })),
        end(0),
        begin(1, json!({ "type": "text", "text": "" })),
        delta(1, json!({ "type": "text_delta", "text": "I will look –" })),
        delta(1, json!({ "type": "text_delta", "text": " twice." })),
        end(1),
        begin(2, json!({ "type": "redacted_thinking", "data": "b3BhcXVl" })),
        end(2),
        begin(3, json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
        begin(4, json!({ "type": "tool_use", "id": "toolu_2", "name": "read", "input": {} })),
        piece(3, "{\"path\":"),
        piece(4, "{\"pa"),
        piece(3, " \"a\"}"),
        piece(4, "th\":\"b\"}"),
        end(3),
        end(4),
    ];
    frames.extend(last("tool_use"));
    frames
}

#[test]
fn an_answer_is_read_with_its_order_and_its_usage() {
    let server = ScriptedServer::new(vec![ServerReply::events(&whole())]);
    let (answer, grown) = wait(provider("anthropic", "a-model", &server.address).as_ref(), &question(), QUIET);
    let answer = answer.unwrap();
    tale(&answer, "toolu_1", "toolu_2");
    assert_eq!(answer.usage, usage(100, 42, Some(70), Some(20)));
    assert!(
        matches!((&answer.parts[0], &answer.parts[2]), (MessagePart::Opaque { .. }, MessagePart::Opaque { .. })),
        "{:?}",
        answer.parts
    );
    assert!(grown > 40, "{grown}");
}

#[test]
fn a_request_says_what_the_interface_wants_and_nothing_else() {
    let (_, seen) = ask("anthropic", ServerReply::events(&whole()), &question());
    assert!(seen.head.starts_with("post /v1/messages http/1.1"), "{}", seen.head);
    assert!(seen.head.contains("x-api-key: sk-test-0123456789"), "{}", seen.head);
    assert!(seen.head.contains("anthropic-version: 2023-06-01"), "{}", seen.head);
    assert!(seen.head.contains("user-agent: review/"), "{}", seen.head);
    assert_eq!(
        seen.body,
        json!({
            "model": "a-model", "stream": true, "max_tokens": 1000,
            "system": [{ "type": "text", "text": "You review.", "cache_control": { "type": "ephemeral" } }],
            "tools": [{ "name": "read", "description": "Reads a file.", "input_schema": { "type": "object", "additionalProperties": false,
                "properties": { "path": { "type": "string" } }, "required": ["path"] } }],
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "The change.", "cache_control": { "type": "ephemeral" } }] }],
        })
    );
}

#[test]
fn thinking_goes_back_verbatim_where_it_stood() {
    let (answer, _) = ask("anthropic", ServerReply::events(&whole()), &question());
    let sent = sent_back("anthropic", "a-model", &answer.unwrap());
    assert_eq!(
        sent["messages"][1],
        json!({ "role": "assistant", "content": [
            thinking(),
            { "type": "text", "text": "I will look – twice." },
            { "type": "redacted_thinking", "data": "b3BhcXVl" },
            { "type": "tool_use", "id": "toolu_1", "name": "read", "input": { "path": "a" } },
            { "type": "tool_use", "id": "toolu_2", "name": "read", "input": { "path": "b" } },
        ] })
    );
    assert_eq!(
        sent["messages"][2],
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": "result of toolu_1" },
            { "type": "tool_result", "tool_use_id": "toolu_2", "content": "result of toolu_2", "cache_control": { "type": "ephemeral" } },
        ] })
    );
}

#[test]
fn a_conversation_survives_the_journal() {
    let (answer, _) = ask("anthropic", ServerReply::events(&whole()), &question());
    let request = follow_up(&answer.unwrap());
    let again: TurnRequest = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
    assert_eq!(again, request);
}

#[test]
fn only_the_last_three_marks_are_set() {
    let mut request = question();
    for number in 0..5 {
        request.messages.push(Message::Assistant { parts: vec![text("Hm.")] });
        request.messages.push(Message::User { text: format!("More {number}."), mark: true });
    }
    let (_, seen) = ask("anthropic", ServerReply::events(&whole()), &request);
    let marked: Vec<&str> = seen.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["content"][0].get("cache_control").is_some())
        .map(|message| message["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(marked, ["More 2.", "More 3.", "More 4."]);
}

#[test]
fn errors_of_tools_are_said_to_be_errors() {
    let mut request = question();
    request.messages.push(Message::Assistant { parts: vec![call("toolu_1", "read", &json!({}))] });
    let result =
        ToolResult { id: "toolu_1".to_owned(), name: "read".to_owned(), text: "no".to_owned(), is_error: true };
    request.messages.push(Message::Results { results: vec![result], mark: false });
    request.messages.push(Message::User { text: "Go on.".to_owned(), mark: false });
    let (_, seen) = ask("anthropic", ServerReply::events(&whole()), &request);
    assert_eq!(
        seen.body["messages"].as_array().unwrap()[2..],
        [
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": true },
            ] }),
            json!({ "role": "user", "content": [{ "type": "text", "text": "Go on." }] }),
        ]
    );
}

#[test]
fn a_forced_call_that_is_refused_is_asked_for_without_force() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"tool_choice: forced tool use is not supported"}}"#;
    let server = ScriptedServer::new(vec![
        ServerReply::status(400, "", refusal),
        ServerReply::events(&whole()),
        ServerReply::events(&whole()),
    ]);
    let provider = provider("anthropic", "a-model", &server.address);
    let mut request = question();
    request.choice = ToolChoice::Required;
    assert!(wait(provider.as_ref(), &request, QUIET).0.is_ok());
    assert!(wait(provider.as_ref(), &request, QUIET).0.is_ok());
    let choices: Vec<Value> = (0..3).map(|_| server.seen().body["tool_choice"].clone()).collect();
    assert_eq!(choices, [json!({ "type": "any" }), Value::Null, Value::Null]);
}

#[test]
fn each_reason_to_stop_is_known() {
    for (reason, stop) in [
        ("end_turn", FinishReason::Done),
        ("max_tokens", FinishReason::OutputLimit),
        ("refusal", FinishReason::Refused),
        ("pause_turn", FinishReason::Other("pause_turn".to_owned())),
    ] {
        let mut frames = vec![start(), begin(0, json!({ "type": "text", "text": "Hm." })), end(0)];
        frames.extend(last(reason));
        let (answer, _) = ask("anthropic", ServerReply::events(&frames), &question());
        assert_eq!(answer.unwrap().stop, stop, "{reason}");
    }
}

#[test]
fn a_call_that_the_limit_cut_off_is_malformed() {
    let mut frames = vec![
        start(),
        begin(0, json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
        piece(0, "{\"pa"),
    ];
    frames.extend(last("max_tokens"));
    let (answer, _) = ask("anthropic", ServerReply::events(&frames), &question());
    let answer = answer.unwrap();
    assert_eq!(answer.stop, FinishReason::OutputLimit);
    assert_eq!(answer.calls().next().unwrap().input, ToolInput::Malformed("{\"pa".to_owned()));
    let sent = sent_back("anthropic", "a-model", &answer);
    assert_eq!(sent["messages"][1]["content"][0]["input"], json!({ "unreadable_arguments": "{\"pa" }));
}

#[test]
fn any_name_of_a_model_goes_out_as_it_is() {
    for name in ["claude-x-high", "ns::claude-zero", "a/b:c@d-max"] {
        let server = ScriptedServer::new(vec![ServerReply::events(&whole())]);
        let (answer, _) = wait(provider("anthropic", name, &server.address).as_ref(), &question(), QUIET);
        answer.unwrap();
        let body = server.seen().body;
        assert_eq!(body["model"], name);
        assert!(body.get("thinking").is_none() && body.get("output_config").is_none(), "{body}");
    }
}

#[test]
fn usage_that_cannot_be_is_unknown() {
    let mut frames = vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": i64::MAX, "cache_read_input_tokens": i64::MAX } } }),
        begin(0, json!({ "type": "text", "text": "Hm." })),
        end(0),
    ];
    frames.extend(last("end_turn"));
    let (answer, _) = ask("anthropic", ServerReply::events(&frames), &question());
    assert_eq!(answer.unwrap().usage, TurnUsage { output: Some(42), ..TurnUsage::default() });
    let mut frames = vec![
        json!({ "type": "message_start", "message": {} }),
        begin(0, json!({ "type": "text", "text": "Hm." })),
        end(0),
    ];
    frames.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
    frames.push(json!({ "type": "message_stop" }));
    let (answer, _) = ask("anthropic", ServerReply::events(&frames), &question());
    assert_eq!(answer.unwrap().usage, TurnUsage::default());
}

#[test]
fn thinking_of_a_changed_conversation_is_dropped_where_the_server_refuses_it() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."}}"#;
    let server = ScriptedServer::new(vec![ServerReply::status(400, "", refusal), ServerReply::events(&whole())]);
    wait(provider("anthropic", "a-model", &server.address).as_ref(), &question(), QUIET).0.unwrap();
    let (first, second) = (server.seen(), server.seen());
    assert!(first.body.get("thinking").is_none() && !first.head.contains("anthropic-beta"));
    assert_eq!(second.body["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
    assert!(second.head.contains("anthropic-beta: thinking-binding-controls-2026-08-01"), "{}", second.head);
}

#[test]
fn thinking_whose_text_is_left_out_goes_back_too() {
    let mut frames = vec![
        start(),
        begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
        end(0),
        begin(1, json!({ "type": "text", "text": "Hm." })),
        end(1),
    ];
    frames.extend(last("end_turn"));
    let (answer, _) = ask("anthropic", ServerReply::events(&frames), &question());
    let sent = sent_back("anthropic", "a-model", &answer.unwrap());
    assert_eq!(sent["messages"][1]["content"][0], json!({ "type": "thinking", "thinking": "", "signature": "c2ln" }));
}
