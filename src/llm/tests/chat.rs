//! Chat completions.

use serde_json::{Value, json};

use super::*;

fn chunk(delta: Value) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn last(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn tokens() -> Value {
    json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 42, "total_tokens": 142, "prompt_tokens_details": { "cached_tokens": 60 } } })
}

fn piece(index: u64, id: Option<&str>, arguments: &str) -> Value {
    let mut call = json!({ "index": index, "function": { "arguments": arguments } });
    if let Some(id) = id {
        call["id"] = json!(id);
        call["type"] = json!("function");
        call["function"]["name"] = json!("read");
    }
    chunk(json!({ "tool_calls": [call] }))
}

pub(super) fn whole() -> Vec<Value> {
    vec![
        chunk(json!({ "role": "assistant", "content": "" })),
        chunk(json!({ "reasoning_content": "Let me " })),
        chunk(json!({ "reasoning_content": "see." })),
        chunk(json!({ "content": "I will look –" })),
        chunk(json!({ "content": " twice." })),
        piece(0, Some("call_a"), ""),
        piece(1, Some("call_b"), "{\"pa"),
        piece(0, None, "{\"path\":\"a\"}"),
        piece(1, None, "th\":\"b\"}"),
        last("tool_calls"),
        tokens(),
    ]
}

fn reply(frames: &[Value]) -> ServerReply {
    ServerReply::events(frames).and("data: [DONE]\n\n")
}

#[test]
fn an_answer_is_read_with_its_usage() {
    let (answer, seen) = ask("openai-chat", reply(&whole()), &question());
    let answer = answer.unwrap();
    tale(&answer, "call_a", "call_b");
    assert_eq!(answer.usage, usage(100, 42, Some(60), None));
    assert!(seen.head.starts_with("post /chat/completions http/1.1"), "{}", seen.head);
}

#[test]
fn a_request_says_the_least_that_servers_take() {
    let (_, seen) = ask("openai-chat", reply(&whole()), &question());
    assert_eq!(
        seen.body,
        json!({
            "model": "a-model", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 1000,
            "tools": [{ "type": "function", "function": { "name": "read", "description": "Reads a file.", "parameters": { "type": "object",
                "additionalProperties": false, "properties": { "path": { "type": "string" } }, "required": ["path"] } } }],
            "messages": [{ "role": "system", "content": "You review." }, { "role": "user", "content": "The change." }],
        })
    );
}

#[test]
fn a_server_without_a_key_is_sent_none() {
    let server = ScriptedServer::new(vec![reply(&whole())]);
    let access = ProviderAccess { base_url: Some(server.address.clone()), ..ProviderAccess::default() };
    let provider = connect(&row("openai-chat"), "a-model", &access).unwrap();
    wait(provider.as_ref(), &question(), QUIET).0.unwrap();
    assert!(!server.seen().head.contains("authorization"));
}

#[test]
fn reasoning_goes_back_as_it_came() {
    let (answer, _) = ask("openai-chat", reply(&whole()), &question());
    let sent = sent_back("openai-chat", "a-model", &answer.unwrap());
    assert_eq!(
        sent["messages"][2],
        json!({ "role": "assistant", "content": "I will look – twice.", "reasoning_content": "Let me see.", "tool_calls": [
            { "type": "function", "id": "call_a", "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } },
            { "type": "function", "id": "call_b", "function": { "name": "read", "arguments": "{\"path\":\"b\"}" } },
        ] })
    );
    assert_eq!(sent["messages"][3], json!({ "role": "tool", "tool_call_id": "call_a", "content": "result of call_a" }));
    assert_eq!(sent["messages"][4], json!({ "role": "tool", "tool_call_id": "call_b", "content": "result of call_b" }));
}

#[test]
fn a_server_that_refuses_usage_is_asked_without_it_and_never_again() {
    let refusal = r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#;
    let mut frames = whole();
    frames.pop();
    let server = ScriptedServer::new(vec![ServerReply::status(422, "", refusal), reply(&frames), reply(&frames)]);
    let provider = provider("openai-chat", "a-model", &server.address);
    assert_eq!(wait(provider.as_ref(), &question(), QUIET).0.unwrap().usage, TurnUsage::default());
    wait(provider.as_ref(), &question(), QUIET).0.unwrap();
    let asked: Vec<bool> = (0..3).map(|_| server.seen().body.get("stream_options").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}

#[test]
fn a_model_that_wants_the_newer_limit_gets_it() {
    let refusal = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#;
    let server = ScriptedServer::new(vec![ServerReply::status(400, "", refusal), reply(&whole())]);
    wait(provider("openai-chat", "a-model", &server.address).as_ref(), &question(), QUIET).0.unwrap();
    server.seen();
    let body = server.seen().body;
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(1000), None));
}

