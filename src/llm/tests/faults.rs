//! Errors, on every wire format.

use serde_json::{Value, json};

use super::*;

const ALL: &[&str] = &["anthropic", "openai", "openai-chat", "gemini", "ollama"];

/// The beginning of an answer, and an answer that ends.
fn begun(name: &str) -> ServerReply {
    let frame = match name {
        "anthropic" => {
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "Half an " } })
        }
        "openai" => json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Half an " }),
        "openai-chat" => json!({ "choices": [{ "delta": { "content": "Half an " } }] }),
        "gemini" => json!({ "candidates": [{ "content": { "parts": [{ "text": "Half an " }] } }] }),
        "ollama" => return ServerReply::lines(&[json!({ "message": { "content": "Half an " }, "done": false })]),
        other => panic!("{other}"),
    };
    ServerReply::events(&[frame])
}

fn frame(name: &str, frame: &Value) -> String {
    match name {
        "ollama" => format!("{frame}\n"),
        "anthropic" => format!("event: error\ndata: {frame}\n\n"),
        _ => format!("data: {frame}\n\n"),
    }
}

fn fault(name: &str, reply: ServerReply) -> TurnFault {
    ask(name, reply, &question()).0.expect_err(name)
}

#[test]
fn a_stream_that_just_ends_is_no_answer() {
    for name in ALL {
        let fault = fault(name, begun(name));
        assert!(matches!(fault, TurnFault::BrokenOff { .. }), "{name}: {fault:?}");
        assert!(fault.is_transient());
    }
}

#[test]
fn a_stream_that_ends_within_an_event_is_no_answer() {
    for name in ALL {
        let half = if *name == "ollama" { "{\"mess" } else { "data: {\"type\":\"resp" };
        let fault = fault(name, begun(name).and(half));
        assert!(matches!(fault, TurnFault::BrokenOff { .. }), "{name}: {fault:?}");
    }
}

#[test]
fn a_connection_that_breaks_in_the_middle_says_so() {
    for name in ALL {
        let fault = fault(name, begun(name).breaking());
        assert!(matches!(fault, TurnFault::BrokenOff { .. }), "{name}: {fault:?}");
    }
}

#[test]
fn an_answer_that_is_no_stream_is_none() {
    for name in ALL {
        let fault =
            fault(name, ServerReply::status(200, "content-type: text/html\r\n", "<html>\n<p>Hello</p>\n\n</html>\n"));
        assert!(matches!(fault, TurnFault::BrokenOff { .. } | TurnFault::Unreadable { .. }), "{name}: {fault:?}");
    }
}

