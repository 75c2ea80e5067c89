//! Exchange of a request for its response, which is recorded or comes from the recording. Main function: [`Transcript::respond`].
//!
//! The meaning of a response belongs to the driver and its role.

use std::time::{Duration, Instant};

use super::attempts::{AttemptContext, AttemptError, FailedAttempt, request_turn};
use super::compact::SentCompaction;
use crate::domain::money::Money;
use crate::domain::text::strip_line;
use crate::llm::{TurnRequest, TurnResponse};
use crate::review::budget::UnbilledAttempts;
use crate::review::journal::{
    FinalTurn, JournalRecord, RecordedEnd, ReplayDivergence, ReplayOutcome, Transcript, digest,
};

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
    /// Results that are removed.
    pub(super) compaction: SentCompaction,
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
    /// Gets the outcome of a request. Also counts the attempts with unreported cost.
    pub(super) async fn respond(
        &mut self,
        details: RequestDetails,
        request: &AttemptContext<'_>,
    ) -> Result<(TurnOutcome, AttemptLosses), ReplayDivergence> {
        self.journal.turn(request.turn);
        let none = UnbilledAttempts::default();
        let before = match self.replay_request(request.turn, request.request)? {
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
        let RequestDetails { said, is_first, final_turn, compaction, to, most } = details;
        let SentCompaction { removed, announced } = compaction;
        let is_new = is_first && !again;
        let record = JournalRecord::Request {
            system: is_new.then(|| request.system.clone()),
            tools: is_new.then(|| request.tools.clone()),
            grammar: is_new.then(|| request.grammar.clone()).filter(|grammar| !grammar.is_empty()),
            speech: request.speech,
            user: if again { Vec::new() } else { said },
            max_output: request.max_output,
            landing: final_turn,
            compacted: removed.messages,
            removed: removed.results.into_iter().collect(),
            announced,
            to,
            most,
            digest: digest(request),
        };
        self.journal.record(None, record);
        self.journal.begin_sync();
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
}
