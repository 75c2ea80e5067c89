//! Pull requests as plain data: their names, what stands on them, and the receipt of what was put there.
//!
//! Main types: [`PullId`], [`PullRequest`], [`PullConversation`], [`Remark`], [`Delivery`]. How a forge is asked belongs in `forge`; what is to be
//! posted, in `publish`.

mod conversation;
mod delivery;
mod mark;
mod names;
mod pull;
mod remark;

pub use conversation::{Actor, Comment, PullConversation, ReviewNote, ReviewVerdict, Thread};
pub use delivery::{Delivery, DeliveryAct, DeliveryItem, DeliveryResult, DeliveryVerdict, SummaryAct};
pub use mark::{FindingMark, MarkTrust, ReviewMark, RunMark, SummaryMark, SummaryOnlyMark, quote_hash};
pub use names::{InvalidPullName, PullId, PullNumber, PullSpecifier, RepoName};
pub use pull::{PullFile, PullRequest, PullState, ReviewedPull};
pub use remark::{AgentPrompt, Held, Remark, RemarkSeverity, RemarkSummary, Source, SummaryNitpicks};
