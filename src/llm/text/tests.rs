//! Requests and answers in the text protocol, there and back.

use serde_json::{Map, Value, json};

use super::*;
use crate::llm::turn::{ToolDefinition, ToolInput, ToolResult, TurnUsage};

fn tools() -> Vec<ToolDefinition> {
    let schema = json!({ "type": "object", "required": ["quote"], "properties": {
        "file_path": { "type": "string", "description": "From the root." },
        "quote": { "type": "string" },
        "line": { "type": "integer" },
        "related": { "type": "array", "items": { "type": "object", "required": ["quote"], "properties": {
            "file_path": { "type": "string" }, "quote": { "type": "string" },
        }}},
    }});
    vec![ToolDefinition { name: "report".to_owned(), description: "Reports\n  one.".to_owned(), schema }]
}

fn request(messages: Vec<Message>) -> TurnRequest {
    let (system, grammar) = ("Be careful.".to_owned(), "Write calls so.\n".to_owned());
    TurnRequest { system, grammar, tools: tools(), messages, ..TurnRequest::default() }
}

fn call(input: Value) -> MessagePart {
    let Value::Object(input) = input else { unreachable!("an object") };
    let (id, name) = ("text_call_0".to_owned(), "report".to_owned());
    MessagePart::Call(ModelToolCall { id, name, input: ToolInput::Object(input), signatures: Vec::new() })
}

fn texts(request: &TurnRequest) -> Vec<&str> {
    fn text(message: &Message) -> &str {
        match message {
            Message::User { text, .. } => text.as_str(),
            Message::Assistant { parts } => match parts.as_slice() {
                [MessagePart::Text { text }] => text.as_str(),
                parts => panic!("{parts:?}"),
            },
            Message::Results { .. } => panic!("results are said as text"),
        }
    }
    request.messages.iter().map(text).collect()
}

fn answer(text: &str, stop: FinishReason) -> TurnResponse {
    TurnResponse { parts: vec![MessagePart::Text { text: text.to_owned() }], stop, usage: TurnUsage::default() }
}

#[test]
fn what_a_model_may_quote_from_a_diff_is_no_mark() {
    let fence = "<<data 0123 diffs>>\n+@@end\n-  @@call report\n @@result x\n@@ -1 +1 @@\n+\\@@end\n<<end 4567>>\n@@quote: z\n<<end 0123>>";
    let message = format!("Write so:\n@@call report\n@@end\n\n{fence}\n@@end\n");
    let request = request(vec![Message::User { text: message, mark: true }]);
    let escaped = "<<data 0123 diffs>>\n+\\@@end\n-  \\@@call report\n \\@@result x\n@@ -1 +1 @@\n+\\\\@@end\n<<end 4567>>\n\\@@quote: z\n\
                   <<end 0123>>";
    assert_eq!(texts(&to_text_protocol(&request)), [format!("Write so:\n@@call report\n@@end\n\n{escaped}\n@@end\n")]);
    // A quote of it, without the marks of the diff, is read back as it is in the file.
    let quoted = "@@call report\n@@quote:\n\\@@end\n  \\@@call report\n@@end\n";
    let heard = parse_calls(answer(quoted, FinishReason::Done), &request);
    let calls: Vec<_> = heard.calls().collect();
    assert_eq!(calls.len(), 1);
    let input = ToolInput::Object(Map::from_iter([("quote".to_owned(), json!("@@end\n  @@call report"))]));
    assert_eq!(calls[0].input, input);
}

#[test]
fn what_a_model_may_quote_from_a_result_is_no_mark() {
    let text = json!({ "content": "     7\t@@end\n+ @@call report\n    12\tx\n\t@@end\n7 @@end\n" }).to_string();
    let (id, name) = ("1".to_owned(), "read".to_owned());
    let results = vec![ToolResult { id, name, text, is_error: false }];
    let said = to_text_protocol(&request(vec![Message::Results { results, mark: true }]));
    let expected =
        "@@result read\n@@content:\n     7\t\\@@end\n+ \\@@call report\n    12\tx\n\t\\@@end\n7 @@end\n@@end\n";
    assert_eq!(texts(&said), [expected]);
}

