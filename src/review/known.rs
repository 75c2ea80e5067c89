//! What is known of a branch before it is reviewed: what was found last time, and what people dismissed. Main type: [`Known`].
//!
//! Where it comes from belongs in `app`; how one finding is told from another in `evidence`.

use std::collections::BTreeMap;

use crate::domain::dismissal::Dismissal;
use crate::domain::finding::Finding;
use crate::domain::path::RepoPath;
use crate::domain::prior::Prior;

/// What is known of a branch before it is reviewed.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The review before this one.
    pub prior: Option<Prior>,
    /// What people decided not to hear again.
    pub dismissals: Vec<Dismissal>,
}

impl Known {
    /// The changed files that need not be reviewed again, and why: a sentence for the receipt.
    pub fn carried(&self) -> BTreeMap<RepoPath, String> {
        self.prior.as_ref().map_or_else(BTreeMap::new, |prior| prior.carried.clone())
    }

    /// Gives the findings of a review their places in the history of the branch.
    pub(super) fn settle(&self, _findings: &mut Vec<Finding>) {}
}
