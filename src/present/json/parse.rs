//! Parses a document back into the review it was rendered from, as far as the document goes.
//!
//! Hunks, patch texts, blobs and modes are not in a document: a parsed review can be shown, not resumed.

use std::sync::Arc;

use serde::Deserialize;

use super::wire;
use crate::domain::change::{ChangeSet, Commit, FileChange, Generated, PatchCut, PatchId, PatchText};
use crate::domain::day::{Day, InvalidDay};
use crate::domain::finding::{
    Anchor, AnchorKind, Confidence, DismissalNote, Finding, FindingFingerprint, FindingId, GuidelineRef, Suggestion,
};
use crate::domain::forge::{InvalidPullName, PullId, PullNumber, RepoName, ReviewedPull};
use crate::domain::guideline::ProvidedGuideline;
use crate::domain::id::{CommitId, InvalidObjectId, ObjectId};
use crate::domain::path::{PathError, RepoPath};
use crate::domain::place::{InvalidRange, LineRange, WorkspaceAt};
use crate::domain::prior::ComparedReview;
use crate::domain::review::{CoverageState, FileCoverage, Review, ReviewCoverage, ReviewProvenance};
use crate::domain::run::{Engine, InvalidRunId, RunId};

/// Reasons why bytes are not a document that this program reads.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ParseError {
    /// It is not JSON, or not of this shape.
    #[error("not a review document ({0}): a file written by `review --format json` is expected")]
    NotADocument(#[source] serde_json::Error),
    /// It is a document of another version.
    #[error("the document has the schema {found:?}, this program reads review/1: use the version that wrote it")]
    Schema { found: String },
    /// A value is invalid.
    #[error("{at}: {fault}")]
    Value {
        /// The place of the value (`findings[1].anchors[0].path`).
        at: String,
        fault: DocumentValueError,
    },
}

