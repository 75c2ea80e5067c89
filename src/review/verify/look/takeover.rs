//! Recovery of a verification turn without a response: as in a review, the conversation is shortened, or another model takes over.
//!
//! The next model is chosen in `relay`; here is the effect on one conversation.

use super::held_up::limit_words;
use super::{Judged, Look};
use crate::domain::money::Money;
use crate::domain::review::Ended;
use crate::domain::text::strip_line;
use crate::llm::TurnFault;
use crate::review::budget::Limits;
use crate::review::past::Coming;

impl Look<'_> {
    /// Switches the conversation to the recorded model, or to the current one, as in a review.
    pub(super) fn follow(&mut self) {
        let (at, handed) = match self.told.coming() {
            Coming::Turn { to, handed, .. } => (to, handed),
            Coming::New => (self.line.now(), false),
            Coming::End(_) => return,
        };
        let is_other = self.line.follow(at);
        if is_other || handed {
            self.request.hand_over();
        }
        self.budget.adopt(self.line.limits(self.budget.limits()), is_other);
        if self.landed.is_none() {
            self.request.max_output = self.budget.limits().max_output;
        }
    }

    /// Recovers from a fault as in a review. Otherwise returns how the verification ends.
    pub(super) fn recover(&mut self, fault: &TurnFault) -> Result<(), Judged> {
        let at = self.line.at();
        if let TurnFault::TooLong { window, .. } = fault
            && self.asked.1 != Some(at)
        {
            self.asked.1 = Some(at);
            let window = self.budget.narrower(self.size, *window);
            self.line.narrow(window, &fault.to_string(), &mut self.journal);
            return Ok(());
        }
        // What may have been charged for it leaves too little of its share; others have theirs, and the model need not be at fault.
        if fault.may_have_cost() && !self.budget.lose(Money::NOTHING) {
            return Err(Judged::Unchecked(limit_words(Ended::CostLimit, &self.budget.limits())));
        }
        let least = self.size.saturating_sub(self.compaction.most_freed(&self.request));
        let fits = |limits: &Limits| self.budget.fits(least, limits);
        let passed = self.line.pass_on(&fault.to_string(), self.budget.limits(), fits, &mut self.journal);
        passed.map_err(|passed| {
            let words = passed.into_iter().fold(fault.to_string(), |all, passed| all + "; " + &passed);
            Judged::BrokenOff(strip_line(&words))
        })
    }
}
