//! Results for calls that are not made, and the verdict of a call. Main functions: [`verdict_of`], [`not_made`].

use super::verdict::{self, NAME, VerdictAnswer};
use crate::domain::text::mask;
use crate::llm::{ModelToolCall, ToolInput};
use crate::review::calls::{CallOutcome, MOST_CALLS};
use crate::tools::TOOLS;

/// Checks whether a call only reads.
pub(super) fn is_reading(call: &ModelToolCall) -> bool {
    TOOLS.iter().any(|tool| tool.name == call.name)
}

/// Returns the verdict of a call, or the result for it.
pub(super) fn verdict_of(call: ModelToolCall) -> Result<VerdictAnswer, Box<CallOutcome>> {
    match call.input {
        ToolInput::Object(input) => verdict::read(serde_json::Value::Object(input)).map_err(|fault| {
            // What a model writes there may repeat a secret.
            Box::new(CallOutcome::refuse("invalid_input", &mask(&fault.message).text))
        }),
        ToolInput::Malformed(text) => Err(Box::new(CallOutcome::malformed(&text))),
    }
}

/// Returns the result for a call that is not made.
pub(super) fn refused_call(call: &ModelToolCall, landing: bool) -> CallOutcome {
    if !is_reading(call) {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).chain([NAME]).collect();
        let message = format!("there is no tool {:?}; there are: {}", call.name, names.join(", "));
        return CallOutcome::refuse("unknown_tool", &message);
    }
    if landing {
        return CallOutcome::refuse("last_turn", "nothing is read any more: call give_verdict");
    }
    let message =
        format!("a turn reads with its first {MOST_CALLS} calls; repeat in the next one those that still matter");
    CallOutcome::refuse("too_many_calls", &message)
}
