//! Posting a review on a pull request: the draft of its comments, the plan against what exists there, and its execution.
//!
//! Everything but the last step is pure and offline: places are checked against the hunks before anything is sent. What a forge says over the
//! wire belongs in `forge`; who asks for it, in `app`. [`draft_comments()`] says which finding can be posted on which lines, [`render_summary()`] writes the one comment
//! that says it all, [`SecretGuard`] keeps the secrets of this process out of both, [`plan_post()`] decides the outcome of each finding and of each thread of
//! ours, [`PlanExecutor`] does it.

mod bisect;
mod carry;
mod draft;
mod guard;
mod markdown;
mod moved;
mod plan;
mod source_links;
mod summary;
mod summary_builder;
mod thread_status;
mod verdict;

pub use carry::{HeadMoved, PlanExecutor, PostProgress, PostResult, RenderedSummary};
pub use draft::{DraftComment, PostDraft, PostLimits, SummaryOnly, SummaryOnlyReason, draft_comments};
pub use guard::SecretGuard;
pub use moved::{Reanchored, reanchor};
pub use plan::{
    EntryWork, InlinePlace, OwnThread, PlanEntry, PlanInput, PostPlan, ThreadStatus, collect_own_threads,
    existing_summary, plan_post,
};
pub use source_links::SourceLinks;
pub use summary::{SummaryFinding, SummaryParts, SummaryText, render_review_body, render_summary};
pub use summary_builder::{SummaryBuilder, lists_as_summary_only};
pub use thread_status::{saw_finding, thread_status};
