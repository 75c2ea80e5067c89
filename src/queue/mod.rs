//! The queue of jobs that several workers share, in a file of SQLite or on a PostgreSQL server. Main type: [`JobQueue`].
//!
//! One SQL text serves both ([`Dialect`](crate::sys::database::Dialect) has what differs). A worker has a job on lease: it renews the lease while
//! it works, and whoever finds a lease that has ended takes the job over. Every change of a leased job names its lease, so a worker that was away
//! too long changes nothing. Times are those of the database's clock. What a job does belongs in `app::worker`.

mod budget;
mod schedule;
mod schema;
mod workers;

pub use budget::DrawnPart;
pub use workers::ActiveWorkers;

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::domain::id::hex;
use crate::domain::queue::{JobId, JobRecord, JobState, JobWork, NewJob, QueueStatus};
use crate::sys::database::{Database, DatabaseAddress, DatabaseError, SqlRow, SqlValue};

/// The number of times that a job is taken before it is dead.
pub const MOST_ATTEMPTS: i64 = 8;
/// The number of jobs that one statement adds.
const ADDED_AT_ONCE: usize = 100;
/// The time for which the id of a delivery is remembered.
const REMEMBERED: Duration = Duration::from_hours(30 * 24);
/// The longest text of a reason, in bytes.
const LONGEST_REASON: usize = 4_000;

/// The columns of a [`JobRecord`], in its order.
const RECORD: &str = "id, name, state, attempts, priority, added_at, changed_at, worker, reason, result";

/// Reasons why a queue could not be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A later version of the program made the tables.
    #[error(
        "the queue {address} has the tables of a later version ({found}, this program knows {known}): use that version here, too"
    )]
    Newer {
        /// Its address.
        address: DatabaseAddress,
        /// The version of its tables.
        found: i64,
        /// The version that this program knows.
        known: i64,
    },
    /// A job could not be written as JSON; an internal error.
    #[error("cannot write the job: {0}")]
    Job(#[from] serde_json::Error),
    /// No job has the id.
    #[error("the queue has no job {0} in a state that allows this: `review queue status` shows what there is")]
    Unknown(JobId),
}

/// A queue of jobs. Cloning it shares its connections.
#[derive(Debug, Clone)]
pub struct JobQueue {
    database: Database,
}

/// A job that this worker has on lease.
#[derive(Debug, Clone)]
pub struct LeasedJob {
    /// Its id.
    pub id: JobId,
    /// The work, or why it cannot be read.
    pub work: Result<JobWork, String>,
    /// How often it was taken, this time included.
    pub attempts: i64,
    lease: String,
}

/// The state of a lease after it was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// It goes on.
    Held,
    /// The job was canceled: end it.
    Canceled,
    /// Another worker has the job: end it, and change nothing.
    Lost,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// It was reviewed; with the row of its review.
    Done(serde_json::Value),
    /// It cannot be reviewed, and trying again would not help.
    Dead(String),
    /// It failed, and is tried again after this time unless it was tried too often.
    Retry(String, Duration),
    /// It goes back, and this was no attempt: the worker stops, or another process is at the same change. It may be taken after this time.
    Release(Duration),
    /// It was canceled.
    Canceled,
}

impl JobQueue {
    /// Opens a queue, and creates or updates its tables.
    pub fn open(address: &DatabaseAddress) -> Result<Self, QueueError> {
        let database = Database::open(address)?;
        schema::update(&database)?;
        Ok(Self { database })
    }

    /// Adds jobs; returns how many of them are new. A job whose key is known, in whatever state, is not added again.
    pub fn add(&self, jobs: &[NewJob]) -> Result<u64, QueueError> {
        let (now, mut added) = (self.database.dialect().now, 0);
        for jobs in jobs.chunks(ADDED_AT_ONCE) {
            let mut values: Vec<SqlValue> = Vec::with_capacity(jobs.len() * 5);
            let mut rows = Vec::with_capacity(jobs.len());
            for job in jobs {
                let at = values.len();
                let place = |column: usize| format!("${}", at + column);
                let columns: Vec<String> = (1..=5).map(place).collect();
                rows.push(format!("({}, 'waiting', 0, {now}, {now}, {now})", columns.join(", ")));
                let name = match job.work.repository() {
                    "" => job.work.name(),
                    repository => format!("{} {}", last_part(repository), job.work.name()),
                };
                let request = serde_json::to_string(&job.work)?;
                values.extend([new_id(&job.key).into(), job.key.as_str().into(), without_nul(&name).into()]);
                values.extend([without_nul(&request).into(), job.priority.into()]);
            }
            let columns = "id, key, name, request, priority, state, attempts, added_at, changed_at, run_after";
            let rows = rows.join(", ");
            let statement = format!("insert into review_jobs ({columns}) values {rows} on conflict do nothing");
            added += self.database.execute(&statement, values)?;
        }
        Ok(added)
    }

