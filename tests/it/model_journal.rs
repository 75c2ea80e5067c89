//! The journal of real runs: every request can be built from it again, as the server received it.

use review_runner::llm::{Message, MessagePart, ToolInput};
use review_runner::review::{JournalRecord, RebuiltConversation, read_journal};
use serde_json::{Value, json};

use crate::support::model::Wire;
use crate::support::session::{Talk, shop};

/// The conversations that a journal holds, request by request.
pub(crate) fn rebuilt(journal: &str) -> Vec<RebuiltConversation> {
    let entries = read_journal(journal.as_bytes()).expect("a journal");
    let asked = entries.iter().enumerate().filter(|(_, entry)| matches!(entry.record, JournalRecord::Request { .. }));
    asked.map(|(at, _)| RebuiltConversation::from_entries(&entries[..=at]).expect("a request")).collect()
}

/// What there is in a message, in the words of the Messages wire. What only that provider understands is passed over.
pub(crate) fn blocks(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text, .. } => vec![json!({ "text": text })],
        Message::Assistant { parts } => parts.iter().filter_map(block).collect(),
        Message::Results { results, .. } => {
            results.iter().map(|result| json!({ "tool_use_id": result.id, "text": result.text })).collect()
        }
    }
}

fn block(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text { text } => Some(json!({ "text": text })),
        MessagePart::Call(call) => {
            let mut block = json!({ "id": call.id, "name": call.name });
            if let ToolInput::Object(input) = &call.input {
                block["input"] = Value::Object(input.clone());
            }
            Some(block)
        }
        MessagePart::Opaque { .. } => None,
    }
}

/// The same of a body that the server received.
pub(crate) fn received(body: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for message in body["messages"].as_array().expect("messages") {
        let content = match &message["content"] {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            content => content.as_array().expect("blocks").clone(),
        };
        for block in content {
            all.push(match block["type"].as_str() {
                Some("text") => json!({ "text": block["text"] }),
                Some("tool_use") => {
                    let mut kept = json!({ "id": block["id"], "name": block["name"] });
                    if block["input"].get("unreadable_arguments").is_none() {
                        kept["input"] = block["input"].clone();
                    }
                    kept
                }
                Some("tool_result") => {
                    let text = match &block["content"] {
                        Value::String(text) => text.clone(),
                        parts => parts[0]["text"].as_str().expect("a text").to_owned(),
                    };
                    json!({ "tool_use_id": block["tool_use_id"], "text": text })
                }
                _ => continue,
            });
        }
    }
    all
}

fn names(tools: &Value) -> Vec<&str> {
    tools.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn every_request_of_a_run_is_in_its_journal_as_it_was_received() {
    let repo = shop();
    for (session, more) in [
        ("six_turns", ""),
        ("no_end_then_well", ""),
        ("empty_then_well", ""),
        ("leaked_then_well", ""),
        ("malformed_then_well", ""),
        ("cut_call_then_well", ""),
        ("two_turns_at_most", "--max-turns 2"),
        ("well", "--max-turns 1"),
    ] {
        let talk = Talk::named(&repo, session, &format!("{session}_journal"), Wire::Messages);
        talk.run(more);
        let rebuilt = rebuilt(&talk.journals().pop().expect("a journal"));
        let raw = talk.server.raw();
        assert_eq!(rebuilt.len(), raw.len(), "{session}");
        for (at, (rebuilt, raw)) in rebuilt.iter().zip(&raw).enumerate() {
            let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
            assert!(rebuilt.proven, "{session}: request {at}");
            let blocks: Vec<Value> = rebuilt.request.messages.iter().flat_map(blocks).collect();
            assert_eq!(blocks, received(&body), "{session}: request {at}");
            assert_eq!(body["system"][0]["text"], rebuilt.request.system, "{session}: request {at}");
            assert_eq!(body["max_tokens"], rebuilt.request.max_output, "{session}: request {at}");
            let tools: Vec<&str> = rebuilt.request.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names(&body["tools"]), tools, "{session}: request {at}");
        }
        talk.server.finish();
    }
}

#[test]
fn attempts_that_failed_are_in_the_journal_and_change_no_request() {
    let repo = shop();
    for wire in Wire::ALL {
        let talk = Talk::named(&repo, "busy_then_well", "busy_then_well_journal", wire);
        talk.run("");
        let journal = talk.journals().pop().expect("a journal");
        let entries = read_journal(journal.as_bytes()).expect("a journal");
        let faults =
            entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Fault { wait_ms: Some(_), .. }));
        assert_eq!((faults.count(), talk.server.raw().len()), (2, 3), "{wire:?}: {journal}");
        let rebuilt = rebuilt(&journal);
        assert!(rebuilt.len() == 1 && rebuilt[0].proven, "{wire:?}");
        talk.server.finish();
    }
}
