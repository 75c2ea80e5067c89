//! Results for calls that are not made, and the verdict of a call. Main functions: [`verdict_of`], [`not_made`].

use super::verdict::{self, Given, NAME};
use crate::domain::text::mask;
use crate::llm::{ToolCall, ToolInput};
use crate::review::calls::{Called, MOST_CALLS};
use crate::tools::TOOLS;

/// Checks whether a call only reads.
pub(super) fn is_reading(call: &ToolCall) -> bool {
    TOOLS.iter().any(|tool| tool.name == call.name)
}

/// Returns the verdict of a call, or the result for it.
pub(super) fn verdict_of(call: ToolCall) -> Result<Given, Box<Called>> {
    match call.input {
        ToolInput::Object(input) => verdict::read(serde_json::Value::Object(input)).map_err(|fault| {
            // What a model writes there may repeat a secret.
            Box::new(Called::refused("invalid_input", &mask(&fault.message).text))
        }),
        ToolInput::Malformed(text) => Err(Box::new(Called::malformed(&text))),
    }
}

/// Returns the result for a call that is not made.
pub(super) fn not_made(call: &ToolCall, landing: bool) -> Called {
    if !is_reading(call) {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).chain([NAME]).collect();
        let message = format!("there is no tool {:?}; there are: {}", call.name, names.join(", "));
        return Called::refused("unknown_tool", &message);
    }
    if landing {
        return Called::refused("last_turn", "nothing is read any more: call give_verdict");
    }
    let message =
        format!("a turn reads with its first {MOST_CALLS} calls; repeat in the next one those that still matter");
    Called::refused("too_many_calls", &message)
}
