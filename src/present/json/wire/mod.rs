//! Wire types of a `review/1` document, field for field. No logic belongs here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::finding::{
    AnchorKind, AnchorMatch, Category, FindingOrigin, FindingStatus, FindingVerification, Prominence, Severity,
};
use crate::domain::place::DiffSide;
use crate::domain::review::{
    CoverageState, LeadCounts, ModelTurns, ReviewOutcome, ReviewSection, StopReason, WithheldClaim,
};
use crate::domain::run::{Engine, Usage};
use crate::domain::verification::VerificationTotals;

mod change;
mod dismissal;
mod previous;

pub(super) use change::{ChangeJson, ChangedFileJson, CommitJson, PullRequestJson};
pub(super) use dismissal::DismissalJson;
pub(super) use previous::PreviousReviewJson;

/// One review of one change. Fields may be added within a version; readers ignore what they do not know.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "review/1")]
pub(super) struct ReviewJson {
    /// The version of this format.
    #[schemars(extend("const" = super::SCHEMA))]
    pub(super) schema: String,
    /// The run that made it: a UUID.
    #[schemars(extend("format" = "uuid"))]
    pub(super) id: String,
    /// The outcome of the review.
    pub(super) outcome: ReviewOutcome,
    /// The reasons why it is not complete; empty when it is.
    pub(super) reasons: Vec<String>,
    /// The event that ended the engine's work. Documents of older versions, which knew only one, do not have it.
    #[serde(default = "finished")]
    pub(super) ended: StopReason,
    /// The change that was reviewed.
    pub(super) change: ChangeJson,
    /// The review in short.
    pub(super) summary: SummaryJson,
    /// The findings, worst first.
    pub(super) findings: Vec<FindingJson>,
    /// Longer texts by the engine.
    pub(super) sections: Vec<ReviewSection>,
    /// The receipt: reviewed files, and those that were not.
    pub(super) coverage: CoverageJson,
    /// The engine that made it, and its cost.
    pub(super) provenance: ProvenanceJson,
}

/// The review in short. `total` is `resolved` and `unresolved` together; the maps count unresolved findings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub(super) struct SummaryJson {
    /// A few sentences: Markdown.
    pub(super) text: String,
    /// All findings.
    pub(super) total: usize,
    /// Fixed, dismissed or refuted findings.
    pub(super) resolved: usize,
    /// Findings that still need action.
    pub(super) unresolved: usize,
    /// Findings whose place is no longer part of the change.
    pub(super) outdated: usize,
    /// Number of findings of each severity.
    #[serde(rename = "bySeverity")]
    #[schemars(with = "BTreeMap<String, usize>")]
    pub(super) by_severity: BTreeMap<Severity, usize>,
    /// Number of findings in each file.
    #[serde(rename = "byFile")]
    pub(super) by_file: BTreeMap<String, usize>,
}

/// A defect with proved evidence.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(super) struct FindingJson {
    /// Its stable id, the same on every surface.
    pub(super) id: String,
    /// A hash of what it is about; it may repeat.
    pub(super) fingerprint: String,
    /// The finding compared with the previous review.
    pub(super) status: FindingStatus,
    /// One line.
    pub(super) title: String,
    /// The effect and the remedy: Markdown.
    pub(super) body: String,
    /// The severity.
    pub(super) severity: Severity,
    /// The room it gets where people read: `main` is shown whole, `also` as one line. Absent in older documents, which means `main`.
    #[serde(default = "older_prominence")]
    pub(super) prominence: Prominence,
    /// The kind of defect.
    pub(super) category: Category,
    /// From 1 (a guess) to 10 (certain); null if the engine did not say.
    #[schemars(range(min = 1, max = 10))]
    pub(super) confidence: Option<u8>,
    /// The places of the finding: the quoted one first. One of them touches the change.
    #[schemars(length(min = 1))]
    pub(super) anchors: Vec<AnchorJson>,
    /// A replacement that was applied in memory and verified.
    pub(super) suggestion: Option<SuggestionJson>,
    /// The result of verification.
    pub(super) verification: FindingVerification,
    /// The model, rule or tool that reported it.
    pub(super) origin: FindingOrigin,
    /// The guideline that it refers to.
    pub(super) guideline: Option<GuidelineJson>,
    /// The run of the earlier review that found it, if this one took it over without finding it again; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uuid"))]
    pub(super) carried_from: Option<String>,
    /// The dismissal; absent if it is not dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dismissed: Option<DismissalJson>,
}

/// Returns the prominence of a finding in a document of before there was any: all were shown whole.
fn older_prominence() -> Prominence {
    Prominence::Main
}

