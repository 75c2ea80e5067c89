//! The workers of a queue: who is at work. Main function: [`JobQueue::beat`].
//!
//! They divide the provider's rate limits among them. So that the parts never make more than the whole, a worker that joins waits until the
//! others know of it; one that died counts until its time is over.

use std::time::Duration;

use super::{JobQueue, QueueError, millis};

/// The time, in milliseconds, within which two clocks readings of the database count as one.
const MARGIN: i64 = 1_000;

/// The workers of a queue, as one of them sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveWorkers {
    /// Their number, this one included.
    pub count: u32,
    /// The number of others that may not know of this one.
    pub unaware: u32,
}

impl JobQueue {
    /// Says that a worker is at work for some time to come; returns how many are.
    pub fn beat(&self, worker: &str, lasts: Duration) -> Result<ActiveWorkers, QueueError> {
        let now = self.database.dialect().now;
        self.database
            .execute(&format!("delete from review_workers where until < {now} and id <> $1"), vec![worker.into()])?;
        let beat = format!(
            "insert into review_workers (id, joined_at, seen_at, until) values ($1, {now}, {now}, {now} + $2) \
             on conflict (id) do update set seen_at = excluded.seen_at, until = excluded.until"
        );
        self.database.execute(&beat, vec![worker.into(), millis(lasts).into()])?;
        let query = format!(
            "select count(*), coalesce(sum(case when w.id <> own.id and w.seen_at <= own.joined_at + {MARGIN} then 1 else 0 end), 0) \
             from review_workers w, (select id, joined_at from review_workers where id = $1) own"
        );
        let rows = self.database.rows(&query, vec![worker.into()])?;
        let number = |column| rows.first().map(|row| row.int(column)).transpose();
        let number =
            |column| Ok::<_, QueueError>(number(column)?.flatten().and_then(|count| u32::try_from(count).ok()));
        Ok(ActiveWorkers { count: number(0)?.unwrap_or(1).max(1), unaware: number(1)?.unwrap_or(0) })
    }

    /// Says that a worker has ended.
    pub fn leave(&self, worker: &str) -> Result<(), QueueError> {
        self.database.execute("delete from review_workers where id = $1", vec![worker.into()])?;
        Ok(())
    }
}
