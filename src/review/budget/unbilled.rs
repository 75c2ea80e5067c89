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
        let answers = count_noun(self.times as usize, "answer");
        let cost = if self.cost == Money::NOTHING {
            "what that cost is not known and not counted".to_owned()
        } else {
            format!(
                "what that cost is not known and not in the sum; the limit of money was held as if it were {}, the most \
                 that it can be",
                self.cost
            )
        };
        (self.times > 0)
            .then(|| format!("{answers} of the provider did not come to an end, or could not be read; {cost}."))
    }
}

impl AddAssign for UnbilledAttempts {
    fn add_assign(&mut self, other: Self) {
        *self = Self { times: self.times + other.times, cost: self.cost.plus(other.cost) };
    }
}
