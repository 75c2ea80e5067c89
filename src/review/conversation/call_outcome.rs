//! Result of one tool call. Main type: [`CallOutcome`].
//!
//! Making the calls belongs in `calls`.

use serde_json::json;

use crate::llm::{ModelToolCall, ToolInput, is_open};
use crate::review::builder::NO_END;
use crate::review::builder::{CallEffect, EngineToolResponse};
use crate::review::journal::Transcript;
use crate::tools::{ErrorKind, ShownLines, ToolOutcome, Toolbox};

/// Maximum number of reading calls per turn; later ones are not made. Calls that report are, so that no report is lost.
pub(in crate::review) const MOST_CALLS: usize = 64;

/// Prefix of the result of a call that was stopped with the whole run.
const STOPPED: &str = "{\"error\":\"stopped\"";

/// Minimum space, in tokens, for reading calls to be useful.
const WORTH_READING: u64 = 300;

/// Result of one call.
#[derive(Debug)]
pub(in crate::review) struct CallOutcome {
    /// Text for the model.
    pub(in crate::review) text: String,
    /// `true` if the text is an error.
    pub(in crate::review) is_error: bool,
    /// `true` if the call could be parsed.
    pub(in crate::review) well_formed: bool,
    /// References that a reading call showed.
    pub(in crate::review) shown: Vec<ShownLines>,
    pub(in crate::review) effect: CallEffect,
    /// `true` if the result was recorded in an earlier session.
    pub(in crate::review) is_recorded: bool,
}

impl CallOutcome {
    fn new(text: String, is_error: bool) -> Self {
        Self { text, is_error, well_formed: true, shown: Vec::new(), effect: CallEffect::None, is_recorded: false }
    }

    pub(in crate::review) fn refuse(error: &str, message: &str) -> Self {
        Self::new(json!({ "error": error, "message": message }).to_string(), true)
    }

    /// Creates the result of a call that was stopped with the whole run.
    pub(in crate::review) fn stopped() -> Self {
        Self::refuse("stopped", "interrupted")
    }

    /// Returns the outcome of a call that reads, if it need not be made: it was recorded, or the run was stopped before it.
    pub(super) fn recorded(at: usize, call: &ModelToolCall, transcript: &Transcript) -> Option<Self> {
        if transcript.is_call_skipped(at) {
            return Some(Self::stopped());
        }
        let (result, shown) = transcript.result(at)?;
        let (well_formed, shown) = (matches!(call.input, ToolInput::Object(_)), shown.clone());
        Some(Self { well_formed, shown, is_recorded: true, ..Self::new(result.text.clone(), result.is_error) })
    }

    /// Checks whether the call was stopped with the whole run, before it did anything: the next session makes it.
    pub(super) fn was_stopped(&self) -> bool {
        self.is_error && self.text.starts_with(STOPPED)
    }

    pub(in crate::review) fn malformed(text: &str) -> Self {
        let start: String = text.chars().take(120).collect();
        let message = if is_open(text) {
            NO_END.to_owned()
        } else {
            format!("the input is not a JSON object: it begins with {start:?}; send the call again with one")
        };
        Self { well_formed: false, ..Self::refuse("malformed_input", &message) }
    }

    /// Creates the result of a reading call beyond the most of a turn.
    pub(in crate::review) fn too_many() -> Self {
        let message =
            format!("a turn reads with its first {MOST_CALLS} calls; repeat in the next one those that still matter");
        Self::refuse("too_many_calls", &message)
    }

    /// Creates the result of a call of a tool that does not exist; `own` are the names of those that read nothing.
    pub(in crate::review) fn unknown_tool(
        name: &str,
        tools: &Toolbox,
        own: impl Iterator<Item = &'static str>,
    ) -> Self {
        let names: Vec<&str> = tools.specs().map(|tool| tool.name).chain(own).collect();
        Self::refuse("unknown_tool", &format!("there is no tool {name:?}; there are: {}", names.join(", ")))
    }

    /// Drops the result of this many tokens, which no longer fits the conversation: the model is told that it has not seen it. `end` says how to end.
    pub(super) fn drop_for_lack_of_room(&mut self, size: u64, room: u64, end: &str) {
        let message = if room < WORTH_READING {
            format!("not shown: the conversation is nearly full. {end}.")
        } else {
            format!("not shown: it takes about {size} tokens, and there is room for {room}. Ask for a smaller part.")
        };
        self.text = json!({ "error": "no_room", "message": message }).to_string();
        self.is_error = true;
        self.shown.clear();
    }
}

impl From<EngineToolResponse> for CallOutcome {
    fn from(answer: EngineToolResponse) -> Self {
        Self { effect: answer.effect, ..Self::new(answer.text, answer.is_error) }
    }
}

impl From<ToolOutcome> for CallOutcome {
    fn from(outcome: ToolOutcome) -> Self {
        // Text that a replay recognizes.
        if outcome.error == Some(ErrorKind::Stopped) {
            return Self::stopped();
        }
        Self { shown: outcome.references, ..Self::new(outcome.text, outcome.is_error) }
    }
}
