//! What a conversation counts on its way. Main types: [`Tally`], [`Unanswered`], [`Lost`].

use std::ops::AddAssign;

use super::compact::Compaction;
use super::opening::Shown;
use crate::domain::money::Money;
use crate::domain::text::counted;
use crate::tools::Reference;

/// What was sent and is not answered yet.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// What the opening showed.
    pub(super) opening: Vec<Shown>,
    /// What tools showed.
    pub(super) results: Vec<Reference>,
    /// What this program said since the last request.
    pub(super) user: Vec<String>,
    /// Tokens of the conversation, estimated.
    pub(super) size: u64,
}

/// Counts for the receipt.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts whose cost nobody told.
    pub(super) broken_off: Lost,
    /// Limits that were met, each a sentence.
    pub(super) limits: Vec<String>,
    /// Why calls were written in the text, where they were.
    pub(super) in_text: Option<&'static str>,
    /// What was taken out of the conversation to make room.
    pub(super) compaction: Compaction,
}

/// Attempts that may have cost something that nobody told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// How many.
    pub(super) times: u32,
    /// What all of them cost at most; nothing where money is no limit.
    pub(super) cost: Money,
}

impl Lost {
    /// So many that cost so much each, at most.
    pub(super) fn of(times: u32, most: Money) -> Self {
        Self { times, cost: most.times(u64::from(times)) }
    }

    /// What the receipt says; `None` where there were none.
    pub(super) fn note(&self) -> Option<String> {
        let answers = counted(self.times as usize, "answer");
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

impl AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        *self = Self { times: self.times + other.times, cost: self.cost.plus(other.cost) };
    }
}
