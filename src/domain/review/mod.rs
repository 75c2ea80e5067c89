//! The review: the one value that every output renders. Main type: [`Review`].

mod stop_reason;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use stop_reason::StopReason;

use super::change::ChangeSet;
use super::finding::{Finding, Prominence, Severity};
use super::guideline::ProvidedGuideline;
use super::path::RepoPath;
use super::prior::ComparedReview;
use super::run::{Engine, RunId, Usage};
use super::verification::VerificationTotals;
use crate::domain::words::words;

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
    /// The findings, worst first ([`by_worst`](super::finding::by_worst)).
    pub findings: Vec<Finding>,
    /// Longer parts that the engine wrote.
    pub sections: Vec<ReviewSection>,
    /// The receipt.
    pub coverage: ReviewCoverage,
    /// Its provenance and usage.
    pub provenance: ReviewProvenance,
}

words! {
    /// How a review ended.
    #[schemars(rename = "Outcome")]
    pub enum ReviewOutcome: as_str {
        /// Every reviewable hunk was seen, and the engine said that it was done.
        Complete = "complete",
        /// A budget, a fault or an interrupt ended it, or a hunk was never seen.
        Incomplete = "incomplete",
        /// Nothing was reviewed.
        Failed = "failed",
    }
}

/// A titled part of the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Section")]
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
    /// `true` if it was to be compared with none: then no later review of the branch is compared with it either.
    pub is_standalone: bool,
    /// The number of files with uncommitted changes, where the branch that is checked out was reviewed without them.
    pub uncommitted: u32,
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

words! {
    /// The extent to which a file was reviewed, and by what.
    pub enum CoverageState: as_str {
        /// A model was shown all its hunks.
        Reviewed = "reviewed",
        /// The rules for its language checked all of it.
        Checked = "checked",
        /// Only the checks that need no grammar ran: no rule applies to its language, its path or its text.
        TextOnly = "text_only",
        /// Some of it was cut, or examined less closely.
        Truncated = "truncated",
        /// None of it was examined.
        Skipped = "skipped",
    }
}

impl CoverageState {
    /// The words of a receipt.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reviewed => "reviewed",
            Self::Checked => "checked",
            Self::TextOnly => "text checks only",
            Self::Truncated => "in part",
            Self::Skipped => "skipped",
        }
    }

    /// Checks whether everything that the engine has for the file was applied to all of it.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Reviewed | Self::Checked | Self::TextOnly)
    }
}

/// A claim that was withheld.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Withheld")]
pub struct WithheldClaim {
    /// The title of the claim.
    pub title: String,
    /// The reason why it was withheld.
    pub reason: String,
}

/// The results of the leads that a model was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Leads")]
pub struct LeadCounts {
    /// Number of leads.
    pub given: u32,
    /// Number of confirmed leads.
    pub confirmed: u32,
    /// Number of refuted leads.
    pub refuted: u32,
    /// Number of leads without an answer.
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

/// A model, and its number of turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Answered")]
pub struct ModelTurns {
    /// Its provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Number of turns.
    pub turns: u32,
}

impl Review {
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

    /// The unresolved findings that are shown whole.
    pub fn main_findings(&self) -> impl Iterator<Item = &Finding> {
        self.unresolved().filter(|finding| finding.prominence == Prominence::Main)
    }

    /// The other unresolved findings: each is shown as one line.
    pub fn also_noticed(&self) -> impl Iterator<Item = &Finding> {
        self.unresolved().filter(|finding| finding.prominence == Prominence::Also)
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
