//! Tokens and money together: what is counted against the limits of a run. Main types: [`Amount`], [`Reservation`],
//! [`CostLimit`].
//!
//! Money is reserved at list price, without any cache: the actual cost is lower, and is settled when it is known. The effect of a limit on a
//! conversation is described in the folder's page.

use serde::{Deserialize, Serialize};

use super::{BudgetLimits, SHARERS, SLACK};
use crate::domain::money::Money;
use crate::domain::review::StopReason;
use crate::llm::{Prices, TurnUsage};

/// Cost limit of a run, and the prices of its model. Without prices there is no such limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostLimit {
    /// The most that all turns together may cost.
    pub most: Money,
    /// Prices for estimates.
    pub prices: Prices,
}

impl CostLimit {
    /// Returns the prices of a request of about this many tokens. Sizes are estimates: it counts as large slightly before it is.
    fn of(&self, tokens: u64) -> Prices {
        self.prices.of_request(tokens.saturating_add(tokens / SLACK))
    }

    /// Returns the largest request, in tokens, that does not count as large.
    fn bound(&self) -> u64 {
        self.prices.large.map_or(u64::MAX, |large| large.above - large.above.div_ceil(SLACK + 1))
    }
}

/// No amount of money is more.
pub(super) const ENDLESS: Money = Money::from_nanos(u64::MAX);

/// Tokens sent, and the cost including responses. The cost is zero if money is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens sent.
    pub tokens: u64,
    /// Money.
    pub cost: Money,
}

impl Amount {
    #[must_use]
    pub(in crate::review) fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), cost: self.cost.plus(other.cost) }
    }

    #[must_use]
    pub(in crate::review) fn saturating_sub(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_sub(other.tokens), cost: self.cost.saturating_sub(other.cost) }
    }

    /// Returns the smaller number of tokens and the smaller amount of money.
    #[must_use]
    pub(super) fn min_each(self, other: Self) -> Self {
        Self { tokens: self.tokens.min(other.tokens), cost: self.cost.min(other.cost) }
    }

    /// Multiplies the amount.
    #[must_use]
    pub(in crate::review) fn times(self, count: u64) -> Self {
        Self { tokens: self.tokens.saturating_mul(count), cost: self.cost.times(count) }
    }

    /// Divides the amount.
    #[must_use]
    pub(in crate::review) fn part(self, of: u64) -> Self {
        Self { tokens: self.tokens / of.max(1), cost: self.cost.part(of) }
    }

    /// Checks that the amount is within `most`; otherwise returns the exceeded limit.
    pub(in crate::review) fn check_within(self, most: Self) -> Result<(), StopReason> {
        match () {
            () if self.tokens > most.tokens => Err(StopReason::TokenLimit),
            () if self.cost > most.cost => Err(StopReason::CostLimit),
            () => Ok(()),
        }
    }
}

/// Worst-case cost of a turn, reserved before it is sent, so that the last turn after it can be paid for, too.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reservation {
    /// For the request under way.
    pub(super) now: Amount,
    /// For the last turn.
    pub(super) next: Amount,
}

impl Reservation {
    pub(super) fn total(self) -> Amount {
        self.now.plus(self.next)
    }
}

impl BudgetLimits {
    /// Returns everything that may be spent.
    pub(super) fn total(&self) -> Amount {
        Amount { tokens: self.input_tokens, cost: self.cost.map_or(ENDLESS, |limit| limit.most) }
    }

    /// Returns the maximum cost of one request and its response, of these many tokens.
    pub(in crate::review) fn amount(&self, tokens: u64, answered: u64) -> Amount {
        self.amount_as(tokens, answered, tokens)
    }

    /// Returns the cost at the prices of a request of `size`.
    pub(super) fn amount_as(&self, tokens: u64, answered: u64, size: u64) -> Amount {
        let cost = self.cost.map_or(Money::NOTHING, |limit| {
            let prices = limit.of(size);
            prices.max_input_price().for_tokens(tokens).plus(prices.output.for_tokens(answered))
        });
        Amount { tokens, cost }
    }

    /// Returns room for a request of this size, its response and what usually follows: of a budget that is taken in parts, so much is taken at once.
    pub(super) fn room_for(&self, size: u64) -> Amount {
        let output = u64::from(self.max_output);
        self.amount(size.saturating_mul(2).saturating_add(output).min(self.window), output).times(SHARERS)
    }

    /// Returns the limits at the prices of another model.
    #[must_use]
    pub(in crate::review) fn with_prices_of(self, other: &Self) -> Self {
        let cost =
            self.cost.map(|limit| CostLimit { prices: other.cost.map_or(limit.prices, |it| it.prices), ..limit });
        Self { cost, ..self }
    }

