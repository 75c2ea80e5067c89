//! Thresholds below which findings are only counted. Main function: [`take_hidden`].

use std::collections::{BTreeMap, BTreeSet};

use super::ReviewDraft;
use crate::domain::finding::{Confidence, Finding, Severity};

impl ReviewDraft {
    /// Removes findings below the confidence threshold.
    pub(super) fn apply_confidence_threshold(&mut self, least: Option<Confidence>) -> Vec<Finding> {
        let unsure = |finding: &Finding| {
            !finding.status.is_resolved() && finding.confidence.zip(least).is_some_and(|(own, least)| own < least)
        };
        let places = self.findings.iter().enumerate().filter(|(_, finding)| unsure(finding)).map(|(at, _)| at);
        let places: BTreeSet<usize> = places.collect();
        self.remove_findings(&places, "nobody is sure enough of what it says")
    }
}

/// Removes hidden findings.
pub(super) fn take_hidden(findings: &mut Vec<Finding>, is_hidden: impl Fn(&Finding) -> bool) -> Vec<Finding> {
    let (hidden, shown) = std::mem::take(findings).into_iter().partition(is_hidden);
    *findings = shown;
    hidden
}

/// Counts the findings by severity.
pub(super) fn count_by_severity(findings: &[Finding]) -> BTreeMap<Severity, u32> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.severity).or_default() += 1;
    }
    counts
}
