//! The Gemini API.

use serde_json::{Value, json};

use super::*;

fn chunk(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }], "modelVersion": "a-model" })
}

fn last(reason: &str) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": reason }], "usageMetadata": {
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 30, "thoughtsTokenCount": 12, "totalTokenCount": 142 } })
}

fn function(path: &str, signature: Option<&str>) -> Value {
    let mut part = json!({ "functionCall": { "name": "read", "args": { "path": path } } });
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

pub(super) fn whole() -> Vec<Value> {
    vec![
        chunk(json!([{ "text": "I will look –" }])),
        chunk(json!([{ "text": " twice." }])),
        chunk(json!([function("a", Some("c2ln"))])),
        chunk(json!([function("b", None)])),
        last("STOP"),
    ]
}

#[test]
fn an_answer_is_read_with_its_usage() {
    let (answer, seen) = ask("gemini", ServerReply::events(&whole()), &question());
    let mut answer = answer.unwrap();
    assert_eq!(answer.calls().next().unwrap().signatures, ["c2ln"]);
    for part in &mut answer.parts {
        if let MessagePart::Call(call) = part {
            call.signatures.clear();
        }
    }
    tale(&answer, "call#read#0", "call#read#1");
    assert_eq!(answer.usage, usage(100, 42, Some(60), None));
    assert!(
        seen.head.starts_with("post /v1beta/models/a-model:streamgeneratecontent?alt=sse http/1.1"),
        "{}",
        seen.head
    );
    assert!(seen.head.contains("x-goog-api-key: sk-test-0123456789"), "{}", seen.head);
}

#[test]
fn a_request_says_what_the_interface_wants_and_nothing_else() {
    let (_, seen) = ask("gemini", ServerReply::events(&whole()), &question());
    assert_eq!(
        seen.body,
        json!({
            "systemInstruction": { "parts": [{ "text": "You review." }] },
            "generationConfig": { "maxOutputTokens": 1000 },
            "tools": [{ "functionDeclarations": [{ "name": "read", "description": "Reads a file.", "parametersJsonSchema": { "type": "object",
                "additionalProperties": false, "properties": { "path": { "type": "string" } }, "required": ["path"] } }] }],
            "contents": [{ "role": "user", "parts": [{ "text": "The change." }] }],
        })
    );
}

#[test]
fn signatures_go_back_with_the_parts_they_came_in() {
    let frames = [
        chunk(json!([{ "text": "Let me.", "thought": true }])),
        chunk(json!([{ "text": "First." }])),
        chunk(json!([{ "text": "", "thoughtSignature": "dGV4dA==" }])),
        chunk(json!([function("a", Some("Y2FsbA==")), function("b", None)])),
        last("STOP"),
    ];
    let (answer, _) = ask("gemini", ServerReply::events(&frames), &question());
    let sent = sent_back("gemini", "gemini-3-pro-high", &answer.unwrap());
    assert_eq!(
        sent["contents"][1],
        json!({ "role": "model", "parts": [
            { "text": "First." },
            { "text": "", "thoughtSignature": "dGV4dA==" },
            function("a", Some("Y2FsbA==")),
            function("b", None),
        ] })
    );
    assert_eq!(
        sent["contents"][2],
        json!({ "role": "user", "parts": [
            { "functionResponse": { "name": "read", "response": { "name": "read", "content": "result of call#read#0" } } },
            { "functionResponse": { "name": "read", "response": { "name": "read", "content": "result of call#read#1" } } },
        ] })
    );
    assert!(sent.pointer("/generationConfig/thinkingConfig").is_none(), "{sent}");
}

#[test]
fn ids_that_the_server_gave_go_back() {
    let mut one = function("a", None);
    one["functionCall"]["id"] = json!("fc-1");
    let (answer, _) = ask("gemini", ServerReply::events(&[chunk(json!([one])), last("STOP")]), &question());
    let sent = sent_back("gemini", "gemini-2.5-pro", &answer.unwrap());
    assert_eq!(sent["contents"][1]["parts"][0]["functionCall"]["id"], "fc-1");
    assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["id"], "fc-1");
}

#[test]
fn a_forced_call_is_asked_for() {
    let mut request = question();
    request.choice = ToolChoice::Required;
    let (_, seen) = ask("gemini", ServerReply::events(&whole()), &request);
    assert_eq!(seen.body["toolConfig"], json!({ "functionCallingConfig": { "mode": "ANY" } }));
}

#[test]
fn each_reason_to_stop_is_known() {
    for (reason, stop) in [
        ("STOP", FinishReason::Done),
        ("MAX_TOKENS", FinishReason::OutputLimit),
        ("SAFETY", FinishReason::Refused),
        ("MALFORMED_FUNCTION_CALL", FinishReason::Other("MALFORMED_FUNCTION_CALL".to_owned())),
    ] {
        let (answer, _) =
            ask("gemini", ServerReply::events(&[chunk(json!([{ "text": "Hm." }])), last(reason)]), &question());
        assert_eq!(answer.unwrap().stop, stop, "{reason}");
    }
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let (answer, _) =
        ask("gemini", ServerReply::events(&[json!({ "promptFeedback": { "blockReason": "SAFETY" } })]), &question());
    assert_eq!(answer.unwrap().stop, FinishReason::Refused);
}

#[test]
fn a_cache_that_is_not_mentioned_gave_nothing() {
    let mut end = last("STOP");
    end["usageMetadata"].as_object_mut().unwrap().remove("cachedContentTokenCount");
    let (answer, _) = ask("gemini", ServerReply::events(&[chunk(json!([{ "text": "Hm." }])), end]), &question());
    assert_eq!(answer.unwrap().usage, usage(100, 42, Some(0), None));
}
