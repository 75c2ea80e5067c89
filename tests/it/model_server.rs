//! The scripted model server itself, asked by hand in the words of each provider's documents.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::model::{Cut, KEY, Options, Server, Session, Wire};

/// Two turns: a thought, a text and two calls; then the end.
const TWO_TURNS: &str = r#"
{"when": {"turn": 0, "tools_include": ["read"], "tools_exclude": ["shell"], "user_contains": ["Please"], "system_contains": ["careful"]}, "say": {"thinking": [{"text": "Hm, let me see.", "signature": "c2lnbmF0dXJl"}], "text": "Näher → hinsehen 🔎", "calls": [{"name": "read", "input": {"path": "ä.rs", "lines": [1, 2]}}, {"name": "find", "input": {"pattern": "\"q\" \\ z"}}], "usage": {"input": 1000, "cached": 600, "written": 100, "output": 50}}}
{"when": {"turn": 1, "last_results": [{"name": "read", "contains": ["fn main"]}, {"name": "find", "contains": ["error"], "is_error": true}]}, "say": {"text": "Done."}}
"#;

const SYSTEM: &str = "Be careful.";

/// A request: path and body.
type Asking = (String, Value);

fn session() -> Session {
    Session::parse("two_turns", TWO_TURNS)
}

fn tools(wire: Wire) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    let tool = |name: &str| match wire {
        Wire::Messages => json!({ "name": name, "description": "d", "input_schema": schema }),
        Wire::Responses => json!({ "type": "function", "name": name, "parameters": schema, "strict": false }),
        Wire::Gemini => json!({ "name": name, "description": "d", "parametersJsonSchema": schema }),
        Wire::Chat | Wire::Ollama => json!({ "type": "function", "function": { "name": name, "parameters": schema } }),
    };
    match wire {
        Wire::Gemini => json!([{ "functionDeclarations": [tool("read"), tool("find")] }]),
        _ => json!([tool("read"), tool("find")]),
    }
}

/// What is asked first.
fn opening(wire: Wire, stream: bool) -> Asking {
    let user = json!({ "role": "user", "content": "Please look." });
    let system = json!({ "role": "system", "content": SYSTEM });
    let (path, mut body) = match wire {
        Wire::Messages => (
            "/v1/messages",
            json!({ "max_tokens": 900, "messages": [user], "system": [
                { "type": "text", "text": SYSTEM, "cache_control": { "type": "ephemeral" } },
            ] }),
        ),
        Wire::Responses => ("/v1/responses", json!({ "instructions": SYSTEM, "input": [user], "store": false })),
        Wire::Chat => ("/v1/chat/completions", json!({ "messages": [system, user] })),
        Wire::Gemini => (
            if stream { "/v1beta/models/m:streamGenerateContent?alt=sse" } else { "/v1beta/models/m:generateContent" },
            json!({
                "systemInstruction": { "parts": [{ "text": SYSTEM }] },
                "contents": [{ "role": "user", "parts": [{ "text": "Please look." }] }],
            }),
        ),
        Wire::Ollama => ("/api/chat", json!({ "messages": [system, user] })),
    };
    body["tools"] = tools(wire);
    if wire != Wire::Gemini {
        body["model"] = json!("m");
        body["stream"] = json!(stream);
    }
    if wire == Wire::Chat && stream {
        body["stream_options"] = json!({ "include_usage": true });
    }
    (path.to_owned(), body)
}

