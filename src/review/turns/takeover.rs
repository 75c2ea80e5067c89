//! Recovery of a turn without a response: the conversation is shortened, or another model takes over. Main type: [`Asked`].
//!
//! The next model is chosen in `relay`; here is the effect on one conversation.

use super::{Due, Turns, short};
use crate::domain::money::Money;
use crate::domain::review::Ended;
use crate::llm::TurnFault;
use crate::review::budget::{Limits, Reserved};
use crate::review::draft::Ending;
use crate::review::error::EngineError;
use crate::review::past::Coming;

/// Attempts to get a response to a turn.
#[derive(Debug, Default)]
pub(in crate::review) struct Asked {
    /// Turn, from 1; 0 if none is pending.
    pub(super) turn: u32,
    /// Model for which the conversation is too long.
    too_long: Option<u32>,
}

impl Turns<'_> {
    /// Marks the turn as answered.
    pub(super) fn answered(&mut self, is_told: bool) {
        self.asking = Asked::default();
        if !is_told {
            self.line.answers();
        }
    }

    /// Checks whether the next turn was requested in this session before.
    pub(super) fn is_asked_again(&self) -> bool {
        self.asking.turn > self.budget.turns()
    }

    /// Returns the next action for such a turn, with this permission.
    pub(super) fn due_again(&mut self, reserved: Reserved) -> Result<Due, EngineError> {
        match (reserved, self.landed.clone()) {
            // The request is in the journal, so the end is not that of a limit reached beforehand.
            (Reserved::Nothing(limit), _) => {
                let words = self.budget.words(limit);
                let passed = if limit == Ended::WindowLimit { self.pass_on(&words) } else { Err(String::new()) };
                match passed {
                    Ok(()) => self.due(),
                    Err(passed) => Ok(Due::End(short(limit, words + &passed))),
                }
            }
            // The model was told that this is the last turn before the request failed.
            (_, Some(landing)) => {
                self.request.max_output = self.budget.last_answer(self.unanswered.size);
                Ok(Due::Turn(Some(landing)))
            }
            (reserved, None) => self.reserved(reserved),
        }
    }

    /// Switches the conversation to the recorded model, or to the current one.
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

    /// Recovers from a fault: shortens a conversation that is too long, once, or switches to another model. Otherwise returns how it ends.
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
        // The possible charge leaves too little for another request.
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

    /// Switches to another model; if there is none, returns those that were passed over.
    fn pass_on(&mut self, why: &str) -> Result<(), String> {
        let least = self.unanswered.size.saturating_sub(self.tally.compaction.most_freed(&self.request));
        let fits = |limits: &Limits| self.budget.fits(least, limits);
        let passed = self.line.pass_on(why, self.budget.limits(), fits, &mut self.journal);
        passed.map_err(|passed| passed.into_iter().fold(String::new(), |all, passed| all + "; " + &passed))
    }
}
