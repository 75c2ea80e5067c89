//! One conversation as it was told, for whoever holds it again. Main type: [`Told`].

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

/// Why a run that is told again ends where its journal does.
const BROKEN_OFF: &str = "the journal of the run ends here: it was broken off";

/// What comes next in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::review) enum Coming {
    /// A turn that was asked; its answer may be missing.
    Turn {
        /// Why it was the last one, if it was.
        landing: Option<Landing>,
        /// The most that was to be answered, in tokens.
        max_output: u32,
        /// So many of the oldest messages with results were shortened.
        compacted: u32,
        /// Who was asked.
        to: u32,
        /// Whether another one was asked before, in vain.
        handed: bool,
    },
    /// Its end.
    End(End),
    /// Nothing: it goes on.
    New,
}

/// What came of asking.
#[derive(Debug)]
pub(in crate::review) enum Asked {
    /// An answer, how long it took, and how many attempts may have cost something that nobody told.
    Answer(Box<TurnResponse>, Duration, Lost),
    /// No answer; it ended so, with so many such attempts.
    End(End, Lost),
    /// It is to be asked. Set where it was asked before, with so many such attempts, and that stands in the journal.
    Ask(Option<Lost>),
}

/// A conversation as it was told.
#[derive(Debug, Clone)]
pub(in crate::review) struct Told {
    unit: Unit,
    turns: VecDeque<Arc<Turn>>,
    end: Option<End>,
    abandoned: Abandoned,
    /// Whether what it was asked with may have changed since it began.
    stale: bool,
    /// The turn that is being told.
    current: Option<Arc<Turn>>,
    written: Arc<Written>,
}

impl Told {
    pub(super) fn new(unit: Unit, conversation: Option<&Conversation>, stale: bool, written: Arc<Written>) -> Self {
        let Conversation { turns, end, abandoned, .. } = conversation.cloned().unwrap_or_default();
        Self { unit, turns: turns.into(), end, abandoned, stale, current: None, written }
    }

    /// What comes next. Where nothing does and nobody is asked, that is the end.
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

    /// What came of asking this then.
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

    /// Whether a turn that is told has a result for each of so many calls, or the run was stopped before they were made. Otherwise, where nobody
    /// is asked, nothing is called.
    pub(in crate::review) fn has_all(&self, calls: usize) -> bool {
        let made = self.current.as_ref().map_or(0, |turn| turn.results.len());
        self.written.then == Then::GoOn || made >= calls || self.end.is_some()
    }

    /// Whether a call of a turn that is told was not made, and is not to be.
    pub(in crate::review) fn is_cut(&self, call: usize) -> bool {
        self.written.then != Then::GoOn && self.result(call).is_none()
    }

    /// The result of a call of the turn that is told, and what it showed.
    pub(in crate::review) fn result(&self, call: usize) -> Option<&(ToolResult, Vec<Reference>)> {
        self.current.as_ref()?.results.get(&u32::try_from(call).ok()?)
    }

    /// Holds an answer of this program's own tools against the one of then.
    pub(in crate::review) fn hold(&self, call: usize, now: &ToolResult) -> Result<(), Diverged> {
        let Some((then, _)) = self.result(call).filter(|_| self.written.then != Then::Compare) else { return Ok(()) };
        if then == now {
            return Ok(());
        }
        let turn = self.current.as_ref().map_or(0, |turn| turn.number);
        let call = u32::try_from(call).unwrap_or(u32::MAX);
        Err(self.diverged(turn, What::Result { tool: now.name.clone(), call }))
    }

    /// Whether it may go on: it was begun, and did not end.
    pub(in crate::review) fn is_open(&self) -> bool {
        self.was_asked() && self.end.is_none()
    }

    /// Whether the conversation went on after a last turn, because a later sitting had more to spend.
    pub(in crate::review) fn went_on(&self) -> bool {
        self.turns.front().is_some_and(|turn| turn.again)
    }

    /// Whether this sitting may go on after a last turn: it was the last one of a sitting before.
    pub(in crate::review) fn may_go_on(&self) -> bool {
        self.written.then == Then::GoOn && self.turns.is_empty() && self.end.is_none() && self.current.is_some()
    }

    /// Holds an end against the one of then; whether it is new and must be written down.
    pub(in crate::review) fn ends(&self, turn: u32, ended: Ended, why: Option<&str>) -> Result<bool, Diverged> {
        self.end(turn, &End::Ended { ended, why: why.map(str::to_owned) })
    }

    /// The same for a second look.
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

    /// Whether anything was asked.
    pub(in crate::review) fn was_asked(&self) -> bool {
        !self.turns.is_empty()
    }

    /// How calls were written in its first request; `None` where it was never asked.
    pub(in crate::review) fn began_in(&self) -> Option<Speech> {
        self.turns.front().map(|turn| turn.speech)
    }

    /// Whether its first request was this one; `None` where it was never asked.
    pub(in crate::review) fn began_with(&self, request: &TurnRequest) -> Option<bool> {
        self.turns.front().map(|turn| turn.digest == digest(request))
    }

    /// Begins anew where it was asked something else, which it may be because what it rests on went on since; its costs remain.
    pub(in crate::review) fn begin_with(&mut self, request: &TurnRequest) {
        if self.began_with(request) == Some(false) {
            self.begin_anew();
        }
    }

    /// Begins anew where what it rests on went on since.
    pub(in crate::review) fn begin_anew(&mut self) {
        if self.written.then == Then::GoOn && (self.stale || self.written.has_moved(self.unit.stage())) {
            self.turns.drain(..).for_each(|turn| self.abandoned.add(&turn));
            self.end = None;
        }
    }

    /// What was spent on conversations of this name that were begun anew.
    pub(in crate::review) fn abandoned(&self) -> Abandoned {
        self.abandoned
    }

    /// How a run that is only told ends where its journal does.
    pub(in crate::review) fn broken_off() -> End {
        End::Ended { ended: Ended::Interrupted, why: Some(BROKEN_OFF.to_owned()) }
    }

    /// Fails where something was not what it was that could not be said at once.
    pub(in crate::review) fn check(&self) -> Result<(), Diverged> {
        self.written.check()
    }

    fn diverged(&self, turn: u32, what: What) -> Diverged {
        Diverged { unit: self.unit.clone(), turn, what }
    }
}
