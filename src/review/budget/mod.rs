//! Limits of a run: turns, tokens, money, the context window, time. Main types: [`ConversationBudget`] of one conversation, [`SharedBudget`] of all.
//!
//! A turn is reserved before it is sent and settled after its response. A limit never comes as a surprise: one last turn is always kept in reserve,
//! in which the model is asked to finish. If several conversations share a run, their tokens and their money come from one [`SharedBudget`].

mod amount;
mod describe;
mod pool;
mod shared;
mod unbilled;
mod verification;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::domain::run::Usage;
use crate::llm::TurnUsage;

pub use amount::{Amount, CostLimit};
pub use pool::{BudgetPool, BudgetSource};

pub(super) use describe::describe_limit;
pub(super) use shared::{BudgetShare, SharedBudget};
pub(super) use unbilled::UnbilledAttempts;
pub(super) use verification::{
    RemainingBudget, VerificationReserve, VerificationShare, affordable, opening_room, reserve_for, share,
};

use amount::Reservation;

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// Turns of the model.
    pub turns: u32,
    /// Tokens sent in all turns together, cached ones included.
    pub input_tokens: u64,
    /// Tokens of one request and its response together.
    pub window: u64,
    /// Tokens of one response.
    pub max_output: u32,
    /// The time of the whole run.
    pub time: Duration,
    /// Cost limit of the whole run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostLimit>,
}

impl BudgetLimits {
    /// Returns the limits for a model with this window. In a small window, a response may take only a share.
    #[must_use]
    pub(super) fn for_model(self, window: u64, max_output: u32) -> Self {
        let share = u32::try_from(window / ANSWER_SHARE).unwrap_or(u32::MAX).max(1);
        Self { window, max_output: max_output.min(share), ..self }
    }

    /// Returns the planned part of the window.
    fn planned(&self) -> u64 {
        self.window - self.window / SLACK
    }

    fn landing(&self) -> u64 {
        LANDING.min(self.window / LANDING_SHARE)
    }

    /// Returns the minimum response that every turn must be able to pay for: most responses are shorter, and so is a last one.
    pub(super) fn min_payable_answer(&self) -> u64 {
        self.landing().min(u64::from(self.max_output))
    }

    /// Returns the minimum for a conversation whose first request has this size: that request, one more turn, and the last.
    pub(super) fn least(&self, size: u64) -> Amount {
        self.amount(size.saturating_add(self.landing()), self.min_payable_answer()).times(3)
    }

    /// Returns the largest request that need not be the last one: its response and the last turn fit the window after it.
    pub(super) fn most_request(&self) -> u64 {
        self.planned().saturating_sub(u64::from(self.max_output) + self.landing())
    }
}

/// Permission for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnPermit {
    /// One of many.
    Turn,
    /// The last turn: the model is asked to finish because of this limit.
    Landing(StopReason),
    /// Not even that.
    Nothing(StopReason),
}

/// Tokens for the last request and the response in which the model finishes; less if the window is small.
pub(super) const LANDING: u64 = 6_000;
/// Divisor: the share of a small window that is reserved for it.
const LANDING_SHARE: u64 = 10;
/// Divisor: the maximum share of a response in a window that was found to be small.
const ANSWER_SHARE: u64 = 6;
/// Maximum tokens of this program's message before a last turn.
const LAST_WORDS: u64 = 300;
/// Divisor: the share of the window that is left unplanned, because sizes are estimates.
const SLACK: u64 = 20;
/// Divisor: the maximum share of the run's time that is reserved for the last turn.
const LAST_SHARE: u32 = 4;
/// Divisor: the minimum share of the run's time that is reserved for the last turn.
const LEAST_SHARE: u32 = 40;
/// Divisor: the share of the run's tokens that is not promised to parts.
const PROMISED: u64 = 5;
/// Assumed number of conversations that send requests at the same time.
const SHARERS: u64 = 3;

