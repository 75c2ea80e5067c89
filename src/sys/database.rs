//! SQL databases: a file of SQLite, or a PostgreSQL server. Main type: [`Database`].
//!
//! One SQL text serves both: placeholders are `$1`, `$2`, …, and what differs is in [`Dialect`]. A statement that fails because the server
//! is away or busy is repeated for a while, so each must be harmless when it is run twice. Calls block: their futures run on threads of the
//! database's own. What tables there are belongs to those who use them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sqlx::any::{AnyArguments, AnyPoolOptions, AnyRow};
use sqlx::{Any, AnyPool, AssertSqlSafe, Connection as _, Executor as _, Row as _};

use super::files::{self, AppendFile, FileError};

/// The time for which a statement is repeated while the server is away: a restart is over in that time.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time for which a connection is awaited.
const CONNECT: Duration = Duration::from_secs(5);
/// The delay before the first repetition; it doubles up to [`LONGEST_DELAY`].
const FIRST_DELAY: Duration = Duration::from_millis(20);
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// The number of connections of one process.
const CONNECTIONS: u32 = 8;

/// The address of a database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// A file of SQLite.
    File(PathBuf),
    /// A PostgreSQL server, with the user, the password and the database: `postgres://…`.
    Server(String),
}

/// Text that names no database; a clause that follows the name of the setting. The text is not part of it: it may have a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "names no database that this program can use: write postgres://USER:PASSWORD@HOST/DATABASE, or the path of a file"
)]
pub struct InvalidAddress;

impl DatabaseAddress {
    /// Reads an address: `postgres://…`, or else the path of a file. What looks like another address is refused: as the name of a file it would
    /// be shown with the password in it.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let text = text.trim();
        let scheme = text.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        match scheme {
            Some((scheme, rest)) if matches!(&*scheme, "postgres" | "postgresql") => {
                if rest.starts_with("//") {
                    Ok(Self::Server(format!("{scheme}:{rest}")))
                } else {
                    Err(InvalidAddress)
                }
            }
            _ if text.is_empty() || text.contains("://") || text.contains("password=") => Err(InvalidAddress),
            _ => Ok(Self::File(PathBuf::from(text))),
        }
    }

    /// Checks whether it is a server, which several machines share.
    pub fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

/// Without the user and the password, and without parameters.
impl fmt::Display for DatabaseAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(to, "{}", path.display()),
            Self::Server(address) => {
                let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
                let (place, more) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
                // Behind a sign that ends the place there may be the rest of a password that should have been spelled with `%`.
                let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
                write!(to, "{scheme}://{}", if more.contains('@') { "…" } else { place })
            }
        }
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "DatabaseAddress({self})")
    }
}

/// The SQL that differs between the two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The milliseconds since 1970, by the clock of the database.
    pub now: &'static str,
    /// The end of a `select` of rows that are updated, so that concurrent ones skip what another has chosen.
    pub skip_locked: &'static str,
    /// The end of a `select` of rows that no other statement may change until this one is done.
    pub for_share: &'static str,
    /// The type of a column of bytes.
    pub bytes: &'static str,
    /// The beginning and the end of a script of several statements that runs as one.
    pub script: (&'static str, &'static str),
}

const SQLITE: Dialect = Dialect {
    now: "cast(unixepoch('subsec') * 1000 as integer)",
    skip_locked: "",
    // There is one writer at a time anyway.
    for_share: "",
    bytes: "blob",
    script: ("begin immediate;", "commit;"),
};

const POSTGRES: Dialect = Dialect {
    now: "cast(extract(epoch from clock_timestamp()) * 1000 as bigint)",
    skip_locked: "for update skip locked",
    for_share: "for share",
    bytes: "bytea",
    // Two that create the same tables at once would fail.
    script: ("begin; select pg_advisory_xact_lock(7237128893);", "commit;"),
};

/// A value of a statement or a row.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// An integer, or none.
    Int(Option<i64>),
    /// A text, or none.
    Text(Option<String>),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(str::to_owned))
    }
}

/// A row of an answer.
pub struct SqlRow(AnyRow);

