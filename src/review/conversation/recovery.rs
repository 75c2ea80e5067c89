//! Recovery of a turn without a response: the conversation is shortened, or another model takes over.
//!
//! The next model is chosen in `failover`; here is the effect on one conversation.

use std::ops::ControlFlow::{self, Break, Continue};

use super::compact::Compaction;
use super::driver::{Conversation, Flow};
use super::end::ConversationEnd;
use super::role::ConversationRole;
use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::llm::TurnFault;
use crate::review::budget::BudgetLimits;
use crate::review::journal::{FinalTurn, NextReplayStep};

impl<R: ConversationRole> Conversation<'_, R> {
    /// Checks whether the next turn was requested in this session before.
    pub(super) fn is_retry(&self) -> bool {
        self.pending_request.turn > self.budget.turns()
    }

    /// Ends a conversation whose request is in the journal and cannot be sent again, unless another model can take it.
    pub(super) fn end_retry(&mut self, limit: StopReason) -> Flow<R, Option<FinalTurn>> {
        let words = self.role.describe_limit(limit, &self.budget);
        let mut detail = String::new();
        if limit == StopReason::WindowLimit && R::HANDS_OVER_WHEN_FULL {
            match self.pass_on(&words) {
                Ok(()) => return self.next_turn(),
                Err(passed) => detail = passed,
            }
        }
        Ok(Break(ConversationEnd::Limit { limit, words, detail }))
    }

    /// Switches the conversation to the recorded model, or to the current one.
    pub(super) fn follow_failover(&mut self) {
        let (at, handed) = match self.transcript.next_step() {
            NextReplayStep::Turn { to, handed, .. } => (to, handed),
            NextReplayStep::New => (self.model.current_index(), false),
            NextReplayStep::End(_) => return,
        };
        let before = self.model.name();
        let is_other = self.model.switch_to(at);
        if is_other || handed {
            self.request.hand_over();
            self.role.change_model(&before, self.model.name());
        }
        self.budget.adopt_limits(self.model.limits(self.budget.limits()), is_other);
        if self.final_turn.is_none() {
            self.request.max_output = self.budget.limits().max_output;
        }
    }

    /// Recovers from a fault: shortens a conversation that is too long, once, or switches to another model. Otherwise ends the conversation.
    pub(super) fn recover(&mut self, fault: TurnFault) -> ControlFlow<ConversationEnd<R::Conclusion>> {
        let at = self.model.index();
        if let TurnFault::TooLong { window, .. } = &fault
            && self.pending_request.too_long != Some(at)
        {
            self.pending_request.too_long = Some(at);
            let window = self.budget.narrower_window(self.size, *window);
            self.model.narrow_window(window, &fault.to_string(), &mut self.transcript);
            return Continue(());
        }
        // The possible charge leaves too little for another request.
        if fault.may_have_cost() && !self.budget.record_unbilled(Money::NOTHING) {
            let limit = StopReason::CostLimit;
            let words = self.role.describe_limit(limit, &self.budget);
            return Break(ConversationEnd::Limit { limit, words, detail: format!("; {fault}") });
        }
        match self.pass_on(&fault.to_string()) {
            Ok(()) => Continue(()),
            Err(passed) => Break(ConversationEnd::Failed { words: fault.to_string() + &passed, fault }),
        }
    }

    /// Switches to another model; if there is none, returns those that were passed over.
    fn pass_on(&mut self, why: &str) -> Result<(), String> {
        let least = self.size.saturating_sub(Compaction::max_freed_tokens(&self.request));
        let fits = |limits: &BudgetLimits| self.budget.fits_request(least, limits);
        let passed = self.model.fail_over(why, self.budget.limits(), fits, &mut self.transcript);
        passed.map_err(|passed| passed.into_iter().fold(String::new(), |all, passed| all + "; " + &passed))
    }
}