/// Limits, and what is spent of them, for one conversation.
#[derive(Debug)]
pub(super) struct ConversationBudget {
    limits: BudgetLimits,
    reserve: VerificationReserve,
    turns: u32,
    /// Consumption of this conversation so far.
    spent: Amount,
    longest: Duration,
    /// Longest response, in tokens.
    longest_answer: u64,
    /// Provider's count of the last request, in percent of the estimate.
    scale: u64,
    share: BudgetShare,
    /// `true` if other conversations share the budget.
    is_shared: bool,
    /// `true` if the turns of earlier sessions are in the shared budget, before they are replayed.
    includes_recorded: bool,
}

impl ConversationBudget {
    /// Creates the budget of a conversation that has the run to itself.
    #[cfg(test)]
    pub(super) fn new(limits: BudgetLimits) -> Self {
        Self::in_pool(limits, None)
    }

    /// Creates the budget of a conversation that shares it with other runs only.
    pub(super) fn in_pool(limits: BudgetLimits, pool: Option<&BudgetPool>) -> Self {
        let budget = Self::for_single_conversation(&SharedBudget::in_pool(limits, &[], pool), limits);
        Self { includes_recorded: false, ..budget }
    }

    /// Returns the budget of a single conversation, with a shared budget that was used before.
    pub(super) fn for_single_conversation(shared: &SharedBudget, limits: BudgetLimits) -> Self {
        Self::of(shared.open_share(), limits, false)
    }

    /// Returns the budget of one of several conversations: turns are its own; tokens are those of the run, up to its own limits.
    pub(super) fn for_share(share: BudgetShare, limits: BudgetLimits) -> Self {
        Self::of(share, limits, true)
    }

    /// Creates the budget of a conversation after them.
    pub(super) fn shared(shared: &SharedBudget, limits: BudgetLimits) -> Self {
        Self::of(shared.open_share(), limits, true)
    }

    fn of(share: BudgetShare, limits: BudgetLimits, is_shared: bool) -> Self {
        let scale = share.scale;
        Self {
            limits,
            reserve: VerificationReserve::default(),
            turns: 0,
            spent: Amount::default(),
            longest: Duration::ZERO,
            longest_answer: 0,
            scale,
            share,
            is_shared,
            includes_recorded: true,
        }
    }

    /// Returns the turns of this conversation with a response.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns the turns of the whole run with a response.
    pub(super) fn turns_of_run(&self) -> u32 {
        self.share.turns()
    }

    /// Sets the number of this conversation's findings that will be verified; returns the number of the run.
    pub(super) fn findings(&self, count: usize) -> usize {
        self.share.findings(count)
    }

    /// Sets the reserve for verification. Only the last turn may use it.
    pub(super) fn set_reserve(&mut self, reserve: VerificationReserve) {
        // Verification after several conversations has turns of its own.
        self.reserve = if self.is_shared { VerificationReserve { turns: 0, ..reserve } } else { reserve };
        self.share.set_reserve(self.reserve);
    }

    /// Returns the remaining budget, including the reserve.
    pub(super) fn remaining(&self) -> RemainingBudget {
        let turns = if self.is_shared { self.limits.turns } else { self.limits.turns.saturating_sub(self.turns) };
        RemainingBudget { turns, all: self.share.remaining() }
    }

    pub(super) fn limits(&self) -> BudgetLimits {
        self.limits
    }

    /// Switches to another window, response limit and prices. `is_other` if another model counts the tokens from now on.
    pub(super) fn adopt_limits(&mut self, limits: BudgetLimits, is_other: bool) {
        (self.limits.window, self.limits.max_output) = (limits.window, limits.max_output);
        self.limits = self.limits.with_prices_of(&limits);
        if is_other {
            self.share.set_prices(&limits);
            // Its way of counting is unknown; an estimate that is too high costs less than one that is too low.
            self.scale = self.scale.max(100);
        }
    }

    /// Checks whether a request of about `estimate` tokens could be sent within `limits`, if only as the last one.
    pub(super) fn fits_request(&self, estimate: u64, limits: &BudgetLimits) -> bool {
        let answer = u64::from(limits.max_output).min(limits.landing());
        self.scaled(estimate).saturating_add(answer) <= limits.planned()
    }

