//! Recorded conversation, replayed turn by turn. Main type: [`Told`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::Then;
use super::compared::Difference;
use super::end::End;
use super::error::{Diverged, What};
use super::index::{Abandoned, Conversation, Turn};
use super::written::Written;
use crate::domain::review::Ended;
use crate::llm::{Speech, ToolResult, TurnRequest, TurnResponse};
use crate::review::journal::{Landing, Rebuilt, Unit, digest};
use crate::review::tally::Lost;
use crate::tools::Reference;

/// Reason for the end of a replay at the end of its journal.
const BROKEN_OFF: &str = "the journal of the run ends here: it was broken off";

/// Next step of a replayed conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum Coming {
    /// A recorded request; its response may be missing.
    Turn {
        /// Reason why it was the last one, if it was.
        landing: Option<Landing>,
        /// Maximum size of the response, in tokens.
        max_output: u32,
        /// Number of the oldest messages with results that were shortened.
        compacted: u32,
        /// Requested model.
        to: u32,
        /// `true` if another model was asked before and failed.
        handed: bool,
    },
    /// Its end.
    End(End),
    /// No recorded step: the conversation continues.
    New,
}

/// Recorded outcome of a request.
#[derive(Debug)]
pub(in crate::review) enum Asked {
    /// Response, its duration, and the number of attempts that may have had an unreported cost.
    Answer(Box<TurnResponse>, Duration, Lost),
    /// No response: the conversation ended this way, with this many such attempts.
    End(End, Lost),
    /// The request must be sent. Set if it was sent before, with this many such attempts, and is in the journal.
    Ask(Option<Lost>),
}

/// Recorded conversation, replayed turn by turn.
#[derive(Debug, Clone)]
pub(in crate::review) struct Told {
    unit: Unit,
    turns: VecDeque<Arc<Turn>>,
    end: Option<End>,
    abandoned: Abandoned,
    /// `true` if its first request may have changed since it began.
    stale: bool,
    /// Turn that is being replayed.
    current: Option<Arc<Turn>>,
    written: Arc<Written>,
}

impl Told {
    pub(super) fn new(unit: Unit, conversation: Option<&Conversation>, stale: bool, written: Arc<Written>) -> Self {
        let Conversation { turns, end, abandoned, .. } = conversation.cloned().unwrap_or_default();
        Self { unit, turns: turns.into(), end, abandoned, stale, current: None, written }
    }

    /// Returns the next step. In a replay, a missing one is the end.
    pub(in crate::review) fn coming(&self) -> Coming {
        match (self.turns.front(), &self.end, self.written.then) {
            (Some(turn), _, _) => Coming::Turn {
                landing: turn.landing.clone(),
                max_output: turn.max_output,
                compacted: turn.compacted,
                to: turn.to,
                handed: turn.handed,
            },
            (None, Some(end), _) => Coming::End(end.clone()),
            (None, None, Then::GoOn) => Coming::New,
            (None, None, Then::Stop | Then::Compare) => Coming::End(Self::broken_off()),
        }
    }

    /// Returns the recorded outcome of a request.
    pub(in crate::review) fn ask(&mut self, turn: u32, request: &TurnRequest) -> Result<Asked, Diverged> {
        self.current = None;
        let Some(told) = self.turns.pop_front() else {
            if self.written.then == Then::GoOn {
                self.written.moved(self.unit.stage());
                return Ok(Asked::Ask(None));
            }
            return Ok(Asked::End(Self::broken_off(), Lost::default()));
        };
        self.compare(&told, turn, request)?;
        self.current = Some(Arc::clone(&told));
        let broken_off_then = told.broken_off();
        Ok(match (&told.answer, &self.end, self.written.then) {
            (Some((response, took_ms)), _, _) => {
                Asked::Answer(Box::new(response.clone()), Duration::from_millis(*took_ms), broken_off_then)
            }
            (None, Some(end), _) => Asked::End(end.clone(), broken_off_then),
            (None, None, Then::GoOn) => {
                self.written.moved(self.unit.stage());
                Asked::Ask(Some(broken_off_then))
            }
            (None, None, Then::Stop | Then::Compare) => Asked::End(Self::broken_off(), broken_off_then),
        })
    }

    fn compare(&self, told: &Turn, turn: u32, request: &TurnRequest) -> Result<(), Diverged> {
        let same = told.number == turn && told.digest == digest(request);
        if self.written.then != Then::Compare {
            return if same { Ok(()) } else { Err(self.diverged(turn, What::Request)) };
        }
        let then = if same { None } else { Rebuilt::of_turn(&self.written.entries, &self.unit, turn) };
        let difference =
            then.map(|then| Difference { unit: self.unit.clone(), turn, then: then.request, now: request.clone() });
        self.written.differences.compared(difference);
        Ok(())
    }

