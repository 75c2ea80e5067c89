//! Worst-case cost of a turn, reserved before it is sent, in tokens and money, so that the last turn after it can be paid for, too. Main type:
//! [`TurnReservation`].
//!
//! What follows from it for a conversation is decided by [`ConversationBudget`].

use super::ConversationBudget;
use super::LAST_WORDS;
use super::amount::Amount;
use crate::domain::review::StopReason;

/// Assumed number of conversations that send requests at the same time.
const SHARERS: u64 = 3;

/// Reservation for a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnReservation {
    pub(super) now: Amount,
    pub(super) next: Amount,
}

impl ConversationBudget {
    /// Returns the cost of a last request of `last` tokens and a minimal response; in money including the message before it.
    pub(super) fn last_turn(&self, size: u64, last: u64) -> Amount {
        let Amount { cost, .. } = self.limits.amount(size.saturating_add(LAST_WORDS), self.limits.min_payable_answer());
        Amount { tokens: last, cost }
    }

    /// Returns the reservation for a request with a response of this many tokens, and for the last request after it, which sends `next`. In money
    /// that includes the response once more, because it is sent again.
    pub(super) fn reservation_for(&self, size: u64, next: u64, answer: u64) -> TurnReservation {
        let last = self.last_turn(size.saturating_add(answer), next);
        TurnReservation { now: self.limits.amount(size, answer), next: last }
    }

    /// Checks that the budget covers both, the reserve, and the conversation's own limit.
    pub(super) fn check_reservation(&self, TurnReservation { now, next }: TurnReservation) -> Result<(), StopReason> {
        self.share.check_turn(now, next, self.reserve.amount())?;
        if self.is_shared { now.plus(next).check_within(self.remaining_of_own_limit()) } else { Ok(()) }
    }

    /// Returns the expected response: the longest so far and a quarter more.
    pub(super) fn expected_answer(&self) -> u64 {
        let longest = self.longest_answer.saturating_add(self.longest_answer / 4);
        longest.max(self.limits.min_payable_answer()).min(u64::from(self.limits.max_output))
    }

    /// Returns the maximum size of the response to a request of about `estimate` tokens, in tokens, which is not the last: if money is limited, a
    /// last turn must be payable after it.
    pub(in crate::review) fn max_answer(&self, estimate: u64) -> u32 {
        if self.limits.cost.is_none() {
            return self.limits.max_output;
        }
        let size = self.scaled(estimate);
        // With the longest response the next request may count as large.
        let next = size.saturating_add(u64::from(self.limits.max_output)).saturating_add(LAST_WORDS);
        let last = self.limits.amount_as(size.saturating_add(LAST_WORDS), self.limits.min_payable_answer(), next);
        let bare = self.limits.amount(size, 0).plus(last);
        let free = self.share.unreserved(Amount::default()).saturating_sub(self.reserve.amount()).cost;
        let free = if self.is_shared { free.min(self.remaining_of_own_limit().cost) } else { free };
        let free = free.saturating_sub(bare.cost);
        // The others can use what one leaves, so no conversation reserves everything for a response that will be short.
        let answer = self.limits.max_resent_answer(if self.is_shared { free.part(SHARERS) } else { free }, size, next);
        u32::try_from(answer.max(self.expected_answer())).unwrap_or(u32::MAX).min(self.limits.max_output)
    }

    /// Returns the tokens besides a request of `size` that can be paid for so that it can still be the last one.
    pub(super) fn payable_tokens(&self, size: u64) -> u64 {
        let free = self.share.unreserved(Amount::default());
        let free = if self.is_shared { free.cost.min(self.remaining_of_own_limit().cost) } else { free.cost };
        self.limits.max_sendable(free, size.saturating_add(LAST_WORDS), self.limits.min_payable_answer())
    }
}
