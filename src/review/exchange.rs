//! What every conversation does alike with a turn, whatever it is about: writing down what is asked and what failed, weighing an answer, and
//! putting the results of its calls back. Main functions: [`asked`], [`failed`], [`results`].
//!
//! What an answer means belongs to whoever holds the conversation: `turns`, and `verify` for a second look.

use super::attempts::Failed;
use super::calls::Called;
use super::journal::{Journal, Record, digest};
use super::opening::estimate_tokens;
use crate::domain::text::strip_line;
use crate::llm::{Message, ToolCall, ToolResult, TurnFault, TurnRequest, TurnResponse};

/// Writes down that the model is asked. `said` is what this program said since the last request; system text and tools stand at the first. Of
/// the messages with results so many are `compacted`.
pub(super) fn asked(journal: &mut Journal, request: &TurnRequest, is_first: bool, said: Vec<String>, compacted: u32) {
    let record = Record::Request {
        system: is_first.then(|| request.system.clone()),
        tools: is_first.then(|| request.tools.clone()),
        user: said,
        max_output: request.max_output,
        landing: None,
        compacted,
        digest: digest(request),
    };
    journal.record(None, record);
    journal.sync();
}

/// Writes down the attempts that failed, and counts those whose cost nobody told.
pub(super) fn failed(journal: &mut Journal, failed: &[Failed]) -> u32 {
    let mut broken_off = 0;
    for Failed { attempt, fault, wait } in failed {
        broken_off += u32::from(matches!(fault, TurnFault::BrokenOff { .. } | TurnFault::Silent { .. }));
        let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let record = Record::Fault { attempt: *attempt, message: strip_line(&fault.to_string()), wait_ms };
        journal.record(None, record);
    }
    broken_off
}

/// The tokens of an answer: as the provider told them, else estimated. It is sent with every later request.
pub(super) fn size_of(response: &TurnResponse) -> u64 {
    response.usage.output.unwrap_or_else(|| {
        let text = serde_json::to_string(&response.parts).unwrap_or_default();
        estimate_tokens(&text)
    })
}

/// The results of calls as they go into the conversation, and their tokens. What is larger than the `room` that is left is not shown, and the
/// model hears so, with how to `end`; unless it is an error, or the result of a call that `always` has to be answered.
pub(super) fn results(
    journal: &mut Journal,
    calls: &[ToolCall],
    called: &mut [Called],
    mut room: u64,
    end: &str,
    always: impl Fn(&ToolCall) -> bool,
) -> (Message, u64) {
    let mut results = Vec::with_capacity(calls.len());
    let mut total = 0;
    for (at, (call, called)) in calls.iter().zip(called).enumerate() {
        let size = estimate_tokens(&called.text);
        if size > room && !called.is_error && !always(call) {
            called.without_room(size, room, end);
        }
        let size = estimate_tokens(&called.text);
        room = room.saturating_sub(size);
        total += size;
        let result = ToolResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: called.text.clone(),
            is_error: called.is_error,
        };
        journal.record(u32::try_from(at).ok(), Record::Result { result: result.clone(), shown: called.shown.clone() });
        results.push(result);
    }
    (Message::Results { results, mark: true }, total)
}

/// How many calls were made, and how many of them came to an error.
pub(super) fn counts(called: &[Called]) -> (u32, u32) {
    let errors = called.iter().filter(|called| called.is_error).count();
    (number(called.len()), number(errors))
}

/// A count as it is kept.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
