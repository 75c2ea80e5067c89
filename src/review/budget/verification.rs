//! Budget of the verification. Main types: [`VerificationReserve`], [`RemainingBudget`]; main functions: [`reserve_for`] and [`share`].
//!
//! During the review, a bounded part of its budget is reserved for the verification of the findings so far, and nothing without findings: so neither
//! starves the other. The rest at the end is divided before the first request, so that the selection of findings, and the effort for each, do not
//! depend on the order of responses.

use std::time::Duration;

use super::amount::Amount;
use super::{BudgetLimits, LANDING};
use crate::domain::money::Money;

/// Turns reserved for each finding: two to read, one for the verdict.
const TURNS_KEPT: u32 = 3;
/// Tokens likewise.
const TOKENS_KEPT: u64 = 25_000;
/// Divisor: the maximum share of the run's turns.
const TURNS_SHARE: u32 = 4;
/// Divisor: the maximum share of its tokens.
const TOKENS_SHARE: u64 = 5;
/// Divisor: the maximum share of its time, whatever the number of findings.
const TIME_SHARE: u32 = 8;

/// Minimum number of turns: with fewer nothing can be read, and without reading nothing is refuted.
const LEAST_TURNS: u32 = 2;
/// Maximum number of turns: with more it would repeat the review.
const MOST_TURNS: u32 = 8;
/// Minimum consumption of a verification besides its first message, which is sent at least once per turn, in tokens: some reading, and the reserve
/// for the last turn.
const LEAST_READING: u64 = LANDING + 4_000;
/// Minimum size of a first message: the text and the tools.
const LEAST_MESSAGE: u64 = 3_000;
/// Divisor: the maximum share of one verification in the run's whole time.
const LOOK_SHARE: u32 = 4;

/// Reserve for verification while the run reviews.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::review) struct VerificationReserve {
    pub(in crate::review) turns: u32,
    pub(in crate::review) tokens: u64,
    /// Zero if money is not limited.
    pub(in crate::review) cost: Money,
    pub(in crate::review) time: Duration,
}

impl VerificationReserve {
    pub(super) fn amount(&self) -> Amount {
        Amount { tokens: self.tokens, cost: self.cost }
    }
}

/// Remaining budget of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) struct RemainingBudget {
    pub(in crate::review) turns: u32,
    /// Unlimited money if it is not limited.
    pub(in crate::review) all: Amount,
}

impl RemainingBudget {
    /// Subtracts these turns and this amount.
    pub(in crate::review) fn subtract(self, turns: u32, taken: Amount) -> Self {
        Self { turns: self.turns.saturating_sub(turns), all: self.all.saturating_sub(taken) }
    }
}

/// Returns the reserve for the verification of this many findings.
pub(in crate::review) fn reserve_for(findings: usize, limits: &BudgetLimits) -> VerificationReserve {
    if findings == 0 {
        return VerificationReserve::default();
    }
    let count = u32::try_from(findings).unwrap_or(u32::MAX);
    let turns = count.saturating_mul(TURNS_KEPT).min(limits.turns / TURNS_SHARE);
    let tokens = u64::from(count).saturating_mul(TOKENS_KEPT).min(limits.input_tokens / TOKENS_SHARE);
    let one = limits.amount(TOKENS_KEPT, min_responses(limits)).cost;
    let cost =
        limits.cost.map_or(Money::NOTHING, |limit| one.times(u64::from(count)).min(limit.most.part(TOKENS_SHARE)));
    VerificationReserve {
        // Fewer turns would verify nothing, and be lost to the review.
        turns: if turns < LEAST_TURNS { 0 } else { turns },
        tokens: if tokens < min_budget(LEAST_MESSAGE, limits).tokens { 0 } else { tokens },
        cost: if cost < min_budget(LEAST_MESSAGE, limits).cost { Money::NOTHING } else { cost },
        time: limits.time / TIME_SHARE,
    }
}

/// Returns the size limit of the first message of each of these verifications, in tokens, so that the remaining budget is enough for all of them: a
/// large diff is no reason to verify fewer findings.
pub(in crate::review) fn opening_room(left: RemainingBudget, findings: usize, limits: &BudgetLimits) -> u64 {
    let each = share_of_each(left, findings);
    let sent =
        limits.sendable(each.cost.saturating_sub(limits.amount(0, min_responses(limits)).cost), u64::from(LEAST_TURNS));
    each.tokens.min(sent).saturating_sub(LEAST_READING) / u64::from(LEAST_TURNS)
}