impl SqlRow {
    /// Returns the integer of a column, or none where it is null.
    pub fn int(&self, column: usize) -> Result<Option<i64>, DatabaseError> {
        self.0.try_get(column).map_err(|error| DatabaseError::Shape(error.to_string()))
    }

    /// Returns the text of a column, or none where it is null.
    pub fn text(&self, column: usize) -> Result<Option<String>, DatabaseError> {
        self.0.try_get(column).map_err(|error| DatabaseError::Shape(error.to_string()))
    }

    /// Returns the bytes of a column.
    pub fn bytes(&self, column: usize) -> Result<Vec<u8>, DatabaseError> {
        self.0.try_get(column).map_err(|error| DatabaseError::Shape(error.to_string()))
    }
}

/// Reasons why a database could not be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DatabaseError {
    /// The file could not be created.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot open the database {address}: {source}; check the address, and that the database is there")]
    Open {
        address: DatabaseAddress,
        #[source]
        source: sqlx::Error,
    },
    /// It was away for longer than a restart takes.
    #[error("the database {address} could not be reached for {} s ({source}): restart it; no data is lost", PATIENCE.as_secs())]
    Away {
        address: DatabaseAddress,
        #[source]
        source: sqlx::Error,
    },
    #[error("the database {address} refused a statement: {source}")]
    Refused {
        address: DatabaseAddress,
        #[source]
        source: sqlx::Error,
    },
    /// A row is not of the expected shape.
    #[error("the database has a row that this program cannot read: {0}")]
    Shape(String),
    /// The threads of the database are gone; an internal error.
    #[error("the connection to the database broke; this is a defect of review")]
    Broken,
}

/// An open database. Cloning it shares its connections.
#[derive(Clone)]
pub struct Database {
    pool: AnyPool,
    address: DatabaseAddress,
    runtime: std::sync::Arc<OwnRuntime>,
}

/// The threads of a database, left behind when it is dropped: waiting for them is not allowed on the threads of another runtime.
struct OwnRuntime(Option<tokio::runtime::Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Database({})", self.address)
    }
}

