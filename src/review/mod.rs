//! The engine: from a collected change and its two trees to a [`Review`](crate::domain::review::Review).
//!
//! There are two: [`review_with_rules`], which needs no model, and [`review_with_model`], the conversation with a model. Either way, the draft is
//! turned into a review in one place ([`ReviewDraft::finish`]), so that no engine can call a review complete that is not. The path with a model:
//! `plan` (its parts and the first message of each) → `parts` (one conversation, or one for each part of a large change) → `conversation` (the loop, within a `budget`) →
//! `builder` (the model's reports) → `verify` (verification of findings) → `outcome` (coverage and findings, the draft of the review). `run` is what all
//! of them are given. External input of a run is recorded in its `journal`, and taken from there when the run is resumed or replayed;
//! `branch_history` holds earlier findings and dismissals. Collecting, storing and presenting a review do not belong here.

mod admission;
mod ask;
mod branch_history;
mod budget;
mod builder;
mod by_model;
mod by_rules;
mod conversation;
mod error;
mod journal;
mod outcome;
mod parts;
mod plan;
mod preview;
mod run;
mod tokens;
mod verify;

pub use admission::{Admission, NotAdmitted};
pub use ask::{QuestionOutcome, answer_question};
pub use branch_history::BranchHistory;
pub use budget::{Amount, BudgetLimits, BudgetPool, BudgetSource, CostLimit};
pub use builder::{CallEffect, EngineToolResponse, Lead, ReviewBuilder};
pub use by_model::review_with_model;
pub use by_rules::{RulesRun, review_unfinished_rules, review_with_rules};
pub use error::EngineError;
pub use journal::{
    ConversationId, Difference, Differences, DivergedInput, FinalTurn, JournalEntry, JournalError, JournalRecord,
    JournalReplay, JournalReplayError, JournalSink, JournalSummary, NAME as JOURNAL, NameFate, RebuiltConversation,
    RecordedAllowance, RecordedRead, RecordedRules, ReplayDivergence, RuleScope, SharedName, read as read_journal,
};
pub use outcome::{
    EngineOutcome, FindingThresholds, ModelContribution, OmittedDiff, ProvenanceInput, ReviewDraft, ShownDiff,
    instructions_hash,
};
pub use plan::{Opening, brief, open};
pub use preview::{ReviewPlan, preview, preview_rules};
pub use run::{Failover, FailoverCandidate, ModelRun, ProjectContext, VerificationScope, VerificationSettings};
pub use tokens::estimate_tokens;
