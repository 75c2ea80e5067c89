//! Tool calls of one turn: reading ones run concurrently, the engine's own in order, and all results are in order. Main function: [`execute`].

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::builder::{CallEffect, EngineToolResponse, ReviewBuilder};
use super::engine_tools::{ENGINE_TOOLS, FINISH};
use super::loop_detector::{CallRepetition, MOST_SAME};
use super::replay::ReplayedConversation;
use crate::domain::text::{mask, strip_line};
use crate::llm::{ModelToolCall, ToolInput, is_open};
use crate::sys::blocking::{self, BlockingFailure};
use crate::sys::cancel::Cancel;
use crate::tools::{ErrorKind, ShownLines, TOOLS, ToolOutcome, Toolbox};

/// Reading calls that run at the same time.
const AT_ONCE: usize = 4;
/// The time that one reading call has.
const LONGEST_CALL: Duration = Duration::from_mins(1);
/// Maximum number of reading calls per turn; later ones are not made. Calls that report are, so that no report is lost.
pub(super) const MOST_CALLS: usize = 64;

/// Prefix of the result of a call that was stopped with the whole run.
const STOPPED: &str = "{\"error\":\"stopped\"";

/// Message about a call in the text without an end.
pub(super) const NO_END: &str = "the call has no line `@@end`, so it was not made: write it again, whole";

/// Minimum space, in tokens, for reading calls to be useful.
const WORTH_READING: u64 = 300;

/// Context in which calls are made.
pub(super) struct CallContext<'a> {
    /// The reading tools.
    pub(super) tools: &'a Toolbox,
    /// Verdict of the loop detector on each call.
    pub(super) turned: &'a [CallRepetition],
    /// `true` in the last turn, in which nothing is read any more.
    pub(super) landing: bool,
    /// Recorded results of the calls.
    pub(super) told: &'a ReplayedConversation,
    pub(super) cancel: &'a Cancel,
}

/// Result of one call.
#[derive(Debug)]
pub(super) struct CallOutcome {
    /// Text for the model.
    pub(super) text: String,
    /// `true` if the text is an error.
    pub(super) is_error: bool,
    /// `true` if the call could be parsed.
    pub(super) well_formed: bool,
    /// References that a reading call showed.
    pub(super) shown: Vec<ShownLines>,
    /// Effect of the call on the review.
    pub(super) effect: CallEffect,
    /// `true` if the result was recorded in an earlier session.
    pub(super) is_told: bool,
}

impl CallOutcome {
    pub(super) fn refuse(error: &str, message: &str) -> Self {
        Self {
            text: json!({ "error": error, "message": message }).to_string(),
            is_error: true,
            well_formed: true,
            shown: Vec::new(),
            effect: CallEffect::None,
            is_told: false,
        }
    }

    /// Creates the result of a call that was stopped with the whole run.
    pub(super) fn stopped() -> Self {
        Self::refuse("stopped", "interrupted")
    }

    /// Returns the recorded result of a call. Calls that read something, or were stopped with the whole run, are made again.
    fn recorded_result(at: usize, call: &ModelToolCall, told: &ReplayedConversation) -> Option<Self> {
        if told.is_call_skipped(at) {
            return Some(Self::stopped());
        }
        let (result, shown) = told.result(at).filter(|_| !ReviewBuilder::is_own(&call.name))?;
        Some(Self {
            text: result.text.clone(),
            is_error: result.is_error,
            well_formed: matches!(call.input, ToolInput::Object(_)),
            shown: shown.clone(),
            effect: CallEffect::None,
            is_told: true,
        })
    }

    /// Checks whether the call was stopped with the whole run, before it did anything: the next session makes it.
    pub(super) fn was_stopped(&self) -> bool {
        self.is_error && self.text.starts_with(STOPPED)
    }

