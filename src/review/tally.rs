//! What a conversation counts on its way. Main types: [`Tally`], [`Unanswered`].

use super::compact::Compaction;
use super::opening::Shown;
use crate::tools::Reference;

/// What was sent and is not answered yet.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// What the opening showed.
    pub(super) opening: Vec<Shown>,
    /// What tools showed.
    pub(super) results: Vec<Reference>,
    /// What this program said since the last request.
    pub(super) user: Vec<String>,
    /// Tokens of the conversation, estimated.
    pub(super) size: u64,
}

/// Counts for the receipt.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: u32,
    pub(super) errors: u32,
    /// Attempts whose cost nobody told.
    pub(super) broken_off: u32,
    /// Limits that were met, each a sentence.
    pub(super) limits: Vec<String>,
    /// Why calls were written in the text, where they were.
    pub(super) in_text: Option<&'static str>,
    /// What was taken out of the conversation to make room.
    pub(super) compaction: Compaction,
}
