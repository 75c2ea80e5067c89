//! The shape of a `review/1` document, field for field. Nothing here decides anything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::finding::{
    AnchorKind, AnchorMatch, Category, FindingStatus, OriginKind, Severity, VerificationState,
};
use crate::domain::place::Side;
use crate::domain::review::{CoverageState, Ended, Engine, Outcome};

mod change;
mod compared;
mod dismissed;
mod withheld;

pub(super) use change::{Change, Commit, File, PullRequest};
pub(super) use compared::Compared;
pub(super) use dismissed::Dismissed;
pub(super) use withheld::Withheld;

/// One review of one change. Fields may be added within a version; readers ignore what they do not know.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "review/1")]
pub(super) struct Document {
    /// The version of this format.
    #[schemars(extend("const" = super::SCHEMA))]
    pub(super) schema: String,
    /// The run that made it: a UUID.
    #[schemars(extend("format" = "uuid"))]
    pub(super) id: String,
    /// How it ended.
    pub(super) outcome: Outcome,
    /// Why it is not complete; empty when it is.
    pub(super) reasons: Vec<String>,
    /// What ended the engine's work. A document without it was written before there was another way to end.
    #[serde(default = "finished")]
    pub(super) ended: Ended,
    /// What was reviewed.
    pub(super) change: Change,
    /// The review in short.
    pub(super) summary: Summary,
    /// What is wrong, worst first.
    pub(super) findings: Vec<Finding>,
    /// Longer parts that the engine wrote.
    pub(super) sections: Vec<Section>,
    /// The receipt: what was looked at, and what was not.
    pub(super) coverage: Coverage,
    /// Who made it and what it took.
    pub(super) provenance: Provenance,
}

/// The review in short. `total` is `resolved` and `unresolved` together; the maps count unresolved findings.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Summary {
    /// A few sentences: Markdown.
    pub(super) text: String,
    /// All findings.
    pub(super) total: usize,
    /// Those that are fixed or dismissed.
    pub(super) resolved: usize,
    /// Those that still ask for something.
    pub(super) unresolved: usize,
    /// Those whose place is no longer part of the change.
    pub(super) outdated: usize,
    /// How many of each severity.
    #[serde(rename = "bySeverity")]
    #[schemars(with = "BTreeMap<String, usize>")]
    pub(super) by_severity: BTreeMap<Severity, usize>,
    /// How many in each file.
    #[serde(rename = "byFile")]
    pub(super) by_file: BTreeMap<String, usize>,
}

/// A defect whose evidence stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Finding {
    /// Its stable name, the same on every surface.
    pub(super) id: String,
    /// A hash of what it is about; it may repeat.
    pub(super) fingerprint: String,
    /// Compared with the previous review.
    pub(super) status: FindingStatus,
    /// One line.
    pub(super) title: String,
    /// What goes wrong and what to do: Markdown.
    pub(super) body: String,
    /// How bad.
    pub(super) severity: Severity,
    /// What kind.
    pub(super) category: Category,
    /// From 1 (a guess) to 10 (certain); null where the engine did not say.
    #[schemars(range(min = 1, max = 10))]
    pub(super) confidence: Option<u8>,
    /// Where: the first touches the change.
    #[schemars(length(min = 1))]
    pub(super) anchors: Vec<Anchor>,
    /// A replacement that was applied in memory and stood.
    pub(super) suggestion: Option<Suggestion>,
    /// What a second look said.
    pub(super) verification: Verification,
    /// Who made it.
    pub(super) origin: Origin,
    /// The guideline it rests on.
    pub(super) guideline: Option<Guideline>,
    /// Why it is dismissed; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dismissed: Option<Dismissed>,
}

/// A place that was proved to exist.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Anchor {
    /// What it covers.
    pub(super) kind: AnchorKind,
    /// The file.
    pub(super) path: String,
    /// The side of the change.
    pub(super) side: Side,
    /// The first line, from 1; null for a whole file.
    #[schemars(range(min = 1))]
    pub(super) start_line: Option<u32>,
    /// The last line, included; null for a whole file.
    #[schemars(range(min = 1))]
    pub(super) end_line: Option<u32>,
    /// The text of those lines, verbatim but for masked secrets; empty for a whole file.
    pub(super) quote: String,
    /// Whether it stood where it was claimed.
    #[serde(rename = "match")]
    pub(super) matched: AnchorMatch,
    /// Whether a secret was masked in the quote.
    pub(super) masked: bool,
}

/// A replacement of whole lines at the head.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Suggestion {
    /// The file.
    pub(super) path: String,
    /// The first line it replaces, from 1.
    #[schemars(range(min = 1))]
    pub(super) start_line: u32,
    /// The last line it replaces, included.
    #[schemars(range(min = 1))]
    pub(super) end_line: u32,
    /// What stands there instead, the last line without its newline; empty deletes the lines.
    pub(super) replacement: String,
}