    /// Lets workers take the jobs whose lease has ended; returns the number of those that were taken too often and are dead now. A canceled one
    /// stays canceled.
    pub fn free_expired(&self) -> Result<u64, QueueError> {
        let now = self.database.dialect().now;
        let freed = format!(
            "update review_jobs set lease = null, lease_until = null, changed_at = {now}, run_after = {now},
               state = case when is_canceled = 1 then 'canceled' when attempts >= $2 then 'dead' else 'waiting' end,
               reason = case when attempts >= $2 then coalesce(reason || '; ', '') || $1 else reason end
             where state = 'running' and lease_until < {now} returning state"
        );
        let why = format!("its worker disappeared {MOST_ATTEMPTS} times before it finished");
        let rows = self.database.rows(&freed, vec![why.into(), MOST_ATTEMPTS.into()])?;
        let mut dead = 0;
        for row in &rows {
            dead += u64::from(row.text(0)?.as_deref() == Some(JobState::Dead.as_str()));
        }
        Ok(dead)
    }

    /// Takes the next job for a worker; `None` if there is none, or if the queue is drained.
    pub fn lease(&self, worker: &str, lease: Duration) -> Result<Option<LeasedJob>, QueueError> {
        let dialect = self.database.dialect();
        let now = dialect.now;
        let token = hex(uuid::Uuid::new_v4().as_bytes());
        let take = format!(
            "update review_jobs set state = 'running', lease = $1, worker = $2, lease_until = {now} + $3, changed_at = {now},
               attempts = attempts + 1
             where id = (
               select id from review_jobs
               where state = 'waiting' and run_after <= {now}
                 and not exists (select 1 from review_queue where name = 'drained')
                 and not exists (select 1 from review_jobs where state = 'running' and lease = $1)
               order by priority desc, run_after, added_at, id limit 1 {})
             returning id, request, attempts",
            dialect.skip_locked
        );
        let values = vec![token.as_str().into(), worker.into(), millis(lease).into()];
        let mut rows = self.database.rows(&take, values)?;
        if rows.is_empty() {
            // A repetition of the statement after a lost answer takes no second job: the first is here.
            let taken = "select id, request, attempts from review_jobs where state = 'running' and lease = $1";
            rows = self.database.rows(taken, vec![token.as_str().into()])?;
        }
        let Some(row) = rows.first() else { return Ok(None) };
        let request = row.text(1)?.unwrap_or_default();
        let work = JobWork::read(&request).map_err(|error| format!("the job cannot be read: {error}"));
        Ok(Some(LeasedJob { id: id_of(row)?, work, attempts: row.int(2)?.unwrap_or(0), lease: token }))
    }

    /// Renews the lease of a job.
    pub fn renew(&self, job: &LeasedJob, lease: Duration) -> Result<LeaseState, QueueError> {
        let now = self.database.dialect().now;
        let statement = format!(
            "update review_jobs set lease_until = {now} + $1 where id = $2 and lease = $3 and state = 'running' returning is_canceled"
        );
        let values = vec![millis(lease).into(), job.id.to_string().into(), job.lease.as_str().into()];
        let rows = self.database.rows(&statement, values)?;
        Ok(match rows.first().map(|row| row.int(0)).transpose()?.flatten() {
            Some(0) => LeaseState::Held,
            Some(_) => LeaseState::Canceled,
            None => LeaseState::Lost,
        })
    }

