//! Rate limits of servers, and conversations that another model began.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::llm::{RateLimit, RateLimiters, ToolCallFormat};

/// Error of each API for a conversation that is too long, with its status and the window that can be read from it.
const TOO_LONG: &[(&str, u16, &str, Option<u64>)] = &[
    (
        "anthropic",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        Some(200_000),
    ),
    (
        "anthropic",
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        None,
    ),
    (
        "openai",
        400,
        r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
        None,
    ),
    (
        "openai-chat",
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
        Some(8_192),
    ),
    (
        "gemini",
        400,
        r#"[{"error":{"code":400,"message":"The input token count (317740) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]"#,
        Some(131_072),
    ),
    ("ollama", 400, r#"{"error":"the input length exceeds the context length"}"#, None),
];

#[test]
fn every_wire_format_says_that_a_conversation_is_too_long() {
    for (name, status, body, expected) in TOO_LONG {
        let fault = ask(name, ServerReply::status(*status, "", body), &question()).0.expect_err(name);
        match &fault {
            TurnFault::TooLong { window, .. } => assert_eq!(window, expected, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        assert!(!fault.is_transient() && !fault.is_refusal(), "{name}");
    }
}

#[test]
fn it_may_be_said_inside_a_stream() {
    let failed = json!({ "type": "response.failed", "response": { "id": "r", "status": "failed", "model": "m", "error": {
        "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model." } } });
    let chat = json!({ "error": { "message": "Requested tokens (9000) exceed context window of 8192", "code": 400 } });
    for (name, frame) in [("openai", failed), ("openai-chat", chat)] {
        let fault = ask(name, ServerReply::events(&[frame]), &question()).0.expect_err(name);
        assert!(matches!(fault, TurnFault::TooLong { .. }), "{name}: {fault:?}");
    }
}

/// Has no time to wait, and remembers how long it would have been.
#[derive(Default)]
struct InstantClock(Mutex<Vec<Duration>>);

impl StreamObserver for InstantClock {
    fn grew(&self, _: u64) {}

    fn waits(&self, wait: Duration) -> bool {
        self.0.lock().unwrap().push(wait);
        false
    }
}

fn hurried(provider: &dyn Provider) -> (TurnFault, Vec<Duration>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watch = InstantClock::default();
    let fault = runtime.block_on(provider.turn(&question(), QUIET, &watch)).unwrap_err();
    (fault, watch.0.into_inner().unwrap())
}

fn limited(name: &str, server: &ScriptedServer, key: &str, rate: RateLimit, paces: &RateLimiters) -> Box<dyn Provider> {
    let (key, base_url) = (Some(Secret::new(key)), Some(server.address.clone()));
    let access = ProviderAccess { key, base_url, rate, paces: paces.clone(), ..ProviderAccess::default() };
    connect(&row(name), "a-model", &access).unwrap()
}

#[test]
fn requests_beyond_those_of_a_minute_wait_and_are_not_sent_where_there_is_no_time() {
    let server = ScriptedServer::new(vec![ServerReply::status(500, "", ""), ServerReply::status(500, "", "")]);
    let (paces, rate) = (RateLimiters::default(), RateLimit { requests: Some(1), tokens: None });
    let (_, none) = hurried(limited("anthropic", &server, "k", rate, &paces).as_ref());
    assert!(none.is_empty());
    // Another connection of the same key is in the same line.
    let (fault, waits) = hurried(limited("anthropic", &server, "k", rate, &paces).as_ref());
    assert!(matches!(fault, TurnFault::Paced { .. }) && !fault.is_transient(), "{fault:?}");
    assert!(waits.len() == 1 && waits[0] > Duration::from_secs(30), "{waits:?}");
    // Another key is not.
    assert!(hurried(limited("anthropic", &server, "another", rate, &paces).as_ref()).1.is_empty());
}

#[test]
fn what_a_server_says_of_its_limits_is_heard_by_all_who_use_the_key() {
    let soon =
        "anthropic-ratelimit-requests-remaining: 0\r\nanthropic-ratelimit-requests-reset: 2099-01-01T00:00:00Z\r\n";
    for (name, headers, waits) in [
        ("openai", "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 6m0s\r\n", true),
        ("anthropic", "retry-after: 90\r\n", true),
        ("gemini", "", false),
        // Too far away for a limit of a minute: the request is sent, and the server refuses it.
        ("anthropic", soon, false),
    ] {
        let server =
            ScriptedServer::new(vec![ServerReply::status(429, headers, "{}"), ServerReply::status(500, "", "")]);
        let paces = RateLimiters::default();
        let _ = hurried(limited(name, &server, "k", RateLimit::default(), &paces).as_ref());
        let (fault, told) = hurried(limited(name, &server, "k", RateLimit::default(), &paces).as_ref());
        assert_eq!(matches!(fault, TurnFault::Paced { .. }), waits, "{name}: {fault:?}");
        assert_eq!(told.iter().any(|wait| *wait > Duration::from_mins(1)), waits, "{name}: {told:?}");
    }
}

#[test]
fn whoever_waits_is_let_through_afterwards() {
    let server = ScriptedServer::new(vec![ServerReply::status(500, "", ""), ServerReply::status(500, "", "")]);
    let rate = RateLimit { requests: Some(600), tokens: None };
    let provider = limited("openai-chat", &server, "k", rate, &RateLimiters::default());
    let began = Instant::now();
    for _ in 0..2 {
        let _ = wait(provider.as_ref(), &question(), QUIET);
    }
    assert!(server.seen().body["messages"].is_array() && server.seen().body["messages"].is_array());
    assert!(began.elapsed() < QUIET);
}

/// A conversation whose first model was another one: signed thinking, signed calls.
fn handed() -> TurnRequest {
    let thought = json!({ "Custom": { "data": { "type": "thinking", "thinking": "Hm.", "signature": "c2VjcmV0" } } });
    let mut called = call("toolu_1", "read", &json!({ "path": "a" }));
    if let MessagePart::Call(call) = &mut called {
        call.signatures = vec!["c2VjcmV0".to_owned()];
    }
    let second = call("toolu_2", "read", &json!({ "path": "b" }));
    let parts = vec![MessagePart::Opaque { value: thought }, text("I look."), called, second];
    let mut request = follow_up(&TurnResponse { parts, stop: FinishReason::Calls, usage: TurnUsage::default() });
    request.hand_over();
    request
}

#[test]
fn another_model_gets_calls_and_results_and_nothing_signed() {
    for name in ["anthropic", "openai", "openai-chat", "gemini", "ollama"] {
        let server = ScriptedServer::new(vec![ServerReply::status(500, "", "")]);
        let _ = wait(provider(name, "a-model", &server.address).as_ref(), &handed(), QUIET);
        let sent = server.seen().body.to_string();
        assert!(!sent.contains("c2VjcmV0") && !sent.contains("Hm."), "{name}: {sent}");
        for kept in ["I look.", "result of toolu_1", "result of toolu_2"] {
            assert!(sent.contains(kept), "{name}: {kept} is missing in {sent}");
        }
        // One of the interfaces wants a signature on the first call of each answer, and has a word for calls that have none.
        let foreign = sent.matches("skip_thought_signature_validator").count();
        assert_eq!(foreign, usize::from(name == "gemini"), "{name}: {sent}");
    }
}

#[test]
fn an_answer_in_text_holds_no_more_calls_than_others() {
    let said = |calls: usize| {
        let text = "@@call read\n@@end\n".repeat(calls);
        let frame = json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] });
        let request = TurnRequest { speech: ToolCallFormat::Text, ..question() };
        ask("openai-chat", ServerReply::events(&[frame]).and("data: [DONE]\n\n"), &request).0
    };
    assert_eq!(said(2_000).expect("an answer").calls().count(), 2_000);
    let fault = said(2_001).expect_err("too many calls");
    assert!(fault.to_string().contains("more than 2000 pieces in one answer"), "{fault}");
}
