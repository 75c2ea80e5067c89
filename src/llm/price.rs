//! Cost of turns: from tokens and prices, or as the server reports it. Main function: [`Prices::cost`].
//!
//! A figure may be too high if a server reports little, and is never too low. Which prices apply is decided in the table.

use serde_json::Value;

use super::provider::{LargeRequestPrices, Prices};
use super::turn::TurnUsage;
use crate::domain::money::Money;
use crate::domain::provider_info::PriceList;

impl Prices {
    /// Returns the cost of a turn; `None` if the number of tokens sent or received is unknown.
    ///
    /// Tokens without details are counted at the highest price that may apply: those not reported as read from a cache, or as not written to one.
    /// Cached tokens without a known price cost what others do.
    pub fn cost(&self, usage: &TurnUsage) -> Option<Money> {
        let (input, output) = (usage.input?, usage.output?);
        Some(self.of_request(input).cost_of(usage, input, output))
    }

    fn cost_of(&self, usage: &TurnUsage, input: u64, output: u64) -> Money {
        let read = usage.cache_read.unwrap_or(0).min(input);
        let fresh = input - read;
        let written = usage.cache_write.unwrap_or(fresh).min(fresh);
        // Providers that report cache writes usually charge more for them.
        let write = if usage.cache_write.is_some() {
            self.cache_write.unwrap_or(self.written())
        } else {
            self.max_input_price()
        };
        let parts = [
            self.input.for_tokens(fresh - written),
            write.for_tokens(written),
            self.cache_read.unwrap_or(self.input).for_tokens(read),
            self.output.for_tokens(output),
        ];
        parts.into_iter().fold(Money::NOTHING, Money::plus)
    }

    /// Returns the highest price of a million input tokens: the share from a cache is unknown beforehand.
    pub fn max_input_price(&self) -> Money {
        self.cache_write.map_or(self.input, |write| write.max(self.input))
    }

    /// Returns the prices that apply to a request of this many tokens.
    #[must_use]
    pub fn of_request(&self, tokens: u64) -> Self {
        match self.large {
            Some(LargeRequestPrices { above, input, output, cache_read, cache_write }) if tokens > above => {
                Self { input, output, cache_read, cache_write, on: self.on, large: None }
            }
            _ => Self { large: None, ..*self },
        }
    }

    /// Returns the prices of a provider that writes to its cache if a request says so. Such writes cost more than other tokens: if the price is
    /// unknown, a quarter more is assumed, which is what Anthropic charges for five minutes (its page on prompt caching, November 2026).
    #[must_use]
    pub fn with_marks(self) -> Self {
        let large = self.large.map(|large| {
            let cache_write = large.cache_write.or(Some(quarter_more(large.input)));
            LargeRequestPrices { cache_write, ..large }
        });
        Self { cache_write: self.cache_write.or(Some(self.written())), large, ..self }
    }

    /// Returns the prices of a message batch: half of each. With `hour`, tokens written to a cache stay there for an hour, which costs twice what
    /// other tokens do (Anthropic's page on prompt caching, November 2026).
    #[must_use]
    pub fn in_batch(self, hour: bool) -> Self {
        let half = |price: Money| Money::from_nanos(price.nanos().div_ceil(2));
        let write = |input: Money, write: Option<Money>| if hour { Some(input) } else { write.map(half) };
        let large = self.large.map(|large| LargeRequestPrices {
            above: large.above,
            input: half(large.input),
            output: half(large.output),
            cache_read: large.cache_read.map(half),
            cache_write: write(large.input, large.cache_write),
        });
        Self {
            input: half(self.input),
            output: half(self.output),
            cache_read: self.cache_read.map(half),
            cache_write: write(self.input, self.cache_write),
            on: self.on,
            large,
        }
    }

    /// Returns the highest assumed price of tokens written to a cache, if it is unknown.
    fn written(&self) -> Money {
        quarter_more(self.input)
    }
}

fn quarter_more(price: Money) -> Money {
    price.plus(Money::from_nanos(price.nanos().div_ceil(4)))
}

impl From<Prices> for PriceList {
    fn from(prices: Prices) -> Self {
        let Prices { input, output, cache_read, cache_write, on, large: _ } = prices;
        Self { input, output, cache_read, cache_write, on }
    }
}