    /// Returns the window to assume after a server refused a request of about `estimate` tokens as too long: no more than it reports, and so small
    /// that the same request could only be the last one.
    pub(super) fn narrower_window(&self, estimate: u64, said: Option<u64>) -> u64 {
        let size = self.scaled(estimate);
        let last = size.saturating_add(LANDING.min(size / LANDING_SHARE));
        let window = last.saturating_mul(SLACK) / (SLACK - 1) + 1;
        window.min(said.unwrap_or(u64::MAX)).min(self.limits.window.saturating_sub(1))
    }

    /// Reserves a request of about `estimate` tokens with this much time left; it counts as sent from now on.
    pub(super) fn reserve_turn(&self, estimate: u64, left: Option<Duration>) -> TurnPermit {
        let size = self.scaled(estimate);
        let answer = u64::from(self.limits.max_output);
        let landing = self.limits.landing();
        if size.saturating_add(answer.min(landing)) > self.limits.planned() {
            return TurnPermit::Nothing(StopReason::WindowLimit);
        }
        let _held = self.share.hold_pool(self.limits.room_for(size));
        let last = size.saturating_add(if self.has_competitors() { LAST_WORDS } else { 0 });
        let last_turn = self.last_turn(size, last);
        if let Err(limit) = self.share.check_final_turn(last_turn) {
            self.note_pool_end(last_turn);
            return TurnPermit::Nothing(limit);
        }
        // The next turn sends at least all of this again. If others spend meanwhile, the longest response is assumed.
        let next = if self.has_competitors() {
            last.saturating_add(landing.max(answer))
        } else {
            size.saturating_add(landing)
        };
        let asked = self.reservation_for(size, next, self.expected_answer());
        let may_go_on = self.check_reservation(asked);
        if may_go_on.is_err() {
            self.note_pool_end(asked.total());
        }
        let reserved = match may_go_on {
            _ if self.turns + 1 + self.reserve.turns >= self.limits.turns => TurnPermit::Landing(StopReason::TurnLimit),
            Err(limit) => TurnPermit::Landing(limit),
            Ok(()) if size > self.limits.most_request() => TurnPermit::Landing(StopReason::WindowLimit),
            Ok(()) if left.is_some_and(|left| left < self.last_turn_takes() + self.reserve.time) => {
                TurnPermit::Landing(StopReason::Deadline)
            }
            Ok(()) => TurnPermit::Turn,
        };
        self.share.reserve_turn(match reserved {
            TurnPermit::Turn => self.reservation_for(size, next, u64::from(self.max_answer(estimate))),
            TurnPermit::Landing(_) | TurnPermit::Nothing(_) => {
                let answer = u64::from(self.last_answer(estimate));
                let now = Amount { tokens: last, ..self.limits.amount(size.saturating_add(LAST_WORDS), answer) };
                Reservation { now, next: Amount::default() }
            }
        });
        reserved
    }

    /// Returns the cost of a last request of `last` tokens and a minimal response; in money including the message before it.
    fn last_turn(&self, size: u64, last: u64) -> Amount {
        let answer = self.limits.min_payable_answer();
        Amount { tokens: last, ..self.limits.amount(size.saturating_add(LAST_WORDS), answer) }
    }

    /// Returns the reservation for a request with a response of this many tokens, and for the last request after it, which sends `next`. In money
    /// that includes the response once more, because it is sent again.
    fn reservation_for(&self, size: u64, next: u64, answer: u64) -> Reservation {
        let last = self.last_turn(size.saturating_add(answer), next);
        Reservation { now: self.limits.amount(size, answer), next: last }
    }

    /// Checks that the budget covers both, the reserve, and the conversation's own limit.
    fn check_reservation(&self, turn: Reservation) -> Result<(), StopReason> {
        self.share.check_turn(turn, self.reserve.amount())?;
        if self.has_competitors() { turn.total().check_within(self.remaining_of_own_limit()) } else { Ok(()) }
    }

