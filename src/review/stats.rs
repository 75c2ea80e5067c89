//! Statistics of a conversation. Main types: [`ConversationStats`], [`InFlightRequest`], [`UnbilledAttempts`].

use std::ops::AddAssign;

use super::compact::Compaction;
use super::opening::ShownDiff;
use crate::domain::money::Money;
use crate::domain::text::count_noun;
use crate::tools::ShownLines;

/// Content that was sent and has no response yet.
#[derive(Debug, Default)]
pub(super) struct InFlightRequest {
    /// Diffs that the opening showed.
    pub(super) opening: Vec<ShownDiff>,
    /// References that tools showed.
    pub(super) results: Vec<ShownLines>,
    /// Messages of this program since the last request.
    pub(super) user: Vec<String>,
    /// Tokens of the conversation, estimated.
    pub(super) size: u64,
}

/// Counts for the receipt.
#[derive(Debug, Default)]
pub(super) struct ConversationStats {
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts with unreported cost.
    pub(super) broken_off: UnbilledAttempts,
    /// Limits that were met, each a sentence.
    pub(super) limits: Vec<String>,
    /// Reason for the text format of calls, if it was used.
    pub(super) in_text: Option<&'static str>,
    /// Compaction of the conversation.
    pub(super) compaction: Compaction,
}

/// Attempts that may have had a cost that was not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnbilledAttempts {
    /// Number of attempts.
    pub(super) times: u32,
    /// Their maximum cost; zero if money is not limited.
    pub(super) cost: Money,
}

impl UnbilledAttempts {
    /// Creates a number of attempts of the same maximum cost each.
    pub(super) fn of(times: u32, most: Money) -> Self {
        Self { times, cost: most.times(u64::from(times)) }
    }

    /// Returns the note for the receipt; `None` without such attempts.
    pub(super) fn receipt_note(&self) -> Option<String> {
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
