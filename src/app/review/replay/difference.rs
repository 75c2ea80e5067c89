//! Differences between two requests, or two documents. Main types: [`ChangedRequest`], [`RequestPart`].

use std::collections::HashMap;
use std::fmt::Write as _;

use similar::TextDiff;

use crate::llm::{Message, MessagePart, ToolDefinition, ToolInput, TurnRequest};
use crate::review::{ConversationId, Difference};

/// Limit on the lines of a document diff.
const MOST_LINES: usize = 60;
/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A request that would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRequest {
    /// The conversation.
    pub unit: ConversationId,
    /// The turn, from 1.
    pub turn: u32,
    /// The parts that differ, except those already reported for an earlier turn.
    pub pieces: Vec<RequestPart>,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPart {
    /// Its name: `system text`, `tools`, `message 1`.
    pub name: String,
    /// A unified diff from the recorded part to the new one.
    pub diff: String,
}

/// Collects the parts that differ. A conversation is sent again with every turn: each difference is reported once.
pub(super) fn compare_requests(found: Vec<Difference>) -> Vec<ChangedRequest> {
    let mut told: HashMap<(ConversationId, String), String> = HashMap::new();
    let mut changed = Vec::with_capacity(found.len());
    for Difference { unit, turn, then, now } in found {
        let mut pieces = pieces(&then, &now);
        pieces.retain(|piece| {
            let key = (unit.clone(), piece.name.clone());
            let known = told.get(&key) == Some(&piece.diff);
            if !known {
                told.insert(key, piece.diff.clone());
            }
            !known
        });
        changed.push(ChangedRequest { unit, turn, pieces });
    }
    changed
}

fn pieces(then: &TurnRequest, now: &TurnRequest) -> Vec<RequestPart> {
    let mut pieces = Vec::new();
    let mut add = |name: String, then: &str, now: &str| {
        if then != now {
            pieces.push(RequestPart { name, diff: unified(then, now) });
        }
    };
    add("system text".to_owned(), &then.system, &now.system);
    add("tools".to_owned(), &tools(&then.tools), &tools(&now.tools));
    for at in 0..then.messages.len().max(now.messages.len()) {
        let text = |request: &TurnRequest| request.messages.get(at).map(message).unwrap_or_default();
        add(format!("message {}", at + 1), &text(then), &text(now));
    }
    add("room for the answer".to_owned(), &tokens(then.max_output), &tokens(now.max_output));
    pieces
}

fn tokens(most: u32) -> String {
    format!("{most} tokens\n")
}

fn tools(tools: &[ToolDefinition]) -> String {
    let mut text = String::new();
    for ToolDefinition { name, description, schema } in tools {
        let _ = writeln!(text, "{name}: {description}\n{schema:#}");
    }
    text
}

/// Formats a message for a reader, without opaque data of the provider.
fn message(message: &Message) -> String {
    let mut text = String::new();
    match message {
        Message::User { text: said, .. } => text.push_str(said),
        Message::Assistant { parts } => {
            for part in parts {
                let _ = match part {
                    MessagePart::Text { text: said } => writeln!(text, "{said}"),
                    MessagePart::Call(call) => match &call.input {
                        ToolInput::Object(input) => {
                            writeln!(text, "call {} {}", call.name, serde_json::Value::Object(input.clone()))
                        }
                        ToolInput::Malformed(input) => writeln!(text, "call {} {input}", call.name),
                    },
                    MessagePart::Opaque { .. } => Ok(()),
                };
            }
        }
        Message::Results { results, .. } => {
            for result in results {
                let _ = writeln!(text, "result of {}\n{}", result.name, result.text);
            }
        }
    }
    text
}

/// Diffs a saved document and the replayed one.
pub(super) fn diff_documents(kept: &[u8], told: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let whole = unified(&text(kept), &text(told));
    let lines = whole.lines().count();
    if lines <= MOST_LINES {
        return whole;
    }
    let mut shown: String = whole.split_inclusive('\n').take(MOST_LINES).collect();
    let _ = writeln!(shown, "… and {} more lines", lines - MOST_LINES);
    shown
}

fn unified(then: &str, now: &str) -> String {
    TextDiff::from_lines(then, now).unified_diff().context_radius(CONTEXT).header("then", "now").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(system: &str, messages: &[&str]) -> TurnRequest {
        let user = |text: &&str| Message::User { text: (*text).to_owned(), mark: true };
        let messages = messages.iter().map(user).collect();
        TurnRequest { system: system.to_owned(), messages, ..TurnRequest::default() }
    }

    #[test]
    fn what_a_later_turn_repeats_is_told_once() {
        let differs = |turn, then: &[&str], now: &[&str]| Difference {
            unit: ConversationId::WHOLE,
            turn,
            then: request("be careful\n", then),
            now: request("be bold\n", now),
        };
        let changed = compare_requests(vec![
            differs(1, &["a\nb\n"], &["a\nc\n"]),
            differs(2, &["a\nb\n", "d\n"], &["a\nc\n", "d\n"]),
            differs(3, &["a\nb\n", "d\n"], &["a\nc\n", "d\n", "e\n"]),
        ]);
        let names: Vec<Vec<&str>> =
            changed.iter().map(|one| one.pieces.iter().map(|piece| piece.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["system text", "message 1"], vec![], vec!["message 3"]]);
        assert!(changed[0].pieces[0].diff.contains("-be careful\n+be bold\n"), "{changed:?}");
        assert!(changed[2].pieces[0].diff.contains("+e\n"), "{changed:?}");
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let one = (0..200).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        let other = (1_000..1_200).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        let told = diff_documents(one.as_bytes(), other.as_bytes());
        assert_eq!(told.lines().count(), MOST_LINES + 1);
        assert!(told.contains("more lines"), "{told}");
    }
}