    /// Returns the consumption of a turn that sent this many tokens; unreported numbers are assumed at their maximum.
    pub(super) fn spent(&self, tokens: u64, usage: &TurnUsage) -> Amount {
        let Some(CostLimit { prices, .. }) = self.cost else { return self.amount(tokens, 0) };
        let cost = usage.cost.or_else(|| prices.cost(usage));
        let reckoned = || self.amount(tokens, usage.output.unwrap_or(u64::from(self.max_output))).cost;
        Amount { tokens, cost: cost.unwrap_or_else(reckoned) }
    }

    /// Returns the tokens that could be sent at all, with empty responses.
    pub(in crate::review) fn max_sent(&self) -> u64 {
        self.sendable(self.total().cost, u64::MAX).min(self.input_tokens)
    }

    /// Returns the tokens that can be sent for this money, in a number of requests of one size.
    pub(in crate::review) fn sendable(&self, money: Money, requests: u64) -> u64 {
        let Some(limit) = self.cost else { return u64::MAX };
        let most = limit.bound().saturating_mul(requests);
        match money.tokens_at(limit.of(0).max_input_price()) {
            small if small <= most => small,
            _ => money.tokens_at(limit.of(u64::MAX).max_input_price()).max(most),
        }
    }

    /// Returns the tokens that can be sent for this money besides `size` others of a request, with a response of `answered`.
    pub(super) fn max_sendable(&self, money: Money, size: u64, answered: u64) -> u64 {
        let Some(limit) = self.cost else { return u64::MAX };
        let beside = |prices: Prices| {
            let rest = money
                .saturating_sub(prices.max_input_price().for_tokens(size))
                .saturating_sub(prices.output.for_tokens(answered));
            rest.tokens_at(prices.max_input_price())
        };
        let bound = limit.bound();
        match beside(limit.of(0)) {
            small if size.saturating_add(small) <= bound => small,
            _ => beside(limit.of(u64::MAX)).max(bound.saturating_sub(size)),
        }
    }

    /// Returns the tokens of the response that this money pays for, to a request of `size`.
    pub(super) fn max_answer(&self, money: Money, size: u64) -> u64 {
        self.cost.map_or(u64::MAX, |limit| money.tokens_at(limit.of(size).output))
    }

    /// Returns the tokens of the response that this money pays for, if the response is sent again with the next request, of `next`.
    pub(super) fn max_resent_answer(&self, money: Money, size: u64, next: u64) -> u64 {
        self.cost
            .map_or(u64::MAX, |limit| money.tokens_at(limit.of(size).output.plus(limit.of(next).max_input_price())))
    }

    /// Returns the limits with one part of the money, by divisor.
    #[must_use]
    pub(in crate::review) fn with_part_of_money(self, of: u64) -> Self {
        Self { cost: self.cost.map(|limit| CostLimit { most: limit.most.part(of), ..limit }), ..self }
    }

