//! Tests of arbitrary reviews: any texts, paths and words.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::{collection, sample};

use super::{checked, review};
use crate::domain::change::FileChange;
use crate::domain::finding::{
    Anchor, AnchorMatch, Category, Confidence, Finding, FindingFingerprint, FindingId, FindingOrigin, FindingStatus,
    FindingVerification, GuidelineRef, OriginKind, Prominence, Severity, Suggestion, VerificationState,
};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::review::{CoverageState, FileCoverage, ReviewOutcome, StopReason};

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        sample::select(vec![
            "\x1b[31m",
            "](",
            "[a](1)",
            "{0}",
            "\n",
            "```",
            "\u{202e}",
            "<b>",
            "::error::",
            "\\",
            ".",
            "]",
            "(",
            "x",
            " ",
        ])
        .prop_map(str::to_owned),
    ];
    collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn paths() -> impl Strategy<Value = RepoPath> {
    collection::vec(any::<u8>(), 1..12)
        .prop_map(|bytes| RepoPath::from_bytes(&bytes).unwrap_or_else(|_| RepoPath::parse("src/a.rs").unwrap()))
}

fn anchors() -> impl Strategy<Value = Anchor> {
    (paths(), any::<bool>(), proptest::option::of((1..u32::MAX - 9, 0..9u32)), texts(), any::<bool>()).prop_map(
        |(path, old, lines, quote, masked)| Anchor {
            path,
            side: if old { DiffSide::Old } else { DiffSide::New },
            lines: lines.map(|(start, more)| LineRange::new(start, start + more).unwrap()),
            quote,
            matched: AnchorMatch::Exact,
            masked,
        },
    )
}

fn findings() -> impl Strategy<Value = Finding> {
    let words = (
        sample::select(FindingStatus::ALL),
        sample::select(Severity::ALL),
        sample::select(Category::ALL),
        sample::select(OriginKind::ALL),
        sample::select(VerificationState::ALL),
    );
    let said = (texts(), texts(), texts(), texts(), proptest::option::of(texts()));
    let suggestion = proptest::option::of((paths(), 1..u32::MAX - 9, texts()));
    let more = (proptest::option::of(1..=10u8), proptest::option::of((paths(), any::<u32>())));
    (words, said, collection::vec(anchors(), 1..4), suggestion, more).prop_map(
        |(words, said, anchors, suggestion, more)| {
            let (status, severity, category, kind, state) = words;
            let (title, body, name, id, rationale) = said;
            Finding {
                id: FindingId(id.clone()),
                fingerprint: FindingFingerprint(id),
                status,
                title,
                body,
                severity,
                prominence: Prominence::Main,
                category,
                confidence: more.0.and_then(Confidence::new),
                anchors,
                suggestion: suggestion.map(|(path, line, replacement)| Suggestion {
                    path,
                    lines: LineRange::new(line, line + 3).unwrap(),
                    replacement,
                }),
                verification: FindingVerification { state, by: rationale.clone(), rationale, corrections: Vec::new() },
                origin: FindingOrigin { kind, name },
                guideline: more.1.map(|(path, line)| GuidelineRef { path, line }),
                carried_from: None,
                dismissed: None,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn any_review_is_by_the_schema(
        findings in collection::vec(findings(), 0..5),
        files in collection::vec((paths(), texts()), 0..4),
        said in (texts(), texts(), texts(), texts()),
        outcome in sample::select(vec![ReviewOutcome::Complete, ReviewOutcome::Incomplete, ReviewOutcome::Failed]),
    ) {
        let mut review = review("typical");
        let shown = findings.iter().filter(|finding| !finding.status.is_over()).count();
        review.findings = findings;
        review.outcome = outcome;
        review.ended = StopReason::Deadline;
        review.reasons = vec![said.0.clone()];
        review.summary = said.1;
        review.provenance.version = said.2.clone();
        review.provenance.started_at = said.2;
        review.provenance.model = Some(said.3);
        review.coverage.limits_hit = vec![said.0];
        let change = Arc::make_mut(&mut review.change);
        change.files = files.iter().map(|(path, _)| FileChange::modified(path.clone())).collect();
        let covered = |(path, reason): (RepoPath, String)| {
            FileCoverage { path, state: CoverageState::Truncated, reason: Some(reason) }
        };
        review.coverage.files = files.into_iter().map(covered).collect();
        let own = usize::from(outcome != ReviewOutcome::Complete && !review.change.files.is_empty());
        let file = checked(&review);
        prop_assert_eq!(file["runs"][0]["results"].as_array().unwrap().len(), shown + own);
        prop_assert_eq!(
            file["runs"][0]["invocations"][0]["executionSuccessful"].as_bool(),
            Some(outcome == ReviewOutcome::Complete)
        );
    }
}
