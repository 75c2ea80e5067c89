//! Steps of a conversation, each taken from the recording of earlier sessions, or else taken now and recorded. Main type: [`Transcript`].
//!
//! The driver reads as if nothing was ever recorded: it takes the next step, the response and the results of calls from here. What they mean
//! belongs in `driver`.

use std::time::{Duration, Instant};

use super::attempts::{AttemptContext, AttemptError, FailedAttempt, request_turn};
use super::call_outcome::CallOutcome;
use crate::domain::money::Money;
use crate::domain::text::strip_line;
use crate::llm::{ModelToolCall, ToolCallFormat, ToolResult, TurnRequest, TurnResponse};
use crate::review::budget::UnbilledAttempts;
use crate::review::journal::{ConversationId, FinalTurn, Journal, JournalRecord, digest};
use crate::review::outcome::EngineOutcome;
use crate::review::replay::{
    AbandonedUsage, JournalReplay, NextReplayStep, RecordedEnd, ReplayDivergence, ReplayOutcome, ReplayedConversation,
};

/// Recording of a conversation, and the journal that continues it.
pub(in crate::review) struct Transcript {
    replay: ReplayedConversation,
    journal: Journal,
}

/// Outcome of a request.
#[derive(Debug)]
pub(super) enum TurnOutcome {
    /// Response, its duration, and whether it was recorded in an earlier session.
    Answer(TurnResponse, Duration, bool),
    /// No response, now.
    Nothing(AttemptError),
    /// No response, in an earlier session: the conversation ended this way.
    Ended(RecordedEnd),
}

/// Details of a request, for the journal.
pub(super) struct RequestDetails {
    /// Messages of this program since the last request.
    pub(super) said: Vec<String>,
    /// `true` if this turn was not requested before: system text and tools are recorded with the first one.
    pub(super) is_first: bool,
    /// Reason why it is the last one, if it is.
    pub(super) final_turn: Option<FinalTurn>,
    /// Number of the oldest messages with results that are shortened.
    pub(super) compacted: u32,
    /// Requested model, by its index in the list.
    pub(super) to: u32,
    /// Maximum cost of an attempt, if money is limited.
    pub(super) most: Money,
}

/// Attempts of a turn with unreported cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AttemptLosses {
    /// Those of earlier sessions.
    pub(super) recorded: UnbilledAttempts,
    /// In this one.
    pub(super) now: UnbilledAttempts,
}

impl AttemptLosses {
    /// Returns all of them.
    pub(super) fn all(self) -> UnbilledAttempts {
        let mut all = self.recorded;
        all += self.now;
        all
    }
}

impl Transcript {
    /// Opens the transcript of a conversation of a run.
    pub(in crate::review) fn open(past: &JournalReplay, journal: &Journal, id: ConversationId) -> Self {
        Self { replay: past.replayed_conversation(&id), journal: journal.of(id) }
    }

    /// Returns the recorded next step; [`NextReplayStep::New`] if it is to be decided now.
    pub(in crate::review) fn next_step(&self) -> NextReplayStep {
        self.replay.next_step()
    }

    /// Checks whether any request was recorded that was not replayed yet.
    pub(in crate::review) fn has_request(&self) -> bool {
        self.replay.has_request()
    }

    /// Checks whether it was begun, and did not end.
    pub(in crate::review) fn is_open(&self) -> bool {
        self.replay.is_open()
    }

    /// Returns the call format of its recorded first request.
    pub(in crate::review) fn first_format(&self) -> Option<ToolCallFormat> {
        self.replay.first_format()
    }

    /// Restarts the conversation if its basis continued since.
    pub(in crate::review) fn restart_if_stale(&mut self) {
        self.replay.restart_if_stale();
    }

    /// Restarts the conversation if its first request differs, which may happen because its basis continued since; its costs remain.
    pub(super) fn restart_unless_same(&mut self, request: &TurnRequest) {
        self.replay.restart_unless_same(request);
    }

    /// Returns the consumption of restarted conversations of this name.
    pub(in crate::review) fn discarded_usage(&self) -> AbandonedUsage {
        self.replay.discarded_usage()
    }

    /// Checks whether the conversation continued after a final turn, because a later session had a larger budget.
    pub(super) fn was_continued(&self) -> bool {
        self.replay.was_continued()
    }

    /// Checks whether this session may continue after a final turn: it was the last one of an earlier session.
    pub(super) fn may_continue(&self) -> bool {
        self.replay.may_continue()
    }

    /// Fails if a difference from the recording was found where it could not be returned at once.
    pub(in crate::review) fn check(&self) -> Result<(), ReplayDivergence> {
        self.replay.check()
    }

