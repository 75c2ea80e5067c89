//! Transcript of a conversation: recorded turn by turn, replayed from the recording, and continued in the journal. Main type: [`Transcript`].
//!
//! Whether a step is recorded or new is decided here. Asking a model belongs in `conversation`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::AfterReplay;
use super::comparison::Difference;
use super::error::{DivergedInput, ReplayDivergence};
use super::index::{AbandonedUsage, RecordedConversation, RecordedTurn};
use super::output::ReplayOutput;
use super::recorded_end::RecordedEnd;
use crate::domain::review::StopReason;
use crate::llm::{ToolCallFormat, ToolResult, TurnRequest, TurnResponse};
use crate::review::budget::UnbilledAttempts;
use crate::review::journal::record::{ConversationId, FinalTurn, JournalRecord};
use crate::review::journal::shorten::RemovedResults;
use crate::review::journal::{Journal, RebuiltConversation, digest};
use crate::review::outcome::EngineOutcome;
use crate::tools::ShownLines;

/// Reason for the end of a replay at the end of its journal.
const BROKEN_OFF: &str = "the journal of the run ends here: it was broken off";

/// Next step of a replayed conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum NextReplayStep {
    /// A recorded request; its response may be missing.
    Turn {
        /// Reason why it was the last one, if it was.
        final_turn: Option<FinalTurn>,
        /// Maximum size of the response, in tokens.
        max_output: u32,
        removed: RemovedResults,
        /// Message that told the model which results will be removed next.
        announced: Option<String>,
        /// Requested model.
        to: u32,
        /// `true` if another model was asked before and failed.
        handed: bool,
    },
    End(RecordedEnd),
    /// No recorded step: the conversation continues.
    New,
}

/// Recorded outcome of a request.
#[derive(Debug)]
pub(in crate::review) enum ReplayOutcome {
    /// Response, its duration, and the number of attempts that may have had an unreported cost.
    Answer(Box<TurnResponse>, Duration, UnbilledAttempts),
    /// No response: the conversation ended this way, with this many such attempts.
    End(RecordedEnd, UnbilledAttempts),
    /// The request must be sent. Set if it was sent before, with this many such attempts, and is in the journal.
    Ask(Option<UnbilledAttempts>),
}

/// Recorded conversation, replayed turn by turn, and its journal.
pub(in crate::review) struct Transcript {
    unit: ConversationId,
    turns: VecDeque<Arc<RecordedTurn>>,
    end: Option<RecordedEnd>,
    abandoned: AbandonedUsage,
    /// `true` if its first request may have changed since it began.
    stale: bool,
    /// Turn that is being replayed.
    current: Option<Arc<RecordedTurn>>,
    written: Arc<ReplayOutput>,
    /// Journal of what is new.
    pub(in crate::review) journal: Journal,
}

impl Transcript {
    pub(super) fn new(
        unit: ConversationId,
        conversation: Option<&RecordedConversation>,
        stale: bool,
        written: Arc<ReplayOutput>,
        journal: Journal,
    ) -> Self {
        let RecordedConversation { turns, end, abandoned, .. } = conversation.cloned().unwrap_or_default();
        Self { unit, turns: turns.into(), end, abandoned, stale, current: None, written, journal }
    }

    /// Returns the next step. In a replay, a missing one is the end.
    pub(in crate::review) fn next_step(&self) -> NextReplayStep {
        match (self.turns.front(), &self.end, self.written.then) {
            (Some(turn), _, _) => NextReplayStep::Turn {
                final_turn: turn.landing.clone(),
                max_output: turn.max_output,
                removed: turn.removed.clone(),
                announced: turn.announced.clone(),
                to: turn.to,
                handed: turn.handed,
            },
            (None, Some(end), _) => NextReplayStep::End(end.clone()),
            (None, None, AfterReplay::GoOn) => NextReplayStep::New,
            (None, None, AfterReplay::Stop | AfterReplay::Compare) => NextReplayStep::End(Self::end_of_journal()),
        }
    }

    /// Returns the recorded outcome of a request.
    pub(in crate::review) fn replay_request(
        &mut self,
        turn: u32,
        request: &TurnRequest,
    ) -> Result<ReplayOutcome, ReplayDivergence> {
        self.current = None;
        let Some(recorded) = self.turns.pop_front() else {
            if self.written.then == AfterReplay::GoOn {
                self.written.mark_moved(self.unit.stage());
                return Ok(ReplayOutcome::Ask(None));
            }
            return Ok(ReplayOutcome::End(Self::end_of_journal(), UnbilledAttempts::default()));
        };
        self.compare(&recorded, turn, request)?;
        self.current = Some(Arc::clone(&recorded));
        let broken_off_then = recorded.unbilled_attempts();
        Ok(match (&recorded.answer, &self.end, self.written.then) {
            (Some((response, took_ms)), _, _) => {
                ReplayOutcome::Answer(Box::new(response.clone()), Duration::from_millis(*took_ms), broken_off_then)
            }
            (None, Some(end), _) => ReplayOutcome::End(end.clone(), broken_off_then),
            (None, None, AfterReplay::GoOn) => {
                self.written.mark_moved(self.unit.stage());
                ReplayOutcome::Ask(Some(broken_off_then))
            }
            (None, None, AfterReplay::Stop | AfterReplay::Compare) => {
                ReplayOutcome::End(Self::end_of_journal(), broken_off_then)
            }
        })
    }

