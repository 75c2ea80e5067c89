//! Saved runs in a SQL database, which several machines may share. Main type: [`DatabaseRuns`].
//!
//! A file is a row of `review_runs`. One that grows has a row there too, and what is appended follows it in `review_journal`, numbered. Runs
//! are locked by leases (`lease`); each statement may be repeated, so each is harmless when it is run twice. The database is opened at the
//! first use: a command that needs no run works while the server is away.

mod lease;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::error::StoreError;
use super::record;
use super::run_store::{LineAppender, ListedRecord, ListedRun, RunJournal, RunLock, RunStore, StoreLocation};
use crate::domain::limits::LIMITS;
use crate::domain::run::RunId;
use crate::sys::database::{Database, DatabaseAddress, DatabaseError, SqlRow, SqlValue};
use lease::{LeaseTimes, RunLease, TIMES, Tokens};

/// The version of the tables.
const SCHEMA: i64 = 1;
/// The size of the buffer of a growing file above which it is written before it is synced, in bytes.
const BUFFER: usize = 64 << 10;

/// The runs in a database.
#[derive(Debug)]
pub(super) struct DatabaseRuns(Arc<SharedRuns>);

/// The database and what this process holds of it, shared with its leases and open files.
#[derive(Debug)]
struct SharedRuns {
    address: DatabaseAddress,
    database: Mutex<DatabaseState>,
    tokens: Tokens,
    times: LeaseTimes,
    /// The growing files that are open.
    open: Mutex<HashSet<(RunId, String)>>,
}

/// The progress of opening a database.
#[derive(Debug)]
enum DatabaseState {
    Closed,
    Ready(Database),
}

impl DatabaseRuns {
    /// Returns the runs at an address, which is opened at the first use.
    pub(super) fn at(address: DatabaseAddress) -> Self {
        Self::new(address, DatabaseState::Closed, TIMES)
    }

    fn new(address: DatabaseAddress, state: DatabaseState, times: LeaseTimes) -> Self {
        let (database, open) = (Mutex::new(state), Mutex::default());
        Self(Arc::new(SharedRuns { address, database, tokens: Tokens::default(), times, open }))
    }
}

impl SharedRuns {
    /// Returns the database, opened and with its tables.
    fn database(&self) -> Result<Database, StoreError> {
        let mut state = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match &*state {
            DatabaseState::Ready(database) => return Ok(database.clone()),
            DatabaseState::Closed => Database::open(&self.address)?,
        };
        prepare(&database)?;
        *state = DatabaseState::Ready(database.clone());
        Ok(database)
    }

    /// Returns the rows of a query; `NOW` in it is the time of the database.
    fn rows(&self, query: &str, values: Vec<SqlValue>) -> Result<Vec<SqlRow>, StoreError> {
        let database = self.database()?;
        Ok(database.rows(&query.replace("NOW", database.dialect().now), values)?)
    }

    /// Runs a statement likewise; returns the number of changed rows.
    fn execute(&self, statement: &str, values: Vec<SqlValue>) -> Result<u64, StoreError> {
        let database = self.database()?;
        let dialect = database.dialect();
        let statement = statement.replace("NOW", dialect.now).replace("FOR_SHARE", dialect.for_share);
        Ok(database.execute(&statement, values)?)
    }

    /// Runs a statement as the owner of a run, whose first two values are the run and the token. It selects from the row of the lock, which
    /// is locked until the statement is done (`FOR_SHARE`), so that no other process takes over the run and reads it in between.
    fn execute_as(&self, id: RunId, token: &str, statement: &str, more: Vec<SqlValue>) -> Result<(), StoreError> {
        let mut values = vec![id.to_string().into(), token.into()];
        values.extend(more);
        match self.execute(statement, values)? {
            0 => Err(StoreError::Lost(id)),
            _ => Ok(()),
        }
    }