/// Errors in a value of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentValueError {
    /// Not a path of the tree.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Not a range of lines.
    #[error(transparent)]
    Range(#[from] InvalidRange),
    /// Not an object id.
    #[error(transparent)]
    Id(#[from] InvalidObjectId),
    /// Not a run id.
    #[error(transparent)]
    Run(#[from] InvalidRunId),
    /// Not a day.
    #[error(transparent)]
    Day(#[from] InvalidDay),
    /// Not a confidence.
    #[error("a confidence is a number from 1 to 10")]
    Confidence,
    /// Not a repository of a forge.
    #[error("not an owner and a repository: letters, digits, `-`, `_` and `.`")]
    Repository(#[from] InvalidPullName),
    /// Not the number of a pull request.
    #[error("the number of a pull request is from 1 to 2147483647")]
    PullNumber,
    /// A finding without a place.
    #[error("a finding has at least one anchor")]
    Nowhere,
    /// An anchor of the kind `lines` without lines, or one of the kind `file` with lines.
    #[error("an anchor of the kind `lines` has a start_line and an end_line, one of the kind `file` has neither")]
    Lines,
}

trait AtPlace<T> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, ParseError>;
}

impl<T, E: Into<DocumentValueError>> AtPlace<T> for Result<T, E> {
    fn at(self, place: impl FnOnce() -> String) -> Result<T, ParseError> {
        self.map_err(|fault| ParseError::Value { at: place(), fault: fault.into() })
    }
}

/// Parses a `review/1` document.
///
/// Rendering the result gives the same document again, apart from what rendering strips.
pub fn parse(bytes: &[u8]) -> Result<Review, ParseError> {
    #[derive(Deserialize)]
    struct SchemaField {
        schema: String,
    }
    let named: SchemaField = serde_json::from_slice(bytes).map_err(ParseError::NotADocument)?;
    if named.schema != super::SCHEMA {
        return Err(ParseError::Schema { found: named.schema });
    }
    let document: wire::ReviewJson = serde_json::from_slice(bytes).map_err(ParseError::NotADocument)?;
    let findings = document.findings.into_iter().enumerate();
    Ok(Review {
        id: document.id.parse::<RunId>().at(|| "id".to_owned())?,
        outcome: document.outcome,
        reasons: document.reasons,
        ended: document.ended,
        change: Arc::new(change(document.change)?),
        summary: document.summary.text,
        findings: findings.map(|(n, one)| finding(one, &format!("findings[{n}]"))).collect::<Result<_, _>>()?,
        sections: document.sections,
        coverage: coverage(document.coverage, document.provenance.engine)?,
        provenance: provenance(document.provenance)?,
    })
}

fn change(change: wire::ChangeJson) -> Result<ChangeSet, ParseError> {
    let id = |hex: Option<String>, name: &str| -> Result<Option<CommitId>, ParseError> {
        hex.map(|hex| hex.parse::<ObjectId>().map(CommitId)).transpose().at(|| format!("change.{name}"))
    };
    let base = id(change.base, "base")?;
    let head = id(change.head, "head")?;
    let merge_base = id(change.merge_base, "merge_base")?;
    let pull = change.pull_request.map(pull_request).transpose()?;
    Ok(ChangeSet {
        repository: change.repository,
        target: change.target,
        head_name: change.head_name,
        base,
        head,
        merge_base,
        old_at: merge_base.map_or(WorkspaceAt::Empty, WorkspaceAt::Revision),
        new_at: head.map_or(WorkspaceAt::PatchOnly, WorkspaceAt::Revision),
        pull,
        commits: change.commits.into_iter().enumerate().map(commit).collect::<Result<_, _>>()?,
        commits_omitted: change.commits_omitted,
        files: change.files.into_iter().enumerate().map(file).collect::<Result<_, _>>()?,
        omissions: Vec::new(),
    })
}

/// Converts a pull request. Its description is not in a document.
fn pull_request(pull: wire::PullRequestJson) -> Result<ReviewedPull, ParseError> {
    let at = |name: &str| format!("change.pull_request.{name}");
    let repo = RepoName::new(&pull.owner, &pull.repo).at(|| at("repo"))?;
    let number = PullNumber::new(pull.number.into()).ok_or(DocumentValueError::PullNumber).at(|| at("number"))?;
    let (server, title) = (pull.server, pull.title);
    Ok(ReviewedPull { id: PullId { repo, number }, server, title, body: String::new(), author: None })
}

fn commit((n, commit): (usize, wire::CommitJson)) -> Result<Commit, ParseError> {
    Ok(Commit {
        id: commit.id.parse::<ObjectId>().map(CommitId).at(|| format!("change.commits[{n}].id"))?,
        subject: commit.subject,
        body: commit.body,
        author: commit.author,
        date: commit.date,
    })
}

fn file((n, file): (usize, wire::ChangedFileJson)) -> Result<FileChange, ParseError> {
    let at = |name: &str| format!("change.files[{n}].{name}");
    Ok(FileChange {
        path: RepoPath::parse(&file.path).at(|| at("path"))?,
        old_path: file.old_path.map(|old| RepoPath::parse(&old)).transpose().at(|| at("old_path"))?,
        status: file.status,
        old_mode: None,
        new_mode: None,
        old_blob: None,
        new_blob: None,
        additions: file.additions,
        deletions: file.deletions,
        binary: file.binary,
        language: None,
        // Documents do not record why a file is considered generated; the receipt has the reason in words.
        generated: file.generated.then_some(Generated::Name),
        hunks: Vec::new(),
        patch: PatchText {
            text: Arc::from(""),
            cut: file.truncated.then_some(PatchCut { first_unseen_hunk: 0, lines: 0, shortened_lines: 0 }),
        },
        patch_id: file.patch_id.map(PatchId),
    })
}

fn finding(finding: wire::FindingJson, at: &str) -> Result<Finding, ParseError> {
    if finding.anchors.is_empty() {
        return Err(DocumentValueError::Nowhere).at(|| format!("{at}.anchors"));
    }
    let anchors = finding.anchors.into_iter().enumerate();
    Ok(Finding {
        id: FindingId(finding.id),
        fingerprint: FindingFingerprint(finding.fingerprint),
        status: finding.status,
        title: finding.title,
        body: finding.body,
        severity: finding.severity,
        prominence: finding.prominence,
        category: finding.category,
        confidence: finding
            .confidence
            .map(|value| Confidence::new(value).ok_or(DocumentValueError::Confidence))
            .transpose()
            .at(|| format!("{at}.confidence"))?,
        anchors: anchors.map(|(n, one)| anchor(one, &format!("{at}.anchors[{n}]"))).collect::<Result<_, _>>()?,
        suggestion: finding.suggestion.map(|one| suggestion(&one, &format!("{at}.suggestion"))).transpose()?,
        verification: finding.verification,
        origin: finding.origin,
        guideline: finding
            .guideline
            .map(|one| RepoPath::parse(&one.path).map(|path| GuidelineRef { path, line: one.line }))
            .transpose()
            .at(|| format!("{at}.guideline.path"))?,
        carried_from: finding
            .carried_from
            .map(|run| run.parse::<RunId>())
            .transpose()
            .at(|| format!("{at}.carried_from"))?,
        dismissed: finding.dismissed.map(|one| dismissed(one, &format!("{at}.dismissed"))).transpose()?,
    })
}

fn dismissed(dismissed: wire::DismissalJson, at: &str) -> Result<DismissalNote, ParseError> {
    let until = dismissed.until.map(|day| day.parse::<Day>()).transpose().at(|| format!("{at}.until"))?;
    Ok(DismissalNote { reason: dismissed.reason, until, by: dismissed.by })
}

fn anchor(anchor: wire::AnchorJson, at: &str) -> Result<Anchor, ParseError> {
    let lines = match (anchor.kind, anchor.start_line, anchor.end_line) {
        (AnchorKind::Lines, Some(start), Some(end)) => {
            Some(LineRange::new(start, end).at(|| format!("{at}.start_line"))?)
        }
        (AnchorKind::File, None, None) => None,
        _ => return Err(DocumentValueError::Lines).at(|| at.to_owned()),
    };
    Ok(Anchor {
        path: RepoPath::parse(&anchor.path).at(|| format!("{at}.path"))?,
        side: anchor.side,
        lines,
        quote: anchor.quote,
        matched: anchor.matched,
        masked: anchor.masked,
    })
}

fn suggestion(suggestion: &wire::SuggestionJson, at: &str) -> Result<Suggestion, ParseError> {
    Ok(Suggestion {
        path: RepoPath::parse(&suggestion.path).at(|| format!("{at}.path"))?,
        lines: LineRange::new(suggestion.start_line, suggestion.end_line).at(|| format!("{at}.start_line"))?,
        replacement: suggestion.replacement.clone(),
    })
}

fn coverage(coverage: wire::CoverageJson, engine: Engine) -> Result<ReviewCoverage, ParseError> {
    // Older documents say `reviewed` of what the rules checked, too.
    let state = |state: CoverageState| match (state, engine) {
        (CoverageState::Reviewed, Engine::Rules) => CoverageState::Checked,
        (state, _) => state,
    };
    let file = |(n, file): (usize, wire::FileCoverageJson)| -> Result<FileCoverage, ParseError> {
        Ok(FileCoverage {
            path: RepoPath::parse(&file.path).at(|| format!("coverage.files[{n}].path"))?,
            state: state(file.state),
            reason: file.reason,
        })
    };
    Ok(ReviewCoverage {
        files: coverage.files.into_iter().enumerate().map(file).collect::<Result<_, _>>()?,
        tool_calls: coverage.tool_calls,
        tool_errors: coverage.tool_errors,
        withheld: coverage.withheld,
        dismissed: coverage.dismissed,
        suppressed: coverage.suppressed,
        below_floor: coverage.below_floor,
        below_confidence: coverage.below_confidence,
        hidden: Vec::new(),
        leads: coverage.leads,
        limits_hit: coverage.limits_hit,
        notes: coverage.notes,
        previous: coverage.previous.map(compared).transpose()?,
        is_standalone: coverage.standalone,
        uncommitted: coverage.uncommitted,
    })
}

fn compared(previous: wire::PreviousReviewJson) -> Result<ComparedReview, ParseError> {
    Ok(ComparedReview {
        run: previous.run.parse::<RunId>().at(|| "coverage.previous.run".to_owned())?,
        disproved: previous.disproved.into_iter().map(FindingId).collect(),
    })
}

/// Parses one finding as [`finding`](super::finding) renders it.
pub fn parse_finding(value: serde_json::Value) -> Result<Finding, ParseError> {
    finding(serde_json::from_value(value).map_err(ParseError::NotADocument)?, "finding")
}

fn provenance(provenance: wire::ProvenanceJson) -> Result<ReviewProvenance, ParseError> {
    let given = |given: wire::GivenGuidelineJson| {
        let path = RepoPath::parse(&given.path).at(|| "provenance.guidelines.path".to_owned())?;
        Ok(ProvidedGuideline { path, hash: given.hash })
    };
    Ok(ReviewProvenance {
        version: provenance.version,
        engine: provenance.engine,
        provider: provenance.provider,
        model: provenance.model,
        prompts: provenance.prompts,
        rules: provenance.rules,
        instructions: provenance.instructions,
        guidelines: provenance.guidelines.into_iter().map(given).collect::<Result<_, ParseError>>()?,
        started_at: provenance.started_at,
        took_ms: provenance.took_ms,
        turns: provenance.turns,
        answered: provenance.answered,
        usage: provenance.usage,
        second_look: provenance.second_look,
    })
}
