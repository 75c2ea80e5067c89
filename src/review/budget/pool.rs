//! Budget that several runs of a process share, besides the limits of each. Main type: [`BudgetPool`].
//!
//! Each run publishes what it has spent and reserved; what the others have taken is no longer there for it. A check and the reservation
//! that follows it are one step for the whole pool, because its runs are driven by different tasks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::amount::{Amount, ENDLESS};
use crate::domain::money::Money;

/// Budget shared by all runs of a batch. Clones share it.
#[derive(Debug, Clone)]
pub struct BudgetPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    total: Amount,
    /// The sum of what the runs have spent and reserved.
    used: Mutex<PoolUse>,
    /// Held from a check to the reservation that follows it.
    turnstile: Mutex<()>,
}

#[derive(Debug, Default)]
struct PoolUse {
    taken: Amount,
    is_exhausted: bool,
}

/// One run's part in a pool.
#[derive(Debug)]
pub(super) struct PoolMember {
    pool: BudgetPool,
    published: Amount,
}

impl BudgetPool {
    /// Creates a pool of this many tokens and this much money; `None` is no limit.
    pub fn new(tokens: Option<u64>, cost: Option<Money>) -> Self {
        let total = Amount { tokens: tokens.unwrap_or(u64::MAX), cost: cost.unwrap_or(ENDLESS) };
        Self(Arc::new(PoolState { total, used: Mutex::default(), turnstile: Mutex::default() }))
    }

    /// Checks whether a run could not begin with more than its last turn, because the others had used up the pool.
    pub fn is_exhausted(&self) -> bool {
        self.used().is_exhausted
    }

    pub(super) fn mark_exhausted(&self) {
        self.used().is_exhausted = true;
    }

    /// Keeps the other runs of the pool from reserving anything until the returned guard is dropped.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.turnstile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(&self) -> PoolMember {
        PoolMember { pool: self.clone(), published: Amount::default() }
    }

    fn used(&self) -> MutexGuard<'_, PoolUse> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolMember {
    /// Returns the most that this run may have spent and reserved: everything that the others have not taken.
    pub(super) fn available(&self) -> Amount {
        let others = self.pool.used().taken.saturating_sub(self.published);
        self.pool.0.total.saturating_sub(others)
    }

    /// Publishes what this run has spent and reserved.
    pub(super) fn publish(&mut self, taken: Amount) {
        let mut used = self.pool.used();
        used.taken = used.taken.saturating_sub(self.published).plus(taken);
        self.published = taken;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::amount::CostLimit;
    use super::super::fixtures::{LIMITS, prices};
    use super::super::{BudgetLimits, ConversationBudget, TurnPermit};
    use super::*;
    use crate::domain::review::StopReason;
    use crate::llm::TurnUsage;

    fn usage(input: u64) -> TurnUsage {
        TurnUsage { input: Some(input), output: Some(10), cache_read: None, cache_write: None, cost: None }
    }

    #[test]
    fn what_one_run_spent_is_not_there_for_the_next() {
        let pool = BudgetPool::new(Some(100_000), None);
        let mut first = ConversationBudget::in_pool(LIMITS, Some(&pool));
        assert_eq!(first.reserve_turn(40_000, None), TurnPermit::Turn);
        first.count_turn(40_000, &usage(40_000), Duration::ZERO, false);
        drop(first);
        assert!(!pool.is_exhausted());
        let mut second = ConversationBudget::in_pool(LIMITS, Some(&pool));
        assert_eq!(second.remaining().all.tokens, 60_000);
        assert_eq!(second.reserve_turn(40_000, None), TurnPermit::Landing(StopReason::TokenLimit));
        assert!(pool.is_exhausted(), "it can only end, and so can whoever begins after it");
        second.count_turn(40_000, &usage(40_000), Duration::ZERO, false);
        drop(second);
        let third = ConversationBudget::in_pool(LIMITS, Some(&pool));
        assert_eq!(third.reserve_turn(40_000, None), TurnPermit::Nothing(StopReason::TokenLimit));
        assert!(third.describe_limit(StopReason::TokenLimit).contains("all reviews together"));
    }

    #[test]
    fn reservations_count_while_they_last() {
        let cost = CostLimit { most: "9".parse().unwrap(), prices: prices() };
        let limits = BudgetLimits { cost: Some(cost), ..LIMITS };
        let pool = BudgetPool::new(None, Some("0.50".parse().unwrap()));
        let first = ConversationBudget::in_pool(limits, Some(&pool));
        assert_eq!(first.reserve_turn(20_000, None), TurnPermit::Turn);
        let second = ConversationBudget::in_pool(limits, Some(&pool));
        assert_ne!(second.reserve_turn(20_000, None), TurnPermit::Turn);
        drop((first, second));
        let third = ConversationBudget::in_pool(limits, Some(&pool));
        assert_eq!(third.reserve_turn(20_000, None), TurnPermit::Turn, "nothing was spent");
    }

    #[test]
    fn no_pool_is_overdrawn_by_runs_on_several_threads() {
        let pool = BudgetPool::new(Some(1_000_000), None);
        let sent: u64 = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let mut sent = 0;
                        for _ in 0..20 {
                            let mut budget = ConversationBudget::in_pool(LIMITS, Some(&pool));
                            while budget.reserve_turn(9_000, None) == TurnPermit::Turn {
                                budget.count_turn(9_000, &usage(9_000), Duration::ZERO, false);
                                sent += 9_000;
                            }
                        }
                        sent
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).sum()
        });
        assert!((900_000..=1_000_000).contains(&sent), "{sent}");
    }
}
