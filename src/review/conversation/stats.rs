//! Statistics of a conversation. Main type: [`ConversationStats`].

use super::compact::Compaction;
use crate::review::budget::UnbilledAttempts;
use crate::review::journal::AbandonedUsage;

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

impl ConversationStats {
    /// Adds the counts of another conversation.
    pub(in crate::review) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.broken_off += other.broken_off;
        self.compaction.add_dropped_results(other.compaction.dropped_results());
    }

    /// Adds those of conversations that were restarted.
    pub(in crate::review) fn add_abandoned(&mut self, other: &AbandonedUsage) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.broken_off += other.broken_off;
    }
}
