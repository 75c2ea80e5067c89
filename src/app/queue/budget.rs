//! The budget of a queue in one of its workers: its part, and whether another job may be taken. Main types: [`WorkerShare`], [`BudgetGate`].
//!
//! The part is drawn before turns are reserved (`review::BudgetPool`), and what is left of it goes back when a job ends.

use std::sync::{Mutex, PoisonError};

use crate::app::batch::BatchRun;
use crate::app::context::error::AppError;
use crate::domain::money::Money;
use crate::domain::queue::{BudgetPart, QueueBudget};
use crate::queue::JobQueue;
use crate::review::{Amount, BudgetPool, BudgetSource};

/// The part of this worker in the budget of its queue.
#[derive(Debug)]
pub(super) struct WorkerShare {
    queue: JobQueue,
    /// The token of the worker.
    holder: String,
    drawn: Mutex<DrawnAmounts>,
}

/// Amounts since the worker began.
#[derive(Debug, Clone, Copy, Default)]
struct DrawnAmounts {
    period: i64,
    /// The amount that was drawn in earlier periods.
    before: Amount,
    drawn: Amount,
}

impl WorkerShare {
    pub(super) fn new(queue: JobQueue, holder: String) -> Self {
        Self { queue, holder, drawn: Mutex::default() }
    }
}

impl BudgetSource for WorkerShare {
    fn draw(&self, taken: Amount, wanted: Amount) -> Option<Amount> {
        let mut state = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = *state;
        // An amount counts in the period in which it was drawn.
        let before = |period| if period == known.period { known.before } else { known.drawn };
        let since = |amount: Amount, period| {
            let Amount { tokens, cost } = before(period);
            BudgetPart { tokens: amount.tokens.saturating_sub(tokens), cost: amount.cost.saturating_sub(cost) }
        };
        let drawn = self.queue.draw(&self.holder, |period| (since(taken, period), since(wanted, period))).ok()?;
        let Some(part) = drawn.part else {
            return Some(Amount { tokens: u64::MAX, cost: Money::from_nanos(u64::MAX) });
        };
        let before = before(drawn.period);
        let all = Amount { tokens: before.tokens.saturating_add(part.tokens), cost: before.cost.plus(part.cost) };
        *state = DrawnAmounts { period: drawn.period, before, drawn: all };
        Some(all)
    }
}

/// Decides whether a worker may take another job within the budget of its queue.
pub(super) struct BudgetGate {
    /// The reviews without that budget.
    free: BatchRun,
    pool: BudgetPool,
    /// The limits for which `reviews` was made.
    limits: Option<QueueBudget>,
    reviews: BatchRun,
    /// The amount that was left when it was too little for a review.
    refused: Option<BudgetPart>,
}

impl BudgetGate {
    pub(super) fn new(free: BatchRun, pool: BudgetPool) -> Self {
        Self { reviews: free.clone(), free, pool, limits: None, refused: None }
    }

    /// Returns the reviews for the next job; `None` if too little is left. Fails if the budget is in money and the prices are unknown.
    pub(super) fn open(&mut self, budget: Option<QueueBudget>) -> Result<Option<BatchRun>, AppError> {
        let limits = budget.map(|budget| QueueBudget { spent: BudgetPart::default(), ..budget });
        if limits != self.limits {
            self.reviews = match &limits {
                Some(limits) => self.free.limited_by(limits, &self.pool)?,
                None => self.free.clone(),
            };
            self.limits = limits;
            self.allow();
        }
        let Some(budget) = budget else {
            self.allow();
            return Ok(Some(self.reviews.clone()));
        };
        if self.pool.is_refused() {
            // Others may have given back something: it is tried again when there is twice as much.
            let room = budget.room();
            let refused = *self.refused.get_or_insert(room);
            if room.tokens <= refused.tokens.saturating_mul(2) && room.cost <= refused.cost.times(2) {
                return Ok(None);
            }
            self.allow();
        }
        Ok((!budget.is_used_up()).then(|| self.reviews.clone()))
    }

    fn allow(&mut self) {
        self.pool.clear_refusal();
        self.refused = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::database::DatabaseAddress;

    #[test]
    fn an_amount_counts_in_the_period_in_which_it_was_drawn() {
        let folder = tempfile::tempdir().unwrap();
        let queue = JobQueue::open(&DatabaseAddress::File(folder.path().join("queue.db"))).unwrap();
        let amount = |tokens| Amount { tokens, cost: Money::NOTHING };
        let share = WorkerShare::new(queue.clone(), "a".to_owned());
        assert_eq!(share.draw(amount(0), amount(9)).unwrap().tokens, u64::MAX, "there is no budget");
        let limit = QueueBudget { max_tokens: Some(100), ..QueueBudget::default() };
        queue.set_budget(Some(&limit)).unwrap();
        assert_eq!(share.draw(amount(0), amount(80)).unwrap(), amount(80));
        queue.set_budget(Some(&QueueBudget { is_daily: true, ..limit })).unwrap();
        assert_eq!(share.draw(amount(70), amount(75)).unwrap(), amount(80), "it was drawn before");
        assert_eq!(queue.budget().unwrap().unwrap().spent.tokens, 0);
        assert_eq!(share.draw(amount(70), amount(130)).unwrap(), amount(130));
        assert_eq!(queue.budget().unwrap().unwrap().spent.tokens, 50);
        assert_eq!(share.draw(amount(130), amount(400)).unwrap(), amount(180), "no more than there is");
    }
}