    /// Takes the lease of a run if it is free.
    fn try_lease(&self, id: RunId, token: &str) -> Result<bool, StoreError> {
        let statement = format!(
            "insert into review_run_locks (run, token, until) values ($1, $2, NOW + {lease}) \
             on conflict (run) do update set token = excluded.token, until = excluded.until \
             where review_run_locks.until <= NOW or review_run_locks.token = excluded.token",
            lease = self.times.lease.as_millis()
        );
        Ok(self.execute(&statement, vec![id.to_string().into(), token.into()])? > 0)
    }

    /// Returns the end of the lease of a run, by the clock of the database, and the time until then; `None` if it is free.
    fn lease_end(&self, id: RunId) -> Result<Option<(i64, Duration)>, StoreError> {
        let query = "select until, until - NOW from review_run_locks where run = $1 and until > NOW";
        let rows = self.rows(query, vec![id.to_string().into()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let left = row.int(1)?.and_then(|left| u64::try_from(left).ok()).unwrap_or_default();
        Ok(Some((row.int(0)?.unwrap_or_default(), Duration::from_millis(left))))
    }

    /// Extends a lease; `false` if another process has it.
    fn renew(&self, id: RunId, token: &str) -> Result<bool, StoreError> {
        let statement = format!(
            "update review_run_locks set until = NOW + {} where run = $1 and token = $2",
            self.times.lease.as_millis()
        );
        Ok(self.execute(&statement, vec![id.to_string().into(), token.into()])? > 0)
    }

    /// Ends a lease; `false` if another process has it. The row stays: a repeated statement must find it.
    fn release(&self, id: RunId, token: &str) -> Result<bool, StoreError> {
        let statement = "update review_run_locks set until = 0 where run = $1 and token = $2";
        Ok(self.execute(statement, vec![id.to_string().into(), token.into()])? > 0)
    }

    /// Writes a file as the owner of a run.
    fn put_as(&self, id: RunId, token: &str, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let statement = "insert into review_runs (run, name, changed_at, body) \
                         select run, $3, NOW, $4 from review_run_locks where run = $1 and token = $2 FOR_SHARE \
                         on conflict (run, name) do update set changed_at = excluded.changed_at, body = excluded.body";
        self.execute_as(id, token, statement, vec![name.into(), SqlValue::Bytes(bytes.to_vec())])
    }

    /// Reads a file with what was appended to it; `None` if there is none.
    fn read(&self, id: RunId, name: &str) -> Result<Option<StoredFile>, StoreError> {
        let values = || vec![id.to_string().into(), name.into()];
        let size = "select cast(length(body) + coalesce((select sum(length(lines)) from review_journal where run = $1 and name = $2), 0) \
                    as bigint) from review_runs where run = $1 and name = $2";
        let Some(row) = self.rows(size, values())?.pop() else { return Ok(None) };
        if row.int(0)?.is_some_and(|size| u64::try_from(size).is_ok_and(|size| size > LIMITS.kept_file_bytes)) {
            return Err(StoreError::TooLarge { id, name: name.to_owned() });
        }
        let content = "select cast(-1 as bigint) as part, body from review_runs where run = $1 and name = $2 \
                       union all select seq, lines from review_journal where run = $1 and name = $2 order by 1";
        let mut file = StoredFile::default();
        let mut is_there = false;
        for row in self.rows(content, values())? {
            match row.int(0)? {
                Some(part) if part >= 0 => file.parts.push((part, row.bytes(1)?)),
                _ => (is_there, file.body) = (true, row.bytes(1)?),
            }
        }
        Ok(is_there.then_some(file))
    }

    /// Cuts off the last bytes of a file that grows.
    fn truncate(
        &self,
        id: RunId,
        token: &str,
        name: &str,
        file: &StoredFile,
        mut cut: usize,
    ) -> Result<(), StoreError> {
        let statement = "insert into review_journal (run, name, seq, lines) \
                         select run, $3, $4, $5 from review_run_locks where run = $1 and token = $2 FOR_SHARE \
                         on conflict (run, name, seq) do update set lines = excluded.lines";
        for (seq, lines) in file.parts.iter().rev() {
            if cut == 0 {
                return Ok(());
            }
            let end = lines.len().saturating_sub(cut);
            cut -= lines.len() - end;
            let values = vec![name.into(), (*seq).into(), SqlValue::Bytes(lines[..end].to_vec())];
            self.execute_as(id, token, statement, values)?;
        }
        if cut == 0 { Ok(()) } else { self.put_as(id, token, name, &file.body[..file.body.len().saturating_sub(cut)]) }
    }

    fn open_files(&self) -> std::sync::MutexGuard<'_, HashSet<(RunId, String)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file as it is stored.
#[derive(Debug, Default)]
struct StoredFile {
    body: Vec<u8>,
    /// The appended parts, with their numbers.
    parts: Vec<(i64, Vec<u8>)>,
}

impl StoredFile {
    fn bytes(&self) -> Vec<u8> {
        let parts = self.parts.iter().map(|(_, lines)| lines.as_slice());
        std::iter::once(self.body.as_slice()).chain(parts).collect::<Vec<_>>().concat()
    }

    fn next(&self) -> i64 {
        self.parts.last().map_or(0, |(seq, _)| seq + 1)
    }
}

impl RunStore for DatabaseRuns {
    fn put(&self, id: RunId, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        // It could not be read again.
        if bytes.len() as u64 > LIMITS.kept_file_bytes {
            return Err(StoreError::TooLarge { id, name: name.to_owned() });
        }
        if let Some(token) = self.0.tokens.of(id) {
            return self.0.put_as(id, &token, name, bytes);
        }
        // A run that has ended, or has not begun, has no owner.
        let statement = "insert into review_runs (run, name, changed_at, body) values ($1, $2, NOW, $3) \
                         on conflict (run, name) do update set changed_at = excluded.changed_at, body = excluded.body";
        let values = vec![id.to_string().into(), name.into(), SqlValue::Bytes(bytes.to_vec())];
        self.0.execute(statement, values).map(drop)
    }

    fn get(&self, id: RunId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.read(id, name)?.map(|file| file.bytes()))
    }

    fn has(&self, id: RunId, name: &str) -> Result<bool, StoreError> {
        let query = "select 1 from review_runs where run = $1 and name = $2";
        Ok(!self.0.rows(query, vec![id.to_string().into(), name.into()])?.is_empty())
    }

    fn ids(&self) -> Result<Vec<(RunId, SystemTime)>, StoreError> {
        let rows = self.0.rows("select run, max(changed_at) from review_runs group by run", Vec::new())?;
        let entry = |row: &SqlRow| Ok(run_of(row)?.zip(Some(time(row, 1)?)));
        rows.iter().filter_map(|row| entry(row).transpose()).collect()
    }

    fn records(&self, limit: u64) -> Result<Vec<ListedRun>, StoreError> {
        let query = format!(
            "select r.run, r.changed_at, f.name, \
                    case when length(f.body) <= {limit} then 1 else 0 end, \
                    case when l.until > NOW then 1 else 0 end, \
                    case when length(f.body) <= {limit} then f.body end \
             from (select run, max(changed_at) as changed_at from review_runs group by run) r \
             left join review_runs f on f.run = r.run and f.name in ('{}', '{}') \
             left join review_run_locks l on l.run = r.run",
            record::NAME,
            record::BEGUN
        );
        let mut runs: HashMap<RunId, ListedRun> = HashMap::new();
        for row in self.0.rows(&query, Vec::new())? {
            let Some(id) = run_of(&row)? else { continue };
            let name = row.text(2)?;
            let is_end = name.as_deref() == Some(record::NAME);
            let is_ended =
                |run: &ListedRun| !matches!(run.record, Ok(ListedRecord::Begun { .. } | ListedRecord::Missing));
            // The record of the end counts, wherever there is one.
            if runs.get(&id).is_some_and(|run| is_ended(run) && !is_end) {
                continue;
            }
            let record = match (name.is_some(), row.int(3)? == Some(1)) {
                (false, _) => Ok(ListedRecord::Missing),
                (true, false) => Err(format!("it has more than {} MiB", limit >> 20)),
                (true, true) if is_end => Ok(ListedRecord::Ended(row.bytes(5)?)),
                (true, true) => Ok(ListedRecord::Begun { bytes: row.bytes(5)?, is_running: row.int(4)? == Some(1) }),
            };
            runs.insert(id, ListedRun { id, changed_at: time(&row, 1)?, record });
        }
        Ok(runs.into_values().collect())
    }

    fn remove(&self, id: RunId) -> Result<(), StoreError> {
        // The files come last: a run that was removed in part is still listed, and removed the next time.
        for table in ["review_journal", "review_run_locks", "review_runs"] {
            self.0.execute(&format!("delete from {table} where run = $1"), vec![id.to_string().into()])?;
        }
        Ok(())
    }

    fn lock(&self, id: RunId) -> Result<RunLock, StoreError> {
        RunLease::acquire(&self.0, id, true).map(RunLock::of)
    }

    fn is_locked(&self, id: RunId) -> Result<bool, StoreError> {
        Ok(self.0.lease_end(id)?.is_some())
    }

    fn append_exclusive(&self, id: RunId, name: &str) -> Result<RunJournal, StoreError> {
        let opened = OpenedFile::open(&self.0, id, name)?;
        // The row says that there is such a file, even an empty one.
        let statement = "insert into review_runs (run, name, changed_at, body) \
                         select run, $3, NOW, $4 from review_run_locks where run = $1 and token = $2 FOR_SHARE \
                         on conflict (run, name) do update set changed_at = excluded.changed_at";
        self.0.execute_as(id, &opened.token, statement, vec![name.into(), SqlValue::Bytes(Vec::new())])?;
        let query = "select max(seq) from review_journal where run = $1 and name = $2";
        let last = self.0.rows(query, vec![id.to_string().into(), name.into()])?;
        let last = last.first().map(|row| row.int(0)).transpose()?.flatten();
        Ok(RunJournal::of(DatabaseJournal { opened, next: last.map_or(0, |last| last + 1), buffer: Vec::new() }))
    }

    fn reopen(&self, id: RunId, name: &str) -> Result<(Vec<u8>, RunJournal), StoreError> {
        let missing = || StoreError::Missing { id, name: name.to_owned() };
        if !self.has(id, name)? {
            return Err(missing());
        }
        let opened = OpenedFile::open(&self.0, id, name)?;
        let file = self.0.read(id, name)?.ok_or_else(missing)?;
        let mut bytes = file.bytes();
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        self.0.truncate(id, &opened.token, name, &file, bytes.len() - whole)?;
        bytes.truncate(whole);
        Ok((bytes, RunJournal::of(DatabaseJournal { opened, next: file.next(), buffer: Vec::new() })))
    }

    fn check(&self) -> Result<(), StoreError> {
        let trial = RunId::random();
        drop(RunLease::acquire(&self.0, trial, false)?);
        self.remove(trial)
    }

    fn location(&self) -> StoreLocation {
        StoreLocation::Database(self.0.address.clone())
    }
}

/// A growing file that is open in this process.
#[derive(Debug)]
struct OpenedFile {
    runs: Arc<SharedRuns>,
    id: RunId,
    name: String,
    token: String,
    /// The lock of the run, where this process does not hold it anyway.
    _lease: Option<RunLease>,
}

impl OpenedFile {
    fn open(runs: &Arc<SharedRuns>, id: RunId, name: &str) -> Result<Self, StoreError> {
        let lease = match runs.tokens.of(id) {
            Some(_) => None,
            None => Some(RunLease::acquire(runs, id, false)?),
        };
        let token = lease.as_ref().map(|lease| lease.token().to_owned()).or_else(|| runs.tokens.of(id));
        let token = token.ok_or(StoreError::Lost(id))?;
        if !runs.open_files().insert((id, name.to_owned())) {
            return Err(StoreError::Busy(id));
        }
        Ok(Self { runs: Arc::clone(runs), id, name: name.to_owned(), token, _lease: lease })
    }
}

impl Drop for OpenedFile {
    fn drop(&mut self) {
        self.runs.open_files().remove(&(self.id, std::mem::take(&mut self.name)));
    }
}

/// The writer of a growing file.
#[derive(Debug)]
struct DatabaseJournal {
    opened: OpenedFile,
    /// The number of the next part.
    next: i64,
    buffer: Vec<u8>,
}

impl LineAppender for DatabaseJournal {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() > BUFFER { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        // What fails is not tried again when the writer is dropped: the reader of the error decides.
        let lines = std::mem::take(&mut self.buffer);
        let OpenedFile { runs, id, name, token, .. } = &self.opened;
        let statement = "insert into review_journal (run, name, seq, lines) \
                         select run, $3, $4, $5 from review_run_locks where run = $1 and token = $2 FOR_SHARE \
                         on conflict (run, name, seq) do update set lines = excluded.lines";
        runs.execute_as(*id, token, statement, vec![name.as_str().into(), self.next.into(), SqlValue::Bytes(lines)])?;
        self.next += 1;
        Ok(())
    }
}

impl Drop for DatabaseJournal {
    fn drop(&mut self) {
        // A file has what was appended without a sync, too.
        let _ = self.sync();
    }
}

fn run_of(row: &SqlRow) -> Result<Option<RunId>, StoreError> {
    Ok(row.text(0)?.and_then(|id| id.parse().ok()))
}

fn time(row: &SqlRow, column: usize) -> Result<SystemTime, StoreError> {
    let millis = row.int(column)?.and_then(|millis| u64::try_from(millis).ok()).unwrap_or_default();
    Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}

/// Creates the tables if there are none; refuses those of a later version.
fn prepare(database: &Database) -> Result<(), StoreError> {
    let found = match version(database) {
        Ok(Some(found)) => found,
        // There is no such table yet, or it was just created.
        Ok(None) | Err(DatabaseError::Refused { .. }) => {
            let bytes = database.dialect().bytes;
            // The bytes come last in a row: columns behind them are slow to read.
            database.script(&format!(
                "create table if not exists review_store_schema (one integer primary key, version bigint not null);\n\
                 create table if not exists review_runs (run text not null, name text not null, changed_at bigint not null, \
                 body {bytes} not null, primary key (run, name));\n\
                 create table if not exists review_journal (run text not null, name text not null, seq bigint not null, \
                 lines {bytes} not null, primary key (run, name, seq));\n\
                 create table if not exists review_run_locks (run text primary key, token text not null, until bigint not null);\n\
                 insert into review_store_schema (one, version) values (1, {SCHEMA}) on conflict (one) do nothing;"
            ))?;
            version(database)?.unwrap_or(SCHEMA)
        }
        Err(error) => return Err(error.into()),
    };
    if found > SCHEMA {
        return Err(StoreError::NewerSchema { address: database.address().clone(), found, known: SCHEMA });
    }
    Ok(())
}

fn version(database: &Database) -> Result<Option<i64>, DatabaseError> {
    let rows = database.rows("select max(version) from review_store_schema", Vec::new())?;
    Ok(rows.first().map(|row| row.int(0)).transpose()?.flatten())
}

#[cfg(test)]
pub(super) mod fixtures {
    //! Databases for the tests of the store.

    use std::path::Path;

    use super::*;

    /// Returns the address of a file in a folder.
    pub(in crate::store) fn address(root: &Path) -> DatabaseAddress {
        DatabaseAddress::File(root.join("runs.db"))
    }

    /// Returns the runs of a process whose leases are renewed often.
    pub(in crate::store) fn runs(root: &Path) -> DatabaseRuns {
        let times = LeaseTimes { lease: Duration::from_secs(30), renewal: Duration::from_millis(200) };
        DatabaseRuns::new(address(root), DatabaseState::Closed, times)
    }

    /// Returns the runs of a process that renews no lease.
    pub(in crate::store) fn unrenewed(root: &Path) -> DatabaseRuns {
        let times = LeaseTimes { lease: Duration::from_secs(1), renewal: Duration::from_hours(1) };
        DatabaseRuns::new(address(root), DatabaseState::Closed, times)
    }

    /// Sets the version of the tables.
    pub(in crate::store) fn set_version(root: &Path, version: i64) {
        let database = Database::open(&address(root)).unwrap();
        database.execute("update review_store_schema set version = $1", vec![version.into()]).unwrap();
    }
}
