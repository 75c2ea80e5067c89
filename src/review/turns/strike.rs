//! Handling of invalid answers: the corrective prompt, and the switch to the text protocol. Extends [`Turns`].
//!
//! Classifying such answers, and limiting the prompts, belongs in `strikes`.

use super::{Next, Turns, short};
use crate::domain::event::Event;
use crate::llm::{Speech, TurnResponse};
use crate::review::error::EngineError;
use crate::review::journal::Landing;
use crate::review::opening::estimate_tokens;
use crate::review::strikes::{Step, Strike};

impl Turns<'_> {
    pub(super) fn without_calls(
        &mut self,
        response: &TurnResponse,
        landing: Option<Landing>,
    ) -> Result<Next, EngineError> {
        if let Some(Landing { ended, words }) = landing {
            // Another session may continue it.
            self.keep_answer(response);
            return Ok(Next::End(short(ended, words)));
        }
        self.strike(Strike::of(response), Some(response))
    }

    /// Reports what was wrong with a response, unless it was reported before. A response that is not part of the conversation yet is added.
    pub(super) fn strike(&mut self, strike: Strike, answer: Option<&TurnResponse>) -> Result<Next, EngineError> {
        let step = self.strikes.take(strike, self.request.speech);
        if step == Step::End {
            return Ok(Next::End(strike.ending()));
        }
        if let Some(answer) = answer {
            self.keep_answer(answer);
        }
        let text = match step {
            Step::Switch(why) => {
                self.speak_in_text(why);
                self.prompts.text_switch()?
            }
            Step::Tell | Step::End => strike.told(self.prompts, self.request.speech)?,
        };
        self.say(text);
        Ok(Next::Turn)
    }

    /// Switches to calls and results in text.
    pub(super) fn speak_in_text(&mut self, why: &'static str) {
        self.request.speech = Speech::Text;
        self.unanswered.size += estimate_tokens(&self.request.grammar);
        self.tally.in_text = Some(why);
        self.events.emit(Event::Notice { text: format!("the model calls its tools in the text from now on: {why}") });
    }
}
