//! Recovery of a verification turn without a response: as in a review, the conversation is shortened, or another model takes over.
//!
//! The next model is chosen in `relay`; here is the effect on one conversation.

use super::retries::describe_wait;
use super::{VerificationConversation, VerificationEnd};
use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::domain::text::strip_line;
use crate::llm::TurnFault;
use crate::review::budget::BudgetLimits;
use crate::review::replay::NextReplayStep;

impl VerificationConversation<'_> {
    /// Switches the conversation to the recorded model, or to the current one, as in a review.
    pub(super) fn follow_failover(&mut self) {
        let (at, handed) = match self.told.next_step() {
            NextReplayStep::Turn { to, handed, .. } => (to, handed),
            NextReplayStep::New => (self.line.follow_current(), false),
            NextReplayStep::End(_) => return,
        };
        let is_other = self.line.follow_recorded(at);
        if is_other || handed {
            self.request.hand_over();
        }
        self.budget.adopt_limits(self.line.limits(self.budget.limits()), is_other);
        if self.landed.is_none() {
            self.request.max_output = self.budget.limits().max_output;
        }
    }

    /// Recovers from a fault as in a review. Otherwise returns how the verification ends.
    pub(super) fn recover(&mut self, fault: &TurnFault) -> Result<(), VerificationEnd> {
        let at = self.line.go_to();
        if let TurnFault::TooLong { window, .. } = fault
            && self.asked.1 != Some(at)
        {
            self.asked.1 = Some(at);
            let window = self.budget.narrower_window(self.size, *window);
            self.line.narrow_window(window, &fault.to_string(), &mut self.journal);
            return Ok(());
        }
        // What may have been charged for it leaves too little of its share; others have theirs, and the model need not be at fault.
        if fault.may_have_cost() && !self.budget.record_unbilled(Money::NOTHING) {
            return Err(VerificationEnd::Unchecked(describe_wait(StopReason::CostLimit, &self.budget.limits())));
        }
        let least = self.size.saturating_sub(self.compaction.max_freed_tokens(&self.request));
        let fits = |limits: &BudgetLimits| self.budget.fits_request(least, limits);
        let passed = self.line.fail_over(&fault.to_string(), self.budget.limits(), fits, &mut self.journal);
        passed.map_err(|passed| {
            let words = passed.into_iter().fold(fault.to_string(), |all, passed| all + "; " + &passed);
            VerificationEnd::BrokenOff(strip_line(&words))
        })
    }
}
