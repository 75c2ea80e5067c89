//! The preview of a review, computed without running it. Main type: [`Preview`].
//!
//! Nothing here was asked of anybody: sizes are estimates, and where a figure rests on an assumption it is told beside it.

use std::sync::Arc;
use std::time::Duration;

use super::change::ChangeSet;
use super::money::Money;
use super::path::RepoPath;
use super::provider_info::PriceList;
use crate::domain::words::words;

/// A review that is not made.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The change that would be reviewed.
    pub change: Arc<ChangeSet>,
    /// The reviewing model; `None` for the built-in rules, with which nothing is sent.
    pub model: Option<CodeReceiver>,
    /// Those who would take over, one after the other, where the one before fails for good.
    pub next: Vec<CodeReceiver>,
    /// The verifying model, if it is another one.
    pub second: Option<CodeReceiver>,
    /// The plan for each changed file, in the order of the change.
    pub files: Vec<FilePlan>,
    /// The sources of the instructions for the model.
    pub instructions: Option<String>,
    /// The files of the project's guidelines that it would be given.
    pub guidelines: Vec<String>,
    /// The content that would be sent; `None` if nothing is.
    pub sent: Option<SentContent>,
    /// The receipt's notes on how the change was collected and on what the first messages omit.
    pub notes: Vec<String>,
}

/// A provider that would receive code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeReceiver {
    /// As `--model` names it.
    pub model: String,
    /// Its address, without secrets.
    pub address: String,
    /// The variable that would have to hold a key which is not set; `None` if nothing is missing.
    pub missing_key: Option<String>,
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// Its price, where that is known.
    pub prices: Option<PriceList>,
}

/// The plan for a changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// The file.
    pub path: RepoPath,
    /// The state of its diff.
    pub state: FileState,
    /// The reason why it is not, or not wholly.
    pub reason: Option<String>,
    /// The part of the change that it is in, from 1.
    pub part: Option<u32>,
}

words! {
    /// The presence of a file's diff in a first message.
    pub enum FileState: as_str {
        /// All of it; for the rules: they look at it.
        Shown = "shown",
        /// Its beginning: the rest is there to be read.
        Cut = "cut",
        /// Not at all, but it is there to be read.
        LeftOut = "left_out",
        /// It was reviewed before and is passed over.
        Carried = "carried",
        /// It needs no review.
        Skipped = "skipped",
    }
}

/// The content that would be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SentContent {
    /// The conversations, the riskiest first: one where the change is reviewed whole.
    pub parts: Vec<PartPlan>,
    /// The limit of each first message, including the system prompt, in tokens.
    pub room: u64,
    /// Leads that the model would be given, as far as they are known: the rules do not run for a preview.
    pub leads: usize,
    /// Of those, leads for which there is no room.
    pub leads_left_out: usize,
    /// The estimate of the total.
    pub estimate: Estimate,
    /// The limits that may end it, one sentence each.
    pub limits: Vec<String>,
}

/// A conversation that would be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlan {
    /// The number of files it is about.
    pub files: usize,
    /// Tokens of the system text, estimated like the two below.
    pub system: u64,
    /// Tokens of the tools.
    pub tools: u64,
    /// Tokens of the first message.
    pub message: u64,
    /// `true` if the budget is sure to be enough to begin it.
    pub is_promised: bool,
}

impl PartPlan {
    /// Tokens of the whole first request.
    pub fn request(&self) -> u64 {
        self.system.saturating_add(self.tools).saturating_add(self.message)
    }
}

/// A figure of an estimate, between its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EstimateRange<T> {
    /// The least.
    pub least: T,
    /// The likely one.
    pub likely: T,
    /// The most.
    pub most: T,
}

/// The estimate of a review's usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Turns in all conversations.
    pub turns: EstimateRange<u64>,
    /// Tokens sent in all turns together, cached ones included.
    pub input_tokens: EstimateRange<u64>,
    /// Tokens received.
    pub output_tokens: EstimateRange<u64>,
    /// The cost; `None` if a price is unknown.
    pub cost: Option<EstimateRange<Money>>,
    /// The duration.
    pub time: EstimateRange<Duration>,
    /// The assumptions behind the figures, one sentence each.
    pub basis: Vec<String>,
}