impl Database {
    /// Opens a database; a file is created, for its owner alone, if there is none.
    pub fn open(address: &DatabaseAddress) -> Result<Self, DatabaseError> {
        sqlx::any::install_default_drivers();
        let url = match address {
            DatabaseAddress::File(path) => create_file(path)?,
            DatabaseAddress::Server(url) => url.clone(),
        };
        let failed = |source| DatabaseError::Open { address: address.clone(), source };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("database")
            .enable_all()
            .build()
            .map_err(|error| failed(sqlx::Error::Io(error)))?;
        let is_file = !address.is_server();
        let options = AnyPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CONNECT);
        let options = options.after_connect(move |connection, _| {
            Box::pin(async move {
                if is_file {
                    // A crash of the machine must not damage the file: `normal` is the least that holds that with a write-ahead log.
                    for pragma in ["busy_timeout = 30000", "journal_mode = wal", "synchronous = normal"] {
                        connection.execute(AssertSqlSafe(format!("pragma {pragma}"))).await?;
                    }
                }
                Ok(())
            })
        });
        let opened = wait(&runtime, async move {
            // The pool says of a connection that fails only that it waited; this one says why.
            tokio::time::timeout(CONNECT, sqlx::AnyConnection::connect(&url))
                .await
                .unwrap_or(Err(sqlx::Error::PoolTimedOut))?
                .close()
                .await?;
            options.connect_lazy(&url)
        });
        let pool = opened.ok_or(DatabaseError::Broken)?.map_err(failed)?;
        let runtime = std::sync::Arc::new(OwnRuntime(Some(runtime)));
        Ok(Self { pool, address: address.clone(), runtime })
    }

    /// Returns the address.
    pub fn address(&self) -> &DatabaseAddress {
        &self.address
    }

    /// Returns the SQL that is the database's own.
    pub fn dialect(&self) -> Dialect {
        match self.address {
            DatabaseAddress::File(_) => SQLITE,
            DatabaseAddress::Server(_) => POSTGRES,
        }
    }

    /// Runs statements without values as one transaction.
    pub fn script(&self, statements: &str) -> Result<(), DatabaseError> {
        let (begin, end) = self.dialect().script;
        let script = format!("{begin}\n{statements}\n{end}");
        self.repeat(move |pool| {
            let script = script.clone();
            async move {
                let mut connection = pool.acquire().await?;
                let done = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *connection).await.map(drop);
                if done.is_err() {
                    // Its transaction must not go on with the next statement.
                    connection.close().await?;
                }
                done
            }
        })
    }

    /// Runs a statement; returns the number of rows that it changed.
    pub fn execute(&self, statement: &str, values: Vec<SqlValue>) -> Result<u64, DatabaseError> {
        let statement = statement.to_owned();
        self.repeat(move |pool| {
            let query = bind(&statement, &values);
            async move { query.execute(&pool).await.map(|done| done.rows_affected()) }
        })
    }

    /// Runs a query; returns its rows.
    pub fn rows(&self, query: &str, values: Vec<SqlValue>) -> Result<Vec<SqlRow>, DatabaseError> {
        let statement = query.to_owned();
        self.repeat(move |pool| {
            let query = bind(&statement, &values);
            async move { query.fetch_all(&pool).await.map(|rows| rows.into_iter().map(SqlRow).collect()) }
        })
    }

    /// Repeats work while the database is away or busy.
    fn repeat<T, W>(&self, work: impl Fn(AnyPool) -> W + Send + 'static) -> Result<T, DatabaseError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, sqlx::Error>> + Send,
    {
        let runtime = self.runtime.0.as_ref().ok_or(DatabaseError::Broken)?;
        let (pool, address) = (self.pool.clone(), self.address.clone());
        wait(runtime, async move {
            let (began, mut delay) = (Instant::now(), FIRST_DELAY);
            loop {
                let source = match work(pool.clone()).await {
                    Ok(done) => return Ok(done),
                    Err(error) => error,
                };
                if !is_transient(&source, address.is_server()) {
                    return Err(DatabaseError::Refused { address, source });
                }
                if began.elapsed() + delay > PATIENCE {
                    return Err(DatabaseError::Away { address, source });
                }
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(LONGEST_DELAY);
            }
        })
        .ok_or(DatabaseError::Broken)?
    }
}

/// Runs a future on a runtime of its own and waits for it; `None` if it panicked. Allowed on any thread.
fn wait<T: Send + 'static>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (done, result) = mpsc::sync_channel(1);
    runtime.spawn(async move { drop(done.send(work.await)) });
    result.recv().ok()
}

fn bind(statement: &str, values: &[SqlValue]) -> sqlx::query::Query<'static, Any, AnyArguments> {
    values.iter().fold(sqlx::query(AssertSqlSafe(statement.to_owned())), |query, value| match value {
        SqlValue::Int(value) => query.bind(*value),
        SqlValue::Text(value) => query.bind(value.clone()),
        SqlValue::Bytes(value) => query.bind(value.clone()),
    })
}

/// Creates the file for its owner alone; returns its address for the driver.
fn create_file(path: &Path) -> Result<String, DatabaseError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::private_folder(folder)?;
    }
    drop(AppendFile::open(path)?);
    // The driver reads its address as a URL.
    let name: String = path.to_string_lossy().chars().map(spell).collect();
    Ok(format!("sqlite://{name}?mode=rw"))
}

fn spell(character: char) -> String {
    match character {
        '%' => "%25".to_owned(),
        '?' => "%3f".to_owned(),
        '#' => "%23".to_owned(),
        other => other.to_string(),
    }
}

/// Checks whether a statement may succeed when it is run again: the server is starting, stopping or out of reach, or the file is busy.
fn is_transient(error: &sqlx::Error, is_server: bool) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_)
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_transient_code(&code, is_server)),
        _ => false,
    }
}