#[test]
fn a_request_is_said_without_tools() {
    let input = json!({ "file_path": "a.rs", "quote": "  x\n@@end\n", "line": 3,
        "related": [{ "file_path": "b.rs", "quote": "y" }, { "file_path": "c.rs", "quote": "z" }] });
    let answer = json!({ "content": "     1\tx\n@@end\n@@call report", "lines": [1, 2], "note": "One." }).to_string();
    let result = |text: &str, is_error| ToolResult {
        id: "text_call_0".to_owned(),
        name: "report".to_owned(),
        text: text.to_owned(),
        is_error,
    };
    let said = to_text_protocol(&request(vec![
        Message::User { text: "The change.".to_owned(), mark: true },
        Message::Assistant { parts: vec![MessagePart::Text { text: "I look.".to_owned() }, call(input)] },
        Message::Results { results: vec![result(&answer, false), result("no JSON", true)], mark: true },
        Message::User { text: "Go on.".to_owned(), mark: false },
    ]));
    assert!(said.tools.is_empty() && said.choice == ToolChoice::Auto);
    insta::assert_snapshot!(format!("{}\n=====\n{}", said.system, texts(&said).join("\n-----\n")));
    assert!(matches!(said.messages[2], Message::User { mark: true, .. }));
}

#[test]
fn what_was_said_before_is_said_alike_in_every_later_request() {
    let mut messages = vec![Message::User { text: "The change.".to_owned(), mark: true }];
    let first = to_text_protocol(&request(messages.clone()));
    messages.push(Message::Assistant { parts: vec![call(json!({ "quote": "x" }))] });
    let result =
        ToolResult { id: "text_call_0".to_owned(), name: "report".to_owned(), text: "{}".to_owned(), is_error: false };
    messages.push(Message::Results { results: vec![result], mark: true });
    let second = to_text_protocol(&request(messages));
    assert_eq!(second.system, first.system);
    assert_eq!(second.messages[..1], first.messages[..]);
}

#[test]
fn a_call_comes_back_as_it_was_written() {
    for input in [
        json!({ "quote": "    if a {\n\n\t}", "line": 12 }),
        json!({ "quote": "@@end\n\\@@call x\n@@ -1 +1 @@", "file_path": "a b.rs" }),
        json!({ "quote": "say \"no\": \\n", "related": [{ "quote": "a\nb" }, { "quote": "c" }] }),
        json!({}),
    ] {
        let text = render::render_answer(&[call(input.clone())]);
        let heard = parse_calls(answer(&text, FinishReason::Done), &request(Vec::new()));
        assert_eq!(heard.stop, FinishReason::Calls, "{text}");
        assert_eq!(heard.parts, [call(input)], "{text}");
    }
}

#[test]
fn ids_are_given_once_in_a_conversation() {
    let messages = vec![Message::Assistant { parts: vec![call(json!({}))] }];
    let heard =
        parse_calls(answer("@@call report\n@@end\n@@call report\n@@end\n", FinishReason::Done), &request(messages));
    let ids: Vec<&str> = heard.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["text_call_1", "text_call_2"]);
    assert!(heard.calls().all(was_text));
}

#[test]
fn what_was_cut_is_no_call_and_what_was_made_up_is_not_kept() {
    let heard = parse_calls(answer("@@call report\n@@quote: x", FinishReason::OutputLimit), &request(Vec::new()));
    assert_eq!(heard.stop, FinishReason::OutputLimit);
    let ToolInput::Malformed(raw) = &heard.calls().next().unwrap().input else { panic!("{heard:?}") };
    assert!(is_open(raw), "{raw}");

    let invented = "@@call report\n@@end\n@@result report\n@@status: accepted\n@@end\nAll is well.";
    let heard = parse_calls(answer(invented, FinishReason::Done), &request(Vec::new()));
    assert_eq!(heard.parts, [call(Value::Object(Map::new()))]);
}

#[test]
fn calls_that_a_server_read_by_itself_stay() {
    let own = MessagePart::Call(ModelToolCall {
        id: "1".to_owned(),
        name: "report".to_owned(),
        input: ToolInput::Object(Map::new()),
        signatures: Vec::new(),
    });
    let opaque = MessagePart::Opaque { value: json!({ "ThoughtSignature": "x" }) };
    let parts = vec![opaque.clone(), MessagePart::Text { text: "So.".to_owned() }, own.clone()];
    let heard = parse_calls(
        TurnResponse { parts: parts.clone(), stop: FinishReason::Calls, usage: TurnUsage::default() },
        &request(Vec::new()),
    );
    assert_eq!(heard.parts, parts);
    // And they are said without what only their provider understands.
    assert_eq!(render::render_answer(&[opaque, own]), "@@call report\n@@end\n");
}

#[test]
fn an_answer_of_nothing_is_said_as_one() {
    let said = to_text_protocol(&request(vec![
        Message::User { text: "A".to_owned(), mark: true },
        Message::Assistant { parts: vec![MessagePart::Opaque { value: json!(1) }] },
    ]));
    assert_eq!(texts(&said), ["A", "(no answer)"]);
}
