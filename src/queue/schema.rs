//! The tables of a queue, and how an older program's are brought up to date. Main function: [`update`].

use super::QueueError;
use crate::sys::database::Database;

/// The versions of the tables: the statements at place N lead from version N to N + 1.
const VERSIONS: &[&str] = &["
create table review_jobs (
  id text primary key,
  key text not null unique,
  name text not null,
  request text not null,
  priority bigint not null,
  state text not null,
  attempts bigint not null,
  added_at bigint not null,
  changed_at bigint not null,
  run_after bigint not null,
  lease text,
  lease_until bigint,
  worker text,
  is_canceled bigint not null default 0,
  reason text,
  result text
);
create index review_jobs_next on review_jobs (state, priority desc, run_after, added_at, id);
create index review_jobs_changed on review_jobs (changed_at);
create table review_deliveries (id text primary key, taken_at bigint not null);
", "
create table review_limits (one bigint primary key, tokens bigint, nanos bigint, is_daily bigint not null);
create table review_spending (
  holder text not null,
  period bigint not null,
  tokens bigint not null,
  nanos bigint not null,
  primary key (holder, period)
);
create index review_spending_period on review_spending (period);
create table review_workers (id text primary key, joined_at bigint not null, seen_at bigint not null, until bigint not null);
create table review_schedules (
  name text primary key,
  request text not null,
  every_ms bigint not null,
  next_at bigint not null
);
"];

/// Creates the tables, or brings them to the version of this program; refuses those of a later one.
pub(super) fn update(database: &Database) -> Result<(), QueueError> {
    database.script("create table if not exists review_queue (name text primary key, value bigint not null);")?;
    let known = i64::try_from(VERSIONS.len()).unwrap_or(i64::MAX);
    loop {
        let rows = database.rows("select value from review_queue where name = 'version'", Vec::new())?;
        let found = rows.first().map(|row| row.int(0)).transpose()?.flatten().unwrap_or(0);
        if found > known {
            return Err(QueueError::Newer { address: database.address().clone(), found, known });
        }
        let Some(statements) = usize::try_from(found).ok().and_then(|at| VERSIONS.get(at)) else { return Ok(()) };
        let next = found + 1;
        // The first statement fails where another program has made the same step meanwhile; then the loop finds its version.
        let claim = format!("insert into review_queue (name, value) values ('step-{next}', {next});");
        let done = format!(
            "insert into review_queue (name, value) values ('version', {next}) on conflict (name) do update set value = {next};"
        );
        let stepped = database.script(&format!("{claim}\n{statements}\n{done}"));
        let rows = database.rows("select value from review_queue where name = 'version'", Vec::new())?;
        let now = rows.first().map(|row| row.int(0)).transpose()?.flatten().unwrap_or(0);
        if now <= found {
            stepped?;
        }
    }
}