    /// Returns the expected response: the longest so far and a quarter more.
    fn expected_answer(&self) -> u64 {
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
        let free = if self.has_competitors() { free.min(self.remaining_of_own_limit().cost) } else { free };
        let free = free.saturating_sub(bare.cost);
        // The others can use what one leaves, so no conversation reserves everything for a response that will be short.
        let answer =
            self.limits.max_resent_answer(if self.has_competitors() { free.part(SHARERS) } else { free }, size, next);
        u32::try_from(answer.max(self.expected_answer())).unwrap_or(u32::MAX).min(self.limits.max_output)
    }

    /// Returns the tokens besides a request of `size` that can be paid for so that it can still be the last one.
    fn payable_tokens(&self, size: u64) -> u64 {
        let free = self.share.unreserved(Amount::default());
        let free = if self.has_competitors() { free.cost.min(self.remaining_of_own_limit().cost) } else { free.cost };
        self.limits.max_sendable(free, size.saturating_add(LAST_WORDS), self.limits.min_payable_answer())
    }
    /// Reserves a last request of about `estimate` tokens: results were accepted as far as there was space.
    pub(super) fn reserve_final_turn(&self, estimate: u64) {
        let size = self.scaled(estimate);
        let next = self.last_turn(size, size.saturating_add(LAST_WORDS));
        self.share.reserve_turn(Reservation { now: Amount::default(), next });
    }

    /// Returns the tokens of results that the request of about `estimate` tokens may still take.
    pub(super) fn result_room(&self, estimate: u64) -> u64 {
        let size = self.scaled(estimate);
        let mut room = self.limits.most_request().saturating_sub(size);
        if self.has_competitors() {
            // What others live on is not read away: the next request must be one that can be sent.
            let tokens = Amount { tokens: size, cost: Money::NOTHING };
            let free =
                self.share.unreserved(tokens).tokens.min(self.remaining_of_own_limit().saturating_sub(tokens).tokens);
            room = room.min(free.saturating_sub(LAST_WORDS));
        }
        room = room.min(self.payable_tokens(size));
        room.saturating_mul(100) / self.scale.max(1)
    }

    /// Returns that number for the case that the next request is the last one and limited by the tokens of the run.
    pub(super) fn room_of_tokens(&self, estimate: u64) -> u64 {
        let size = self.scaled(estimate);
        let room = self.share.remaining().tokens.saturating_sub(size).min(self.payable_tokens(size));
        // The message before the last turn is sent with it.
        (room.saturating_mul(100) / self.scale.max(1)).saturating_sub(LAST_WORDS)
    }

    /// Returns the maximum size of the last response, in tokens: a server refuses one that does not fit its window besides a request of about
    /// `estimate`.
    pub(super) fn last_answer(&self, estimate: u64) -> u32 {
        let size = self.scaled(estimate);
        let room = self.limits.planned().saturating_sub(size);
        let last = size.saturating_add(LAST_WORDS);
        let bare = self.limits.amount(last, 0);
        // A long response takes nothing from conversations that were promised a start; one of the usual length may.
        let usual = self
            .limits
            .max_answer(self.share.available_for_final_turn(bare).cost, last)
            .min(self.limits.min_payable_answer());
        let room = room.min(self.limits.max_answer(self.share.unreserved(bare).cost, last).max(usual));
        u32::try_from(room).unwrap_or(u32::MAX).min(self.limits.max_output)
    }