    /// Gets the outcome of a request. Also counts the attempts with unreported cost.
    pub(super) async fn respond(
        &mut self,
        details: RequestDetails,
        request: &AttemptContext<'_>,
    ) -> Result<(TurnOutcome, AttemptLosses), ReplayDivergence> {
        self.journal.turn(request.turn);
        let none = UnbilledAttempts::default();
        let before = match self.replay.replay_request(request.turn, request.request)? {
            ReplayOutcome::Answer(response, took, recorded) => {
                return Ok((TurnOutcome::Answer(*response, took, true), AttemptLosses { recorded, now: none }));
            }
            ReplayOutcome::End(end, recorded) => {
                return Ok((TurnOutcome::Ended(end), AttemptLosses { recorded, now: none }));
            }
            ReplayOutcome::Ask(before) => before,
        };
        let most = details.most;
        self.record_request(request.request, before.is_some(), details);
        let started = Instant::now();
        let (response, attempts) = request_turn(request).await;
        let mut times = self.record_failures(&attempts);
        let outcome = match response {
            Ok(response) => {
                let (response, took) = (response.with_plain_names(), started.elapsed());
                let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                self.journal.record(None, JournalRecord::Answer { response: response.clone(), took_ms });
                TurnOutcome::Answer(response, took, false)
            }
            Err(stopped) => {
                times += u32::from(matches!(stopped, AttemptError::Stopped(_)));
                TurnOutcome::Nothing(stopped)
            }
        };
        let recorded = before.unwrap_or_default();
        Ok((outcome, AttemptLosses { recorded, now: UnbilledAttempts::of(times, most) }))
    }

    /// Records the request; of a repeated one, only the repetition.
    fn record_request(&mut self, request: &TurnRequest, again: bool, details: RequestDetails) {
        let RequestDetails { said, is_first, final_turn, compacted, to, most } = details;
        let is_new = is_first && !again;
        let record = JournalRecord::Request {
            system: is_new.then(|| request.system.clone()),
            tools: is_new.then(|| request.tools.clone()),
            grammar: is_new.then(|| request.grammar.clone()).filter(|grammar| !grammar.is_empty()),
            speech: request.speech,
            user: if again { Vec::new() } else { said },
            max_output: request.max_output,
            landing: final_turn,
            compacted,
            to,
            most,
            digest: digest(request),
        };
        self.journal.record(None, record);
        self.journal.sync();
    }

    /// Records the failed attempts, and counts those with unreported cost.
    fn record_failures(&mut self, failed: &[FailedAttempt]) -> u32 {
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
            self.journal.record(None, record);
        }
        broken_off
    }

    /// Checks whether the calls of a turn can be made, or have recorded results. Otherwise the recording ends here, and no call is made.
    pub(super) fn has_all_results(&self, calls: usize) -> bool {
        self.replay.has_all_results(calls)
    }

    /// Checks whether a call of the turn has a recorded result.
    pub(super) fn has_result(&self, call: usize) -> bool {
        self.replay.result(call).is_some()
    }

    /// Checks whether a call of a replayed turn was not made, and must not be.
    pub(super) fn is_call_skipped(&self, call: usize) -> bool {
        self.replay.is_call_skipped(call)
    }

    /// Returns the outcome of a call that reads, if it need not be made: it was recorded, or the run was stopped before it.
    pub(super) fn outcome_of(&self, at: usize, call: &ModelToolCall) -> Option<CallOutcome> {
        if self.is_call_skipped(at) {
            return Some(CallOutcome::stopped());
        }
        self.replay.result(at).map(|(result, shown)| CallOutcome::recorded(call, result, shown.clone()))
    }

    /// Records the result of a call; a recorded one must be unchanged.
    pub(super) fn record_result(
        &mut self,
        at: usize,
        outcome: &CallOutcome,
        result: &ToolResult,
    ) -> Result<(), ReplayDivergence> {
        self.replay.check_result(at, result)?;
        if !self.has_result(at) && !outcome.was_stopped() {
            let record = JournalRecord::Result { result: result.clone(), shown: outcome.shown.clone() };
            self.journal.record(u32::try_from(at).ok(), record);
        }
        Ok(())
    }

    /// Records a decision about the models of the run.
    pub(super) fn record_handover(&mut self, record: JournalRecord) {
        self.journal.record(None, record);
        self.journal.sync();
    }

    /// Syncs the journal at the end of each turn.
    pub(super) fn sync(&mut self) {
        self.journal.sync();
    }

    /// Returns the write error of the journal; only once.
    pub(super) fn journal_fault(&mut self) -> Option<String> {
        self.journal.fault()
    }

    /// Records the end of a conversation of the review, after this many turns; a recorded one must be the same.
    pub(in crate::review) fn end(&mut self, turns: u32, outcome: &EngineOutcome) -> Result<(), ReplayDivergence> {
        let (ended, why) = (outcome.stop_reason(), outcome.reason());
        self.end_as(turns, &RecordedEnd::Ended { ended, why: why.clone() }, JournalRecord::End { ended, why })
    }

    /// Records an end of another kind.
    pub(in crate::review) fn end_as(
        &mut self,
        turns: u32,
        end: &RecordedEnd,
        record: JournalRecord,
    ) -> Result<(), ReplayDivergence> {
        if self.replay.check_end(turns, end)? {
            self.journal.record(None, record);
            self.journal.sync();
        }
        Ok(())
    }
}