    fn compare(&self, recorded: &RecordedTurn, turn: u32, request: &TurnRequest) -> Result<(), ReplayDivergence> {
        let same = recorded.number == turn && recorded.digest == digest(request);
        if self.written.then != AfterReplay::Compare {
            return if same { Ok(()) } else { Err(self.diverged(turn, DivergedInput::Request)) };
        }
        let then = if same { None } else { RebuiltConversation::of_turn(&self.written.entries, &self.unit, turn) };
        let difference =
            then.map(|then| Difference { unit: self.unit.clone(), turn, then: then.request, now: request.clone() });
        self.written.differences.compared(difference);
        Ok(())
    }

    /// Checks whether a replayed turn has a result for each of this many calls, or the run was stopped before they were made. Otherwise, in a replay,
    /// no call is made.
    pub(in crate::review) fn has_all_results(&self, calls: usize) -> bool {
        let made = self.current.as_ref().map_or(0, |turn| turn.results.len());
        self.written.then == AfterReplay::GoOn || made >= calls || self.end.is_some()
    }

    /// Checks whether a call of a replayed turn was not made, and must not be.
    pub(in crate::review) fn is_call_skipped(&self, call: usize) -> bool {
        self.written.then != AfterReplay::GoOn && self.result(call).is_none()
    }

    /// Returns the result of a call of the replayed turn, and the references it showed.
    pub(in crate::review) fn result(&self, call: usize) -> Option<&(ToolResult, Vec<ShownLines>)> {
        self.current.as_ref()?.results.get(&u32::try_from(call).ok()?)
    }

    /// Records the result of a call, unless it `was_stopped` with the run. Recorded results of this program's own tools must be unchanged.
    pub(in crate::review) fn record_result(
        &mut self,
        call: usize,
        result: ToolResult,
        shown: Vec<ShownLines>,
        was_stopped: bool,
    ) -> Result<(), ReplayDivergence> {
        match self.result(call) {
            Some((then, _)) if self.written.then == AfterReplay::Compare || *then == result => {}
            Some(_) => {
                let turn = self.current.as_ref().map_or(0, |turn| turn.number);
                let call = u32::try_from(call).unwrap_or(u32::MAX);
                return Err(self.diverged(turn, DivergedInput::Result { tool: result.name, call }));
            }
            None if was_stopped => {}
            None => self.journal.record(u32::try_from(call).ok(), JournalRecord::Result { result, shown }),
        }
        Ok(())
    }

    /// Checks whether it may continue: it was begun, and did not end.
    pub(in crate::review) fn is_open(&self) -> bool {
        self.has_request() && self.end.is_none()
    }

    /// Checks whether the conversation continued after a last turn, because a later session had a larger budget.
    pub(in crate::review) fn was_continued(&self) -> bool {
        self.turns.front().is_some_and(|turn| turn.again)
    }

    /// Checks whether this session may continue after a last turn: it was the last one of an earlier session.
    pub(in crate::review) fn may_continue(&self) -> bool {
        self.written.then == AfterReplay::GoOn && self.turns.is_empty() && self.end.is_none() && self.current.is_some()
    }

    /// Records the end of a conversation of the review, after this many turns. A recorded one must be the same.
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
        if self.is_new_end(turns, end)? {
            self.journal.record(None, record);
            self.journal.sync();
        }
        Ok(())
    }

    fn is_new_end(&self, turn: u32, now: &RecordedEnd) -> Result<bool, ReplayDivergence> {
        let then = match (&self.end, self.turns.front()) {
            _ if self.written.then == AfterReplay::Compare => return Ok(false),
            (None, None) => return Ok(self.written.then == AfterReplay::GoOn),
            (Some(then), None) if then == now => return Ok(false),
            (Some(then), None) => then.to_string(),
            (_, Some(turn)) => format!("it went on with turn {}", turn.number),
        };
        Err(self.diverged(turn, DivergedInput::End { then, now: now.to_string() }))
    }

    /// Checks whether any request was recorded.
    pub(in crate::review) fn has_request(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Returns the call format of its first request; `None` without one.
    pub(in crate::review) fn first_format(&self) -> Option<ToolCallFormat> {
        self.turns.front().map(|turn| turn.speech)
    }

    /// Checks whether its first request was this one; `None` without one.
    pub(in crate::review) fn matches_first_request(&self, request: &TurnRequest) -> Option<bool> {
        self.turns.front().map(|turn| turn.digest == digest(request))
    }

    /// Restarts the conversation if its first request differs, which may happen because its basis continued since; its costs remain.
    pub(in crate::review) fn restart_unless_same(&mut self, request: &TurnRequest) {
        if self.matches_first_request(request) == Some(false) {
            self.restart_if_stale();
        }
    }

    /// Restarts the conversation if its basis continued since.
    pub(in crate::review) fn restart_if_stale(&mut self) {
        if self.written.then == AfterReplay::GoOn && (self.stale || self.written.has_moved(self.unit.stage())) {
            self.turns.drain(..).for_each(|turn| self.abandoned.add(&turn));
            self.end = None;
        }
    }

    /// Returns the consumption of restarted conversations of this name.
    pub(in crate::review) fn discarded_usage(&self) -> AbandonedUsage {
        self.abandoned
    }

    /// Returns the end of a replay at the end of its journal.
    pub(in crate::review) fn end_of_journal() -> RecordedEnd {
        RecordedEnd::Ended { ended: StopReason::Interrupted, why: Some(BROKEN_OFF.to_owned()) }
    }

    /// Fails if a difference was found where it could not be returned at once.
    pub(in crate::review) fn check(&self) -> Result<(), ReplayDivergence> {
        self.written.check()
    }

    fn diverged(&self, turn: u32, what: DivergedInput) -> ReplayDivergence {
        ReplayDivergence { unit: self.unit.clone(), turn, what }
    }
}
