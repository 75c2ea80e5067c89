//! Pull requests as plain data: their names, what stands on them, and the receipt of what was put there.
//!
//! Main types: [`PullId`], [`PullRequest`], [`Conversation`], [`Remark`], [`Delivery`]. How a forge is asked belongs in `forge`; what is to be
//! posted, in `publish`.

mod conversation;
mod delivery;
mod mark;
mod names;
mod pull;
mod remark;

pub use conversation::{Actor, Comment, Conversation, ReviewNote, ReviewVerdict, Thread};
pub use delivery::{Delivered, Delivery, DeliveryAct, DeliveryItem, SummaryAct, Verdict};
pub use mark::{BesideMark, FindingMark, Made, RunMark, SummaryMark, Trust, quote_hash};
pub use names::{BadPullName, PullAsk, PullId, PullNumber, RepoName};
pub use pull::{PullFile, PullOf, PullRequest, PullState};
pub use remark::{AgentPrompt, Held, Remark, RemarkKind, RemarkSeverity, Source, Summary, SummaryNitpicks};
