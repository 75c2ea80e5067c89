//! What a conversation does when its turn gets no answer: it makes itself smaller, or another model goes on with it. Main type: [`Asked`].
//!
//! Who takes over is decided in `relay`; here is what that means for one conversation.

use super::{Due, Turns, short};
use crate::domain::money::Money;
use crate::domain::review::Ended;
use crate::llm::TurnFault;
use crate::review::budget::{Limits, Reserved};
use crate::review::draft::Ending;
use crate::review::error::EngineError;
use crate::review::past::Coming;

/// What was tried to get an answer to a turn.
#[derive(Debug, Default)]
pub(in crate::review) struct Asked {
    /// The turn, from 1; 0 where none is without an answer.
    pub(super) turn: u32,
    /// Of whom it was said that the conversation is too long.
    too_long: Option<u32>,
}

impl Turns<'_> {
    /// The turn has an answer.
    pub(super) fn answered(&mut self, is_told: bool) {
        self.asking = Asked::default();
        if !is_told {
            self.line.answers();
        }
    }

    /// Whether the turn that comes was asked in this sitting already.
    pub(super) fn is_asked_again(&self) -> bool {
        self.asking.turn > self.budget.turns()
    }

    /// What is to be done about such a turn, where there is room for so much.
    pub(super) fn due_again(&mut self, reserved: Reserved) -> Result<Due, EngineError> {
        match (reserved, self.landed.clone()) {
            // The request stands in the journal, so its end is not that of a limit met beforehand.
            (Reserved::Nothing(limit), _) => {
                let words = self.budget.words(limit);
                let passed = if limit == Ended::WindowLimit { self.pass_on(&words) } else { Err(String::new()) };
                match passed {
                    Ok(()) => self.due(),
                    Err(passed) => Ok(Due::End(short(limit, words + &passed))),
                }
            }
            // It was told that this is the last one before it was asked.
            (_, Some(landing)) => {
                self.request.max_output = self.budget.last_answer(self.unanswered.size);
                Ok(Due::Turn(Some(landing)))
            }
            (reserved, None) => self.reserved(reserved),
        }
    }

    /// Has the conversation go to whoever was asked then, or is asked now.
    pub(super) fn follow(&mut self) {
        let (at, handed) = match self.told.coming() {
            Coming::Turn { to, handed, .. } => (to, handed),
            Coming::New => (self.line.now(), false),
            Coming::End(_) => return,
        };
        let before = self.line.name();
        let is_other = self.line.follow(at);
        if is_other || handed {
            self.request.hand_over();
            self.desk().hand_over(&before, self.line.name());
        }
        self.budget.adopt(self.line.limits(self.budget.limits()), is_other);
        if self.landed.is_none() {
            self.request.max_output = self.budget.limits().max_output;
        }
    }

    /// What can be done about a fault: take out what makes the conversation too long, once, or ask another one. Otherwise how it ends.
    pub(super) fn recover(&mut self, fault: &TurnFault) -> Result<(), Ending> {
        let at = self.line.at();
        if let TurnFault::TooLong { window, .. } = fault
            && self.asking.too_long != Some(at)
        {
            self.asking.too_long = Some(at);
            let window = self.budget.narrower(self.unanswered.size, *window);
            self.line.narrow(window, &fault.to_string(), &mut self.journal);
            return Ok(());
        }
        // What may have been charged for it leaves too little to ask anybody again.
        if fault.may_have_cost() && !self.budget.lose(Money::NOTHING) {
            return Err(short(Ended::CostLimit, format!("{}; {fault}", self.budget.words(Ended::CostLimit))));
        }
        let ended = match fault {
            TurnFault::TooLong { .. } => Ended::WindowLimit,
            fault if fault.is_refusal() => Ended::RequestRefused,
            _ => Ended::ProviderFault,
        };
        self.pass_on(&fault.to_string()).map_err(|passed| short(ended, fault.to_string() + &passed))
    }

    /// Has another one asked; where there is nobody, who was passed over.
    fn pass_on(&mut self, why: &str) -> Result<(), String> {
        let least = self.unanswered.size.saturating_sub(self.tally.compaction.most_freed(&self.request));
        let fits = |limits: &Limits| self.budget.fits(least, limits);
        let passed = self.line.pass_on(why, self.budget.limits(), fits, &mut self.journal);
        passed.map_err(|passed| passed.into_iter().fold(String::new(), |all, passed| all + "; " + &passed))
    }
}
