//! A saved run, opened to resume or replay it. Main type: [`Opened`].

use std::time::Duration;

use super::error::ResumeError;
use crate::app::error::AppError;
use crate::app::given::{self, Given, GivenError};
use crate::app::runs;
use crate::domain::change::ChangeSet;
use crate::domain::review::{Engine, Review};
use crate::domain::run::{BegunRun, RunId};
use crate::review::{Account, JOURNAL, JournalEntry, Known, Record, read_journal};
use crate::store::{Store, StoreError};

/// The recorded data of a run.
pub(in crate::app) struct Opened {
    pub(in crate::app) run: RunId,
    /// The time of its start: RFC 3339, UTC.
    pub(in crate::app) started_at: String,
    pub(in crate::app) given: Given,
    pub(in crate::app) change: ChangeSet,
    pub(in crate::app) known: Known,
    /// The journal; empty if the run ended before it.
    pub(in crate::app) entries: Vec<JournalEntry>,
    /// The review, if the last session produced one.
    pub(in crate::app) review: Option<Review>,
}

/// Reads the start record of a run; refuses one of the rules, which cannot be resumed.
pub(super) fn of_a_model(store: &Store, run: RunId) -> Result<BegunRun, AppError> {
    let begun = match store.begun(run) {
        Err(StoreError::Missing { .. }) => return Err(GivenError::Nothing(run).into()),
        begun => begun?,
    };
    if begun.engine == Engine::Rules { Err(ResumeError::Rules(run).into()) } else { Ok(begun) }
}

impl Opened {
    /// Reads the run's folder.
    pub(in crate::app) fn read(store: &Store, run: RunId) -> Result<Self, AppError> {
        let begun = of_a_model(store, run)?;
        let (given, change, known) = given::read(store, run)?;
        let journal = match store.read(run, JOURNAL) {
            Err(StoreError::Missing { .. }) => Vec::new(),
            bytes => bytes?,
        };
        let entries = read_journal(&journal).map_err(|source| ResumeError::Journal { run, source })?;
        let mut opened = Self { run, started_at: begun.started_at, given, change, known, entries, review: None };
        if opened.is_over() && store.record(run).is_ok() {
            opened.review = Some(runs::read_from(store, run)?);
        }
        Ok(opened)
    }

    /// `true` if the last session ended properly.
    pub(in crate::app) fn is_over(&self) -> bool {
        let turning = |entry: &&JournalEntry| matches!(entry.record, Record::Done { .. } | Record::Resumed { .. });
        let last = self.entries.iter().rev().find(turning);
        last.is_some_and(|entry| matches!(entry.record, Record::Done { .. }))
    }

    /// The number of responses that were paid for.
    pub(in crate::app) fn answers(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.record, Record::Answer { .. })).count()
    }

    /// The total time of all sessions.
    pub(in crate::app) fn spent(&self) -> Duration {
        Account::of(&self.entries).map(|account| account.took).unwrap_or_default()
    }
}
