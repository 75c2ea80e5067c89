//! Recovery of a turn without a response: the conversation is shortened, or another model takes over. Main type: [`PendingFailover`].
//!
//! The next model is chosen in `relay`; here is the effect on one conversation.

use super::{DueTurn, ReviewConversation, short};
use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::llm::TurnFault;
use crate::review::budget::{BudgetLimits, TurnPermit};
use crate::review::draft::EngineOutcome;
use crate::review::error::EngineError;
use crate::review::replay::NextReplayStep;

/// Attempts to get a response to a turn.
#[derive(Debug, Default)]
pub(in crate::review) struct PendingFailover {
    /// Turn, from 1; 0 if none is pending.
    pub(super) turn: u32,
    /// Model for which the conversation is too long.
    too_long: Option<u32>,
}

impl ReviewConversation<'_> {
    /// Marks the turn as answered.
    pub(super) fn mark_answered(&mut self, is_told: bool) {
        self.asking = PendingFailover::default();
        if !is_told {
            self.line.mark_answering();
        }
    }

    /// Checks whether the next turn was requested in this session before.
    pub(super) fn is_retry(&self) -> bool {
        self.asking.turn > self.budget.turns()
    }

    /// Returns the next action for such a turn, with this permission.
    pub(super) fn due_retry(&mut self, reserved: TurnPermit) -> Result<DueTurn, EngineError> {
        match (reserved, self.landed.clone()) {
            // The request is in the journal, so the end is not that of a limit reached beforehand.
            (TurnPermit::Nothing(limit), _) => {
                let words = self.budget.describe_limit(limit);
                let passed = if limit == StopReason::WindowLimit { self.pass_on(&words) } else { Err(String::new()) };
                match passed {
                    Ok(()) => self.next_action(),
                    Err(passed) => Ok(DueTurn::End(short(limit, words + &passed))),
                }
            }
            // The model was told that this is the last turn before the request failed.
            (_, Some(landing)) => {
                self.request.max_output = self.budget.last_answer(self.unanswered.size);
                Ok(DueTurn::Turn(Some(landing)))
            }
            (reserved, None) => self.reserved(reserved),
        }
    }

    /// Switches the conversation to the recorded model, or to the current one.
    pub(super) fn follow_failover(&mut self) {
        let (at, handed) = match self.told.next_step() {
            NextReplayStep::Turn { to, handed, .. } => (to, handed),
            NextReplayStep::New => (self.line.follow_current(), false),
            NextReplayStep::End(_) => return,
        };
        let before = self.line.name();
        let is_other = self.line.follow_recorded(at);
        if is_other || handed {
            self.request.hand_over();
            self.builder.change_model(&before, self.line.name());
        }
        self.budget.adopt_limits(self.line.limits(self.budget.limits()), is_other);
        if self.landed.is_none() {
            self.request.max_output = self.budget.limits().max_output;
        }
    }

    /// Recovers from a fault: shortens a conversation that is too long, once, or switches to another model. Otherwise returns how it ends.
    pub(super) fn recover(&mut self, fault: &TurnFault) -> Result<(), EngineOutcome> {
        let at = self.line.go_to();
        if let TurnFault::TooLong { window, .. } = fault
            && self.asking.too_long != Some(at)
        {
            self.asking.too_long = Some(at);
            let window = self.budget.narrower_window(self.unanswered.size, *window);
            self.line.narrow_window(window, &fault.to_string(), &mut self.journal);
            return Ok(());
        }
        // The possible charge leaves too little for another request.
        if fault.may_have_cost() && !self.budget.record_unbilled(Money::NOTHING) {
            return Err(short(
                StopReason::CostLimit,
                format!("{}; {fault}", self.budget.describe_limit(StopReason::CostLimit)),
            ));
        }
        let ended = match fault {
            TurnFault::TooLong { .. } => StopReason::WindowLimit,
            fault if fault.is_refusal() => StopReason::RequestRefused,
            _ => StopReason::ProviderFault,
        };
        self.pass_on(&fault.to_string()).map_err(|passed| short(ended, fault.to_string() + &passed))
    }

    /// Switches to another model; if there is none, returns those that were passed over.
    fn pass_on(&mut self, why: &str) -> Result<(), String> {
        let least = self.unanswered.size.saturating_sub(self.tally.compaction.max_freed_tokens(&self.request));
        let fits = |limits: &BudgetLimits| self.budget.fits_request(least, limits);
        let passed = self.line.fail_over(why, self.budget.limits(), fits, &mut self.journal);
        passed.map_err(|passed| passed.into_iter().fold(String::new(), |all, passed| all + "; " + &passed))
    }
}
