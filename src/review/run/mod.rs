//! Input of a review with a model, which everything that takes part in it is given. Main type: [`ModelRun`].

mod failover;
mod verification;

use std::sync::Arc;
use std::time::Instant;

use super::branch_history::BranchHistory;
use super::budget::{BudgetLimits, BudgetPool};
use super::journal::{JournalReplay, JournalSink};
use super::outcome::FindingThresholds;
use crate::domain::change::ChangeSet;
use crate::domain::event::EventSink;
use crate::domain::guideline::Guidelines;
use crate::domain::run::RunId;
use crate::llm::Provider;
use crate::prompt::Prompts;
use crate::rules::{Packs, ScannerReports};
use crate::sys::cancel::Cancel;
use crate::tools::Toolbox;
use crate::workspace::Workspace;

pub use failover::{Failover, FailoverCandidate};
pub use verification::{VerificationScope, VerificationSettings};

pub(super) use failover::VERIFIER;

/// Input of the model engine.
pub struct ModelRun {
    /// The run that the review belongs to.
    pub run: RunId,
    /// Reviewed change.
    pub change: Arc<ChangeSet>,
    /// Its files after the change.
    pub new: Arc<dyn Workspace>,
    /// Its files before the change.
    pub old: Arc<dyn Workspace>,
    /// The tools that read them.
    pub tools: Toolbox,
    /// The rules that give leads.
    pub packs: Packs,
    /// Reports of other scanners, which become leads.
    pub reports: ScannerReports,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// Those who take over from it, one after the other, when it fails for good.
    pub next: Vec<FailoverCandidate>,
    /// Models of the run and their failover.
    pub relay: Failover,
    /// Prompt templates.
    pub prompts: Prompts,
    /// Instructions of the user for this review.
    pub instructions: Option<String>,
    /// Guidelines of the project.
    pub guidelines: Arc<Guidelines>,
    /// Limits of the run.
    pub limits: BudgetLimits,
    /// Budget that it shares with other runs.
    pub pool: Option<BudgetPool>,
    /// Settings of the verification of findings; `None` if it is off.
    pub second_look: Option<VerificationSettings>,
    /// Findings below it are counted, not shown.
    pub floor: FindingThresholds,
    /// History of the branch.
    pub known: BranchHistory,
    /// Recording of earlier sessions of this run; empty for a new run.
    pub past: JournalReplay,
    /// Receipt notes on how the change was collected.
    pub notes: Vec<String>,
    /// Start of the run: RFC 3339 in UTC, and on the clock that measures the duration.
    pub started: (String, Instant),
    /// Cancellation, checked in every loop.
    pub cancel: Cancel,
    /// Receiver of progress events.
    pub events: Arc<dyn EventSink>,
    /// Destination of the journal.
    pub journal: Option<Box<dyn JournalSink>>,
}

impl ModelRun {
    /// Returns the project context for the model, without limits.
    pub(super) fn project_context(&self) -> ProjectContext<'_> {
        ProjectContext {
            instructions: self.instructions.as_deref(),
            guidelines: &self.guidelines,
            builds: self.tools.runs_builds(),
            turns: 0,
            window: 0,
        }
    }
}

/// Project context for the model, besides the change.
#[derive(Debug, Clone, Copy)]
pub struct ProjectContext<'a> {
    /// Instructions of the user for this review.
    pub instructions: Option<&'a str>,
    /// Guidelines of the project.
    pub guidelines: &'a Guidelines,
    /// `true` if the model may run the project's builds and tests.
    pub builds: bool,
    /// Maximum number of turns that the first message states; 0 if it states none.
    pub turns: u32,
    /// Window that it states, in tokens.
    pub window: u64,
}
