//! Statistics of a conversation. Main type: [`ConversationStats`].

use super::compact::Compaction;
use crate::review::budget::UnbilledAttempts;

/// Counts for the receipt.
#[derive(Debug, Default)]
pub(in crate::review) struct ConversationStats {
    pub(in crate::review) calls: u32,
    pub(in crate::review) errors: u32,
    /// Attempts with unreported cost.
    pub(in crate::review) broken_off: UnbilledAttempts,
    /// Limits that were met, each a sentence.
    pub(in crate::review) limits: Vec<String>,
    /// Reason for the text format of calls, if it was used.
    pub(in crate::review) in_text: Option<&'static str>,
    /// Compaction of the conversation.
    pub(in crate::review) compaction: Compaction,
}
