//! A saved run, opened to resume or replay it. Main type: [`RecordedRun`].

use crate::app::context::saved_runs;
use std::time::Duration;

use super::error::ResumeError;
use crate::app::context::error::AppError;
use crate::app::prepare::inputs;
use crate::app::prepare::inputs::{RunInputs, RunInputsError};
use crate::domain::change::ChangeSet;
use crate::domain::review::Review;
use crate::domain::run::{Engine, RunId};
use crate::domain::run_record::StartedRun;
use crate::review::{BranchHistory, JOURNAL, JournalEntry, JournalRecord, JournalSummary, read_journal};
use crate::store::{Store, StoreError};

/// The recorded data of a run.
pub(in crate::app) struct RecordedRun {
    pub(in crate::app) run: RunId,
    /// The time of its start: RFC 3339, UTC.
    pub(in crate::app) started_at: String,
    pub(in crate::app) given: RunInputs,
    pub(in crate::app) change: ChangeSet,
    pub(in crate::app) known: BranchHistory,
    /// The journal; empty if the run ended before it.
    pub(in crate::app) entries: Vec<JournalEntry>,
    /// The review, if the last session produced one.
    pub(in crate::app) review: Option<Review>,
}

/// Reads the start record of a run; refuses one of the rules, which cannot be resumed.
pub(super) fn read_model_run(store: &Store, run: RunId) -> Result<StartedRun, AppError> {
    let begun = match store.read_start(run) {
        Err(StoreError::Missing { .. }) => return Err(RunInputsError::Nothing(run).into()),
        begun => begun?,
    };
    if begun.engine == Engine::Rules { Err(ResumeError::Rules(run).into()) } else { Ok(begun) }
}

impl RecordedRun {
    /// Reads the run's folder.
    pub(in crate::app) fn read(store: &Store, run: RunId) -> Result<Self, AppError> {
        let begun = read_model_run(store, run)?;
        let (given, change, known) = inputs::read(store, run)?;
        let journal = match store.read(run, JOURNAL) {
            Err(StoreError::Missing { .. }) => Vec::new(),
            bytes => bytes?,
        };
        let entries = read_journal(&journal).map_err(|source| ResumeError::Journal { run, source })?;
        let mut opened = Self { run, started_at: begun.started_at, given, change, known, entries, review: None };
        if opened.is_over() && store.read_record(run).is_ok() {
            opened.review = Some(saved_runs::read_from(store, run)?);
        }
        Ok(opened)
    }

    /// `true` if the last session ended properly.
    pub(in crate::app) fn is_over(&self) -> bool {
        let turning =
            |entry: &&JournalEntry| matches!(entry.record, JournalRecord::Done { .. } | JournalRecord::Resumed { .. });
        let last = self.entries.iter().rev().find(turning);
        last.is_some_and(|entry| matches!(entry.record, JournalRecord::Done { .. }))
    }

    /// The number of responses that were paid for.
    pub(in crate::app) fn count_responses(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.record, JournalRecord::Answer { .. })).count()
    }

    /// The total time of all sessions.
    pub(in crate::app) fn elapsed(&self) -> Duration {
        JournalSummary::of(&self.entries).map(|account| account.took).unwrap_or_default()
    }
}
