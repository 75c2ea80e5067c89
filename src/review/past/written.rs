//! State shared by all conversations of a replayed run. Main type: [`Written`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Then;
use super::compared::Differences;
use super::error::Diverged;
use crate::review::journal::{JournalEntry, Stage};

/// State of a replay as a whole.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) then: Then,
    /// Journal, if requests are compared.
    pub(super) entries: Vec<JournalEntry>,
    pub(super) differences: Differences,
    /// `true` if this session sent requests about the parts of the change, and about the cross-part pass.
    parts_moved: AtomicBool,
    across_moved: AtomicBool,
    /// Difference that was found where it could not be returned.
    fault: Mutex<Option<Diverged>>,
}

impl Written {
    pub(super) fn new(then: Then) -> Self {
        Self { then, ..Self::default() }
    }

    /// Returns the message to compare with these entries.
    pub(super) fn to_compare(entries: Vec<JournalEntry>, differences: Differences) -> Self {
        Self { then: Then::Compare, entries, differences, ..Self::default() }
    }

    pub(super) fn moved(&self, stage: Stage) {
        match stage {
            Stage::Parts => self.parts_moved.store(true, Ordering::Relaxed),
            Stage::Across => self.across_moved.store(true, Ordering::Relaxed),
            Stage::Looks => {}
        }
    }

    /// Checks whether this session sent a request that a stage is based on.
    pub(super) fn has_moved(&self, stage: Stage) -> bool {
        let parts = self.parts_moved.load(Ordering::Relaxed);
        match stage {
            Stage::Parts => false,
            Stage::Across => parts,
            Stage::Looks => parts || self.across_moved.load(Ordering::Relaxed),
        }
    }

    pub(super) fn tell(&self, fault: Diverged) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    pub(super) fn check(&self) -> Result<(), Diverged> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }
}
