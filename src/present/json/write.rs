//! Converts a review to its document.

use std::collections::BTreeMap;

use super::wire;
use crate::domain::change::{ChangeSet, Commit, FileChange};
use crate::domain::finding::{Anchor, Confidence, Finding, FindingCorrection, FindingOrigin, FindingVerification};
use crate::domain::forge::ReviewedPull;
use crate::domain::place::LineRange;
use crate::domain::review::{ModelTurns, Review, ReviewCoverage, ReviewProvenance, ReviewSection, WithheldClaim};
use crate::domain::text::{strip_block, strip_line};
use crate::domain::verification::VerificationTotals;

pub(super) fn document(review: &Review) -> wire::ReviewJson {
    wire::ReviewJson {
        schema: super::SCHEMA.to_owned(),
        id: review.id.to_string(),
        outcome: review.outcome,
        reasons: review.reasons.iter().map(|reason| strip_line(reason)).collect(),
        ended: review.ended,
        change: change(&review.change),
        summary: summary(review),
        findings: review.findings.iter().map(finding).collect(),
        sections: review.sections.iter().map(section).collect(),
        coverage: coverage(&review.coverage),
        provenance: provenance(&review.provenance),
    }
}

fn change(change: &ChangeSet) -> wire::ChangeJson {
    wire::ChangeJson {
        repository: strip_line(&change.repository),
        target: strip_line(&change.target),
        base: change.base.map(|id| id.to_string()),
        head: change.head.map(|id| id.to_string()),
        merge_base: change.merge_base.map(|id| id.to_string()),
        head_name: strip_line(&change.head_name),
        pull_request: change.pull.as_ref().map(pull_request),
        commits: change.commits.iter().map(commit).collect(),
        commits_omitted: change.commits_omitted,
        files: change.files.iter().map(file).collect(),
    }
}

fn pull_request(pull: &ReviewedPull) -> wire::PullRequestJson {
    let repo = &pull.id.repo;
    wire::PullRequestJson {
        server: strip_line(&pull.server),
        owner: repo.owner().to_owned(),
        repo: repo.name().to_owned(),
        number: pull.id.number.value(),
        title: strip_line(&pull.title),
        url: strip_line(&pull.url()),
    }
}

fn commit(commit: &Commit) -> wire::CommitJson {
    wire::CommitJson {
        id: commit.id.to_string(),
        subject: strip_line(&commit.subject),
        body: strip_block(&commit.body),
        author: strip_line(&commit.author),
        date: commit.date.clone(),
    }
}

fn file(file: &FileChange) -> wire::ChangedFileJson {
    wire::ChangedFileJson {
        path: file.path.to_string(),
        old_path: file.old_path.as_ref().map(ToString::to_string),
        status: file.status,
        additions: file.additions,
        deletions: file.deletions,
        binary: file.binary,
        generated: file.generated.is_some(),
        truncated: file.patch.cut.is_some(),
        patch_id: file.patch_id.as_ref().map(|id| strip_line(&id.0)),
    }
}

fn summary(review: &Review) -> wire::SummaryJson {
    let unresolved = review.unresolved().count();
    let mut by_severity = BTreeMap::new();
    let mut by_file = BTreeMap::new();
    for finding in review.unresolved() {
        *by_severity.entry(finding.severity).or_default() += 1;
        if let Some(anchor) = finding.anchors.first() {
            *by_file.entry(anchor.path.to_string()).or_default() += 1;
        }
    }
    wire::SummaryJson {
        text: strip_block(&review.summary),
        total: review.findings.len(),
        resolved: review.findings.len() - unresolved,
        unresolved,
        // A finding is made for the change as it is; only a later comparison can find it outdated.
        outdated: 0,
        by_severity,
        by_file,
    }
}

