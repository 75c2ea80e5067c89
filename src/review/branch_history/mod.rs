//! History of a branch: the findings of the previous review, and dismissals. Main type: [`BranchHistory`].
//!
//! Loading it belongs in `app`; comparing findings in `evidence`.

use std::collections::BTreeMap;

use crate::domain::change::ChangeSet;
use crate::domain::day::Day;
use crate::domain::dismissal::Dismissal;
use crate::domain::finding::Finding;
use crate::domain::path::RepoPath;
use crate::domain::prior::Prior;
use crate::domain::review::FileCoverage;

mod dismissed;

/// History of a branch before its review.
#[derive(Debug, Clone, Default)]
pub struct BranchHistory {
    /// The review before this one.
    pub prior: Option<Prior>,
    /// Dismissed findings.
    pub dismissals: Vec<Dismissal>,
}

impl BranchHistory {
    /// Returns the changed files that need not be reviewed again, and why: a sentence for the receipt.
    pub fn carried_files(&self) -> BTreeMap<RepoPath, String> {
        self.prior.as_ref().map_or_else(BTreeMap::new, |prior| prior.carried.clone())
    }

    /// Marks dismissed findings of a review that was made on the day `today`, and returns the stale dismissals. Earlier states of findings must be
    /// determined before.
    pub(super) fn dismiss(
        &self,
        findings: &mut [&mut Finding],
        change: &ChangeSet,
        files: &[FileCoverage],
        today: Option<Day>,
    ) -> Vec<String> {
        dismissed::apply(&self.dismissals, findings, &dismissed::DismissalScope { change, files, today })
    }
}
