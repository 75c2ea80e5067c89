//! Shortening a conversation: results of reading calls are replaced by a line each. Main types: [`RemovedResults`], and [`shorten`].
//!
//! It depends on nothing but the conversation and the numbers of the results, so that a journal with them reproduces the request. Which results are
//! removed, and when, is decided in `conversation`.

use std::collections::BTreeSet;

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

/// Results that are removed from a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::review) struct RemovedResults {
    /// All results in the first messages that hold some, as journals before version 5 have it.
    pub(in crate::review) messages: u32,
    /// Single results, by their place among all results of the conversation, from 0.
    pub(in crate::review) results: BTreeSet<u32>,
}

impl RemovedResults {
    pub(in crate::review) fn has(&self, place: &ResultPlace<'_>) -> bool {
        place.message < self.messages || self.results.contains(&place.number)
    }
}

/// Place of a result in its conversation.
#[derive(Debug, Clone, Copy)]
pub(in crate::review) struct ResultPlace<'a> {
    /// Its number among all results, from 0.
    pub(in crate::review) number: u32,
    /// The number of its message among those with results, from 0.
    pub(in crate::review) message: u32,
    pub(in crate::review) call: Option<&'a ModelToolCall>,
}

/// Removes results of reading calls. Removed ones stay as they are.
pub(in crate::review) fn shorten(request: &mut TurnRequest, removed: &RemovedResults) {
    let lines: Vec<Option<String>> = results(request)
        .map(|(place, result)| removed.has(&place).then(|| replacement_line(place.call, result)).flatten())
        .collect();
    let results = request.messages.iter_mut().filter_map(|message| match message {
        Message::Results { results, .. } => Some(results),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    for (result, line) in results.flatten().zip(lines) {
        if let Some(line) = line {
            result.text = line;
        }
    }
}

/// Returns all results of a conversation with their places, oldest first.
pub(in crate::review) fn results(request: &TurnRequest) -> impl Iterator<Item = (ResultPlace<'_>, &ToolResult)> {
    let messages = request.messages.iter().enumerate().filter_map(|(at, message)| match message {
        Message::Results { results, .. } => Some((calls_of_last(&request.messages[..at]), results)),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let places = messages.enumerate().flat_map(|(message, (calls, results))| {
        results.iter().enumerate().map(move |(at, result)| (message, calls.get(at).copied(), result))
    });
    let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
    places.enumerate().map(move |(number, (message, call, result))| {
        (ResultPlace { number: count(number), message: count(message), call }, result)
    })
}

/// Returns the calls of the last message.
fn calls_of_last(messages: &[Message]) -> Vec<&ModelToolCall> {
    let Some(Message::Assistant { parts }) = messages.last() else { return Vec::new() };
    parts.iter().filter_map(MessagePart::call).collect()
}

/// Returns a call as the model made it, shortened.
pub(in crate::review) fn describe(call: Option<&ModelToolCall>, name: &str) -> String {
    let input = match call.map(|call| &call.input) {
        Some(ToolInput::Object(input)) => serde_json::to_string(input).unwrap_or_default(),
        Some(ToolInput::Malformed(_)) | None => String::new(),
    };
    format!("{name} {}", text::shorten(&input, NAMED))
}

/// Returns the replacement of a result; `None` for one that stays. Only results of reading calls are replaced: errors are short, and the review
/// depends on the results of the engine's own tools.
pub(in crate::review) fn replacement_line(call: Option<&ModelToolCall>, result: &ToolResult) -> Option<String> {
    if result.is_error || result.text.len() < WORTH || !TOOLS.iter().any(|tool| tool.name == result.name) {
        return None;
    }
    let tokens = estimate_tokens(&result.text);
    let call = describe(call, &result.name);
    Some(format!("{MARK} {call} was answered here (about {tokens} tokens). Make the call again where you need it."))
}
