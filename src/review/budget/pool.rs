//! Budget that several runs of a process share, besides the limits of each. Main type: [`BudgetPool`].
//!
//! Each run publishes what it has spent and reserved; what the others have taken is no longer there for it. A check and the reservation
//! that follows it are one step for the whole pool, because its runs are driven by different tasks. A pool may be a part of a larger budget that
//! other processes share ([`BudgetSource`]): it takes from that before it checks, and gives back what is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::amount::{Amount, ENDLESS};
use crate::domain::money::Money;

/// A larger budget that several processes share. A pool takes parts of it before its runs spend them.
pub trait BudgetSource: std::fmt::Debug + Send + Sync {
    /// Sets the part of this process to `wanted`, or to as much of that as there is, and at least to `taken`, which is spent or reserved already.
    /// Returns the part, or `None` if the source cannot be reached. It may block.
    fn draw(&self, taken: Amount, wanted: Amount) -> Option<Amount>;
}

/// Budget shared by all runs of a batch. Clones share it.
#[derive(Debug, Clone)]
pub struct BudgetPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    total: Amount,
    source: Option<Box<dyn BudgetSource>>,
    /// The sum of what the runs have spent and reserved.
    used: Mutex<PoolUse>,
    /// Held from a check to the reservation that follows it.
    turnstile: Mutex<()>,
}

#[derive(Debug, Default)]
struct PoolUse {
    taken: Amount,
    /// The part of the source that this pool has.
    granted: Amount,
    /// The amount that resumed runs had spent before: whoever spent it took it from the source.
    recorded: Amount,
    is_exhausted: bool,
    is_refused: bool,
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
        Self::with_source(tokens, cost, None)
    }

    /// Creates such a pool that is filled from a source.
    pub fn with_source(tokens: Option<u64>, cost: Option<Money>, source: Option<Box<dyn BudgetSource>>) -> Self {
        let total = Amount { tokens: tokens.unwrap_or(u64::MAX), cost: cost.unwrap_or(ENDLESS) };
        Self(Arc::new(PoolState { total, source, used: Mutex::default(), turnstile: Mutex::default() }))
    }

    /// Checks whether a run could not begin with more than its last turn, because the others had used up the pool.
    pub fn is_exhausted(&self) -> bool {
        self.used().is_exhausted
    }

    /// Checks whether a run could not begin with more than its last turn, because the source had no more.
    pub fn is_refused(&self) -> bool {
        self.used().is_refused
    }

    /// Forgets that a run was refused: the source may have more again.
    pub fn clear_refusal(&self) {
        self.used().is_refused = false;
    }

    /// Gives back to the source what is neither spent nor reserved. It may block.
    pub fn settle(&self) {
        let _held = self.lock();
        let PoolUse { taken, granted, .. } = *self.used();
        if taken != granted {
            self.draw(taken);
        }
    }

    /// Makes the part of the source `wanted`, or as much of that as there is.
    fn draw(&self, wanted: Amount) {
        let Some(source) = &self.0.source else { return };
        let PoolUse { taken, recorded, .. } = *self.used();
        if let Some(granted) = source.draw(taken.saturating_sub(recorded), wanted.saturating_sub(recorded)) {
            self.used().granted = granted.plus(recorded);
        }
    }

    /// Marks the pool, or the source that had no more for it, as used up.
    pub(super) fn mark_exhausted(&self) {
        let mut used = self.used();
        let is_source = self.0.source.is_some() && used.granted.check_within(self.0.total).is_ok();
        *(if is_source { &mut used.is_refused } else { &mut used.is_exhausted }) = true;
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.turnstile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the other runs of the pool from reserving anything until the returned guard is dropped. The pool is filled before, so that there is
    /// `room` besides what is taken, if its source has as much.
    pub(super) fn hold(&self, room: Amount) -> MutexGuard<'_, ()> {
        let guard = self.lock();
        let wanted = self.used().taken.plus(room);
        if wanted.check_within(self.used().granted).is_err() {
            self.draw(wanted);
        }
        guard
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
        let used = self.pool.used();
        let others = used.taken.saturating_sub(self.published);
        let total =
            if self.pool.0.source.is_some() { self.pool.0.total.min_each(used.granted) } else { self.pool.0.total };
        total.saturating_sub(others)
    }

    /// Counts what a resumed run had spent before.
    pub(super) fn add_recorded(&self, recorded: Amount) {
        let mut used = self.pool.used();
        (used.recorded, used.granted) = (used.recorded.plus(recorded), used.granted.plus(recorded));
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

    /// A budget of tokens that two processes share.
    #[derive(Debug, Clone, Default)]
    struct SharedTokens(Arc<Mutex<[u64; 2]>>);

    #[derive(Debug)]
    struct OnePart(SharedTokens, usize);

    impl BudgetSource for OnePart {
        fn draw(&self, taken: Amount, wanted: Amount) -> Option<Amount> {
            let mut parts = self.0.0.lock().unwrap();
            parts[self.1] = taken.tokens.max(wanted.tokens.min(200_000 - parts[1 - self.1]));
            Some(Amount { tokens: parts[self.1], cost: ENDLESS })
        }
    }

    #[test]
    fn pools_of_one_source_take_parts_and_give_back_what_is_left() {
        let shared = SharedTokens::default();
        let pool = |at| BudgetPool::with_source(None, None, Some(Box::new(OnePart(shared.clone(), at))));
        let (one, other) = (pool(0), pool(1));
        let mut first = ConversationBudget::in_pool(LIMITS, Some(&one));
        assert_eq!(first.reserve_turn(10_000, None), TurnPermit::Turn);
        assert!(shared.0.lock().unwrap()[0] > 50_000, "more than the turn, so that nothing is cut short");
        first.count_turn(10_000, &usage(10_000), Duration::ZERO, false);
        drop(first);
        one.settle();
        assert_eq!(*shared.0.lock().unwrap(), [10_000, 0]);
        let mut second = ConversationBudget::in_pool(LIMITS, Some(&other));
        let mut sent = 0;
        while second.reserve_turn(30_000, None) == TurnPermit::Turn {
            second.count_turn(30_000, &usage(30_000), Duration::ZERO, false);
            sent += 30_000;
        }
        assert!((90_000..=190_000).contains(&sent), "{sent}");
        drop(second);
        other.settle();
        assert!(!other.is_refused(), "it had begun");
        let third = ConversationBudget::in_pool(LIMITS, Some(&one));
        assert_ne!(third.reserve_turn(60_000, None), TurnPermit::Turn);
        assert!(one.is_refused() && !one.is_exhausted());
        one.clear_refusal();
        assert!(!one.is_refused());
    }

    #[test]
    fn nothing_is_spent_while_the_source_cannot_be_reached() {
        #[derive(Debug)]
        struct Away;
        impl BudgetSource for Away {
            fn draw(&self, _: Amount, _: Amount) -> Option<Amount> {
                None
            }
        }
        let pool = BudgetPool::with_source(None, None, Some(Box::new(Away)));
        let run = ConversationBudget::in_pool(LIMITS, Some(&pool));
        assert_eq!(run.reserve_turn(1_000, None), TurnPermit::Nothing(StopReason::TokenLimit));
    }
}