    /// Returns the limits with this much money, if money is limited.
    #[must_use]
    pub(in crate::review) fn with_money(self, most: Money) -> Self {
        Self { cost: self.cost.map(|limit| CostLimit { most, ..limit }), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::ConversationBudget;
    use super::super::LAST_WORDS;
    use super::super::TurnPermit;
    use super::super::fixtures::{LIMITS, prices};
    use super::super::shared::SharedBudget;
    use super::*;

    fn usd(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn limits(most: &str) -> BudgetLimits {
        BudgetLimits { cost: Some(CostLimit { most: usd(most), prices: prices() }), ..LIMITS }
    }

    fn usage(input: u64, output: u64, cost: Option<&str>) -> TurnUsage {
        let (cache_read, cache_write) = (Some(0), Some(0));
        TurnUsage { input: Some(input), output: Some(output), cache_read, cache_write, cost: cost.map(usd) }
    }

    #[test]
    fn a_turn_that_leaves_no_money_for_the_last_one_is_the_last() {
        // 30 000 tokens at 3.75 and 6 000 at 15 are 0.2025; the next request sends the response, too: 0.226125.
        assert_eq!(ConversationBudget::new(limits("0.43")).reserve_turn(30_000, None), TurnPermit::Turn);
        assert_eq!(
            ConversationBudget::new(limits("0.42")).reserve_turn(30_000, None),
            TurnPermit::Landing(StopReason::CostLimit)
        );
        assert_eq!(
            ConversationBudget::new(limits("0.20")).reserve_turn(30_000, None),
            TurnPermit::Nothing(StopReason::CostLimit)
        );
        let mut budget = ConversationBudget::new(limits("1"));
        assert_eq!(budget.reserve_turn(30_000, None), TurnPermit::Turn);
        budget.count_turn(30_000, &usage(30_000, 500, Some("0.60")), Duration::ZERO, false);
        assert_eq!(budget.reserve_turn(30_500, None), TurnPermit::Landing(StopReason::CostLimit));
        assert!(budget.describe_limit(StopReason::CostLimit).contains("limit of $1.00 does not pay"));
    }

    #[test]
    fn no_answer_may_cost_what_the_last_turn_needs() {
        let free = BudgetLimits { cost: None, ..limits("1") };
        assert_eq!(
            (ConversationBudget::new(free).max_answer(30_000), ConversationBudget::new(free).last_answer(30_000)),
            (16_000, 16_000)
        );
        assert_eq!(ConversationBudget::new(limits("9")).max_answer(30_000), 16_000);
        let tight = ConversationBudget::new(limits("0.50"));
        let answer = u64::from(tight.max_answer(30_000));
        assert!((6_000..16_000).contains(&answer), "{answer}");
        let spent =
            tight.limits().amount(30_000, answer).plus(tight.limits().amount(30_000 + answer + LAST_WORDS, 6_000));
        assert!(spent.cost <= usd("0.50") && spent.cost.plus(usd("0.001")) > usd("0.50"), "{spent:?}");
        let last = ConversationBudget::new(limits("0.25"));
        assert_eq!(last.reserve_turn(30_000, None), TurnPermit::Landing(StopReason::CostLimit));
        let all = last.limits().amount(30_000 + LAST_WORDS, u64::from(last.last_answer(30_000))).cost;
        assert!(all <= usd("0.25") && all.plus(usd("0.001")) > usd("0.25"), "{all}");
    }

    #[test]
    fn long_answers_are_reckoned_with() {
        let mut budget = ConversationBudget::new(limits("1"));
        budget.count_turn(1_000, &usage(1_000, 12_000, Some("0.35")), Duration::ZERO, false);
        assert_eq!(
            budget.reserve_turn(40_000, None),
            TurnPermit::Landing(StopReason::CostLimit),
            "15 000 tokens are 0.225"
        );
    }

    #[test]
    fn results_are_only_read_as_far_as_there_is_money_for_a_last_turn() {
        let mut budget = ConversationBudget::new(limits("0.60"));
        budget.count_turn(30_000, &usage(30_000, 500, Some("0.12")), Duration::ZERO, false);
        let full = 30_500 + budget.result_room(30_500);
        assert_eq!(budget.reserve_turn(full, None), TurnPermit::Landing(StopReason::CostLimit));
        assert!(matches!(budget.reserve_turn(full + 100, None), TurnPermit::Nothing(StopReason::CostLimit)));
    }

    #[test]
    fn what_nobody_told_is_counted_as_the_most_that_it_may_have_cost() {
        let mut budget = ConversationBudget::new(limits("1"));
        budget.count_turn(10_000, &usage(10_000, 1_000, None), Duration::ZERO, false);
        assert_eq!(budget.remaining().all.cost, usd("0.955"), "at list price");
        budget.count_turn(10_000, &TurnUsage::default(), Duration::ZERO, false);
        assert_eq!(budget.remaining().all.cost, usd("0.6775"), "10 000 sent, 16 000 answered");
        assert_eq!(budget.usage().cost, None, "and still it is not known");
    }

    #[test]
    fn what_sittings_before_cost_is_counted_once() {
        let shared = SharedBudget::new(limits("1"), &[]);
        let known = Amount { tokens: 10_000, cost: usd("0.25") };
        shared.add_recorded_turns(2, &TurnUsage::NOTHING, known);
        let mut budget = ConversationBudget::for_single_conversation(&shared, limits("1"));
        budget.count_turn(5_000, &usage(5_000, 10, Some("0.25")), Duration::ZERO, true);
        assert_eq!(budget.remaining().all.cost, usd("0.75"));
        budget.count_turn(5_000, &usage(5_000, 1_000, None), Duration::ZERO, true);
        assert_eq!(budget.remaining().all.cost, usd("0.72"), "its tokens are known");
    }

    #[test]
    fn parts_are_promised_no_more_than_can_be_paid() {
        let promised = |most| SharedBudget::new(limits(most), &[30_000; 20]).promised_parts();
        // Each needs 108 000 tokens and three responses: 0.675; a fifth of the limit is for verification.
        assert_eq!((promised("0.80"), promised("0.85"), promised("9")), (0, 1, 10));
        let shared = SharedBudget::new(limits("1"), &[30_000, 30_000]);
        let first = ConversationBudget::for_share(shared.start_part(0, 30_000, None).unwrap(), limits("1"));
        assert_eq!(first.reserve_turn(30_000, None), TurnPermit::Turn);
        assert_eq!(shared.start_part(1, 30_000, None).err(), Some(StopReason::CostLimit));
    }
}
