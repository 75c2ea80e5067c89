//! The engine: from a collected change and its two trees to a [`Review`](crate::domain::review::Review).
//!
//! There are two: [`by_rules`], which needs no model, and [`by_model`], the conversation with a model. Either way, the draft is turned into a review
//! in one place ([`Draft::finish`]), so that no engine can call a review complete that is not. The path with a model: `opening` (the first message) →
//! `units` (one conversation, or one for each part of a large change) → `turns` (the loop: `attempts`, `budget`, `calls`, `compact`, `course`,
//! `exchange`, `strikes`, `tally`, `journal`) → `desk` (the model's reports, and the coverage) → `verify` (verification of findings). External input
//! of a run is recorded in its `journal`, and `past` replays it when the run is resumed or replayed; `known` holds earlier findings and dismissals.
//! Collecting, storing and presenting a review do not belong here.

mod alike;
mod attempts;
mod budget;
mod by_model;
mod by_rules;
mod calls;
mod compact;
mod course;
mod desk;
mod draft;
mod engine_tools;
mod error;
mod exchange;
mod journal;
mod known;
mod opening;
mod past;
mod preview;
mod relay;
mod seen;
mod strikes;
mod tally;
mod turns;
mod units;
mod verify;

pub use budget::{CostLimit, Limits};
pub use by_model::{ModelRun, by_model};
pub use by_rules::{RulesRun, by_rules, without_rules};
pub use desk::{Answer, Desk, Effect, Lead};
pub use draft::{Asked, Draft, Ending, Floor, Made, instructions_hash};
pub use error::EngineError;
pub use journal::{
    Fate, JournalEntry, JournalError, JournalSink, Landing, NAME as JOURNAL, Read, Rebuilt, Record, SharedName, Unit,
    read as read_journal,
};
pub use known::Known;
pub use opening::{Beside, LeftOut, Opening, Shown, brief, estimate_tokens, open};
pub use past::{Account, Difference, Differences, Diverged, Past, PastError, What};
pub use preview::{Plan, preview, preview_rules};
pub use relay::{Relay, Runner};
pub use verify::{SecondLook, Which};
