//! The interface to the place of saved runs. Main types: [`RunStore`], [`RunLock`], [`RunJournal`].
//!
//! It has no logic of its own: what a record means and which runs are old is decided in [`Store`](super::Store). Names of files are checked
//! there too.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::error::StoreError;
use crate::domain::run::RunId;
use crate::sys::blocking;
use crate::sys::database::DatabaseAddress;

/// The place of saved runs: each has an id and some files.
pub(super) trait RunStore: fmt::Debug + Send + Sync {
    /// Saves a file whole: a reader sees the old bytes or the new ones.
    fn put(&self, id: RunId, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Reads a file; `None` if the run has no such file.
    fn get(&self, id: RunId, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Checks whether a run has a file.
    fn has(&self, id: RunId, name: &str) -> Result<bool, StoreError>;

    /// Lists the runs and when each was last written to, in no order.
    fn ids(&self) -> Result<Vec<(RunId, SystemTime)>, StoreError>;

    /// Lists the runs with their records, in no order; a record of more than `limit` bytes is not read.
    fn records(&self, limit: u64) -> Result<Vec<ListedRun>, StoreError>;

    /// Removes a run with all its files.
    fn remove(&self, id: RunId) -> Result<(), StoreError>;

    /// Locks a run against other processes, which are waited for a while.
    fn lock(&self, id: RunId) -> Result<RunLock, StoreError>;

    /// Checks whether a process holds the run.
    fn is_locked(&self, id: RunId) -> Result<bool, StoreError>;

    /// Opens a file that grows, which is created if there is none; only one process may have it open.
    fn append_exclusive(&self, id: RunId, name: &str) -> Result<RunJournal, StoreError>;

    /// Reopens such a file, cut after its last whole line: returns its contents too.
    fn reopen(&self, id: RunId, name: &str) -> Result<(Vec<u8>, RunJournal), StoreError>;

    /// Tries whether runs can be saved, where a user might need to know the reason why not.
    fn check(&self) -> Result<(), StoreError>;

    /// Returns where the runs are.
    fn location(&self) -> StoreLocation;
}

/// The location of saved runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A database, which other machines may use too.
    Database(DatabaseAddress),
}

/// A run in a list.
#[derive(Debug)]
pub(super) struct ListedRun {
    pub(super) id: RunId,
    pub(super) changed_at: SystemTime,
    /// Its record, or a few words why that cannot be read.
    pub(super) record: Result<ListedRecord, String>,
}

/// The record of a run in a list.
#[derive(Debug)]
pub(super) enum ListedRecord {
    /// The record of a run that has ended.
    Ended(Vec<u8>),
    /// The record of a run that has not ended, and whether a process is at it.
    Begun { bytes: Vec<u8>, is_running: bool },
    /// There is neither.
    Missing,
}

/// Keeps other processes from a run until it is dropped.
pub struct RunLock {
    _held: Box<dyn Any + Send + Sync>,
}

impl RunLock {
    pub(super) fn of(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for RunLock {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("RunLock")
    }
}

/// A destination of lines.
pub(super) trait LineAppender: fmt::Debug + Send + Sync {
    /// Appends bytes; they may be lost until they are synced.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Waits until the bytes would survive a crash of the system.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Returns when the bytes would survive the end of this process; a crash of the system perhaps only a moment later.
    fn begin_sync(&mut self) -> Result<(), StoreError> {
        blocking::in_place(|| self.sync())
    }
}

/// A file of a run that only grows, and that no other process writes to.
#[derive(Debug)]
pub struct RunJournal(Box<dyn LineAppender>);

impl RunJournal {
    pub(super) fn of(writer: impl LineAppender + 'static) -> Self {
        Self(Box::new(writer))
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.append(bytes)
    }

    /// Waits until what was appended would survive a crash of the system.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.0.sync()
    }

    /// Returns when what was appended would survive the end of this process; a crash of the system perhaps only a moment later.
    pub fn begin_sync(&mut self) -> Result<(), StoreError> {
        self.0.begin_sync()
    }
}