/// What is asked next: the answer, and the results of its calls.
fn second(wire: Wire, stream: bool) -> Asking {
    let (path, mut body) = opening(wire, stream);
    let (first, other) = (json!({ "path": "ä.rs", "lines": [1, 2] }), json!({ "pattern": "\"q\" \\ z" }));
    let (shown, failed) = ("fn main() {}", r#"{"error":{"kind":"invalid_input"}}"#);
    let said = "Näher → hinsehen 🔎";
    let more = match wire {
        Wire::Messages => json!([
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hm, let me see.", "signature": "c2lnbmF0dXJl" },
                { "type": "text", "text": said },
                { "type": "tool_use", "id": "toolu_0001x00", "name": "read", "input": first },
                { "type": "tool_use", "id": "toolu_0001x01", "name": "find", "input": other },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_0001x00", "content": shown },
                { "type": "tool_result", "tool_use_id": "toolu_0001x01", "content": failed, "is_error": true },
            ] },
        ]),
        Wire::Responses => json!([
            { "type": "reasoning", "summary": [], "encrypted_content": "c2lnbmF0dXJl" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": said }] },
            { "type": "function_call", "call_id": "call_0001x00", "name": "read", "arguments": first.to_string() },
            { "type": "function_call", "call_id": "call_0001x01", "name": "find", "arguments": other.to_string() },
            { "type": "function_call_output", "call_id": "call_0001x00", "output": shown },
            { "type": "function_call_output", "call_id": "call_0001x01", "output": failed },
        ]),
        Wire::Chat => {
            let call = |id: &str, name: &str, input: &Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": input.to_string() } });
            json!([
                { "role": "assistant", "content": said, "tool_calls": [
                    call("call_0001x00", "read", &first), call("call_0001x01", "find", &other),
                ] },
                { "role": "tool", "tool_call_id": "call_0001x00", "content": shown },
                { "role": "tool", "tool_call_id": "call_0001x01", "content": failed },
            ])
        }
        Wire::Gemini => json!([
            { "role": "model", "parts": [
                { "text": said },
                { "functionCall": { "name": "read", "args": first }, "thoughtSignature": "c2lnbmF0dXJl" },
                { "functionCall": { "name": "find", "args": other } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "read", "response": { "content": shown } } },
                { "functionResponse": { "name": "find", "response": { "content": failed } } },
            ] },
        ]),
        Wire::Ollama => json!([
            { "role": "assistant", "content": said, "tool_calls": [
                { "function": { "name": "read", "arguments": first } },
                { "function": { "name": "find", "arguments": other } },
            ] },
            { "role": "tool", "tool_name": "read", "content": shown },
            { "role": "tool", "tool_name": "find", "content": failed },
        ]),
    };
    let list = body[messages(wire)].as_array_mut().expect("a list");
    list.extend(more.as_array().expect("a list").clone());
    (path, body)
}

/// The field that holds the conversation.
fn messages(wire: Wire) -> &'static str {
    match wire {
        Wire::Responses => "input",
        Wire::Gemini => "contents",
        Wire::Messages | Wire::Chat | Wire::Ollama => "messages",
    }
}

/// An answer: status, `retry-after`, body.
type Answered = Result<(u16, Option<String>, String), reqwest::Error>;

fn ask_with(server: &Server, wire: Wire, (path, body): &Asking, key: &str, quiet: Duration) -> Answered {
    // The client's TLS is not used, but must be there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().timeout(quiet).build()?;
        let (header, before) = wire.key_headers()[0];
        let request = client.post(format!("{}{path}", server.address())).header(header, format!("{before}{key}"));
        let answer = request.header("anthropic-version", "2023-06-01").json(body).send().await?;
        let wait = answer.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
        Ok((answer.status().as_u16(), wait, answer.text().await?))
    })
}

fn ask(server: &Server, wire: Wire, asking: &Asking) -> Answered {
    ask_with(server, wire, asking, KEY, Duration::from_mins(1))
}

fn only(wire: Wire) -> Options {
    Options { wire: Some(wire), ..Options::default() }
}