/// The outcome of a second look.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Verification {
    /// What it said.
    pub(super) state: VerificationState,
    /// Who looked.
    pub(super) by: Option<String>,
    /// Why.
    pub(super) rationale: Option<String>,
}

/// Who made a finding.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Origin {
    /// The kind.
    pub(super) kind: OriginKind,
    /// The name of the model, rule or tool.
    pub(super) name: String,
}

/// The line of a guideline.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Guideline {
    /// The guideline file.
    pub(super) path: String,
    /// The line in it.
    pub(super) line: u32,
}

/// A titled part of the review.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Section {
    /// Its heading.
    pub(super) title: String,
    /// Markdown.
    pub(super) body: String,
}

/// What was looked at, and what was not.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Coverage {
    /// Every changed file.
    pub(super) files: Vec<FileCoverage>,
    /// How many tool calls the engine made.
    pub(super) tool_calls: u32,
    /// How many of them failed.
    pub(super) tool_errors: u32,
    /// Claims whose evidence did not stand.
    pub(super) withheld: Vec<Withheld>,
    /// Findings that somebody dismissed.
    pub(super) dismissed: u32,
    /// Findings silenced by a comment in the code.
    pub(super) suppressed: u32,
    /// Findings below the severity floor, counted and not shown.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub(super) below_floor: BTreeMap<Severity, u32>,
    /// Findings below the confidence floor, counted and not shown; they are no reason to fail. Absent where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u32>")]
    pub(super) below_confidence: BTreeMap<Severity, u32>,
    /// What became of the leads.
    pub(super) leads: Leads,
    /// Limits that were hit, a sentence each.
    pub(super) limits_hit: Vec<String>,
    /// What collection left out or did differently.
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The review that this one was compared with; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<Compared>,
}

/// What became of one file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct FileCoverage {
    /// The file.
    pub(super) path: String,
    /// Whether it was seen.
    pub(super) state: CoverageState,
    /// Why it was not, or not wholly.
    pub(super) reason: Option<String>,
}

/// What became of the leads a model was given.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Leads {
    /// How many it was given.
    pub(super) given: u32,
    /// How many it confirmed.
    pub(super) confirmed: u32,
    /// How many it refuted.
    pub(super) refuted: u32,
    /// How many it left unanswered.
    pub(super) unanswered: u32,
}

/// Who made the review and what it took.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Provenance {
    /// The version of the program.
    pub(super) version: String,
    /// Which engine.
    pub(super) engine: Engine,
    /// The provider of the model.
    pub(super) provider: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The hash of the prompts.
    pub(super) prompts: Option<String>,
    /// The hash of the rule packs.
    pub(super) rules: Option<String>,
    /// The hash of the instructions that the model was given; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
    /// The guidelines of the project that the model was given; absent where there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) guidelines: Vec<GivenGuideline>,
    /// RFC 3339, UTC.
    pub(super) started_at: String,
    /// Wall time in milliseconds.
    pub(super) took_ms: u64,
    /// Turns of the model, those of the second look included.
    pub(super) turns: u32,
    /// Who answered how many of them, where another model took over from the one above; absent where none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answered: Vec<Answered>,
    /// Tokens and money, likewise.
    pub(super) usage: Usage,
    /// The second look and its share of that; absent where none was to be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) second_look: Option<SecondLook>,
}

/// A guideline of the project that the model was given.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct GivenGuideline {
    /// The file.
    pub(super) path: String,
    /// The hash of its text and of what it applies to.
    pub(super) hash: String,
}

/// A model, and the turns that it answered.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Answered {
    /// Its provider.
    pub(super) provider: String,
    /// The model.
    pub(super) model: String,
    /// How many turns.
    pub(super) turns: u32,
}

/// What became of the findings that were looked at a second time, and what that took.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SecondLook {
    /// The model that looked, as `--verify-model` names it.
    pub(super) by: String,
    /// Findings that it could not refute.
    pub(super) confirmed: u32,
    /// Findings of which it could not say.
    pub(super) uncertain: u32,
    /// Findings that it refuted: they are among the withheld ones.
    pub(super) refuted: u32,
    /// Findings that it was to look at, and came to no verdict on.
    pub(super) unchecked: u32,
    /// Its turns.
    pub(super) turns: u32,
    /// Its tokens and money.
    pub(super) usage: Usage,
}

/// Tokens and money; null is unknown, never zero.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Usage {
    /// Tokens sent, cached ones included.
    pub(super) input_tokens: Option<u64>,
    /// Tokens received.
    pub(super) output_tokens: Option<u64>,
    /// Of those sent, read from a cache.
    pub(super) cache_read_tokens: Option<u64>,
    /// Of those sent, written to a cache.
    pub(super) cache_write_tokens: Option<u64>,
    /// US dollars.
    pub(super) cost_usd: Option<f64>,
}

fn finished() -> Ended {
    Ended::Finished
}
