//! Estimate of a review's cost, before any request. Main function: [`estimate`].
//!
//! The sizes of the first requests are known; how much a model reads and writes is not. The assumptions are constants in this file, are shown with
//! every figure, and are measured against scripted runs by a test (`docs/cost.md`). Limits cut the figures off.

use std::time::Duration;

use crate::domain::money::Money;
use crate::domain::preview::{Estimate, EstimateRange, PartPlan};
use crate::domain::text::{count_noun, group_thousands};
use crate::llm::Prices;
use crate::review::budget::BudgetLimits;

/// Turns of a conversation without lookups: it reports, and ends.
const LEAST_TURNS: u64 = 2;
/// Likely turns: a base number, and one for so many files.
const LIKELY_TURNS: u64 = 3;
const FILES_OF_A_TURN: u64 = 4;
/// Maximum of turns with tool calls: a base number, and a number for each file.
const MORE_TURNS: u64 = 4;
const TURNS_OF_A_FILE: u64 = 2;
/// Tokens by which each turn makes the conversation longer: the model's text, and the results.
const GROWTH: EstimateRange<u64> = EstimateRange { least: 200, likely: 1_500, most: 4_000 };
/// Tokens of a response.
const ANSWER: EstimateRange<u64> = EstimateRange { least: 100, likely: 600, most: 2_000 };
/// Seconds of a turn.
const SECONDS: EstimateRange<u64> = EstimateRange { least: 3, likely: 8, most: 30 };
/// Conversations at the same time.
const AT_ONCE: u64 = 3;
/// Assumed verification: number of findings, turns of each, and tokens at their start.
const LOOKS: u64 = 3;
const LOOK_TURNS: u64 = 4;
const LOOK_SIZE: u64 = 8_000;

/// Planned conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct EstimatedConversation {
    /// Tokens of its first request.
    pub(super) size: u64,
    /// Number of its files.
    pub(super) files: u64,
}

/// Input of the estimate.
pub(super) struct EstimateInput<'a> {
    pub(super) conversations: &'a [EstimatedConversation],
    pub(super) limits: &'a BudgetLimits,
    pub(super) prices: Option<Prices>,
    /// `true` if findings are verified.
    pub(super) has_looks: bool,
    /// Prices of the verification model.
    pub(super) prices_of_looks: Option<Prices>,
}

/// Estimated consumption of conversations.
#[derive(Debug, Clone, Copy, Default)]
struct EstimatedUsage {
    turns: u64,
    /// Tokens sent, all together.
    sent: u64,
    /// Those of them that were sent before.
    again: u64,
    answered: u64,
    /// Tokens of the largest request.
    largest: u64,
}

impl EstimatedUsage {
    /// Estimates a conversation that begins with this many tokens and grows with each turn, up to the window.
    fn of(size: u64, turns: u64, growth: u64, answer: u64, window: u64) -> Self {
        let mut taken = Self::default();
        let (mut next, mut before) = (size, 0);
        for _ in 0..turns {
            taken.turns += 1;
            taken.sent = taken.sent.saturating_add(next);
            taken.again = taken.again.saturating_add(before);
            taken.answered = taken.answered.saturating_add(answer);
            taken.largest = taken.largest.max(next);
            before = next;
            next = next.saturating_add(growth).min(window.max(size));
        }
        taken
    }

    fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            sent: self.sent.saturating_add(other.sent),
            again: self.again.saturating_add(other.again),
            answered: self.answered.saturating_add(other.answered),
            largest: self.largest.max(other.largest),
        }
    }

    /// Returns the cost if a cache holds everything that was sent before.
    fn cached(&self, prices: &Prices) -> Money {
        let read = prices.cache_read.unwrap_or(prices.input).for_tokens(self.again);
        let fresh = prices.input.min(prices.max_input_price()).for_tokens(self.sent - self.again);
        read.plus(fresh).plus(prices.output.for_tokens(self.answered))
    }

    /// Returns the cost without a cache, and all of it at the prices of the largest request.
    fn uncached(&self, prices: &Prices) -> Money {
        let prices = prices.of_request(self.largest);
        prices.max_input_price().for_tokens(self.sent).plus(prices.output.for_tokens(self.answered))
    }
}

