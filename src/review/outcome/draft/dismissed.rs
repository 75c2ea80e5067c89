//! Dismissals applied to a draft.

use super::ReviewDraft;
use crate::domain::day::Day;
use crate::domain::finding::{Finding, FindingStatus};
use crate::review::branch_history::BranchHistory;

impl ReviewDraft {
    /// Marks dismissed findings, including superseded ones that may return, and notes stale dismissals.
    pub(super) fn dismiss(&mut self, known: &BranchHistory, started_at: &str) {
        let behind = self.behind.iter_mut().flatten().map(|behind| &mut behind.finding);
        let mut findings: Vec<&mut Finding> = self.findings.iter_mut().chain(behind).collect();
        let notes = known.dismiss(&mut findings, &self.change, &self.files, Day::of(started_at));
        self.notes.extend(notes);
    }
}

/// Returns the number of dismissed findings.
pub(super) fn count(findings: &[Finding]) -> u32 {
    let dismissed = findings.iter().filter(|finding| finding.status == FindingStatus::Dismissed).count();
    u32::try_from(dismissed).unwrap_or(u32::MAX)
}