/// Checks the code of an error: of a server, classes of the SQL standard (connection, resources, a concurrent transaction, intervention of an
/// operator); of a file, `SQLITE_BUSY` in its lowest byte.
fn is_transient_code(code: &str, is_server: bool) -> bool {
    if is_server {
        ["08", "53", "40", "57P"].iter().any(|class| code.starts_with(class))
    } else {
        code.parse::<u32>().is_ok_and(|code| code & 0xff == 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = DatabaseAddress::parse("postgres://ada:s3cret@db.example:5432/reviews?sslmode=require").unwrap();
        assert_eq!(address.to_string(), "postgres://db.example:5432/reviews");
        assert!(!format!("{address:?}").contains("s3cret"));
        for password in ["s3?cret", "s3#cret", "s3@cr?et"] {
            let address = DatabaseAddress::parse(&format!("postgres://ada:{password}@db.example/reviews")).unwrap();
            assert_eq!(address.to_string(), "postgres://…");
        }
    }

    #[test]
    fn an_address_that_is_misspelled_is_refused_and_never_a_file() {
        for (text, path) in
            [("jobs.db", "jobs.db"), (" /a b/jobs.db\n", "/a b/jobs.db"), ("C:\\jobs.db", "C:\\jobs.db")]
        {
            assert_eq!(DatabaseAddress::parse(text), Ok(DatabaseAddress::File(PathBuf::from(path))));
        }
        for text in ["Postgres://ada:s3cret@db/reviews", " POSTGRESQL://ada:s3cret@db/reviews"] {
            let address = DatabaseAddress::parse(text).unwrap();
            let DatabaseAddress::Server(url) = &address else { panic!("{address}") };
            assert!(url.starts_with("postgres") && url.ends_with("://ada:s3cret@db/reviews"), "{url}");
        }
        for text in ["", " ", "mysql://ada:s3cret@db/reviews", "postgres:/ada:s3cret@db", "host=db password=s3cret"] {
            let error = DatabaseAddress::parse(text).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (code, on_server, on_file) in [
            ("57P03", true, false),
            ("40001", true, false),
            ("53300", true, false),
            // Missing rights, and text in a wrong encoding: their numbers end like that of a busy file.
            ("42501", false, true),
            ("22021", false, true),
            ("5", false, true),
            ("517", false, true),
            ("19", false, false),
        ] {
            let found = (is_transient_code(code, true), is_transient_code(code, false));
            assert_eq!(found, (on_server, on_file), "{code}");
        }
    }

    #[test]
    fn a_file_is_created_for_its_owner_and_keeps_what_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let address = DatabaseAddress::File(folder.path().join("a folder/50%#?.db"));
        let database = Database::open(&address).unwrap();
        database.script("create table if not exists t (id bigint primary key, name text, body blob);").unwrap();
        let insert = "insert into t (id, name, body) values ($1, $2, $3) on conflict (id) do nothing";
        for _ in 0..2 {
            database.execute(insert, vec![7.into(), None.into(), SqlValue::Bytes(vec![0, 255])]).unwrap();
        }
        drop(database);
        let database = Database::open(&address).unwrap();
        let now = database.dialect().now;
        let rows =
            database.rows(&format!("select id, name, body, {now} from t where id = $1"), vec![7.into()]).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].int(0).unwrap(), rows[0].text(1).unwrap(), rows[0].bytes(2).unwrap()),
            (Some(7), None, vec![0, 255])
        );
        assert!(rows[0].int(3).unwrap().is_some_and(|now| now > 1_700_000_000_000));
        let error = database.execute("insert into missing values (1)", Vec::new()).unwrap_err();
        assert!(matches!(error, DatabaseError::Refused { .. }), "{error}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let DatabaseAddress::File(path) = &address else { unreachable!() };
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        let address = DatabaseAddress::parse("postgres://ada:s3cret@127.0.0.1:1/reviews").unwrap();
        let error = Database::open(&address).unwrap_err().to_string();
        assert!(error.contains("postgres://127.0.0.1:1/reviews") && !error.contains("s3cret"), "{error}");
    }

    #[tokio::test]
    async fn a_database_may_be_used_and_dropped_on_an_asynchronous_thread() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&DatabaseAddress::File(folder.path().join("q.db"))).unwrap();
        assert_eq!(database.rows("select 1", Vec::new()).unwrap().len(), 1);
    }
}
