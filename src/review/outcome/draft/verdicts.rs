//! Verdicts of the verification, applied to the findings. Main function: [`ReviewDraft::apply_verdicts`].

use std::collections::BTreeSet;

use super::ReviewDraft;
use crate::domain::finding::{Anchor, CorrectedField, Finding, FindingCorrection, FindingVerification, Severity};
use crate::domain::review::WithheldClaim;
use crate::present::digest;
use crate::review::outcome::verdict::{VerdictCorrections, VerificationVerdict};

impl ReviewDraft {
    /// Applies verification verdicts to findings, by index. Refuted findings are withheld; the rule findings they superseded are delivered.
    pub(in crate::review) fn apply_verdicts(
        &mut self,
        verdicts: impl IntoIterator<Item = (usize, VerificationVerdict)>,
        by: &str,
    ) {
        let mut refuted = BTreeSet::new();
        for (at, verdict) in verdicts {
            let Some(finding) = self.findings.get_mut(at) else { continue };
            let Some(state) = verdict.word.state() else {
                let reason = verdict.refutation_reason();
                self.withheld.push(WithheldClaim { title: finding.title.clone(), reason });
                refuted.insert(at);
                continue;
            };
            let VerificationVerdict { confidence, rationale, corrections, .. } = verdict;
            finding.confidence = confidence.adjusted_confidence(finding.confidence);
            let least = self.behind.get(at).into_iter().flatten().filter_map(|behind| behind.least).min();
            let title = finding.title.clone();
            let refused = corrections.refused.clone();
            let corrections = correct(finding, corrections, least);
            self.notes.extend(corrections.iter().map(|made| note(&title, made)));
            let refused =
                refused.iter().map(|why| format!("{title}: a correction by its verification was not made: {why}"));
            self.notes.extend(refused);
            finding.verification =
                FindingVerification { state, by: Some(by.to_owned()), rationale: Some(rationale), corrections };
        }
        self.remove_findings(&refuted, "the second look refuted it");
    }
}

/// Corrects a finding, and returns what it was. It stays at least as severe as the rule findings that it supersedes require.
fn correct(finding: &mut Finding, corrections: VerdictCorrections, least: Option<Severity>) -> Vec<FindingCorrection> {
    let VerdictCorrections { severity, text, anchors, .. } = corrections;
    let mut made = Vec::new();
    let mut add = |field, was: &str, now: &str| {
        made.push(FindingCorrection { field, was: was.to_owned(), now: now.to_owned() });
    };
    let severity = severity.map(|severity| least.map_or(severity, |least| severity.min(least)));
    if let Some(severity) = severity.filter(|severity| *severity != finding.severity) {
        add(CorrectedField::Severity, finding.severity.word(), severity.word());
        finding.severity = severity;
    }
    if let Some((was, now)) = text.filter(|(was, _)| finding.body.contains(was)) {
        let body = finding.body.replacen(&was, &now, 1);
        body.trim().clone_into(&mut finding.body);
        add(CorrectedField::Body, &was, &now);
    }
    if let Some(anchors) = anchors {
        let place = |anchors: &[Anchor]| anchors.first().map(digest::place).unwrap_or_default();
        add(CorrectedField::Place, &place(&finding.anchors), &place(&anchors));
        finding.anchors = anchors;
        // A patch of lines that the finding is no longer about would be applied to the wrong code.
        finding.suggestion.take_if(|suggestion| !finding.anchors.iter().any(|anchor| suggestion.is_about(anchor)));
    }
    made
}

/// Renders a correction for the receipt: `Title: its verification corrected the severity, from high to medium`.
fn note(title: &str, made: &FindingCorrection) -> String {
    format!("{title}: its verification corrected {}", digest::correction(made))
}
