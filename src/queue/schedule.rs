//! Schedules of a queue: jobs that are added at set times, by whichever worker is first. Main function: [`JobQueue::add_due`].
//!
//! A due time adds one job, whose key is made of both: it is there once, however many workers add it. That job then adds the others, with the
//! lease and the repetitions of any job. Due times that passed while no worker ran are one.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{JobQueue, QueueError, millis, new_id, without_nul};
use crate::domain::id::hex;
use crate::domain::queue::{ScheduleRecord, ScheduledSelection};

/// The priority of a job that adds jobs: before those that review.
const PRIORITY: i64 = 1 << 31;

impl JobQueue {
    /// Adds or replaces a schedule. It is due at once, and then after each period; with `at`, at that time since the beginning of 1970 and after
    /// each period from then.
    pub fn set_schedule(
        &self,
        work: &ScheduledSelection,
        every: Duration,
        at: Option<Duration>,
    ) -> Result<(), QueueError> {
        let now = self.database.dialect().now;
        let statement = format!(
            "insert into review_schedules (name, request, every_ms, next_at) \
             values ($1, $2, $3, case when $4 >= 0 then (({now} - $4) / $3 + 1) * $3 + $4 else {now} end) \
             on conflict (name) do update set request = excluded.request, every_ms = excluded.every_ms, next_at = excluded.next_at"
        );
        let request = without_nul(&serde_json::to_string(work)?);
        let values = vec![
            work.schedule.as_str().into(),
            request.into(),
            millis(every).max(1).into(),
            at.map_or(-1, millis).into(),
        ];
        self.database.execute(&statement, values)?;
        Ok(())
    }

    /// Removes a schedule; returns `false` if there is none of that name.
    pub fn remove_schedule(&self, name: &str) -> Result<bool, QueueError> {
        let removed =
            self.database.execute("delete from review_schedules where name = $1", vec![without_nul(name).into()])?;
        Ok(removed > 0)
    }

    /// Lists the schedules, those that are due first first.
    pub fn schedules(&self) -> Result<Vec<ScheduleRecord>, QueueError> {
        let query = "select name, request, every_ms, next_at from review_schedules order by next_at, name limit 1000";
        let rows = self.database.rows(query, Vec::new())?;
        let read = |text: &str| serde_json::from_str(text).map_err(|error| format!("it cannot be read: {error}"));
        rows.iter()
            .map(|row| {
                Ok(ScheduleRecord {
                    name: row.text(0)?.unwrap_or_default(),
                    selection: read(&row.text(1)?.unwrap_or_default()),
                    every_ms: row.int(2)?.unwrap_or(0),
                    next_ms: row.int(3)?.unwrap_or(0),
                })
            })
            .collect()
    }

    /// Adds the jobs of all schedules that are due; returns how many are new.
    pub fn add_due(&self) -> Result<u64, QueueError> {
        let now = self.database.dialect().now;
        let due = format!(
            "select name, request, next_at from review_schedules where next_at <= {now} and every_ms > 0 order by next_at limit 100"
        );
        let mut added = 0;
        for row in self.database.rows(&due, Vec::new())? {
            let (name, request) = (row.text(0)?.unwrap_or_default(), row.text(1)?.unwrap_or_default());
            let next = row.int(2)?.unwrap_or(0);
            let key = hex(&Sha256::digest(format!("schedule {name} at {next}")));
            let add = format!(
                "insert into review_jobs (id, key, name, request, priority, state, attempts, added_at, changed_at, run_after) \
                 values ($1, $2, $3, $4, {PRIORITY}, 'waiting', 0, {now}, {now}, {now}) on conflict do nothing"
            );
            let title = format!("schedule {name}");
            let values = vec![new_id(&key).into(), key.into(), title.into(), request.into()];
            added += self.database.execute(&add, values)?;
            // Whoever is later adds the same job again, which changes nothing.
            let go_on = format!(
                "update review_schedules set next_at = next_at + (({now} - next_at) / every_ms + 1) * every_ms \
                 where name = $1 and next_at = $2"
            );
            self.database.execute(&go_on, vec![name.into(), next.into()])?;
        }
        Ok(added)
    }
}
