//! Rule findings superseded by an equivalent model finding. Main type: [`SupersededRuleFinding`].
//!
//! A lead that a finding confirms is reported by that finding. If the finding is not delivered after all, because verification refuted it or its
//! confidence is too low, the rule's finding is delivered again: it is proven by code, and a model's doubt about a model's claim must not remove it.

use std::collections::HashSet;

use crate::domain::finding::{Finding, FindingId, Severity, by_worst};

/// Rule finding superseded by a model finding.
#[derive(Debug, Clone)]
pub(in crate::review) struct SupersededRuleFinding {
    pub(in crate::review) finding: Finding,
    /// `true` if it was given to the model as a lead.
    pub(in crate::review) given: bool,
    /// The minimum severity of the finding that supersedes it, if there is one.
    pub(in crate::review) least: Option<Severity>,
}

/// Sorts findings, worst first, with their superseded ones.
pub(super) fn sort_findings(findings: &mut Vec<Finding>, behind: &mut Vec<Vec<SupersededRuleFinding>>) {
    let mut pairs: Vec<_> = std::mem::take(findings).into_iter().zip(std::mem::take(behind)).collect();
    pairs.sort_by(|(a, _), (b, _)| by_worst(a, b));
    (*findings, *behind) = pairs.into_iter().unzip();
}

/// Names the superseded findings, without the names of findings or in `taken`.
pub(super) fn name_superseded(
    findings: &[Finding],
    behind: &mut [Vec<SupersededRuleFinding>],
    taken: HashSet<FindingId>,
) {
    let mut given = taken;
    given.extend(findings.iter().map(|finding| finding.id.clone()));
    for SupersededRuleFinding { finding, .. } in behind.iter_mut().flatten() {
        let free = crate::evidence::candidate_ids(&finding.fingerprint).find(|id| !given.contains(id));
        finding.id = free.unwrap_or_else(|| FindingId(finding.fingerprint.0.clone()));
        given.insert(finding.id.clone());
    }
}
