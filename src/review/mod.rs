//! The engine: from a collected change and its two trees to a [`Review`](crate::domain::review::Review).
//!
//! There are two: [`review_with_rules`], which needs no model, and [`review_with_model`], the conversation with a model. Either way, the draft is
//! turned into a review in one place ([`ReviewDraft::finish`]), so that no engine can call a review complete that is not. The path with a model:
//! `opening` (the first message) → `parts` (one conversation, or one for each part of a large change) → `conversation` (the loop, within a `budget`) →
//! `builder` (the model's reports) → `verify` (verification of findings) → `outcome` (coverage and findings, the draft of the review). `run` is what all
//! of them are given. External input of a run is recorded in its `journal`, and `replay` replays it when the run is resumed or replayed;
//! `branch_history` holds earlier findings and dismissals. Collecting, storing and presenting a review do not belong here.

mod branch_history;
mod budget;
mod builder;
mod by_model;
mod by_rules;
mod conversation;
mod error;
mod journal;
mod opening;
mod outcome;
mod parts;
mod preview;
mod replay;
mod run;
mod tokens;
mod verify;

pub use branch_history::BranchHistory;
pub use budget::{BudgetLimits, CostLimit};
pub use builder::{CallEffect, EngineToolResponse, Lead, ReviewBuilder};
pub use by_model::review_with_model;
pub use by_rules::{RulesRun, review_unfinished_rules, review_with_rules};
pub use error::EngineError;
pub use journal::{
    ConversationId, FinalTurn, JournalEntry, JournalError, JournalRecord, JournalSink, NAME as JOURNAL, NameFate,
    RebuiltConversation, RecordedRead, SharedName, read as read_journal,
};
pub use opening::{OmittedDiff, Opening, ProjectContext, ShownDiff, brief, open};
pub use outcome::{
    EngineOutcome, FindingThresholds, ModelContribution, ProvenanceInput, ReviewDraft, instructions_hash,
};
pub use preview::{ReviewPlan, preview, preview_rules};
pub use replay::{
    Difference, Differences, DivergedInput, JournalReplay, JournalReplayError, JournalSummary, ReplayDivergence,
};
pub use run::{Failover, FailoverCandidate, ModelRun, VerificationScope, VerificationSettings};
pub use tokens::estimate_tokens;