    pub(super) fn malformed(text: &str) -> Self {
        let start: String = text.chars().take(120).collect();
        let message = if is_open(text) {
            NO_END.to_owned()
        } else {
            format!("the input is not a JSON object: it begins with {start:?}; send the call again with one")
        };
        Self { well_formed: false, ..Self::refuse("malformed_input", &message) }
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
        Self {
            text: answer.text,
            is_error: answer.is_error,
            well_formed: true,
            shown: Vec::new(),
            effect: answer.effect,
            is_told: false,
        }
    }
}

impl From<ToolOutcome> for CallOutcome {
    fn from(outcome: ToolOutcome) -> Self {
        // Text that a replay recognizes.
        if outcome.error == Some(ErrorKind::Stopped) {
            return Self::stopped();
        }
        Self {
            text: outcome.text,
            is_error: outcome.is_error,
            well_formed: true,
            shown: outcome.references,
            effect: CallEffect::None,
            is_told: false,
        }
    }
}

/// Makes the calls; the results are in the order of the calls. The engine's own tools change `builder`.
pub(super) async fn execute(
    calls: &[ModelToolCall],
    hands: &CallContext<'_>,
    builder: &mut ReviewBuilder,
) -> Result<Vec<CallOutcome>, BlockingFailure> {
    let mut done: Vec<Option<CallOutcome>> =
        calls.iter().enumerate().map(|(at, call)| at_once(at, call, hands)).collect();
    let open = |done: &[Option<CallOutcome>], own: bool| -> Vec<(usize, ModelToolCall)> {
        let open = calls
            .iter()
            .enumerate()
            .filter(|(at, call)| done[*at].is_none() && ReviewBuilder::is_own(&call.name) == own);
        open.map(|(at, call)| (at, call.clone())).collect()
    };

    let reads = open(&done, false);
    let pending = reads.len();
    for (at, called) in run_reading_calls(reads, hands.told, hands.tools).await? {
        done[at] = Some(called);
    }

    for (at, call) in open(&done, true) {
        done[at] = CallOutcome::recorded_result(at, &call, hands.told);
    }
    let mut own = open(&done, true);
    // Reports in the same turn count, in any order.
    own.sort_by_key(|(at, call)| (call.name == FINISH, *at));
    for (at, called) in call_engine_tool(own, pending, hands, builder).await? {
        done[at] = Some(called);
    }
    // Every call was one of the three; each needs a result all the same.
    let missing = || CallOutcome::refuse("not_run", "this call was not made");
    Ok(done.into_iter().map(|called| called.unwrap_or_else(missing)).collect())
}

/// Makes calls that only read, some of them concurrently; each keeps its number. Recorded calls are not made again.
pub(super) async fn run_reading_calls(
    calls: Vec<(usize, ModelToolCall)>,
    told: &ReplayedConversation,
    tools: &Toolbox,
) -> Result<Vec<(usize, CallOutcome)>, BlockingFailure> {
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for (at, call) in calls {
        match CallOutcome::recorded_result(at, &call, told) {
            Some(called) => done.push((at, called)),
            None => open.push((at, call)),
        }
    }
    let reading = stream::iter(open)
        .map(|(at, call)| {
            let (run, tools) = (tools.cancel().clone(), tools.with_time_limit(LONGEST_CALL));
            async move {
                let cancel = tools.cancel().clone();
                let work = blocking::run("a reading call", &cancel, move || match call.input {
                    ToolInput::Object(input) => CallOutcome::from(tools.call(&call.name, Value::Object(input))),
                    ToolInput::Malformed(text) => CallOutcome::malformed(&text),
                });
                match work.await {
                    // The message about a stopped run must not depend on which of its calls noticed first.
                    Ok(_) | Err(BlockingFailure::Abandoned { .. }) if cancel.is_stopped() && !run.is_stopped() => {
                        Ok((at, CallOutcome::refuse("too_slow", &too_long())))
                    }
                    Err(BlockingFailure::Abandoned { .. }) => Ok((at, CallOutcome::stopped())),
                    done => done.map(|called| (at, called)),
                }
            }
        })
        .buffered(AT_ONCE);
    let read: Vec<(usize, CallOutcome)> = reading.try_collect().await?;
    done.extend(read);
    Ok(done)
}

