//! Money in US dollars, exact, so that sums do not hang on their order. Main type: [`Money`].
//!
//! Prices of models belong in `llm`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An amount, in thousand-millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(u64);

/// Units per dollar.
const DOLLAR: u64 = 1_000_000_000;

/// Text that is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no amount of dollars; write it like 2.50")]
pub struct InvalidMoney(pub String);

/// Amounts in documents: in dollars, and `null` if unknown.
pub(super) mod in_dollars {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Money;

    #[expect(clippy::ref_option, reason = "as serde asks for it")]
    pub(in crate::domain) fn serialize<S: Serializer>(cost: &Option<Money>, out: S) -> Result<S::Ok, S::Error> {
        cost.map(Money::usd).serialize(out)
    }

    pub(in crate::domain) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Money>, D::Error> {
        Ok(Option::deserialize(from)?.and_then(Money::from_usd))
    }
}

impl Money {
    /// Nothing.
    pub const NOTHING: Self = Self(0);

    /// Makes an amount from billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// In thousand-millionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// An amount in dollars, as other programs tell it; `None` if it is none.
    pub fn from_usd(dollars: f64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        (dollars.is_finite() && (0.0..=1e9).contains(&dollars)).then(|| Self((dollars * 1e9).round() as u64))
    }

    /// In dollars, to a millionth: so few digits read back to the same number.
    pub fn usd(self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "millionths of a dollar stay below 2^53 up to nine thousand million dollars"
        )]
        let millionths = (self.0.saturating_add(500) / 1_000) as f64;
        millionths / 1e6
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the rest after subtracting `other`.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the price of `tokens`, given this price per million.
    #[must_use]
    pub fn for_tokens(self, tokens: u64) -> Self {
        let nanos = u128::from(self.0) * u128::from(tokens) / 1_000_000;
        Self(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Money {
    /// One part in so many.
    #[must_use]
    pub fn part(self, of: u64) -> Self {
        Self(self.0.checked_div(of).unwrap_or(self.0))
    }

    /// Multiplies the amount.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Returns the number of units this amount buys at `price` per million; the maximum if they are free.
    pub fn tokens_at(self, price: Self) -> u64 {
        let tokens = (u128::from(self.0) * 1_000_000).checked_div(u128::from(price.0));
        tokens.map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX))
    }
}

impl FromStr for Money {
    type Err = InvalidMoney;

    /// Takes `2`, `2.5`, `$0.25`; nine places at most, so that nothing is rounded.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || InvalidMoney(text.to_owned());
        let plain = text.trim();
        let plain = plain.strip_prefix('$').unwrap_or(plain).trim_start();
        let (whole, places) = plain.split_once('.').unwrap_or((plain, "0"));
        let digits = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(places) {
            return Err(fault());
        }
        let whole: u64 = whole.parse().map_err(|_| fault())?;
        let nanos: u64 = format!("{places:0<9}").parse().map_err(|_| fault())?;
        Ok(Self(whole.saturating_mul(DOLLAR).saturating_add(nanos)))
    }
}

impl Money {
    /// All its digits, two places at least: what somebody set, a price or a limit, is not rounded.
    pub fn format_full(self) -> String {
        let places = format!("{:09}", self.0 % DOLLAR);
        let (cents, rest) = places.split_at(2);
        format!("${}.{cents}{}", self.0 / DOLLAR, rest.trim_end_matches('0'))
    }
}

/// As people read it: `$1.25`, `$0.42`, `$0.0042`, `$0`. What is less than a hundredth of a cent is `under $0.0001`, never nothing.
impl fmt::Display for Money {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // From ten cents on whole cents say enough; below, hundredths of them.
        let unit = if self.0 >= DOLLAR / 10 - DOLLAR / 20_000 { DOLLAR / 100 } else { DOLLAR / 10_000 };
        match self.0 {
            0 => out.write_str("$0"),
            nanos if nanos < DOLLAR / 20_000 => out.write_str("under $0.0001"),
            nanos => out.write_str(&Self((nanos.saturating_add(unit / 2) / unit).saturating_mul(unit)).format_full()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_exactly() {
        for (text, nanos) in [("2", 2_000_000_000), ("2.50", 2_500_000_000), ("$0.25", 250_000_000), ("0.000000001", 1)]
        {
            assert_eq!(text.parse::<Money>(), Ok(Money(nanos)), "{text}");
        }
        for bad in ["", "-1", "1e3", "1.0000000001", "1,5", ".5", "1.", "two", "9999999999", "$"] {
            assert!(bad.parse::<Money>().is_err(), "{bad}");
        }
    }

    #[test]
    fn little_money_is_not_told_as_none() {
        let said = |nanos| Money(nanos).to_string();
        assert_eq!(said(0), "$0");
        assert_eq!(said(1), "under $0.0001");
        assert_eq!(said(50_000), "$0.0001");
        assert_eq!(said(4_200_000), "$0.0042");
        assert_eq!(said(20_000_000), "$0.02");
        assert_eq!(said(30_900_000), "$0.0309");
        assert_eq!(said(99_949_999), "$0.0999");
        assert_eq!(said(99_950_000), "$0.10");
        assert_eq!(said(420_000_000), "$0.42");
        assert_eq!(said(999_000_000), "$1.00");
        assert_eq!(said(1_254_999_999), "$1.25");
    }

    #[test]
    fn what_somebody_set_is_told_to_the_last_digit() {
        let said = |text: &str| text.parse::<Money>().unwrap().format_full();
        for (text, full) in [("2", "$2.00"), ("0.125", "$0.125"), ("2.5", "$2.50"), ("0.000000001", "$0.000000001")] {
            assert_eq!(said(text), full);
        }
    }

    #[test]
    fn a_price_for_a_million_gives_what_a_few_cost() {
        assert_eq!(Money(3 * DOLLAR).for_tokens(1_000), Money(3_000_000));
        assert_eq!(Money(u64::MAX).for_tokens(u64::MAX), Money(u64::MAX));
        assert_eq!(Money(3_000_000).tokens_at(Money(3 * DOLLAR)), 1_000);
        assert_eq!((Money(1).tokens_at(Money(0)), Money(5).part(2), Money(5).part(0)), (u64::MAX, Money(2), Money(5)));
    }

    #[test]
    fn dollars_of_other_programs_are_taken_where_they_are_some() {
        assert_eq!(Money::from_usd(0.25), Some(Money(250_000_000)));
        for bad in [f64::NAN, f64::INFINITY, -0.01, 1e10] {
            assert_eq!(Money::from_usd(bad), None);
        }
        assert!(Money(u64::MAX).usd() > 1e10 && Money(u64::MAX).to_string().starts_with("$18446744073."));
        assert!((Money(1_234_567_891).usd() - 1.234_568).abs() < 1e-12);
    }
}
