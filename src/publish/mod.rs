//! What a review puts on a pull request: the draft of its comments, the plan against what stands there, and the carrying out.
//!
//! Everything but the last step is pure and offline: places are checked against the hunks before anything is sent. What a forge says over the
//! wire belongs in `forge`; who asks for it, in `app`.
//!
//! Main types: [`Situation`] and [`Plan`] (what is to be done), [`Carry`] (doing it).

mod bisect;
mod carry;
mod moved;
mod plan;
mod still;
mod verdict;

pub use carry::{Carry, Done, HeadMoved, Summarised, Told};
pub use moved::{Reanchored, reanchor};
pub use plan::{Entry, Inline, OwnThread, Plan, Situation, Still, Work, existing_summary, own_threads, plan};
pub use still::{saw, still};