/// Returns the share of each verification in the remaining budget.
fn share_of_each(left: RemainingBudget, findings: usize) -> Amount {
    let count = u64::try_from(findings).unwrap_or(u64::MAX);
    if count == 0 { Amount::default() } else { left.all.part(count) }
}

/// Returns the minimum size of the responses in a verification, in tokens.
fn min_responses(limits: &BudgetLimits) -> u64 {
    limits.min_payable_answer().saturating_mul(u64::from(LEAST_TURNS))
}

/// Returns the minimum budget of a verification whose first message takes this many tokens.
fn min_budget(size: u64, limits: &BudgetLimits) -> Amount {
    let (first, last) = (limits.amount(size, limits.min_payable_answer()), size.saturating_add(LEAST_READING));
    first.plus(limits.amount(last, limits.min_payable_answer()).times(u64::from(LEAST_TURNS - 1)))
}

/// Allowance of each verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::review) struct VerificationShare {
    /// Number of findings that are verified, from the first.
    pub(in crate::review) findings: usize,
    pub(in crate::review) turns: u32,
    pub(in crate::review) tokens: u64,
    /// Money of each, where it is a limit.
    pub(in crate::review) cost: Option<Money>,
    /// The time of each, at most.
    pub(in crate::review) time: Duration,
}

/// Divides what is left among findings whose first messages have these sizes in tokens, the worst first.
pub(in crate::review) fn share(left: RemainingBudget, sizes: &[u64], limits: &BudgetLimits) -> VerificationShare {
    let by_turns = usize::try_from(left.turns / LEAST_TURNS).unwrap_or(usize::MAX).min(sizes.len());
    let fits = |count: &usize| {
        let most = sizes.iter().take(*count).copied().max().unwrap_or(0);
        min_budget(most, limits).check_within(share_of_each(left, *count)).is_ok()
    };
    let findings = (1..=by_turns).rev().find(fits).unwrap_or(0);
    let turns = u32::try_from(findings).ok().and_then(|count| left.turns.checked_div(count)).unwrap_or(0);
    let Amount { tokens, cost } = share_of_each(left, findings);
    let cost = limits.cost.map(|_| cost);
    VerificationShare { findings, turns: turns.min(MOST_TURNS), tokens, cost, time: limits.time / LOOK_SHARE }
}