pub(super) fn finding(finding: &Finding) -> wire::FindingJson {
    wire::FindingJson {
        id: strip_line(&finding.id.0),
        fingerprint: strip_line(&finding.fingerprint.0),
        status: finding.status,
        title: strip_line(&finding.title),
        body: strip_block(&finding.body),
        severity: finding.severity,
        prominence: finding.prominence,
        category: finding.category,
        confidence: finding.confidence.map(Confidence::value),
        anchors: finding.anchors.iter().map(anchor).collect(),
        suggestion: finding.suggestion.as_ref().map(|suggestion| wire::SuggestionJson {
            path: suggestion.path.to_string(),
            start_line: suggestion.lines.start(),
            end_line: suggestion.lines.end(),
            replacement: suggestion.replacement.clone(),
        }),
        verification: FindingVerification {
            state: finding.verification.state,
            by: finding.verification.by.as_deref().map(strip_line),
            rationale: finding.verification.rationale.as_deref().map(strip_block),
            corrections: finding.verification.corrections.iter().map(correction).collect(),
        },
        origin: FindingOrigin { kind: finding.origin.kind, name: strip_line(&finding.origin.name) },
        guideline: finding
            .guideline
            .as_ref()
            .map(|guideline| wire::GuidelineJson { path: guideline.path.to_string(), line: guideline.line }),
        carried_from: finding.carried_from.map(|run| run.to_string()),
        dismissed: finding.dismissed.as_ref().map(|why| wire::DismissalJson {
            reason: strip_line(&why.reason),
            until: why.until.map(|day| day.to_string()),
            by: why.by,
        }),
    }
}

fn correction(made: &FindingCorrection) -> FindingCorrection {
    FindingCorrection { field: made.field, was: strip_block(&made.was), now: strip_block(&made.now) }
}

fn anchor(anchor: &Anchor) -> wire::AnchorJson {
    wire::AnchorJson {
        kind: anchor.kind(),
        path: anchor.path.to_string(),
        side: anchor.side,
        start_line: anchor.lines.map(LineRange::start),
        end_line: anchor.lines.map(LineRange::end),
        quote: anchor.quote.clone(),
        matched: anchor.matched,
        masked: anchor.masked,
    }
}

fn section(section: &ReviewSection) -> ReviewSection {
    ReviewSection { title: strip_line(&section.title), body: strip_block(&section.body) }
}

fn coverage(coverage: &ReviewCoverage) -> wire::CoverageJson {
    let lines = |texts: &[String]| texts.iter().map(|text| strip_line(text)).collect();
    wire::CoverageJson {
        files: coverage
            .files
            .iter()
            .map(|file| wire::FileCoverageJson {
                path: file.path.to_string(),
                state: file.state,
                reason: file.reason.as_deref().map(strip_line),
            })
            .collect(),
        tool_calls: coverage.tool_calls,
        tool_errors: coverage.tool_errors,
        withheld: coverage
            .withheld
            .iter()
            .map(|held| WithheldClaim { title: strip_line(&held.title), reason: strip_line(&held.reason) })
            .collect(),
        dismissed: coverage.dismissed,
        suppressed: coverage.suppressed,
        below_floor: coverage.below_floor.clone(),
        below_confidence: coverage.below_confidence.clone(),
        leads: coverage.leads,
        limits_hit: lines(&coverage.limits_hit),
        notes: lines(&coverage.notes),
        previous: coverage.previous.as_ref().map(|previous| wire::PreviousReviewJson {
            run: previous.run.to_string(),
            disproved: previous.disproved.iter().map(|id| strip_line(&id.0)).collect(),
        }),
        standalone: coverage.is_standalone,
        uncommitted: coverage.uncommitted,
    }
}

fn provenance(provenance: &ReviewProvenance) -> wire::ProvenanceJson {
    wire::ProvenanceJson {
        version: provenance.version.clone(),
        engine: provenance.engine,
        provider: provenance.provider.as_deref().map(strip_line),
        model: provenance.model.as_deref().map(strip_line),
        prompts: provenance.prompts.clone(),
        rules: provenance.rules.clone(),
        instructions: provenance.instructions.clone(),
        guidelines: provenance
            .guidelines
            .iter()
            .map(|given| wire::GivenGuidelineJson { path: given.path.to_string(), hash: given.hash.clone() })
            .collect(),
        started_at: provenance.started_at.clone(),
        took_ms: provenance.took_ms,
        turns: provenance.turns,
        answered: provenance.answered.iter().map(answered).collect(),
        usage: provenance.usage,
        second_look: provenance.second_look.as_ref().map(second_look),
    }
}

fn answered(answered: &ModelTurns) -> ModelTurns {
    let ModelTurns { provider, model, turns } = answered;
    ModelTurns { provider: strip_line(provider), model: strip_line(model), turns: *turns }
}

fn second_look(look: &VerificationTotals) -> VerificationTotals {
    VerificationTotals { by: strip_line(&look.by), ..look.clone() }
}
