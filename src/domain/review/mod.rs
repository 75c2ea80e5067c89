//! The review: the one value that every output renders. Main type: [`Review`].

mod stop_reason;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use stop_reason::StopReason;

use super::change::ChangeSet;
use super::finding::{Finding, Severity, worst_first};
use super::guideline::ProvidedGuideline;
use super::path::RepoPath;
use super::prior::ComparedReview;
use super::run::{Engine, RunId, Usage};
use super::verification::VerificationTotals;

/// A whole review of one change.
#[derive(Debug, Clone)]
pub struct Review {
    /// The run that made it.
    pub id: RunId,
    /// The outcome.
    pub outcome: ReviewOutcome,
    /// The reason why it is not complete: one sentence each; empty when it is.
    pub reasons: Vec<String>,
    /// The reason why the engine's work ended.
    pub ended: StopReason,
    /// The reviewed change.
    pub change: Arc<ChangeSet>,
    /// A few sentences: Markdown.
    pub summary: String,
    /// The findings, worst first, then by path and line.
    pub findings: Vec<Finding>,
    /// Longer parts that the engine wrote.
    pub sections: Vec<ReviewSection>,
    /// The receipt.
    pub coverage: ReviewCoverage,
    /// Its provenance and usage.
    pub provenance: ReviewProvenance,
}

/// How a review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Outcome")]
pub enum ReviewOutcome {
    /// Every reviewable hunk was seen, and the engine said that it was done.
    Complete,
    /// A budget, a fault or an interrupt ended it, or a hunk was never seen.
    Incomplete,
    /// Nothing was reviewed.
    Failed,
}

impl ReviewOutcome {
    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// A titled part of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSection {
    /// Its heading.
    pub title: String,
    /// Markdown.
    pub body: String,
}

/// The coverage of a review: what was reviewed and what was not.
#[derive(Debug, Clone, Default)]
pub struct ReviewCoverage {
    /// Every changed file, in the order of the change.
    pub files: Vec<FileCoverage>,
    /// The number of tool calls the engine made.
    pub tool_calls: u32,
    /// The number of failed ones.
    pub tool_errors: u32,
    /// Claims whose evidence did not stand.
    pub withheld: Vec<WithheldClaim>,
    /// Findings that somebody dismissed.
    pub dismissed: u32,
    /// Findings silenced by a comment in the code.
    pub suppressed: u32,
    /// Findings below the floor, by severity: counted, not shown.
    pub below_floor: BTreeMap<Severity, u32>,
    /// Findings of which nobody is sure enough, by severity: counted, not shown, and no reason to fail.
    pub below_confidence: BTreeMap<Severity, u32>,
    /// The findings behind those two counts, for the next review of the branch. No output has them, so a loaded review has none.
    pub hidden: Vec<Finding>,
    /// Leads and what became of them.
    pub leads: LeadCounts,
    /// Limits that were hit (`files`, `time`, …), each a sentence.
    pub limits_hit: Vec<String>,
    /// Notes on what collection skipped or did differently.
    pub notes: Vec<String>,
    /// The review that this one was compared with.
    pub previous: Option<ComparedReview>,
}

/// The coverage of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCoverage {
    /// The file.
    pub path: RepoPath,
    /// Its coverage state.
    pub state: CoverageState,
    /// Why it was not, or not wholly.
    pub reason: Option<String>,
}

/// Whether a file was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CoverageState {
    /// All its hunks were.
    Reviewed,
    /// Some of it was cut, or looked at less closely.
    Truncated,
    /// None of it was.
    Skipped,
}

impl CoverageState {
    /// The word used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reviewed => "reviewed",
            Self::Truncated => "truncated",
            Self::Skipped => "skipped",
        }
    }
}

/// A claim that was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldClaim {
    /// The claim's title.
    pub title: String,
    /// Why it was not delivered.
    pub reason: String,
}

/// The results of the leads given to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeadCounts {
    /// The number of leads given.
    pub given: u32,
    /// The number of confirmed ones.
    pub confirmed: u32,
    /// The number of refuted ones.
    pub refuted: u32,
    /// The number of unanswered ones.
    pub unanswered: u32,
}

/// The provenance of a review: its engine, models and usage.
#[derive(Debug, Clone)]
pub struct ReviewProvenance {
    /// The version of this program.
    pub version: String,
    /// The engine's kind.
    pub engine: Engine,
    /// The provider of the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The hash of the prompts.
    pub prompts: Option<String>,
    /// The hash of the rule packs.
    pub rules: Option<String>,
    /// The hash of the instructions that the model was given; `None` if there were none.
    pub instructions: Option<String>,
    /// The guidelines of the project that the model was given; none where there were none.
    pub guidelines: Vec<ProvidedGuideline>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Wall time in milliseconds.
    pub took_ms: u64,
    /// Turns of the model, those of the second look included.
    pub turns: u32,
    /// The turns of each model, in the order of the list of models; empty if there was no failover.
    pub answered: Vec<ModelTurns>,
    /// Tokens and money, likewise; all unknown for the rules engine.
    pub usage: Usage,
    /// The second look and its share; `None` if there was nothing to look at, or nobody who did.
    pub second_look: Option<VerificationTotals>,
}

/// A model, and the turns that it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurns {
    /// The provider.
    pub provider: String,
    /// Its name.
    pub model: String,
    /// The number of turns.
    pub turns: u32,
}

impl Review {
    /// Sorts the findings into the order that every surface shows.
    pub fn sort_findings(&mut self) {
        worst_first(&mut self.findings);
    }

    /// Returns the number of unresolved findings of each severity, worst first.
    pub fn by_severity(&self) -> BTreeMap<Severity, usize> {
        let mut counts = BTreeMap::new();
        for finding in self.unresolved() {
            *counts.entry(finding.severity).or_default() += 1;
        }
        counts
    }

    /// The findings that still ask for something: all but the fixed and the dismissed ones.
    pub fn unresolved(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.status.is_resolved())
    }

    /// Counts the unresolved findings that a gate at a severity blocks on. Findings with too little confidence do not count.
    pub fn count_blocking(&self, floor: Severity) -> Blocking {
        let hidden = self.coverage.below_floor.iter().filter(|(severity, _)| **severity <= floor);
        Blocking {
            shown: self.unresolved().filter(|finding| finding.severity <= floor).count(),
            hidden: hidden.map(|(_, count)| *count as usize).sum(),
        }
    }
}

/// The number of findings at or above a severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocking {
    /// Those that are shown.
    pub shown: usize,
    /// Those that the severity floor hides.
    pub hidden: usize,
}

impl Blocking {
    /// All of them: a gate counts before a floor hides.
    pub fn all(self) -> usize {
        self.shown + self.hidden
    }
}
