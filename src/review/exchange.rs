//! Steps shared by all conversations in a turn: recording requests and failures, measuring a response, and adding the results of its calls. Main
//! functions: [`hear`], [`results`].
//!
//! The meaning of a response belongs to the conversation: `turns`, and `verify` for verification.

use std::time::{Duration, Instant};

use super::attempts::{AttemptContext, AttemptError, FailedAttempt, request_turn};
use super::calls::CallOutcome;
use super::journal::{FinalTurn, Journal, JournalRecord, digest};
use super::opening::estimate_tokens;
use super::replay::{RecordedEnd, ReplayDivergence, ReplayOutcome, ReplayedConversation};
use super::stats::UnbilledAttempts;
use crate::domain::money::Money;
use crate::domain::text::strip_line;
use crate::llm::{Message, ModelToolCall, ToolResult, TurnRequest, TurnResponse};

/// Outcome of a turn.
#[derive(Debug)]
pub(super) enum TurnOutcome {
    /// Response, its duration, and whether it was recorded in an earlier session.
    Answer(TurnResponse, Duration, bool),
    /// No response, now.
    Nothing(AttemptError),
    /// No response, in an earlier session: the conversation ended this way.
    Ended(RecordedEnd),
}

/// Context of a request.
pub(super) struct ExchangeContext {
    /// Messages of this program since the last request.
    pub(super) said: Vec<String>,
    /// `true` for the first request of its conversation: system text and tools are recorded with it.
    pub(super) is_first: bool,
    /// Reason why it is the last one, if it is.
    pub(super) landing: Option<FinalTurn>,
    /// Number of the oldest messages with results that are shortened.
    pub(super) compacted: u32,
    /// Requested model, by its index in the list.
    pub(super) to: u32,
    /// `true` if this turn was requested in this session before, in another way or from another model.
    pub(super) again: bool,
    /// Maximum cost of an attempt, if money is limited.
    pub(super) most: Money,
}

/// Attempts of a turn with unreported cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AttemptLosses {
    /// Those of earlier sessions.
    pub(super) told: UnbilledAttempts,
    /// In this one.
    pub(super) now: UnbilledAttempts,
}

impl AttemptLosses {
    fn from_recorded(lost: UnbilledAttempts) -> Self {
        Self { told: lost, now: UnbilledAttempts::default() }
    }

    /// Returns all of them.
    pub(super) fn all(self) -> UnbilledAttempts {
        let mut all = self.told;
        all += self.now;
        all
    }
}

/// Gets the outcome of a turn: from the recording, or from the model, and then records it. Also counts the attempts with unreported cost.
pub(super) async fn record_response(
    told: &mut ReplayedConversation,
    journal: &mut Journal,
    asking: ExchangeContext,
    question: &AttemptContext<'_>,
) -> Result<(TurnOutcome, AttemptLosses), ReplayDivergence> {
    journal.turn(question.turn);
    let before = match told.replay_request(question.turn, question.request)? {
        ReplayOutcome::Answer(response, took, lost) => {
            return Ok((TurnOutcome::Answer(*response, took, true), AttemptLosses::from_recorded(lost)));
        }
        ReplayOutcome::End(end, lost) => return Ok((TurnOutcome::Ended(end), AttemptLosses::from_recorded(lost))),
        ReplayOutcome::Ask(before) => before,
    };
    let most = asking.most;
    record_request(journal, question.request, before.is_some(), asking);
    let started = Instant::now();
    let (answer, attempts) = request_turn(question).await;
    let mut times = record_failures(journal, &attempts);
    let heard = match answer {
        Ok(response) => {
            let (response, took) = (response.with_plain_names(), started.elapsed());
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            journal.record(None, JournalRecord::Answer { response: response.clone(), took_ms });
            TurnOutcome::Answer(response, took, false)
        }
        Err(stopped) => {
            times += u32::from(matches!(stopped, AttemptError::Stopped(_)));
            TurnOutcome::Nothing(stopped)
        }
    };
    Ok((heard, AttemptLosses { told: before.unwrap_or_default(), now: UnbilledAttempts::of(times, most) }))
}

/// Records the request; of a repeated one, only the repetition.
fn record_request(journal: &mut Journal, request: &TurnRequest, again: bool, asking: ExchangeContext) {
    let ExchangeContext { said, is_first, landing, compacted, to, again: otherwise, most } = asking;
    let is_new = is_first && !again && !otherwise;
    let record = JournalRecord::Request {
        system: is_new.then(|| request.system.clone()),
        tools: is_new.then(|| request.tools.clone()),
        grammar: is_new.then(|| request.grammar.clone()).filter(|grammar| !grammar.is_empty()),
        speech: request.speech,
        user: if again { Vec::new() } else { said },
        max_output: request.max_output,
        landing,
        compacted,
        to,
        most,
        digest: digest(request),
    };
    journal.record(None, record);
    journal.sync();
}

/// Records the failed attempts, and counts those with unreported cost.
fn record_failures(journal: &mut Journal, failed: &[FailedAttempt]) -> u32 {
    let mut broken_off = 0;
    for FailedAttempt { attempt, fault, wait } in failed {
        let is_broken_off = fault.may_have_cost();
        broken_off += u32::from(is_broken_off);
        let wait_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let record = JournalRecord::Fault {
            attempt: *attempt,
            message: strip_line(&fault.to_string()),
            wait_ms,
            broken_off: is_broken_off,
        };
        journal.record(None, record);
    }
    broken_off
}

/// Returns the tokens of a response: as reported by the provider, else estimated. It is sent with every later request.
pub(super) fn size_of(response: &TurnResponse) -> u64 {
    response.usage.output.unwrap_or_else(|| {
        let text = serde_json::to_string(&response.parts).unwrap_or_default();
        estimate_tokens(&text)
    })
}

/// Returns the tokens of each result.
pub(super) fn sizes(called: &[CallOutcome]) -> Vec<u64> {
    called.iter().map(|called| estimate_tokens(&called.text)).collect()
}

/// Returns the results of calls as they enter the conversation, and their tokens. A result larger than the remaining `room` is not shown, and the
/// model is told so, with how to `end`; except errors, and results of calls that `always` need one. Recorded results must be unchanged.
pub(super) fn results(
    (told, journal): (&ReplayedConversation, &mut Journal),
    (calls, called): (&[ModelToolCall], &mut [CallOutcome]),
    mut room: u64,
    end: &str,
    always: impl Fn(&ModelToolCall) -> bool,
) -> Result<(Message, u64), ReplayDivergence> {
    let mut results = Vec::with_capacity(calls.len());
    let mut total = 0;
    for (at, (call, called)) in calls.iter().zip(called).enumerate() {
        let size = estimate_tokens(&called.text);
        if size > room && !called.is_error && !called.is_told && !always(call) {
            called.drop_for_lack_of_room(size, room, end);
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
        told.check_result(at, &result)?;
        if told.result(at).is_none() && !called.was_stopped() {
            let shown = called.shown.clone();
            journal.record(u32::try_from(at).ok(), JournalRecord::Result { result: result.clone(), shown });
        }
        results.push(result);
    }
    Ok((Message::Results { results, mark: true }, total))
}

/// Returns the number of calls, and the number of errors among them.
pub(super) fn counts(called: &[CallOutcome]) -> (u32, u32) {
    let errors = called.iter().filter(|called| called.is_error).count();
    (number(called.len()), number(errors))
}

/// Converts a count to its stored type.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
