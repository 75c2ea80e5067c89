//! Handling of invalid answers: the corrective prompt, and the switch to the text protocol. Extends [`ReviewConversation`].
//!
//! Classifying such answers, and limiting the prompts, belongs in `strikes`.

use super::{LoopControl, ReviewConversation, short};
use crate::domain::event::Event;
use crate::llm::{ToolCallFormat, TurnResponse};
use crate::review::error::EngineError;
use crate::review::invalid_answers::{InvalidAnswer, InvalidAnswerStep};
use crate::review::journal::FinalTurn;
use crate::review::opening::estimate_tokens;

impl ReviewConversation<'_> {
    pub(super) fn handle_answer_without_calls(
        &mut self,
        response: &TurnResponse,
        landing: Option<FinalTurn>,
    ) -> Result<LoopControl, EngineError> {
        if let Some(FinalTurn { ended, words }) = landing {
            // Another session may continue it.
            self.keep_answer(response);
            return Ok(LoopControl::End(short(ended, words)));
        }
        self.handle_invalid_answer(InvalidAnswer::of(response), Some(response))
    }

    /// Reports what was wrong with a response, unless it was reported before. A response that is not part of the conversation yet is added.
    pub(super) fn handle_invalid_answer(
        &mut self,
        strike: InvalidAnswer,
        answer: Option<&TurnResponse>,
    ) -> Result<LoopControl, EngineError> {
        let step = self.strikes.record(strike, self.request.speech);
        if step == InvalidAnswerStep::End {
            return Ok(LoopControl::End(strike.outcome()));
        }
        if let Some(answer) = answer {
            self.keep_answer(answer);
        }
        let text = match step {
            InvalidAnswerStep::Switch(why) => {
                self.switch_to_text_protocol(why);
                self.prompts.text_switch()?
            }
            InvalidAnswerStep::Tell | InvalidAnswerStep::End => strike.reprompt(self.prompts, self.request.speech)?,
        };
        self.say(text);
        Ok(LoopControl::Turn)
    }

    /// Switches to calls and results in text.
    pub(super) fn switch_to_text_protocol(&mut self, why: &'static str) {
        self.request.speech = ToolCallFormat::Text;
        self.unanswered.size += estimate_tokens(&self.request.grammar);
        self.tally.in_text = Some(why);
        self.events.emit(Event::Notice { text: format!("the model calls its tools in the text from now on: {why}") });
    }
}
