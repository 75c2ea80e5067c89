//! What rules found where a model's finding says the same. Main type: [`Behind`].
//!
//! A lead that a finding confirms is told by that finding. Where the finding is not delivered after all, because a second look refuted it or
//! nobody is sure enough of it, what the rule found stands by itself again: it is proven by code, and a model's doubt about a model's words
//! must not take it away.

use std::collections::HashSet;

use crate::domain::finding::{Finding, FindingId, by_worst};

/// A rule's finding that a model's finding speaks for.
#[derive(Debug)]
pub(in crate::review) struct Behind {
    pub(in crate::review) finding: Finding,
    /// Whether the model was given it as a lead.
    pub(in crate::review) given: bool,
}

/// Sorts findings, worst first, with what stands behind each.
pub(super) fn sort(findings: &mut Vec<Finding>, behind: &mut Vec<Vec<Behind>>) {
    let mut pairs: Vec<_> = std::mem::take(findings).into_iter().zip(std::mem::take(behind)).collect();
    pairs.sort_by(|(a, _), (b, _)| by_worst(a, b));
    (*findings, *behind) = pairs.into_iter().unzip();
}

/// Names what stands behind the findings, with names that neither any of them has nor anything in `taken`.
pub(super) fn name(findings: &[Finding], behind: &mut [Vec<Behind>], taken: HashSet<FindingId>) {
    let mut given = taken;
    given.extend(findings.iter().map(|finding| finding.id.clone()));
    for Behind { finding, .. } in behind.iter_mut().flatten() {
        let free = crate::evidence::ids(&finding.fingerprint).find(|id| !given.contains(id));
        finding.id = free.unwrap_or_else(|| FindingId(finding.fingerprint.0.clone()));
        given.insert(finding.id.clone());
    }
}
