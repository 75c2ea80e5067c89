//! One review, from its job to its delivery; and runs that are resumed or replayed. Main function: [`review`](job::review).
//!
//! Posting belongs in `post`.

pub(in crate::app) mod deliver;
pub(in crate::app) mod engine;
pub(in crate::app) mod job;
pub(in crate::app) mod preview;
pub(in crate::app) mod replay;
pub(in crate::app) mod resume;
mod resume_hint;
