//! State shared by all conversations of a replayed run. Main type: [`ReplayOutput`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::AfterReplay;
use super::comparison::Differences;
use super::error::ReplayDivergence;
use crate::review::journal::record::{JournalEntry, RunStage};

/// State of a replay as a whole.
#[derive(Debug, Default)]
pub(super) struct ReplayOutput {
    pub(super) then: AfterReplay,
    /// Journal, if requests are compared.
    pub(super) entries: Vec<JournalEntry>,
    pub(super) differences: Differences,
    /// `true` if this session sent requests about the parts of the change, and about the cross-part pass.
    parts_moved: AtomicBool,
    across_moved: AtomicBool,
    /// Difference that was found where it could not be returned.
    fault: Mutex<Option<ReplayDivergence>>,
}

impl ReplayOutput {
    pub(super) fn new(then: AfterReplay) -> Self {
        Self { then, ..Self::default() }
    }

    /// Returns the message to compare with these entries.
    pub(super) fn to_compare(entries: Vec<JournalEntry>, differences: Differences) -> Self {
        Self { then: AfterReplay::Compare, entries, differences, ..Self::default() }
    }

    pub(super) fn mark_moved(&self, stage: RunStage) {
        match stage {
            RunStage::Parts => self.parts_moved.store(true, Ordering::Relaxed),
            RunStage::Across => self.across_moved.store(true, Ordering::Relaxed),
            RunStage::Looks => {}
        }
    }

    /// Checks whether this session sent a request that a stage is based on.
    pub(super) fn has_moved(&self, stage: RunStage) -> bool {
        let parts = self.parts_moved.load(Ordering::Relaxed);
        match stage {
            RunStage::Parts => false,
            RunStage::Across => parts,
            RunStage::Looks => parts || self.across_moved.load(Ordering::Relaxed),
        }
    }

    pub(super) fn record(&self, fault: ReplayDivergence) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(super) fn check(&self) -> Result<(), ReplayDivergence> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }
}
