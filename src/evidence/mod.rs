//! Verifies claims against text: what an engine claims becomes a finding only through this module.
//!
//! [`anchor()`] proves a [`Claim`](crate::domain::claim::Claim), [`locate()`] finds a quote in a file, [`fingerprint`] and [`assign_ids`]
//! identify findings, [`prove`] and [`apply`] try suggestions in memory. All functions are pure except for reading the two trees through
//! [`Workspace`](crate::workspace::Workspace); [`references`] checks the references of a presented document, [`history`] matches the
//! findings of an earlier review. Deciding whether a claim is *true* belongs in `review`.

mod anchor;
pub mod history;
mod identity;
mod languages;
mod locate;
mod nearest;
mod reach;
pub mod references;
mod reindent;
mod rejection;
mod suggestion;

pub use anchor::{AnchorReach, AnchoredClaim, anchor, anchor_with};
pub use identity::{assign_ids, candidate_ids, context_around, fingerprint};
pub use languages::GrammarLanguages;
pub use locate::{QuoteLocation, locate};
pub use rejection::{NearLine, Rejection};
pub use suggestion::{SuggestionFault, apply, prove};
