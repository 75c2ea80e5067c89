//! Last turn of a conversation: the request to finish, the end, and resuming after it. Extends [`ReviewConversation`].
//!
//! The limit that requires it is determined in `budget`.

use super::ReviewConversation;
use crate::domain::event::Event;
use crate::prompt::LastTurnVars;
use crate::review::budget::TurnPermit;
use crate::review::draft::EngineOutcome;
use crate::review::error::EngineError;
use crate::review::journal::{FinalTurn, JournalRecord};

impl ReviewConversation<'_> {
    /// Checks whether the conversation continues after a last turn, because a later session has a larger budget; then the model is told so.
    pub(super) fn resume_after_final_turn(&mut self, ending: &EngineOutcome) -> Result<bool, EngineError> {
        let Some(FinalTurn { ended, words }) = self.landed.clone() else { return Ok(false) };
        if !ended.is_resumable() || ending.stop_reason() != ended || ending.reason().as_ref() != Some(&words) {
            return Ok(false);
        }
        let may = self.told.was_continued()
            || self.told.may_continue() && self.cancel.check().is_ok() && self.reserve() == TurnPermit::Turn;
        if may {
            self.landed = None;
            self.tally.limits.retain(|limit| *limit != words);
            self.request.max_output = self.budget.limits().max_output;
            self.builder.reopen();
            let text = self.prompts.resume()?;
            self.say(text);
        }
        Ok(may)
    }

    /// Writes down how it ended.
    pub(in crate::review) fn end(&mut self, ending: EngineOutcome) -> Result<EngineOutcome, EngineError> {
        let (ended, why) = (ending.stop_reason(), ending.reason());
        if self.told.check_engine_end(self.budget.turns(), ended, why.as_deref())? {
            self.journal.record(None, JournalRecord::End { ended, why });
            self.journal.sync();
        }
        self.report_journal_fault();
        Ok(ending)
    }

    pub(super) fn report_journal_fault(&mut self) {
        let fault = self.journal.fault();
        if let Some(fault) = fault {
            self.builder.add_note(fault.clone());
            self.events.emit(Event::Notice { text: fault });
        }
    }

    /// Begins the last turn: only the engine's own tools work, and the model is told so. All stay in the list: another list would invalidate the
    /// provider's cache, and some bind a model's thinking to it.
    pub(super) fn begin_final_turn(&mut self, landing: &FinalTurn, max_output: u32) -> Result<(), EngineError> {
        if landing.ended.is_resumable() {
            self.tally.limits.push(landing.words.clone());
        }
        self.request.max_output = max_output;
        let text = self.prompts.last_turn(&LastTurnVars { reason: landing.words.clone() })?;
        self.builder.last_turn();
        self.landed = Some(landing.clone());
        self.say(text);
        Ok(())
    }
}