#[test]
fn an_error_in_the_middle_is_a_fault_with_the_words_of_the_server() {
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let failed = json!({ "type": "response.failed", "response": { "id": "r", "status": "failed", "model": "m",
        "error": { "code": "server_error", "message": "Overloaded" } } });
    let flat = json!({ "type": "error", "code": "rate_limit_exceeded", "message": "Overloaded", "param": null });
    let chat = json!({ "error": { "message": "Overloaded", "code": 503 } });
    let gemini = json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } });
    for (name, error, status) in [
        ("anthropic", overloaded, 529),
        ("openai", failed, 500),
        ("openai", flat, 429),
        ("openai-chat", chat, 503),
        ("gemini", gemini, 503),
    ] {
        match fault(name, begun(name).and(&frame(name, &error))) {
            TurnFault::Status { status: said, message, .. } => {
                assert_eq!((said, message.as_str()), (status, "Overloaded"), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let fault = fault("ollama", begun("ollama").and(&frame("ollama", &json!({ "error": "the runner stopped" }))));
    assert_eq!(fault.to_string(), "ollama broke off in the middle of its answer: the runner stopped");
}

#[test]
fn an_error_status_says_how_long_to_wait() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow\u001b[31m down,\n  please."}}"#;
    for name in ALL {
        for (status, headers, wait) in [
            (429, "retry-after: 7\r\n", Some(Duration::from_secs(7))),
            (529, "retry-after: 7\r\nretry-after-ms: 1500\r\n", Some(Duration::from_millis(1500))),
            (503, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(Duration::ZERO)),
            (500, "retry-after: soon\r\n", None),
        ] {
            match fault(name, ServerReply::status(status, headers, body)) {
                TurnFault::Status { provider, status: said, message, retry_after } => {
                    assert_eq!(
                        (&*provider, said, message.as_str(), retry_after),
                        (*name, status, "Slow down, please.", wait)
                    );
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn gemini_says_in_the_body_how_long_to_wait() {
    let body = r#"[{"error":{"code":429,"message":"Quota.","details":[{"@type":"x"},{"@type":"RetryInfo","retryDelay":"37s"}]}}]"#;
    let fault = fault("gemini", ServerReply::status(429, "", body));
    assert_eq!(fault.retry_after(), Some(Duration::from_secs(37)));
    assert_eq!(fault.to_string(), "gemini answered 429: Quota.");
}

#[test]
fn a_key_that_the_server_echoes_is_not_shown() {
    for name in ALL {
        let message =
            fault(name, ServerReply::status(401, "", &format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#)))
                .to_string();
        assert!(!message.contains(KEY) && message.contains("bad key (the key)"), "{message}");
    }
}

#[test]
fn long_and_odd_bodies_become_one_short_line() {
    for name in ALL {
        for (body, part) in [
            ("x".repeat(100_000).as_str(), "xxx…"),
            ("<html>busy</html>", "a page for people"),
            ("", "no reason"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
        ] {
            let message = fault(name, ServerReply::status(404, "", body)).to_string();
            assert!(
                message.contains(part) && message.chars().count() < 400 && !message.contains('\n'),
                "{name}: {message}"
            );
        }
    }
}

#[test]
fn a_redirect_to_another_host_gets_neither_key_nor_question() {
    for name in ALL {
        let elsewhere = ScriptedServer::new(vec![begun(name)]);
        let location = format!("location: {}/v1/\r\n", elsewhere.address);
        let fault = fault(name, ServerReply::status(307, &location, ""));
        assert!(fault.to_string().contains("redirects to http://127.0.0.1:"), "{fault}");
        assert!(elsewhere.is_done());
    }
}

#[test]
fn no_answer_may_come_compressed() {
    for name in ALL {
        let (_, seen) = ask(name, begun(name), &question());
        assert!(!seen.head.contains("accept-encoding"), "{name}: {}", seen.head);
    }
}

#[test]
fn a_compressed_answer_is_not_read_as_if_it_were_none() {
    for name in ALL {
        let mut reply = begun(name);
        reply.head.push_str("content-encoding: gzip\r\n");
        let fault = fault(name, reply);
        assert!(
            matches!(&fault, TurnFault::Unreadable { message, .. } if message.contains("gzip")),
            "{name}: {fault:?}"
        );
    }
}

#[test]
fn a_silent_server_is_given_up() {
    for name in ALL {
        let server = ScriptedServer::new(vec![begun(name).hanging()]);
        let quiet = Duration::from_millis(300);
        let (answer, _) = wait(provider(name, "a-model", &server.address).as_ref(), &question(), quiet);
        assert!(matches!(answer, Err(TurnFault::Silent { .. })), "{name}: {answer:?}");
    }
}

#[test]
fn a_server_that_is_not_there_cannot_be_reached() {
    for name in ALL {
        // The system gives this port to nobody who asks for any.
        let address = "http://user:hunter2@127.0.0.1:1".to_owned();
        let (answer, _) = wait(provider(name, "a-model", &address).as_ref(), &question(), QUIET);
        let fault = answer.unwrap_err();
        assert!(matches!(fault, TurnFault::Unreachable { .. }), "{name}: {fault:?}");
        let message = fault.to_string();
        assert!(
            message.contains("refused") && message.contains("127.0.0.1:1") && !message.contains("hunter2"),
            "{message}"
        );
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let huge = "x".repeat(64 * 1024);
    for name in ALL {
        let frame = match *name {
            "anthropic" => {
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": huge } })
            }
            "openai" => json!({ "type": "response.output_text.delta", "output_index": 0, "delta": huge }),
            "openai-chat" => json!({ "choices": [{ "delta": { "content": huge } }] }),
            "gemini" => json!({ "candidates": [{ "content": { "parts": [{ "text": huge }] } }] }),
            _ => json!({ "message": { "content": huge } }),
        };
        let frames = vec![frame; 300];
        let reply = if *name == "ollama" { ServerReply::lines(&frames) } else { ServerReply::events(&frames) };
        let fault = fault(name, begun(name).and(&reply.body));
        assert!(
            matches!(&fault, TurnFault::Unreadable { message, .. } if message.contains("16 MiB")),
            "{name}: {fault:?}"
        );
    }
}

#[test]
fn an_event_without_end_is_given_up() {
    for name in ALL {
        let half = if *name == "ollama" { "{\"message\":\"" } else { "data: {\"type\":\"" };
        let fault = fault(name, begun(name).and(half).and(&"x".repeat(5 * 1024 * 1024)).hanging());
        assert!(
            matches!(&fault, TurnFault::Unreadable { message, .. } if message.contains("4 MiB in one event")),
            "{name}: {fault:?}"
        );
    }
}

#[test]
fn a_whole_answer_of_a_server_that_does_not_stream_is_read() {
    let message =
        json!({ "content": "Hm.", "tool_calls": [{ "id": "a", "function": { "name": "read", "arguments": "{}" } }] });
    let whole = json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 9, "completion_tokens": 2 } });
    let pretty = format!("{whole:#}");
    let (answer, _) =
        ask("openai-chat", ServerReply::status(200, "content-type: application/json\r\n", &pretty), &question());
    let answer = answer.unwrap();
    assert_eq!(answer.parts, [text("Hm."), call("a", "read", &json!({}))]);
    assert_eq!(answer.usage, usage(9, 2, None, None));
}

#[test]
fn a_key_that_no_header_can_carry_is_refused_before_anything_is_sent() {
    for key in ["sk-\u{e9}", "a\nb", "a b"] {
        let access = ProviderAccess { key: Some(Secret::new(key)), ..ProviderAccess::default() };
        let error = connect(&row("anthropic"), "m", &access).map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains(key), "{error}");
    }
}