/// Estimates the cost of a review.
pub(super) fn estimate(ground: &EstimateInput<'_>) -> Estimate {
    let limits = ground.limits;
    let turns_at_most = u64::from(limits.turns);
    let window = limits.most_request();
    let (mut least, mut likely, mut most) =
        (EstimatedUsage::default(), EstimatedUsage::default(), EstimatedUsage::default());
    for one in ground.conversations {
        let few = LEAST_TURNS.min(turns_at_most);
        let many = (MORE_TURNS + TURNS_OF_A_FILE * one.files).min(turns_at_most).max(few);
        let some = (LIKELY_TURNS + one.files.div_ceil(FILES_OF_A_TURN)).clamp(few, many);
        least = least.plus(EstimatedUsage::of(one.size, few, GROWTH.least, ANSWER.least, window));
        likely = likely.plus(EstimatedUsage::of(one.size, some, GROWTH.likely, ANSWER.likely, window));
        most = most.plus(EstimatedUsage::of(one.size, many, GROWTH.most, ANSWER.most, window));
    }
    let looks = if ground.has_looks { LOOKS } else { 0 };
    let looks = (0..looks).fold(EstimatedUsage::default(), |taken, _| {
        taken.plus(EstimatedUsage::of(LOOK_SIZE, LOOK_TURNS, GROWTH.most, ANSWER.most, window))
    });
    let all = most.plus(looks);
    let side_by_side = (ground.conversations.len() as u64).clamp(1, AT_ONCE);
    let seconds = |turns: u64, each: u64| Duration::from_secs((turns * each).div_ceil(side_by_side));
    Estimate {
        turns: EstimateRange { least: least.turns, likely: likely.turns, most: all.turns },
        input_tokens: EstimateRange {
            least: least.sent.min(limits.input_tokens),
            likely: likely.sent.min(limits.input_tokens),
            most: all.sent.min(limits.input_tokens),
        },
        output_tokens: EstimateRange { least: least.answered, likely: likely.answered, most: all.answered },
        cost: cost(ground, [&least, &likely, &most], &looks),
        time: EstimateRange {
            least: seconds(least.turns, SECONDS.least).min(limits.time),
            likely: seconds(likely.turns, SECONDS.likely).min(limits.time),
            most: seconds(all.turns, SECONDS.most).min(limits.time),
        },
        basis: basis(ground),
    }
}

/// Returns the cost with a perfect cache and without one, within the limit. Providers cache what a conversation sent before, so the likely cost
/// has a cache.
fn cost(
    ground: &EstimateInput<'_>,
    [least, likely, most]: [&EstimatedUsage; 3],
    looks: &EstimatedUsage,
) -> Option<EstimateRange<Money>> {
    let prices = ground.prices?;
    let looked = if ground.has_looks { looks.uncached(&ground.prices_of_looks?) } else { Money::NOTHING };
    let most = most.uncached(&prices).plus(looked);
    let limit = ground.limits.cost.map_or(most, |limit| limit.most);
    Some(EstimateRange {
        least: least.cached(&prices).min(limit),
        likely: likely.cached(&prices).min(limit),
        most: most.min(limit),
    })
}

fn basis(ground: &EstimateInput<'_>) -> Vec<String> {
    let mut basis = vec![
        "the first requests as they would be sent, without the leads of the rules, which do not run for a preview; their tokens are estimated \
         from their characters"
            .to_owned(),
        format!(
            "likely {LIKELY_TURNS} turns for each conversation and 1 for every {FILES_OF_A_TURN} files, {MORE_TURNS} and {TURNS_OF_A_FILE} for each \
             file at most; a turn makes a conversation {} tokens longer, {} at most, and is answered with {}, {} at most (assumed)",
            GROWTH.likely, GROWTH.most, ANSWER.likely, ANSWER.most
        ),
        format!(
            "{} seconds a turn, {} at most (assumed), up to {AT_ONCE} conversations at the same time",
            SECONDS.likely, SECONDS.most
        ),
    ];
    if ground.has_looks {
        basis.push(format!(
            "a second look at up to {} in up to {LOOK_TURNS} turns each (assumed)",
            count_noun(3, "finding")
        ));
    }
    match ground.prices {
        Some(prices) => basis.push(format!(
            "the prices of {}; likely if the provider's cache has all that was sent before, at most if it has nothing",
            prices.on
        )),
        None => basis.push("no price is known for this model, so nobody knows what it costs".to_owned()),
    }
    basis
}