    /// Counts a turn: its estimate, and its actual consumption. One of an earlier session may be in the shared budget already.
    pub(super) fn count_turn(&mut self, estimate: u64, usage: &TurnUsage, took: Duration, is_recorded: bool) {
        self.turns += 1;
        self.longest = self.longest.max(took);
        let estimated = if usage.input.is_none() { self.scaled(estimate) } else { 0 };
        if let Some(input) = usage.input {
            self.scale = (input.saturating_mul(100) / estimate.max(1)).clamp(40, 400);
        }
        let spent = self.limits.spent(usage.input.unwrap_or(estimated), usage);
        self.spent = self.spent.plus(spent);
        self.longest_answer = self.longest_answer.max(usage.output.unwrap_or(0));
        if is_recorded && self.includes_recorded {
            let cost = if usage.cost.is_none() { spent.cost } else { Money::NOTHING };
            self.share.record_turn(Amount { tokens: estimated, cost }, None, took, self.scale);
        } else {
            self.share.record_turn(spent, Some(usage), took, self.scale);
        }
    }

    /// Returns the maximum cost of an attempt at a request of about `estimate` tokens with at most `most` answered; zero without a cost limit.
    pub(super) fn max_attempt_cost(&self, estimate: u64, most: u32) -> Money {
        self.limits.amount(self.scaled(estimate), u64::from(most)).cost
    }

    /// Counts the possible cost of an attempt that was not reported, at once, because others spend from the same budget. Returns `true` if another
    /// attempt can be paid for.
    pub(super) fn record_unbilled(&self, cost: Money) -> bool {
        self.share.record_unbilled(cost)
    }

    /// Counts such costs to this conversation: those of earlier sessions, and those of this one, which were counted at once.
    pub(super) fn count_unbilled(&mut self, recorded: Money, now: Money) {
        self.spent.cost = self.spent.cost.plus(recorded).plus(now);
        if !self.includes_recorded {
            self.record_unbilled(recorded);
        }
    }

    /// Returns the usage of all turns of the run; unknown if there was no response.
    pub(super) fn usage(&self) -> Usage {
        self.share.usage()
    }

    /// Returns the largest request that fits the window and is not the last one, in estimated tokens.
    pub(super) fn max_request(&self) -> u64 {
        self.limits.most_request().saturating_mul(100) / self.scale.max(1)
    }

    /// Describes a limit.
    pub(super) fn describe_limit(&self, ended: StopReason) -> String {
        if self.share.is_pool_refused() && matches!(ended, StopReason::TokenLimit | StopReason::CostLimit) {
            return "the budget of the queue was used up (raise it with `review queue limit`)".to_owned();
        }
        if self.share.is_pool_exhausted() {
            let flag = match ended {
                StopReason::TokenLimit => Some("--max-tokens"),
                StopReason::CostLimit => Some("--max-cost"),
                _ => None,
            };
            if let Some(flag) = flag {
                return format!("the budget of all reviews together was used up (raise it with {flag})");
            }
        }
        describe_limit(ended, &self.limits, &self.reserve)
    }

    /// Marks the pool as used up if a conversation cannot begin with a turn of this much though its own limits allow it: whoever comes next
    /// has no more.
    fn note_pool_end(&self, wanted: Amount) {
        if self.turns == 0 && wanted.check_within(self.remaining_of_own_limit()).is_ok() {
            self.share.mark_pool_exhausted();
        }
    }

    /// Checks whether other conversations, of this run or of others, spend from the same budget.
    fn has_competitors(&self) -> bool {
        self.is_shared || self.share.is_pooled()
    }

    /// Returns the rest of the conversation's own limit.
    fn remaining_of_own_limit(&self) -> Amount {
        self.limits.total().saturating_sub(self.spent)
    }

    fn scaled(&self, estimate: u64) -> u64 {
        estimate.saturating_mul(self.scale) / 100
    }

    fn last_turn_takes(&self) -> Duration {
        last_turn_takes(self.longest, &self.limits)
    }
}

/// Returns the time to reserve for a last turn, if the longest so far took `longest`.
fn last_turn_takes(longest: Duration, limits: &BudgetLimits) -> Duration {
    (longest.saturating_mul(3) / 2).clamp(limits.time / LEAST_SHARE, limits.time / LAST_SHARE)
}

#[cfg(test)]
mod fixtures {
    //! Limits and prices for tests.

    use super::*;
    use crate::llm::Prices;

