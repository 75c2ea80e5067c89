//! Shortening a conversation: the results of reading calls in its first messages are replaced by a line each. Main function: [`shorten`].
//!
//! It depends on nothing but the conversation and a number, so that a journal with the number reproduces the request. How much is shortened, and
//! when, is decided in `conversation`.

use crate::domain::text;
use crate::llm::{Message, MessagePart, ModelToolCall, ToolInput, ToolResult, TurnRequest};
use crate::review::tokens::estimate_tokens;
use crate::tools::TOOLS;

/// Results of fewer bytes stay: the line in their place would take nearly as much. No such line is longer.
pub(in crate::review) const WORTH: usize = 1_000;
/// Number of characters of a call's input that are repeated in the line.
const NAMED: usize = 160;
/// Prefix of every replacement line.
pub(in crate::review) const MARK: &str = "[taken out to make room]";

/// Replaces the results of reading calls in the first messages that hold results. Replaced ones stay as they are.
pub(in crate::review) fn shorten(request: &mut TurnRequest, messages: u32) {
    let mut left = messages;
    for at in 0..request.messages.len() {
        let (before, rest) = request.messages.split_at_mut(at);
        let Some(Message::Results { results, .. }) = rest.first_mut() else { continue };
        if left == 0 {
            return;
        }
        left -= 1;
        let calls = calls_of_last(before);
        for (at, result) in results.iter_mut().enumerate() {
            if let Some(line) = replacement_line(calls.get(at).copied(), result) {
                result.text = line;
            }
        }
    }
}

/// Returns the calls of the last message.
pub(in crate::review) fn calls_of_last(messages: &[Message]) -> Vec<&ModelToolCall> {
    let Some(Message::Assistant { parts }) = messages.last() else { return Vec::new() };
    parts.iter().filter_map(MessagePart::call).collect()
}

/// Returns the replacement of a result; `None` for one that stays. Only results of reading calls are replaced: errors are short, and the review
/// depends on the results of the engine's own tools.
pub(in crate::review) fn replacement_line(call: Option<&ModelToolCall>, result: &ToolResult) -> Option<String> {
    if result.is_error || result.text.len() < WORTH || !TOOLS.iter().any(|tool| tool.name == result.name) {
        return None;
    }
    let input = match call.map(|call| &call.input) {
        Some(ToolInput::Object(input)) => serde_json::to_string(input).unwrap_or_default(),
        Some(ToolInput::Malformed(_)) | None => String::new(),
    };
    let (name, input, tokens) = (&result.name, text::shorten(&input, NAMED), estimate_tokens(&result.text));
    Some(format!(
        "{MARK} {name} {input} was answered here (about {tokens} tokens). Make the call again where you need it."
    ))
}