/// The values of a stream.
fn values(stream: &str) -> Vec<Value> {
    let lines = stream.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    lines.filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Text and inputs of a streamed answer, put together as a client would.
fn heard(wire: Wire, stream: &str) -> (String, Vec<Value>) {
    let (mut said, mut whole) = (String::new(), Vec::new());
    let mut pieces: std::collections::BTreeMap<u64, String> = std::collections::BTreeMap::new();
    for value in values(stream) {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let index = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        match wire {
            Wire::Messages => {
                said += &text("/delta/text");
                *pieces.entry(index("/index")).or_default() += &text("/delta/partial_json");
            }
            Wire::Responses => match text("/type").as_str() {
                "response.output_text.delta" => said += &text("/delta"),
                "response.function_call_arguments.delta" => {
                    *pieces.entry(index("/output_index")).or_default() += &text("/delta");
                }
                _ => {}
            },
            Wire::Chat => {
                said += &text("/choices/0/delta/content");
                let arguments = text("/choices/0/delta/tool_calls/0/function/arguments");
                *pieces.entry(index("/choices/0/delta/tool_calls/0/index")).or_default() += &arguments;
            }
            Wire::Gemini => {
                for part in value["candidates"][0]["content"]["parts"].as_array().unwrap_or(&Vec::new()) {
                    if part["thought"] != true {
                        said += part["text"].as_str().unwrap_or_default();
                    }
                    whole.extend(part.pointer("/functionCall/args").cloned());
                }
            }
            Wire::Ollama => {
                said += &text("/message/content");
                whole.extend(value.pointer("/message/tool_calls/0/function/arguments").cloned());
            }
        }
    }
    let pieces = pieces.into_values().filter(|piece| !piece.is_empty());
    whole.extend(pieces.map(|piece| serde_json::from_str(&piece).expect("JSON")));
    (said, whole)
}

#[test]
fn a_session_runs_on_every_wire_streamed_or_not() {
    for wire in Wire::ALL {
        for stream in [true, false] {
            let server = Server::start(session(), only(wire));
            let (status, _, first) = ask(&server, wire, &opening(wire, stream)).expect("an answer");
            assert_eq!(status, 200, "{first}");
            if stream {
                let (said, inputs) = heard(wire, &first);
                assert_eq!(said, "Näher → hinsehen 🔎", "{wire:?}");
                assert_eq!(inputs[0], json!({ "path": "ä.rs", "lines": [1, 2] }), "{wire:?}");
                assert_eq!(inputs[1], json!({ "pattern": "\"q\" \\ z" }), "{wire:?}");
            }
            let (status, _, last) = ask(&server, wire, &second(wire, stream)).expect("an answer");
            assert_eq!(status, 200, "{last}");
            assert!(last.contains("Done."), "{last}");
            let asked = server.asked();
            let told: Vec<_> =
                asked.iter().map(|asked| (asked.spoken(), asked.system.as_str(), asked.stream)).collect();
            assert_eq!(told, [(0, SYSTEM, stream), (1, SYSTEM, stream)]);
            server.finish();
        }
    }
}

#[test]
fn answers_are_written_as_the_providers_write_them() {
    for wire in Wire::ALL {
        let stream = |stream| {
            let server = Server::start(session(), Options { cut: Cut::Whole, ..only(wire) });
            let answer = ask(&server, wire, &opening(wire, stream)).expect("an answer").2;
            let _ = server.verdict();
            answer
        };
        insta::assert_snapshot!(format!("{}_streamed", wire.word()), stream(true).replace('\r', "␍"));
        insta::assert_snapshot!(format!("{}_whole", wire.word()), format!("{:#}", values(&stream(false))[0]));
    }
}

#[test]
fn usage_is_the_same_on_every_wire() {
    let session = Session::parse(
        "usage",
        r#"{"when": {"turn": 0}, "say": {"text": "Näher → hinsehen 🔎", "calls": [{"name": "read", "input": {"path": "ä.rs", "lines": [1, 2]}}, {"name": "find", "input": {"pattern": "\"q\" \\ z"}}], "thinking": [{"text": "Hm, let me see.", "signature": "c2lnbmF0dXJl"}]}}
           {"when": {"turn": 1}, "say": {"text": "Done."}}"#,
    );
    let counted = Wire::ALL.map(|wire| {
        let server = Server::start(session.clone(), only(wire));
        ask(&server, wire, &opening(wire, true)).expect("an answer");
        let last = ask(&server, wire, &second(wire, true)).expect("an answer").2;
        server.finish();
        let values = values(&last);
        let figure = |pointer: &str| values.iter().rev().find_map(|value| value.pointer(pointer)?.as_u64());
        let (input, cached, output) = match wire {
            Wire::Messages => ("/usage/input_tokens", "/usage/cache_read_input_tokens", "/usage/output_tokens"),
            Wire::Responses => (
                "/response/usage/input_tokens",
                "/response/usage/input_tokens_details/cached_tokens",
                "/response/usage/output_tokens",
            ),
            Wire::Chat => {
                ("/usage/prompt_tokens", "/usage/prompt_tokens_details/cached_tokens", "/usage/completion_tokens")
            }
            Wire::Gemini => (
                "/usageMetadata/promptTokenCount",
                "/usageMetadata/cachedContentTokenCount",
                "/usageMetadata/candidatesTokenCount",
            ),
            Wire::Ollama => ("/prompt_eval_count", "/prompt_eval_cached_count", "/eval_count"),
        };
        let not_cached = if wire == Wire::Messages {
            figure(cached).unwrap_or(0) + figure("/usage/cache_creation_input_tokens").unwrap_or(0)
        } else {
            0
        };
        (figure(input).map(|input| input + not_cached), figure(cached), figure(output))
    });
    assert!(counted.iter().all(|figures| *figures == counted[0] && figures.1 > Some(0)), "{counted:?}");
}

#[test]
fn what_a_client_does_wrong_is_told() {
    type Spoil = fn(&mut Value);
    let wrongs: [(Wire, Spoil, &str); 12] = [
        (Wire::Messages, |body| body["system"][0]["text"] = json!("Be careful!"), "the system message changed"),
        (Wire::Messages, |body| body["messages"][0]["content"] = json!("Please look!"), "must begin with one message"),
        (Wire::Messages, |body| body["tools"][1]["description"] = json!("other"), "the tools changed"),
        (Wire::Messages, |body| body["messages"][1]["content"][0]["signature"] = json!("other"), "came back changed"),
        (Wire::Messages, |body| body["messages"][1]["content"][2]["input"]["path"] = json!("b"), "came back changed"),
        (
            Wire::Messages,
            |body| body["messages"][2]["content"].as_array_mut().expect("a list").truncate(1),
            "have the results",
        ),
        (
            Wire::Messages,
            |body| body["messages"][2]["content"].as_array_mut().expect("a list").reverse(),
            "have the results",
        ),
        (Wire::Responses, |body| body["input"][1]["encrypted_content"] = json!("other"), "came back changed"),
        (Wire::Chat, |body| body["messages"][4]["tool_call_id"] = json!("call_0001x00"), "have the results"),
        (
            Wire::Gemini,
            |body| {
                body["contents"][1]["parts"][1].as_object_mut().expect("a part").remove("thoughtSignature");
            },
            "came back changed",
        ),
        (
            Wire::Ollama,
            |body| body["messages"][1]["content"] = json!("Please look away."),
            "must begin with one message",
        ),
        (Wire::Ollama, |body| body["messages"].as_array_mut().expect("a list").truncate(2), "it is used up"),
    ];
    for (wire, spoil, complaint) in wrongs {
        let server = Server::start(session(), only(wire));
        ask(&server, wire, &opening(wire, true)).expect("an answer");
        let (path, mut body) = second(wire, true);
        spoil(&mut body);
        ask(&server, wire, &(path, body)).expect("an answer");
        let verdict = server.verdict().join("\n");
        assert!(verdict.contains(complaint), "{wire:?}: {complaint:?} is missing in {verdict}");
    }
}

#[test]
fn a_mark_that_rolls_on_is_no_change() {
    let server = Server::start(session(), only(Wire::Messages));
    let (path, mut body) = opening(Wire::Messages, true);
    body["messages"][0]["content"] =
        json!([{ "type": "text", "text": "Please look.", "cache_control": { "type": "ephemeral" } }]);
    ask(&server, Wire::Messages, &(path, body)).expect("an answer");
    ask(&server, Wire::Messages, &second(Wire::Messages, true)).expect("an answer");
    assert_eq!(server.asked()[0].marks, ["system", "messages.0"]);
    server.finish();
}

#[test]
fn a_key_in_the_wrong_place_is_told() {
    let wire = Wire::Gemini;
    let server = Server::start(session(), only(wire));
    let (path, mut body) = opening(wire, true);
    body["contents"][0]["parts"][0]["text"] = json!(format!("Please look at {KEY}."));
    ask_with(&server, wire, &(path, body), "another", Duration::from_mins(1)).expect("an answer");
    let verdict = server.verdict().join("\n");
    assert!(verdict.contains("0 headers hold the key") && verdict.contains("the body holds the key"), "{verdict}");
}

#[test]
fn what_the_session_does_not_know_is_refused_and_remembered() {
    let wire = Wire::Chat;
    let server = Server::start(session(), only(wire));
    let (path, mut body) = opening(wire, true);
    body["tools"][0]["function"]["name"] = json!("shell");
    let (status, _, text) = ask(&server, wire, &(path, body)).expect("an answer");
    assert_eq!(status, 418, "{text}");
    let verdict = server.verdict().join("\n");
    for words in ["the nearest is step 1", "read is not offered", "shell is offered", "step 2 was used 0 times of 1"] {
        assert!(verdict.contains(words), "{words:?} is missing in {verdict}");
    }
    let other = Server::start(session(), only(Wire::Messages));
    ask(&other, wire, &opening(wire, true)).expect("an answer");
    assert!(other.verdict().join("\n").contains("in the language chat, not messages"));
}

#[test]
#[should_panic(expected = "step 2 was used 0 times")]
fn a_step_that_is_never_used_fails_the_test_that_ends() {
    let server = Server::start(session(), only(Wire::Chat));
    ask(&server, Wire::Chat, &opening(Wire::Chat, false)).expect("an answer");
    drop(server);
}

#[test]
fn faults_look_on_the_wire_as_they_should() {
    let wire = Wire::Messages;
    let short = Duration::from_millis(300);
    let faulty = |fault: &str, quiet: Duration| {
        let line = format!(r#"{{"say": {{"text": "Long enough to be cut somewhere.", "fault": {fault}}}}}"#);
        let server = Server::start(Session::parse("faulty", &line), only(wire));
        let answer = ask_with(&server, wire, &opening(wire, true), KEY, quiet);
        server.finish();
        answer
    };
    let long = Duration::from_mins(1);
    let (status, wait, body) = faulty(r#"{"status": {"code": 529, "retry_after": "7"}}"#, long).expect("an answer");
    assert_eq!((status, wait.as_deref()), (529, Some("7")));
    assert!(body.contains("overloaded_error"), "{body}");
    let whole = faulty(r#"{"ends": 300}"#, long).expect("an answer").2;
    assert_eq!(whole.len(), 300);
    assert!(faulty(r#"{"event": "overloaded"}"#, long).expect("an answer").2.contains("event: error"));
    assert_eq!(faulty(r#"{"garbage": "<html>"}"#, long).expect("an answer").2, "<html>");
    let reset = faulty(r#""reset""#, long).expect_err("no answer");
    assert!(reset.is_request() && !reset.is_timeout(), "{reset:?}");
    let half = faulty(r#"{"half": 300}"#, long).expect_err("half an answer");
    assert!(half.is_decode() || half.is_body(), "{half:?}");
    assert!(faulty(r#""hang""#, short).expect_err("no answer").is_timeout());
    assert!(faulty(r#"{"stall": 300}"#, short).expect_err("no answer").is_timeout());
}

#[test]
fn steps_of_equal_conditions_answer_one_after_the_other() {
    let wire = Wire::Ollama;
    let session = Session::parse(
        "again",
        r#"{"when": {"turn": 0}, "times": 2, "say": {"fault": {"status": {"code": 429, "message": "slowly"}}}}
           {"when": {"turn": 0}, "say": {"text": "Now."}}
           {"when": {"turn": 0}, "reuse": true, "say": {"text": "Always."}}"#,
    );
    // The client does not send back what it was told.
    let server = Server::start(session, Options { strict: false, ..only(wire) });
    let said: Vec<_> = (0..5).map(|_| ask(&server, wire, &opening(wire, false)).expect("an answer")).collect();
    let statuses: Vec<_> = said.iter().map(|(status, _, _)| *status).collect();
    assert_eq!(statuses, [429, 429, 200, 200, 200]);
    assert_eq!(said[0].2, r#"{"error":"slowly"}"#);
    assert!(said[2].2.contains("Now.") && said[3].2.contains("Always.") && said[4].2.contains("Always."));
    server.finish();
}
