//! Remaining budget of a run, and the reserve within it. Main types: [`RemainingBudget`], [`VerificationReserve`].

use std::time::Duration;

use super::amount::Amount;
use crate::domain::money::Money;

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
