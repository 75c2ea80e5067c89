//! A kept run, opened to go on with it or to tell it again. Main type: [`Opened`].

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

/// What a run left behind.
pub(in crate::app) struct Opened {
    pub(in crate::app) run: RunId,
    /// When it began: RFC 3339, UTC.
    pub(in crate::app) started_at: String,
    pub(in crate::app) given: Given,
    pub(in crate::app) change: ChangeSet,
    pub(in crate::app) known: Known,
    /// The journal; empty where the run got no further.
    pub(in crate::app) entries: Vec<JournalEntry>,
    /// The review, where the last sitting came to one.
    pub(in crate::app) review: Option<Review>,
}

/// What was known of a run when its engine began; refuses one that keeps nothing to go on from.
pub(super) fn of_a_model(store: &Store, run: RunId) -> Result<BegunRun, AppError> {
    let begun = match store.begun(run) {
        Err(StoreError::Missing { .. }) => return Err(GivenError::Nothing(run).into()),
        begun => begun?,
    };
    if begun.engine == Engine::Rules { Err(ResumeError::Rules(run).into()) } else { Ok(begun) }
}

impl Opened {
    /// Reads what is there.
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

    /// Whether the last sitting came to its end.
    pub(in crate::app) fn is_over(&self) -> bool {
        let turning = |entry: &&JournalEntry| matches!(entry.record, Record::Done { .. } | Record::Resumed { .. });
        let last = self.entries.iter().rev().find(turning);
        last.is_some_and(|entry| matches!(entry.record, Record::Done { .. }))
    }

    /// How many answers are paid for.
    pub(in crate::app) fn answers(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.record, Record::Answer { .. })).count()
    }

    /// How long all sittings took together.
    pub(in crate::app) fn spent(&self) -> Duration {
        Account::of(&self.entries).map(|account| account.took).unwrap_or_default()
    }
}