/// Returns how many of these findings are verified, if only the first `required` are worth a smaller share than usual.
pub(in crate::review) fn affordable(left: RemainingBudget, required: usize, findings: usize) -> usize {
    let is_ample = |count: &usize| {
        let of = u32::try_from(*count).unwrap_or(u32::MAX);
        let all = Amount { tokens: TOKENS_KEPT.saturating_mul(u64::from(of)), ..Amount::default() };
        left.turns >= of.saturating_mul(TURNS_KEPT) && all.check_within(left.all).is_ok()
    };
    (required + 1..=findings).rev().find(is_ample).unwrap_or(required.min(findings))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::amount::CostLimit;
    use super::super::fixtures::{LIMITS, prices};
    use super::super::{ConversationBudget, TurnPermit};
    use super::*;

    /// For tests in which money is not limited.
    fn left(turns: u32, tokens: u64) -> RemainingBudget {
        RemainingBudget { turns, all: Amount { tokens, cost: Money::from_nanos(u64::MAX) } }
    }

    /// With ten dollars, and prices of a good model.
    fn dear() -> BudgetLimits {
        BudgetLimits { cost: Some(CostLimit { most: "10".parse().unwrap(), prices: prices() }), ..LIMITS }
    }

    #[test]
    fn of_money_no_more_than_a_share_is_kept() {
        let usd = |text: &str| text.parse::<Money>().unwrap();
        assert_eq!(reserve_for(1, &LIMITS).cost, Money::NOTHING, "it is no limit");
        // 25 000 tokens at 3.75, and two answers of 6 000 at 15.
        assert_eq!(reserve_for(1, &dear()).cost, usd("0.27375"));
        assert_eq!(reserve_for(90, &dear()).cost, usd("2"));
        assert_eq!(
            reserve_for(1, &dear().with_money(usd("0.50"))).cost,
            Money::NOTHING,
            "a small run is for the review"
        );
    }

    #[test]
    fn nothing_is_kept_for_nothing_and_never_more_than_a_share() {
        assert_eq!(reserve_for(0, &LIMITS), VerificationReserve::default());
        assert_eq!((reserve_for(2, &LIMITS).turns, reserve_for(2, &LIMITS).tokens), (6, 50_000));
        assert_eq!((reserve_for(900, &LIMITS).turns, reserve_for(900, &LIMITS).tokens), (10, 400_000));
        for (tokens, back) in [(60_000, 0), (79_999, 0), (80_000, 16_000), (200_000, 25_000)] {
            assert_eq!(reserve_for(1, &BudgetLimits { input_tokens: tokens, ..LIMITS }).tokens, back, "of {tokens}");
        }
        for (turns, back) in [(1, 0), (3, 0), (4, 0), (7, 0), (8, 2), (11, 2), (12, 3)] {
            let reserve = reserve_for(3, &BudgetLimits { turns, ..LIMITS }).turns;
            assert_eq!(reserve, back, "of {turns}: a small run is for the review, and one turn is of no use");
        }
    }

    #[test]
    fn what_is_left_is_divided_and_the_worst_come_first() {
        let share = |left, sizes: &[u64]| {
            let share = share(left, sizes, &LIMITS);
            (share.findings, share.turns, share.tokens)
        };
        assert_eq!(share(left(30, 900_000), &[3_000; 3]), (3, 8, 300_000));
        assert_eq!(share(left(7, 900_000), &[3_000; 9]), (3, 2, 300_000));
        assert_eq!(share(left(1, 900_000), &[3_000]), (0, 0, 0), "it could not read anything");
        assert_eq!(share(left(30, 35_000), &[3_000; 9]), (2, 8, 17_500));
        assert_eq!(share(left(30, 15_999), &[3_000; 9]), (0, 0, 0));
        assert_eq!(share(left(30, 40_000), &[3_000, 3_000, 90_000]), (2, 8, 20_000));
        assert_eq!(share(left(30, 40_000), &[]), (0, 0, 0));
    }

    #[test]
    fn what_is_not_required_is_verified_only_with_a_full_share() {
        assert_eq!(affordable(left(30, 900_000), 1, 4), 4);
        assert_eq!(affordable(left(8, 900_000), 1, 4), 2, "three turns each");
        assert_eq!(affordable(left(30, 70_000), 1, 4), 2, "25 000 tokens each");
        assert_eq!(affordable(left(2, 900_000), 3, 4), 3, "the others are worth less");
        assert_eq!((affordable(left(2, 0), 0, 4), affordable(left(9, 900_000), 2, 2)), (0, 2));
    }

    #[test]
    fn messages_that_fit_the_room_are_all_sent() {
        let left = left(100, 90_000);
        for findings in 1..=9 {
            assert_eq!(share(left, &vec![opening_room(left, findings, &LIMITS); findings], &LIMITS).findings, findings);
        }
        let room = |left, findings| opening_room(left, findings, &LIMITS);
        assert_eq!(
            (room(left, 0), room(left, 90), room(RemainingBudget { all: Amount::default(), ..left }, 1)),
            (0, 0, 0)
        );
    }

    proptest! {
        #[test]
        fn who_is_looked_at_can_be_asked_and_asked_again(
            turns in 0u32..40,
            tokens in 0u64..400_000,
            cents in 0u64..300,
            sizes in proptest::collection::vec(1_000u64..60_000, 1..9),
        ) {
            let limits = dear();
            let all = Amount { tokens, cost: Money::from_nanos(cents * 10_000_000) };
            let share = share(RemainingBudget { turns, all }, &sizes, &limits);
            let limits = limits.with_money(share.cost.unwrap());
            let budget = ConversationBudget::new(BudgetLimits { turns: share.turns, input_tokens: share.tokens, ..limits });
            for size in sizes.iter().take(share.findings) {
                prop_assert_eq!(budget.reserve_turn(*size, None), TurnPermit::Turn);
            }
        }

        #[test]
        fn no_more_is_given_than_is_left(turns in 0u32..100, tokens in any::<u64>(), sizes in proptest::collection::vec(any::<u64>(), 0..20)) {
            let share = share(left(turns, tokens), &sizes, &LIMITS);
            prop_assert!(share.findings <= sizes.len());
            let count = u64::try_from(share.findings).unwrap();
            prop_assert!(count * u64::from(share.turns) <= u64::from(turns));
            prop_assert!(count.checked_mul(share.tokens).is_some_and(|given| given <= tokens));
        }
    }
}
