//! The engine: from a collected change and its two trees to a [`Review`](crate::domain::review::Review).
//!
//! Today there is one engine, [`by_rules`]; the model's loop stands beside it and works at a [`Desk`], which fills the same [`Draft`]. Whatever
//! the engine, the draft is turned into a review in one place ([`Draft::finish`]), so that no engine can call a review complete that is not.
//! Collecting, keeping and showing a review do not belong here.

mod alike;
mod by_rules;
mod desk;
mod draft;
mod engine_tools;
mod seen;

pub use by_rules::{RulesRun, by_rules};
pub use desk::{Answer, Desk, Effect, Lead};
pub use draft::{Draft, Ending, Made, ModelRun};
