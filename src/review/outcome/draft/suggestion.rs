//! Conversion of a verified claim to a finding. Main function: [`into_finding`].

use crate::domain::claim::Claim;
use crate::domain::finding::{Finding, FindingId, FindingStatus, FindingVerification, Prominence};
use crate::domain::text::fence_for;
use crate::evidence::AnchoredClaim;

/// Converts a claim to a finding. Facts without a field (an unverified replacement, the relevance of a related place) are added to its text. The id
/// and the prominence are assigned when the review is finished.
pub(in crate::review) fn into_finding(claim: &Claim, anchored: AnchoredClaim) -> Finding {
    let mut body = claim.body.clone();
    let mut remarks =
        anchored.remarks.iter().filter_map(|(at, remark)| Some((anchored.anchors.get(*at)?, remark))).peekable();
    if remarks.peek().is_some() {
        body.push_str("\n\nSee also:\n");
    }
    for (anchor, remark) in remarks {
        body.push_str(&format!("\n- {}: {remark}", anchor.first_place()));
    }
    if let Some((replacement, fault)) = &anchored.prose_suggestion {
        body.push_str(&format!("\n\nA possible replacement ({fault}):\n\n{}", fenced(replacement)));
    }
    Finding {
        id: FindingId(String::new()),
        fingerprint: anchored.fingerprint,
        status: FindingStatus::New,
        title: claim.title.clone(),
        body,
        severity: claim.severity,
        prominence: Prominence::Main,
        category: claim.category,
        confidence: claim.confidence,
        anchors: anchored.anchors,
        suggestion: anchored.suggestion,
        verification: FindingVerification::UNCHECKED,
        origin: claim.origin.clone(),
        guideline: None,
        carried_from: None,
        dismissed: None,
    }
}

/// Returns a block of code.
fn fenced(text: &str) -> String {
    let fence = fence_for(text);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}
