//! Claims checked against text: what an engine says becomes a finding only through here.
//!
//! [`anchor()`] proves a [`Claim`](crate::domain::claim::Claim), [`locate()`] finds a quote in a file, [`fingerprint`] and
//! [`assign_ids`] name findings, [`prove`] and [`apply`] try suggestions in memory. All of it is pure but for reading the two
//! trees through [`Workspace`](crate::workspace::Workspace); [`references`] checks what a presented document points to, [`history`] finds again what an earlier review said. Whether a claim is *true* belongs in `review`.

mod anchor;
pub mod history;
mod identity;
mod languages;
mod locate;
mod nearest;
pub mod references;
mod reindent;
mod rejection;
mod suggestion;
mod touched;

pub use anchor::{Anchored, Grammar, NoGrammar, anchor, anchor_standing, anchor_with};
pub use identity::{assign_ids, context_around, fingerprint, ids};
pub use languages::Languages;
pub use locate::{Located, locate};
pub use rejection::{NearLine, Rejection};
pub use suggestion::{SuggestionFault, apply, prove};