#[test]
fn calls_without_indexes_or_ids_stay_apart() {
    let one = json!({ "function": { "name": "read", "arguments": "{\"path\":\"a\"}" } });
    let two = json!({ "function": { "name": "read", "arguments": { "path": "b" } } });
    let frames = [chunk(json!({ "content": "I will look – twice.", "tool_calls": [one, two] })), last("stop")];
    let (answer, _) = ask("openai-chat", reply(&frames), &question());
    tale(&answer.unwrap(), "call_0", "call_1");
    let zero = |id: &str, path: &str| {
        chunk(
            json!({ "tool_calls": [{ "index": 0, "id": id, "function": { "name": "read", "arguments": format!("{{\"path\":\"{path}\"}}") } }] }),
        )
    };
    let frames =
        [chunk(json!({ "content": "I will look – twice." })), zero("x", "a"), zero("y", "b"), last("tool_calls")];
    let (answer, _) = ask("openai-chat", reply(&frames), &question());
    tale(&answer.unwrap(), "x", "y");
}

#[test]
fn an_index_that_does_not_begin_at_zero_makes_no_call_up() {
    let frames = [piece(4_000_000_000, Some("call_a"), "{}"), last("tool_calls")];
    let (answer, _) = ask("openai-chat", reply(&frames), &question());
    assert_eq!(answer.unwrap().parts, [call("call_a", "read", &json!({}))]);
}

#[test]
fn ids_are_unique_over_the_whole_conversation() {
    let mut request = question();
    request.messages.push(Message::Assistant { parts: vec![call("call_0", "read", &json!({}))] });
    let frames = [piece(0, Some("call_0"), "{}"), piece(1, Some("call_0"), "{}"), last("tool_calls")];
    let (answer, _) = ask("openai-chat", reply(&frames), &request);
    let answer = answer.unwrap();
    let ids: Vec<&str> = answer.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_1", "call_2"]);
}

#[test]
fn arguments_that_are_no_object_are_malformed() {
    for (arguments, input) in [
        ("{\"path\":", ToolInput::Malformed("{\"path\":".to_owned())),
        ("[1]", ToolInput::Malformed("[1]".to_owned())),
        ("null", ToolInput::Malformed("null".to_owned())),
        ("", ToolInput::Object(Map::new())),
    ] {
        let (answer, _) = ask("openai-chat", reply(&[piece(0, Some("a"), arguments), last("tool_calls")]), &question());
        assert_eq!(answer.unwrap().calls().next().unwrap().input, input, "{arguments}");
    }
}

#[test]
fn an_end_without_the_done_mark_is_one_if_the_reason_came() {
    let (answer, _) = ask("openai-chat", ServerReply::events(&whole()), &question());
    tale(&answer.unwrap(), "call_a", "call_b");
}

#[test]
fn each_reason_to_stop_is_known() {
    for (reason, stop) in [
        ("stop", FinishReason::Done),
        ("length", FinishReason::OutputLimit),
        ("content_filter", FinishReason::Refused),
        ("odd", FinishReason::Other("odd".to_owned())),
    ] {
        let (answer, _) = ask("openai-chat", reply(&[chunk(json!({ "content": "Hm." })), last(reason)]), &question());
        assert_eq!(answer.unwrap().stop, stop, "{reason}");
    }
}

#[test]
fn any_name_of_a_model_goes_out_as_it_is() {
    let server = ScriptedServer::new(vec![reply(&whole())]);
    wait(provider("openai-chat", "org/qwen-3::x-high", &server.address).as_ref(), &question(), QUIET).0.unwrap();
    let body = server.seen().body;
    assert_eq!(body["model"], "org/qwen-3::x-high");
    assert!(body.get("reasoning_effort").is_none(), "{body}");
}

#[test]
fn reasoning_blocks_of_a_gateway_go_back_whole() {
    let piece = |extra: Value| {
        let mut detail = json!({ "type": "reasoning.text", "index": 0, "format": "f" });
        detail.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        chunk(json!({ "reasoning_details": [detail] }))
    };
    let frames = [
        piece(json!({ "text": "Let me " })),
        piece(json!({ "text": "see.", "signature": null })),
        piece(json!({ "signature": "c2ln" })),
        chunk(
            json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "index": 1, "data": "eA==" }], "content": "Hm." }),
        ),
        last("stop"),
    ];
    let (answer, _) = ask("openai-chat", reply(&frames), &question());
    let sent = sent_back("openai-chat", "a-model", &answer.unwrap());
    assert_eq!(
        sent["messages"][2]["reasoning_details"],
        json!([
            { "type": "reasoning.text", "index": 0, "format": "f", "text": "Let me see.", "signature": "c2ln" },
            { "type": "reasoning.encrypted", "index": 1, "data": "eA==" },
        ])
    );
}

#[test]
fn a_server_that_keeps_the_connection_after_the_end_is_not_waited_for() {
    let server = ScriptedServer::new(vec![reply(&whole()).hanging()]);
    let (answer, _) = wait(provider("openai-chat", "a-model", &server.address).as_ref(), &question(), QUIET);
    tale(&answer.unwrap(), "call_a", "call_b");
}
