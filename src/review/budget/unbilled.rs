//! Attempts at a turn whose cost is unknown. Main type: [`UnbilledAttempts`].

use std::ops::AddAssign;

use crate::domain::money::Money;
use crate::domain::text::count_noun;

/// Attempts that may have had a cost that was not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::review) struct UnbilledAttempts {
    /// Number of attempts.
    pub(in crate::review) times: u32,
    /// Their maximum cost; zero if money is not limited.
    pub(in crate::review) cost: Money,
}

impl UnbilledAttempts {
    /// Creates a number of attempts of the same maximum cost each.
    pub(in crate::review) fn of(times: u32, most: Money) -> Self {
        Self { times, cost: most.times(u64::from(times)) }
    }

    /// Returns the note for the receipt; `None` without such attempts.
    pub(in crate::review) fn receipt_note(&self) -> Option<String> {
        let responses = count_noun(self.times as usize, "response");
        let cost = if self.cost == Money::NOTHING {
            "the cost is unknown and not counted".to_owned()
        } else {
            format!(
                "the cost is unknown and not in the sum; for the cost limit it counts as {}, the most that it can be",
                self.cost
            )
        };
        (self.times > 0).then(|| format!("{responses} of the provider could not be read to the end; {cost}."))
    }
}

impl AddAssign for UnbilledAttempts {
    fn add_assign(&mut self, other: Self) {
        *self = Self { times: self.times + other.times, cost: self.cost.plus(other.cost) };
    }
}