/// Returns the result of a call that used up its own time, while the run continues.
fn too_long() -> String {
    let seconds = LONGEST_CALL.as_secs();
    format!(
        "the call was stopped because it took longer than {seconds} s; ask for less, with a narrower pattern or folder"
    )
}

/// Returns the result of calls that have no effect.
fn at_once(at: usize, call: &ModelToolCall, hands: &CallContext<'_>) -> Option<CallOutcome> {
    let own = ReviewBuilder::is_own(&call.name);
    let known = own || TOOLS.iter().any(|tool| tool.name == call.name);
    if at >= MOST_CALLS && !own {
        let message =
            format!("a turn reads with its first {MOST_CALLS} calls; repeat in the next one those that still matter");
        return Some(CallOutcome::refuse("too_many_calls", &message));
    }
    if !known {
        let own = ENGINE_TOOLS.iter().map(|tool| tool.name);
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).chain(own).collect();
        let message = format!("there is no tool {:?}; there are: {}", call.name, names.join(", "));
        return Some(CallOutcome::refuse("unknown_tool", &message));
    }
    if hands.turned.get(at) == Some(&CallRepetition::Refused) && !hands.landing {
        let message = format!(
            "you made this call {MOST_SAME} times, and its answer stands above: use that. Go on to what you have not looked at, report what you \
             found, or call finish_review"
        );
        return Some(CallOutcome::refuse("repeated", &message));
    }
    if hands.landing && !own {
        let message = "nothing is read any more: report what you have and call finish_review";
        return Some(CallOutcome::refuse("last_turn", message));
    }
    None
}

async fn call_engine_tool(
    calls: Vec<(usize, ModelToolCall)>,
    pending: usize,
    hands: &CallContext<'_>,
    builder: &mut ReviewBuilder,
) -> Result<Vec<(usize, CallOutcome)>, BlockingFailure> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let cancel = hands.cancel;
    // Recorded calls are replayed completely, despite an interrupt: the outcome must be the recorded one.
    let calls: Vec<(usize, ModelToolCall, Cancel)> = calls
        .into_iter()
        .map(|(at, call)| {
            let cancel = if hands.told.result(at).is_some() { Cancel::never() } else { cancel.clone() };
            (at, call, cancel)
        })
        .collect();
    let limit = hands.cancel.clone();
    // Calls that never end keep their copy.
    let mut copy = builder.clone();
    let work = blocking::run("checking the model's reports", &limit, move || {
        copy.begin_turn();
        let answer = |(at, call, cancel): (usize, ModelToolCall, Cancel)| {
            let stopped = |stopped| CallOutcome::refuse("stopped", &format!("{stopped}"));
            let called = match call.input {
                ToolInput::Object(input) => {
                    copy.call(&call.name, input, pending, &cancel).map_or_else(stopped, CallOutcome::from)
                }
                ToolInput::Malformed(text) => {
                    CallOutcome { well_formed: false, ..CallOutcome::from(copy.call_malformed(&call.name, &text)) }
                }
            };
            (at, called)
        };
        let called = calls.into_iter().map(answer).collect();
        (called, copy)
    });
    let called;
    (called, *builder) = work.await?;
    Ok(called)
}

/// Describes a call for the progress.
pub(super) fn describe_call(call: &ModelToolCall) -> String {
    let ToolInput::Object(input) = &call.input else { return String::new() };
    let named = ["file_path", "pattern", "title", "directory", "id"].iter().find_map(|key| input.get(*key));
    strip_line(&mask(named.and_then(Value::as_str).unwrap_or_default()).text).chars().take(120).collect()
}