/// A place that was proved to exist.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Anchor")]
pub(super) struct AnchorJson {
    /// The kind of place.
    pub(super) kind: AnchorKind,
    /// The file.
    pub(super) path: String,
    /// The side of the change.
    pub(super) side: DiffSide,
    /// The first line, from 1; null for a whole file.
    #[schemars(range(min = 1))]
    pub(super) start_line: Option<u32>,
    /// The last line, included; null for a whole file.
    #[schemars(range(min = 1))]
    pub(super) end_line: Option<u32>,
    /// The text of those lines, verbatim but for masked secrets; empty for a whole file.
    pub(super) quote: String,
    /// The result of matching the quote with the claimed lines.
    #[serde(rename = "match")]
    pub(super) matched: AnchorMatch,
    /// True if a secret was masked in the quote.
    pub(super) masked: bool,
}

/// A replacement of whole lines at the head.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Suggestion")]
pub(super) struct SuggestionJson {
    /// The file.
    pub(super) path: String,
    /// The first line it replaces, from 1.
    #[schemars(range(min = 1))]
    pub(super) start_line: u32,
    /// The last line it replaces, included.
    #[schemars(range(min = 1))]
    pub(super) end_line: u32,
    /// The new text, the last line without its newline; empty deletes the lines.
    pub(super) replacement: String,
}

/// The line of a guideline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Guideline")]
pub(super) struct GuidelineJson {
    /// The guideline file.
    pub(super) path: String,
    /// The line in it.
    pub(super) line: u32,
}

/// Coverage: reviewed files, and those that were not.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Coverage")]
pub(super) struct CoverageJson {
    /// Every changed file.
    pub(super) files: Vec<FileCoverageJson>,
    /// Number of tool calls by the engine.
    pub(super) tool_calls: u32,
    /// Number of failed tool calls.
    pub(super) tool_errors: u32,
    /// Claims without proved evidence.
    pub(super) withheld: Vec<WithheldClaim>,
    /// Number of dismissed findings.
    pub(super) dismissed: u32,
    /// Number of findings suppressed by a comment in the code.
    pub(super) suppressed: u32,
    /// Findings below the severity threshold, counted and not shown.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub(super) below_floor: BTreeMap<Severity, u32>,
    /// Findings below the confidence threshold, counted and not shown; they fail no gate. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub(super) below_confidence: BTreeMap<Severity, u32>,
    /// The results of the leads.
    pub(super) leads: LeadCounts,
    /// Limits that were hit, a sentence each.
    pub(super) limits_hit: Vec<String>,
    /// Notes on what collection left out or did differently.
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The review that this one was compared with; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<PreviousReviewJson>,
    /// True if the review was to be compared with none (`--previous none`); otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) standalone: bool,
    /// Number of files with uncommitted changes that were not part of the review; absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) uncommitted: u32,
}

/// The coverage of one file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FileCoverage")]
pub(super) struct FileCoverageJson {
    /// The file.
    pub(super) path: String,
    /// The extent to which it was reviewed.
    pub(super) state: CoverageState,
    /// The reason why it was not reviewed, or not in full.
    pub(super) reason: Option<String>,
}

/// The engine that made the review, and its cost.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Provenance")]
pub(super) struct ProvenanceJson {
    /// The version of the program.
    pub(super) version: String,
    /// The engine.
    pub(super) engine: Engine,
    /// The provider of the model.
    pub(super) provider: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The hash of the prompts.
    pub(super) prompts: Option<String>,
    /// The hash of the rule packs.
    pub(super) rules: Option<String>,
    /// The hash of the instructions for the model; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
    /// The project's guidelines that the model was given; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) guidelines: Vec<GivenGuidelineJson>,
    /// RFC 3339, UTC.
    pub(super) started_at: String,
    /// Wall time in milliseconds.
    pub(super) took_ms: u64,
    /// Turns of the model, including verification.
    pub(super) turns: u32,
    /// Turns per model, if another model took over from the one above (failover); otherwise absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answered: Vec<ModelTurns>,
    /// Tokens and cost, including verification.
    pub(super) usage: Usage,
    /// Verification and its share of that; absent if it was off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) second_look: Option<VerificationTotals>,
}

/// A guideline of the project that the model was given.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GivenGuideline")]
pub(super) struct GivenGuidelineJson {
    /// The file.
    pub(super) path: String,
    /// The hash of its text and its scope.
    pub(super) hash: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn finished() -> StopReason {
    StopReason::Finished
}