    pub(super) const LIMITS: BudgetLimits = BudgetLimits {
        turns: 40,
        input_tokens: 2_000_000,
        window: 200_000,
        max_output: 16_000,
        time: Duration::from_mins(20),
        cost: None,
    };

    /// Prices of a good model.
    pub(super) fn prices() -> Prices {
        let usd = |text: &str| text.parse().unwrap();
        let (cache_read, on) = (Some(usd("0.3")), "2026-11-01".parse().unwrap());
        Prices { input: usd("3"), output: usd("15"), cache_read, cache_write: Some(usd("3.75")), on, large: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BudgetLimits = BudgetLimits {
        turns: 3,
        input_tokens: 100_000,
        window: 60_000,
        max_output: 4_000,
        time: Duration::from_mins(20),
        cost: None,
    };

    fn usage(input: Option<u64>) -> TurnUsage {
        TurnUsage { input, output: Some(10), cache_read: Some(0), cache_write: None, cost: None }
    }

    #[test]
    fn one_turn_is_no_turns() {
        let said = |turns| {
            describe_limit(StopReason::TurnLimit, &BudgetLimits { turns, ..LIMITS }, &VerificationReserve::default())
        };
        assert!(said(1).contains("of 1 turn was") && said(2).contains("of 2 turns was"));
    }

    #[test]
    fn what_is_kept_back_ends_the_run_earlier_and_is_said() {
        let mut budget = ConversationBudget::new(BudgetLimits { turns: 10, ..LIMITS });
        assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Turn);
        budget.set_reserve(VerificationReserve { turns: 9, ..VerificationReserve::default() });
        assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Landing(StopReason::TurnLimit));
        assert!(budget.describe_limit(StopReason::TurnLimit).contains("10 turns but 9 for the second look was"));
        budget.set_reserve(VerificationReserve { tokens: 95_000, ..VerificationReserve::default() });
        assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Landing(StopReason::TokenLimit));
        assert!(budget.describe_limit(StopReason::TokenLimit).contains("100000 input tokens but 95000 for"));
        budget.set_reserve(VerificationReserve { time: Duration::from_mins(5), ..VerificationReserve::default() });
        assert_eq!(budget.reserve_turn(1_000, Some(Duration::from_mins(5))), TurnPermit::Landing(StopReason::Deadline));
        budget.count_turn(1_000, &usage(Some(1_000)), Duration::ZERO, false);
        assert_eq!((budget.remaining().turns, budget.remaining().all.tokens), (9, 99_000));
    }

    #[test]
    fn the_last_turn_is_for_finishing() {
        let mut budget = ConversationBudget::new(LIMITS);
        for _ in 0..2 {
            assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Turn);
            budget.count_turn(1_000, &usage(Some(1_000)), Duration::ZERO, false);
        }
        assert_eq!(budget.reserve_turn(1_000, None), TurnPermit::Landing(StopReason::TurnLimit));
    }

    #[test]
    fn a_turn_that_leaves_no_tokens_for_the_last_one_is_the_last() {
        let mut budget = ConversationBudget::new(LIMITS);
        assert_eq!(budget.reserve_turn(40_000, None), TurnPermit::Turn);
        budget.count_turn(40_000, &usage(Some(40_000)), Duration::ZERO, false);
        assert_eq!(budget.reserve_turn(41_000, None), TurnPermit::Landing(StopReason::TokenLimit));
        assert_eq!(
            ConversationBudget::new(BudgetLimits { input_tokens: 10, ..LIMITS }).reserve_turn(11, None),
            TurnPermit::Nothing(StopReason::TokenLimit)
        );
    }

    #[test]
    fn what_does_not_fit_the_window_is_not_sent() {
        let budget = ConversationBudget::new(BudgetLimits { input_tokens: 200_000, ..LIMITS });
        assert_eq!(budget.reserve_turn(48_000, None), TurnPermit::Landing(StopReason::WindowLimit));
        assert_eq!(budget.reserve_turn(55_000, None), TurnPermit::Nothing(StopReason::WindowLimit));
        assert_eq!(budget.result_room(46_000), 1_000);
        assert_eq!(budget.result_room(60_000), 0);
        assert_eq!((budget.last_answer(46_000), budget.last_answer(54_000)), (4_000, 3_000));
    }

    #[test]
    fn results_that_fill_the_room_leave_a_turn() {
        for window in [8_000, 32_000, 200_000] {
            let budget =
                ConversationBudget::new(BudgetLimits { window, max_output: 1_000, input_tokens: u64::MAX, ..LIMITS });
            let full = 1_000 + budget.result_room(1_000);
            assert_eq!(budget.reserve_turn(full, None), TurnPermit::Turn, "{window}");
            assert_eq!(budget.reserve_turn(full + 1, None), TurnPermit::Landing(StopReason::WindowLimit), "{window}");
        }
    }

    #[test]
    fn results_that_fill_the_room_of_tokens_leave_the_last_turn() {
        for (limit, input) in [(9_000, 3_000), (20_000, 900), (20_000, 9_000), (300_000, 3_000)] {
            let mut budget =
                ConversationBudget::new(BudgetLimits { turns: 8, window: 400_000, input_tokens: limit, ..LIMITS });
            budget.count_turn(3_000, &usage(Some(input)), Duration::ZERO, false);
            let full = 3_000 + budget.room_of_tokens(3_000);
            let reserved = budget.reserve_turn(full + LAST_WORDS, None);
            assert!(!matches!(reserved, TurnPermit::Nothing(_)), "{limit} {input}: {reserved:?}");
            if limit == 20_000 {
                assert!(matches!(
                    budget.reserve_turn(full + LAST_WORDS + 100, None),
                    TurnPermit::Nothing(StopReason::TokenLimit)
                ));
            }
        }
    }

    #[test]
    fn figures_that_nobody_can_have_sent_end_the_run_and_no_more() {
        let mut budget = ConversationBudget::new(LIMITS);
        budget.count_turn(10, &usage(Some(u64::MAX)), Duration::ZERO, false);
        budget.count_turn(10, &usage(Some(u64::MAX)), Duration::ZERO, false);
        assert_eq!(budget.reserve_turn(10, None), TurnPermit::Nothing(StopReason::TokenLimit));
        assert_eq!(budget.usage().input_tokens, Some(u64::MAX));
    }

    #[test]
    fn time_for_the_last_turn_is_kept_back() {
        let mut budget = ConversationBudget::new(LIMITS);
        assert_eq!(budget.reserve_turn(10, Some(Duration::from_mins(1))), TurnPermit::Turn);
        budget.count_turn(10, &usage(Some(10)), Duration::from_mins(2), false);
        assert_eq!(budget.reserve_turn(10, Some(Duration::from_mins(2))), TurnPermit::Landing(StopReason::Deadline));
        assert_eq!(budget.reserve_turn(10, Some(Duration::from_mins(4))), TurnPermit::Turn);
    }

    #[test]
    fn sizes_are_corrected_by_what_the_provider_counts() {
        let mut budget = ConversationBudget::new(LIMITS);
        budget.count_turn(10_000, &usage(Some(20_000)), Duration::ZERO, false);
        assert_eq!(budget.reserve_turn(28_000, None), TurnPermit::Nothing(StopReason::WindowLimit));
    }

    #[test]
    fn a_figure_that_is_missing_once_is_unknown_for_good() {
        let mut budget = ConversationBudget::new(LIMITS);
        assert_eq!(budget.usage(), Usage::default());
        budget.count_turn(10, &usage(Some(10)), Duration::ZERO, false);
        assert_eq!(budget.usage().input_tokens, Some(10));
        assert_eq!(budget.usage().cache_write_tokens, None);
        budget.count_turn(10, &usage(None), Duration::ZERO, false);
        assert_eq!((budget.usage().input_tokens, budget.usage().output_tokens), (None, Some(20)));
    }
}
