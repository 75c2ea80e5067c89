//! What a review does not show and only counts. Main function: [`hide`].

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use crate::domain::finding::{Confidence, Finding, Severity};

impl Draft {
    /// Takes away what somebody is not sure enough of, and counts it.
    pub(super) fn hold_to_confidence(&mut self, least: Option<Confidence>) -> BTreeMap<Severity, u32> {
        let unsure = |finding: &Finding| {
            !finding.status.is_resolved() && finding.confidence.zip(least).is_some_and(|(own, least)| own < least)
        };
        let places = self.findings.iter().enumerate().filter(|(_, finding)| unsure(finding)).map(|(at, _)| at);
        let places: BTreeSet<usize> = places.collect();
        let mut hidden = BTreeMap::new();
        for finding in self.take_away(&places, "nobody is sure enough of what it says") {
            *hidden.entry(finding.severity).or_default() += 1;
        }
        hidden
    }
}

/// Takes out what is hidden, and counts it.
pub(super) fn hide(findings: &mut Vec<Finding>, is_hidden: impl Fn(&Finding) -> bool) -> BTreeMap<Severity, u32> {
    let mut hidden = BTreeMap::new();
    findings.retain(|finding| {
        let hide = is_hidden(finding);
        if hide {
            *hidden.entry(finding.severity).or_default() += 1;
        }
        !hide
    });
    hidden
}
