//! Last turn of a conversation: the request to finish, the end, and resuming after it. Extends [`Turns`].
//!
//! The limit that requires it is determined in `budget`.

use super::Turns;
use crate::domain::event::Event;
use crate::prompt::LastTurnVars;
use crate::review::budget::Reserved;
use crate::review::draft::Ending;
use crate::review::error::EngineError;
use crate::review::journal::{Landing, Record};

impl Turns<'_> {
    /// Checks whether the conversation continues after a last turn, because a later session has a larger budget; then the model is told so.
    pub(super) fn goes_on(&mut self, ending: &Ending) -> Result<bool, EngineError> {
        let Some(Landing { ended, words }) = self.landed.clone() else { return Ok(false) };
        if !ended.can_be_undone() || ending.ended() != ended || ending.reason().as_ref() != Some(&words) {
            return Ok(false);
        }
        let may = self.told.went_on()
            || self.told.may_go_on() && self.cancel.check().is_ok() && self.reserve() == Reserved::Turn;
        if may {
            self.landed = None;
            self.tally.limits.retain(|limit| *limit != words);
            self.request.max_output = self.budget.limits().max_output;
            self.desk().goes_on();
            let text = self.prompts.resumed()?;
            self.say(text);
        }
        Ok(may)
    }

    /// Writes down how it ended.
    pub(in crate::review) fn end(&mut self, ending: Ending) -> Result<Ending, EngineError> {
        let (ended, why) = (ending.ended(), ending.reason());
        if self.told.ends(self.budget.turns(), ended, why.as_deref())? {
            self.journal.record(None, Record::End { ended, why });
            self.journal.sync();
        }
        self.tell_journal_fault();
        Ok(ending)
    }

    pub(super) fn tell_journal_fault(&mut self) {
        let fault = self.journal.fault();
        if let Some(fault) = fault {
            self.desk().note(fault.clone());
            self.events.emit(Event::Notice { text: fault });
        }
    }

    /// Begins the last turn: only the engine's own tools work, and the model is told so. All stay in the list: another list would invalidate the
    /// provider's cache, and some bind a model's thinking to it.
    pub(super) fn land(&mut self, landing: &Landing, max_output: u32) -> Result<(), EngineError> {
        if landing.ended.can_be_undone() {
            self.tally.limits.push(landing.words.clone());
        }
        self.request.max_output = max_output;
        let text = self.prompts.last_turn(&LastTurnVars { reason: landing.words.clone() })?;
        self.desk().last_turn();
        self.landed = Some(landing.clone());
        self.say(text);
        Ok(())
    }
}