    /// Ends a job; returns its new state, or `None` if another worker has it. One that goes back although it was canceled is canceled, and
    /// one that failed too often is dead.
    pub fn end(&self, job: &LeasedJob, end: &JobEnd) -> Result<Option<JobState>, QueueError> {
        let (state, reason, result, delay, attempts) = match end {
            JobEnd::Done(result) => (JobState::Done, None, Some(result.to_string()), Duration::ZERO, job.attempts),
            JobEnd::Dead(reason) => (JobState::Dead, Some(reason), None, Duration::ZERO, job.attempts),
            JobEnd::Retry(reason, _) if job.attempts >= MOST_ATTEMPTS => {
                (JobState::Dead, Some(reason), None, Duration::ZERO, job.attempts)
            }
            JobEnd::Retry(reason, delay) => (JobState::Waiting, Some(reason), None, *delay, job.attempts),
            JobEnd::Release(delay) => (JobState::Waiting, None, None, *delay, job.attempts - 1),
            JobEnd::Canceled => (JobState::Canceled, None, None, Duration::ZERO, job.attempts),
        };
        let now = self.database.dialect().now;
        // The lease stays with the row, so that a repetition of this statement changes the same row again.
        let statement = format!(
            "update review_jobs set state = case when is_canceled = 1 and $8 = 1 then 'canceled' else $1 end,
               reason = $2, result = $3, run_after = {now} + $4, attempts = $5, changed_at = {now}, lease_until = null
             where id = $6 and lease = $7 returning state"
        );
        let reason = reason.map(|reason| without_nul(&reason[..reason.floor_char_boundary(LONGEST_REASON)]));
        let values = vec![
            state.as_str().into(),
            reason.as_deref().into(),
            result.as_deref().map(without_nul).as_deref().into(),
            millis(delay).into(),
            attempts.into(),
            job.id.to_string().into(),
            job.lease.as_str().into(),
            i64::from(state == JobState::Waiting).into(),
        ];
        let rows = self.database.rows(&statement, values)?;
        let word = rows.first().map(|row| row.text(0)).transpose()?.flatten();
        Ok(word.and_then(|word| JobState::from_word(&word)))
    }

    /// Counts the jobs.
    pub fn status(&self) -> Result<QueueStatus, QueueError> {
        let now = self.database.dialect().now;
        let mut jobs = BTreeMap::new();
        for row in self.database.rows("select state, count(*) from review_jobs group by state", Vec::new())? {
            let state = row.text(0)?.and_then(|word| JobState::from_word(&word));
            let count = row.int(1)?.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
            jobs.extend(state.map(|state| (state, count)));
        }
        let oldest =
            format!("select {now} - min(run_after) from review_jobs where state = 'waiting' and run_after <= {now}");
        let oldest_waiting_ms =
            self.database.rows(&oldest, Vec::new())?.first().map(|row| row.int(0)).transpose()?.flatten();
        let drained = self.database.rows("select 1 from review_queue where name = 'drained'", Vec::new())?;
        Ok(QueueStatus { jobs, oldest_waiting_ms, is_drained: !drained.is_empty(), budget: self.budget()? })
    }

    /// Lists jobs, those that changed last first.
    pub fn list(&self, state: Option<JobState>, most: u32) -> Result<Vec<JobRecord>, QueueError> {
        let query = format!(
            "select {RECORD} from review_jobs where state = $1 or $1 is null order by changed_at desc, id limit {most}"
        );
        let rows = self.database.rows(&query, vec![state.map(JobState::as_str).into()])?;
        rows.iter().map(record).collect()
    }

    /// Lets workers take dead or canceled jobs again, all dead ones if none is named; returns their number.
    pub fn retry(&self, ids: &[JobId]) -> Result<u64, QueueError> {
        let set = self.wait_again();
        if ids.is_empty() {
            return Ok(self.database.execute(&format!("{set} where state = 'dead'"), Vec::new())?);
        }
        self.change_each(ids, &format!("{set} where id = $1 and state in ('dead', 'canceled')"))
    }

    /// Lets the job with a key wait again if it is dead; returns the number of such jobs.
    pub fn revive(&self, key: &str) -> Result<u64, QueueError> {
        let statement = format!("{} where key = $1 and state = 'dead'", self.wait_again());
        Ok(self.database.execute(&statement, vec![key.into()])?)
    }

