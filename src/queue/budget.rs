//! The budget that all workers of a queue share. Main functions: [`JobQueue::budget`], [`JobQueue::draw`].
//!
//! Each worker has a row for each period with its part of the budget: what it has spent and reserved, and some room. A part grows only while
//! the parts together are within the limit, in a script that runs as one. So a worker that dies needs no care: its part stays, as spent.

use super::{JobQueue, QueueError};
use crate::domain::money::Money;
use crate::domain::queue::{BudgetPart, QueueBudget};
use crate::sys::database::{SqlRow, SqlValue};

/// The largest number of tokens or thousand-millionths of a dollar in a row.
const MOST: u64 = 1 << 53;
/// The number of attempts to take a part while other workers take theirs.
const ATTEMPTS: usize = 5;
/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

/// The part of a budget that a worker has in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnPart {
    /// The period: the day since 1970, or 0.
    pub period: i64,
    /// The part; `None` if the queue has no budget.
    pub part: Option<BudgetPart>,
}

impl JobQueue {
    /// Sets the budget of the queue, or removes it. What was spent counts on, unless the kind of its period changes.
    pub fn set_budget(&self, budget: Option<&QueueBudget>) -> Result<(), QueueError> {
        let Some(budget) = budget else {
            self.database.execute("delete from review_limits", Vec::new())?;
            return Ok(());
        };
        let tokens = SqlValue::Int(budget.max_tokens.map(bounded));
        let nanos = SqlValue::Int(budget.max_cost.map(|cost| bounded(cost.nanos())));
        let statement = "insert into review_limits (one, tokens, nanos, is_daily) values (1, $1, $2, $3) on conflict (one) do update \
                         set tokens = excluded.tokens, nanos = excluded.nanos, is_daily = excluded.is_daily";
        self.database.execute(statement, vec![tokens, nanos, i64::from(budget.is_daily).into()])?;
        Ok(())
    }

    /// Returns the budget of the queue with the sum of what its workers have spent and reserved in this period; `None` if there is none.
    pub fn budget(&self) -> Result<Option<QueueBudget>, QueueError> {
        Ok(self.read_budget("")?.map(|(budget, _)| budget))
    }

    /// Returns the budget and its period; of what was spent, without the part of `but`.
    fn read_budget(&self, but: &str) -> Result<Option<(QueueBudget, i64)>, QueueError> {
        let now = self.database.dialect().now;
        let query = format!(
            "select l.tokens, l.nanos, l.is_daily, l.period, cast(coalesce(sum(s.tokens), 0) as bigint), \
             cast(coalesce(sum(s.nanos), 0) as bigint) \
             from (select tokens, nanos, is_daily, is_daily * ({now} / {DAY}) as period from review_limits where one = 1) l \
             left join review_spending s on s.period = l.period and s.holder <> $1 group by l.tokens, l.nanos, l.is_daily, l.period"
        );
        let rows = self.database.rows(&query, vec![but.into()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let number = |column: usize| Ok::<_, QueueError>(row.int(column)?.map(amount));
        let spent = BudgetPart { tokens: number(4)?.unwrap_or(0), cost: Money::from_nanos(number(5)?.unwrap_or(0)) };
        let budget = QueueBudget {
            max_tokens: number(0)?,
            max_cost: number(1)?.map(Money::from_nanos),
            is_daily: row.int(2)? == Some(1),
            spent,
        };
        Ok(Some((budget, row.int(3)?.unwrap_or(0))))
    }

    /// Makes the part of a worker `wanted`, or as much of it as there is, and at least `taken`. Both are counted from the beginning of the
    /// period; `part_of` gets the period and returns them. `holder` is a token of hexadecimal digits.
    pub fn draw(
        &self,
        holder: &str,
        part_of: impl Fn(i64) -> (BudgetPart, BudgetPart),
    ) -> Result<DrawnPart, QueueError> {
        let mut drawn = DrawnPart { period: 0, part: None };
        for _ in 0..ATTEMPTS {
            let Some((others, period)) = self.read_budget(holder)? else {
                return Ok(DrawnPart { part: None, ..drawn });
            };
            let (taken, wanted) = part_of(period);
            let room = others.room();
            let tokens = wanted.tokens.min(room.tokens).max(taken.tokens).min(MOST);
            let nanos = wanted.cost.min(room.cost).max(taken.cost).nanos().min(MOST);
            // What is spent is written down even where it is too much; more than that only while it is there.
            let (spent_tokens, spent_nanos) = (taken.tokens, taken.cost.nanos());
            self.database.script(&format!(
                "insert into review_spending (holder, period, tokens, nanos) select '{holder}', {period}, {tokens}, {nanos} \
                 where not exists (select 1 from review_limits l, \
                   (select coalesce(sum(tokens), 0) as tokens, coalesce(sum(nanos), 0) as nanos \
                    from review_spending where period = {period} and holder <> '{holder}') o \
                   where ({tokens} > {spent_tokens} and o.tokens + {tokens} > l.tokens) \
                      or ({nanos} > {spent_nanos} and o.nanos + {nanos} > l.nanos)) \
                 on conflict (holder, period) do update set tokens = excluded.tokens, nanos = excluded.nanos;"
            ))?;
            let query = "select tokens, nanos from review_spending where holder = $1 and period = $2";
            let rows = self.database.rows(query, vec![holder.into(), period.into()])?;
            let part = rows.first().map(part_in).transpose()?.unwrap_or_default();
            drawn = DrawnPart { period, part: Some(part) };
            if part == (BudgetPart { tokens, cost: Money::from_nanos(nanos) }) {
                break;
            }
        }
        // If others were always faster, the part is what it was.
        Ok(drawn)
    }
}

fn part_in(row: &SqlRow) -> Result<BudgetPart, QueueError> {
    let number = |column: usize| Ok::<_, QueueError>(amount(row.int(column)?.unwrap_or(0)));
    Ok(BudgetPart { tokens: number(0)?, cost: Money::from_nanos(number(1)?) })
}

fn bounded(amount: u64) -> i64 {
    i64::try_from(amount.min(MOST)).unwrap_or(i64::MAX)
}

fn amount(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
