//! One line of a plan: what becomes of a finding or a thread, and what is sent for it. Main type: [`PlanEntry`].

use crate::domain::forge::{DeliveryItem, SummaryOnlyMark};
use crate::forge::NewComment;
use crate::publish::draft::SummaryOnlyReason;

/// One finding, or one thread that is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEntry {
    /// Its line of the receipt, as it will be if all goes well.
    pub item: DeliveryItem,
    /// The requests to send for that.
    pub work: EntryWork,
    /// `true` if this review found it; else only its thread is left.
    pub is_found: bool,
    /// The reason why it does not stand on its lines, where it does not.
    pub beside: Option<SummaryOnlyReason>,
    /// Its place, as displayed: `src/a.rs:12`.
    pub place: String,
    /// Of what is left of an earlier review without a thread: its mark.
    pub kept: Option<SummaryOnlyMark>,
    /// The number of the comment that began its thread: the higher, the newer.
    pub age: u64,
}

/// The requests to send for one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryWork {
    /// Nothing.
    Nothing,
    /// A new comment.
    Comment(NewComment),
    /// Its thread is to be opened again; where that is refused, it is said anew if it can be.
    Reopen {
        /// The thread.
        thread: String,
        /// The comment to post if it cannot be opened again.
        anew: Option<NewComment>,
    },
    /// Its thread is to be resolved.
    Resolve {
        /// The thread.
        thread: String,
    },
}
