//! Reading calls of one turn, some of them concurrent. Main function: [`run_reading_calls`].
//!
//! What the other calls do belongs to the roles.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::call_outcome::{CallOutcome, MOST_CALLS};
use super::role::CallTurn;
use crate::domain::text::{mask, strip_line};
use crate::llm::{ModelToolCall, ToolInput};
use crate::review::journal::Transcript;
use crate::sys::blocking::{self, BlockingFailure};
use crate::tools::Toolbox;

/// Makes the calls of a turn of a role that only reads; `refuse` returns the outcome of the others.
pub(in crate::review) async fn make_reading_calls(
    turn: CallTurn<'_>,
    tools: &Toolbox,
    refuse: impl Fn(&ModelToolCall) -> CallOutcome,
) -> Result<Vec<CallOutcome>, BlockingFailure> {
    let reads = turn.calls.iter().cloned().enumerate();
    let reads = reads.filter(|(at, call)| tools.offers(&call.name) && !turn.is_final && *at < MOST_CALLS).collect();
    let mut read = run_reading_calls(reads, turn.transcript, tools).await?;
    let outcome = |(at, call)| match read.iter().position(|(of, _)| *of == at) {
        Some(place) => read.swap_remove(place).1,
        None => refuse(call),
    };
    Ok(turn.calls.iter().enumerate().map(outcome).collect())
}

/// Reading calls that run at the same time.
const AT_ONCE: usize = 4;

/// Makes calls that only read, some of them concurrently; each keeps its number. Recorded calls are not made again.
pub(in crate::review) async fn run_reading_calls(
    calls: Vec<(usize, ModelToolCall)>,
    transcript: &Transcript,
    tools: &Toolbox,
) -> Result<Vec<(usize, CallOutcome)>, BlockingFailure> {
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for (at, call) in calls {
        match CallOutcome::recorded(at, &call, transcript) {
            Some(outcome) => done.push((at, outcome)),
            None => open.push((at, call)),
        }
    }
    let reading = stream::iter(open)
        .map(|(at, call)| {
            let limit = tools.longest_call(&call.name);
            let (run, tools) = (tools.cancel().clone(), tools.with_time_limit(limit));
            async move {
                let cancel = tools.cancel().clone();
                let work = blocking::run("a reading call", &cancel, move || match call.input {
                    ToolInput::Object(input) => CallOutcome::from(tools.call(&call.name, Value::Object(input))),
                    ToolInput::Malformed(text) => CallOutcome::malformed(&text),
                });
                match work.await {
                    // The message about a stopped run must not depend on which of its calls noticed first.
                    Ok(_) | Err(BlockingFailure::Abandoned { .. }) if cancel.is_stopped() && !run.is_stopped() => {
                        Ok((at, CallOutcome::refuse("too_slow", &too_long(limit))))
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
fn too_long(limit: Duration) -> String {
    let seconds = limit.as_secs();
    format!(
        "the call was stopped because it took longer than {seconds} s; ask for less, with a narrower pattern, folder or test"
    )
}

/// Describes a call for the progress.
pub(in crate::review) fn describe_call(call: &ModelToolCall) -> String {
    let ToolInput::Object(input) = &call.input else { return String::new() };
    let named = ["file_path", "pattern", "title", "directory", "tool", "id"].iter().find_map(|key| input.get(*key));
    strip_line(&mask(named.and_then(Value::as_str).unwrap_or_default()).text).chars().take(120).collect()
}