    /// Checks whether a replayed turn has a result for each of this many calls, or the run was stopped before they were made. Otherwise, in a replay,
    /// no call is made.
    pub(in crate::review) fn has_all(&self, calls: usize) -> bool {
        let made = self.current.as_ref().map_or(0, |turn| turn.results.len());
        self.written.then == Then::GoOn || made >= calls || self.end.is_some()
    }

    /// Checks whether a call of a replayed turn was not made, and must not be.
    pub(in crate::review) fn is_cut(&self, call: usize) -> bool {
        self.written.then != Then::GoOn && self.result(call).is_none()
    }

    /// Returns the result of a call of the replayed turn, and the references it showed.
    pub(in crate::review) fn result(&self, call: usize) -> Option<&(ToolResult, Vec<Reference>)> {
        self.current.as_ref()?.results.get(&u32::try_from(call).ok()?)
    }

    /// Compares a result of this program's own tools with the recorded one.
    pub(in crate::review) fn hold(&self, call: usize, now: &ToolResult) -> Result<(), Diverged> {
        let Some((then, _)) = self.result(call).filter(|_| self.written.then != Then::Compare) else { return Ok(()) };
        if then == now {
            return Ok(());
        }
        let turn = self.current.as_ref().map_or(0, |turn| turn.number);
        let call = u32::try_from(call).unwrap_or(u32::MAX);
        Err(self.diverged(turn, What::Result { tool: now.name.clone(), call }))
    }

    /// Checks whether it may continue: it was begun, and did not end.
    pub(in crate::review) fn is_open(&self) -> bool {
        self.was_asked() && self.end.is_none()
    }

    /// Checks whether the conversation continued after a last turn, because a later session had a larger budget.
    pub(in crate::review) fn went_on(&self) -> bool {
        self.turns.front().is_some_and(|turn| turn.again)
    }

    /// Checks whether this session may continue after a last turn: it was the last one of an earlier session.
    pub(in crate::review) fn may_go_on(&self) -> bool {
        self.written.then == Then::GoOn && self.turns.is_empty() && self.end.is_none() && self.current.is_some()
    }

    /// Holds an end against the one of then; whether it is new and must be written down.
    pub(in crate::review) fn ends(&self, turn: u32, ended: Ended, why: Option<&str>) -> Result<bool, Diverged> {
        self.end(turn, &End::Ended { ended, why: why.map(str::to_owned) })
    }

    /// Checks the end of a verification.
    pub(in crate::review) fn end(&self, turn: u32, now: &End) -> Result<bool, Diverged> {
        let then = match (&self.end, self.turns.front()) {
            _ if self.written.then == Then::Compare => return Ok(false),
            (None, None) => return Ok(self.written.then == Then::GoOn),
            (Some(then), None) if then == now => return Ok(false),
            (Some(then), None) => then.to_string(),
            (_, Some(turn)) => format!("it went on with turn {}", turn.number),
        };
        Err(self.diverged(turn, What::End { then, now: now.to_string() }))
    }

    /// Checks whether any request was recorded.
    pub(in crate::review) fn was_asked(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Returns the call format of its first request; `None` without one.
    pub(in crate::review) fn began_in(&self) -> Option<Speech> {
        self.turns.front().map(|turn| turn.speech)
    }

    /// Checks whether its first request was this one; `None` without one.
    pub(in crate::review) fn began_with(&self, request: &TurnRequest) -> Option<bool> {
        self.turns.front().map(|turn| turn.digest == digest(request))
    }

    /// Restarts the conversation if its first request differs, which may happen because its basis continued since; its costs remain.
    pub(in crate::review) fn begin_with(&mut self, request: &TurnRequest) {
        if self.began_with(request) == Some(false) {
            self.begin_anew();
        }
    }

    /// Restarts the conversation if its basis continued since.
    pub(in crate::review) fn begin_anew(&mut self) {
        if self.written.then == Then::GoOn && (self.stale || self.written.has_moved(self.unit.stage())) {
            self.turns.drain(..).for_each(|turn| self.abandoned.add(&turn));
            self.end = None;
        }
    }

    /// Returns the consumption of restarted conversations of this name.
    pub(in crate::review) fn abandoned(&self) -> Abandoned {
        self.abandoned
    }

    /// Returns the end of a replay at the end of its journal.
    pub(in crate::review) fn broken_off() -> End {
        End::Ended { ended: Ended::Interrupted, why: Some(BROKEN_OFF.to_owned()) }
    }

    /// Fails if a difference was found where it could not be returned at once.
    pub(in crate::review) fn check(&self) -> Result<(), Diverged> {
        self.written.check()
    }

    fn diverged(&self, turn: u32, what: What) -> Diverged {
        Diverged { unit: self.unit.clone(), turn, what }
    }
}