/// Reads the cost that a server reports for a turn, in its `usage`, in dollars.
///
/// `OpenRouter` does: `cost` is the total charge; with a key of the user's own (`is_byok`) it is the fee alone, and the provider's part is in
/// `cost_details.upstream_inference_cost`. A zero is believed from a server of this kind, and ignored where a gateway may have filled it in.
pub(super) fn reported_cost(usage: &Value) -> Option<Money> {
    let dollars = |value: &Value| value.as_f64().and_then(Money::from_usd);
    let own = dollars(&usage["cost"])?;
    match &usage["is_byok"] {
        Value::Bool(true) => Some(own.plus(dollars(&usage["cost_details"]["upstream_inference_cost"])?)),
        Value::Bool(false) => Some(own),
        _ => Some(own).filter(|own| *own > Money::NOTHING),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usd(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn prices() -> Prices {
        Prices {
            input: usd("3"),
            output: usd("15"),
            cache_read: Some(usd("0.30")),
            cache_write: Some(usd("3.75")),
            on: "2026-11-01".parse().unwrap(),
            large: None,
        }
    }

    #[test]
    fn a_large_request_costs_what_large_ones_do_all_of_it() {
        let large = LargeRequestPrices {
            above: 200_000,
            input: usd("6"),
            output: usd("22.5"),
            cache_read: Some(usd("0.6")),
            cache_write: None,
        };
        let prices = Prices { large: Some(large), ..prices() };
        assert_eq!(prices.cost(&usage(200_000, 0, Some(0), Some(0))), Some(usd("0.6")));
        assert_eq!(prices.cost(&usage(200_001, 0, Some(200_001), Some(0))), Some(usd("0.1200006")), "cached or not");
        assert_eq!(prices.cost(&usage(400_000, 100_000, Some(0), Some(0))), Some(usd("4.65")));
        let other = prices.of_request(1_000_000);
        assert_eq!((other.max_input_price(), other.large), (usd("6"), None));
    }

    #[test]
    fn what_a_write_costs_is_never_taken_for_less_than_it_may_be() {
        let unsaid = Prices { cache_write: None, ..prices() };
        assert_eq!(unsaid.cost(&usage(1_000_000, 0, Some(0), Some(1_000_000))), Some(usd("3.75")));
        assert_eq!((unsaid.max_input_price(), unsaid.with_marks().max_input_price()), (usd("3"), usd("3.75")));
        assert_eq!(unsaid.with_marks().cost(&usage(1_000_000, 0, None, None)), Some(usd("3.75")));
        let said = Prices { cache_write: Some(usd("3.5")), ..prices() };
        assert_eq!(said.with_marks(), said);
    }

    #[test]
    fn a_batch_costs_half_and_an_hour_in_the_cache_twice() {
        let all = usage(1_000_000, 100_000, Some(600_000), Some(0));
        assert_eq!(prices().cost(&all), Some(usd("2.88")));
        assert_eq!(prices().in_batch(false).cost(&all), Some(usd("1.44")));
        let written = usage(1_000_000, 0, Some(0), Some(1_000_000));
        assert_eq!(prices().in_batch(false).cost(&written), Some(usd("1.875")));
        assert_eq!(prices().in_batch(true).cost(&written), Some(usd("3")));
        assert!(prices().in_batch(true).max_input_price() <= prices().max_input_price(), "what is reserved is enough");
    }

    fn usage(input: u64, output: u64, cache_read: Option<u64>, cache_write: Option<u64>) -> TurnUsage {
        TurnUsage { input: Some(input), output: Some(output), cache_read, cache_write, cost: None }
    }

    #[test]
    fn every_token_is_counted_at_its_price() {
        let cost = prices().cost(&usage(1_000_000, 100_000, Some(600_000), Some(300_000)));
        // 100 000 at 3, 300 000 at 3.75, 600 000 at 0.30, 100 000 at 15.
        assert_eq!(cost, Some(usd("3.105")));
    }

    #[test]
    fn what_is_not_known_is_never_too_cheap() {
        let all = usage(1_000_000, 0, None, None);
        assert_eq!(prices().cost(&all), Some(usd("3.75")), "all of it may have been written to a cache");
        let plain = Prices { cache_read: None, cache_write: None, ..prices() };
        assert_eq!(plain.cost(&all), Some(usd("3")));
        assert_eq!(plain.cost(&usage(1_000_000, 0, Some(900_000), Some(0))), Some(usd("3")));
        let cheap = Prices { cache_write: Some(Money::NOTHING), ..prices() };
        assert_eq!(cheap.cost(&all), Some(usd("3")), "that writing costs nothing does not make sending free");
        for unknown in [TurnUsage { input: None, ..all }, TurnUsage { output: None, ..all }] {
            assert_eq!(prices().cost(&unknown), None);
        }
    }

    #[test]
    fn figures_that_nobody_can_have_sent_cost_much_and_no_more() {
        let cost = prices().cost(&usage(u64::MAX, u64::MAX, Some(u64::MAX), Some(u64::MAX)));
        assert_eq!(cost, Some(Money::from_nanos(u64::MAX)));
    }

    #[test]
    fn a_server_is_believed_where_it_says_dollars() {
        for (usage, cost) in [
            (json!({ "cost": 0.0125 }), Some("0.0125")),
            (json!({ "cost": 0.01, "is_byok": false }), Some("0.01")),
            (json!({ "cost": 0, "is_byok": false }), Some("0")),
            (
                json!({ "cost": 0.01, "is_byok": true, "cost_details": { "upstream_inference_cost": 0.19 } }),
                Some("0.20"),
            ),
            (json!({ "cost": 0.01, "is_byok": true, "cost_details": {} }), None),
            (json!({ "cost": 0 }), None),
            (json!({ "cost": -1 }), None),
            (json!({ "cost": "0.1" }), None),
            (json!({ "cost": { "total": 1 } }), None),
            (json!({ "cost": 1e300 }), None),
            (json!({}), None),
            (json!(null), None),
        ] {
            assert_eq!(reported_cost(&usage), cost.map(usd), "{usage}");
        }
    }
}