    fn wait_again(&self) -> String {
        let now = self.database.dialect().now;
        format!(
            "update review_jobs set state = 'waiting', attempts = 0, is_canceled = 0, run_after = {now}, changed_at = {now}"
        )
    }

    /// Cancels jobs: one that waits at once, one that runs when its worker renews its lease.
    pub fn cancel(&self, ids: &[JobId]) -> Result<u64, QueueError> {
        let now = self.database.dialect().now;
        let statement = format!(
            "update review_jobs set is_canceled = 1, changed_at = {now},
               state = case when state = 'waiting' then 'canceled' else state end
             where id = $1 and state in ('waiting', 'running')"
        );
        self.change_each(ids, &statement)
    }

    fn change_each(&self, ids: &[JobId], statement: &str) -> Result<u64, QueueError> {
        let mut changed = 0;
        for id in ids {
            match self.database.execute(statement, vec![id.to_string().into()])? {
                0 => return Err(QueueError::Unknown(id.clone())),
                more => changed += more,
            }
        }
        Ok(changed)
    }

    /// Stops workers from taking jobs, or lets them take jobs again.
    pub fn drain(&self, on: bool) -> Result<(), QueueError> {
        let statement = if on {
            "insert into review_queue (name, value) values ('drained', 1) on conflict do nothing"
        } else {
            "delete from review_queue where name = 'drained'"
        };
        self.database.execute(statement, Vec::new())?;
        Ok(())
    }

    /// Checks whether a delivery is remembered.
    pub fn is_delivered(&self, id: &str) -> Result<bool, QueueError> {
        let query = "select 1 from review_deliveries where id = $1";
        Ok(!self.database.rows(query, vec![without_nul(id).into()])?.is_empty())
    }

    /// Remembers a delivery for 30 days.
    pub fn remember_delivery(&self, id: &str) -> Result<(), QueueError> {
        let now = self.database.dialect().now;
        let forget = format!("delete from review_deliveries where taken_at < {now} - $1");
        self.database.execute(&forget, vec![millis(REMEMBERED).into()])?;
        let remember =
            format!("insert into review_deliveries (id, taken_at) values ($1, {now}) on conflict (id) do nothing");
        self.database.execute(&remember, vec![without_nul(id).into()])?;
        Ok(())
    }

    /// Removes jobs that ended (done, dead or canceled) at least this long ago; returns their number.
    pub fn purge(&self, age: Duration) -> Result<u64, QueueError> {
        let now = self.database.dialect().now;
        // Days of a budget that are over; 0 is the period of one that is never over.
        let days = format!("delete from review_spending where period > 0 and period < ({now} - $1) / 86400000 - 1");
        self.database.execute(&days, vec![millis(age).into()])?;
        let statement =
            format!("delete from review_jobs where state in ('done', 'dead', 'canceled') and changed_at <= {now} - $1");
        Ok(self.database.execute(&statement, vec![millis(age).into()])?)
    }
}

fn record(row: &SqlRow) -> Result<JobRecord, QueueError> {
    let shape = |what: &str| DatabaseError::Shape(format!("a job without {what}"));
    let result = row.text(9)?.map(|text| serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)));
    Ok(JobRecord {
        id: id_of(row)?,
        name: row.text(1)?.unwrap_or_default(),
        state: row.text(2)?.and_then(|word| JobState::from_word(&word)).ok_or_else(|| shape("a state"))?,
        attempts: row.int(3)?.unwrap_or(0),
        priority: row.int(4)?.unwrap_or(0),
        added_ms: row.int(5)?.unwrap_or(0),
        changed_ms: row.int(6)?.unwrap_or(0),
        worker: row.text(7)?,
        reason: row.text(8)?,
        result,
    })
}

fn id_of(row: &SqlRow) -> Result<JobId, QueueError> {
    let id = row.text(0)?.unwrap_or_default();
    Ok(id.parse().map_err(|error| DatabaseError::Shape(format!("{error}")))?)
}

/// The id of a new job: from its key, so that a repeated statement adds it once.
fn new_id(key: &str) -> String {
    hex(&Sha256::digest(key))[..16].to_owned()
}

/// The last part of a path: what people call a repository.
fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}

/// Without the one character that PostgreSQL has no place for.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests;
