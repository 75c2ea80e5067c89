//! Posting a review on a pull request: the draft of its comments, the plan against what exists there, and its execution.
//!
//! Everything but the last step is pure and offline: places are checked against the hunks before anything is sent. What a forge says over the
//! wire belongs in `forge`; who asks for it, in `app`. [`draft()`] says which finding can stand on which lines, [`summary()`] writes the one comment
//! that says it all, [`Guard`] keeps the secrets of this process out of both, [`plan()`] says what becomes of each finding and of each thread of
//! ours, [`Carry`] does it.

mod bisect;
mod carry;
mod draft;
mod guard;
mod markdown;
mod moved;
mod plan;
mod still;
mod summary;
mod telling;
mod verdict;

pub use carry::{Carry, Done, HeadMoved, Summarised, Told};
pub use draft::{Beside, Draft, DraftComment, Limits, WhyBeside, draft};
pub use guard::Guard;
pub use moved::{Reanchored, reanchor};
pub use plan::{Entry, Inline, OwnThread, Plan, Situation, Still, Work, existing_summary, own_threads, plan};
pub use still::{saw, still};
pub use summary::{Earlier, Rendered, SummaryParts, review_body, summary};
pub use telling::{Telling, lists_beside};