/// Returns the limits that may end it, a sentence each.
pub(super) fn binding_limits(estimate: &Estimate, limits: &BudgetLimits, parts: &[PartPlan]) -> Vec<String> {
    let mut told = Vec::new();
    let unsure = parts.iter().filter(|part| !part.is_promised).count();
    if unsure > 0 {
        let of = parts.len();
        told.push(format!(
            "{unsure} of {of} parts are begun only if the others leave enough (--max-tokens, --max-cost)"
        ));
    }
    if estimate.input_tokens.most >= limits.input_tokens {
        told.push(format!(
            "the limit of {} input tokens may end it (--max-tokens)",
            group_thousands(limits.input_tokens)
        ));
    }
    if let (Some(limit), Some(cost)) = (limits.cost, estimate.cost)
        && cost.most >= limit.most
    {
        told.push(format!("the limit of {} may end it (--max-cost)", limit.most.format_full()));
    }
    if estimate.time.most >= limits.time {
        let seconds = limits.time.as_secs();
        let time = if seconds.is_multiple_of(60) { format!("{} min", seconds / 60) } else { format!("{seconds} s") };
        told.push(format!("the limit of {time} may end it (--timeout)"));
    }
    let each = (estimate.turns.most / parts.len().max(1) as u64).max(1);
    if each >= u64::from(limits.turns) {
        told.push(format!("the limit of {} turns a conversation may end it (--max-turns)", limits.turns));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::super::budget::CostLimit;
    use super::*;

    fn usd(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn prices() -> Prices {
        let (cache_read, on) = (Some(usd("0.3")), "2026-11-01".parse().unwrap());
        Prices { input: usd("3"), output: usd("15"), cache_read, cache_write: Some(usd("3.75")), on, large: None }
    }

    fn limits() -> BudgetLimits {
        BudgetLimits {
            turns: 40,
            input_tokens: 2_000_000,
            window: 200_000,
            max_output: 16_000,
            time: Duration::from_mins(20),
            cost: None,
        }
    }

    fn of(conversations: &[EstimatedConversation], limits: &BudgetLimits, prices: Option<Prices>) -> Estimate {
        estimate(&EstimateInput { conversations, limits, prices, has_looks: false, prices_of_looks: None })
    }

    #[test]
    fn the_least_is_two_turns_with_a_cache_and_the_most_many_without_one() {
        let one = [EstimatedConversation { size: 10_000, files: 1 }];
        let estimate = of(&one, &limits(), Some(prices()));
        assert_eq!(estimate.turns, EstimateRange { least: 2, likely: 4, most: 6 });
        assert_eq!(estimate.input_tokens, EstimateRange { least: 20_200, likely: 49_000, most: 120_000 });
        // Likely 34 500 read again at 0.3, 14 500 at 3, four responses of 600 at 15. The least:
        // 10 000 read again at 0.3, 10 200 at 3, a response of 200 at 15; 120 000 at 3.75 and 12 000 at 15.
        assert_eq!(
            estimate.cost,
            Some(EstimateRange { least: usd("0.0366"), likely: usd("0.08985"), most: usd("0.63") })
        );
    }

    #[test]
    fn a_price_that_is_not_known_is_no_price() {
        let one = [EstimatedConversation { size: 10_000, files: 1 }];
        let unknown = of(&one, &limits(), None);
        assert_eq!(unknown.cost, None);
        assert!(unknown.basis.iter().any(|line| line.contains("no price is known")));
        let limits = limits();
        let ground = EstimateInput {
            conversations: &one,
            limits: &limits,
            prices: Some(prices()),
            has_looks: true,
            prices_of_looks: None,
        };
        assert_eq!(estimate(&ground).cost, None, "nor is that of the second look");
    }

    #[test]
    fn limits_cut_the_figures_off_and_are_told() {
        let many = [EstimatedConversation { size: 100_000, files: 30 }; 4];
        let cost = Some(CostLimit { most: usd("2.50"), prices: prices() });
        let limits = BudgetLimits { cost, time: Duration::from_mins(2), ..limits() };
        let estimate = of(&many, &limits, Some(prices()));
        assert_eq!(estimate.input_tokens.most, 2_000_000);
        assert_eq!((estimate.cost.unwrap().most, estimate.time.most), (usd("2.50"), Duration::from_mins(2)));
        let part = PartPlan { files: 30, system: 1, tools: 1, message: 1, is_promised: false };
        let told = binding_limits(&estimate, &limits, &[part; 4]).join("\n");
        for word in ["4 of 4 parts", "--max-tokens", "--max-cost", "--timeout", "--max-turns"] {
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
