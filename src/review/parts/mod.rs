//! Conversations about the parts of a change: driven over one shared budget, and combined into one review.
//!
//! `opener` opens them, `loops` drives them, `combined` combines their results (with the help of `merge`), and `cross_part` is the pass over all of
//! them, which is shown the names of `shared_names`. A change that fits one conversation takes the same path. The division belongs in `plan`, the
//! steps of a conversation in `conversation`.

mod combined;
mod cross_part;
mod loops;
mod merge;
mod opener;
mod shared_names;

pub(super) use combined::ModelReviewOutcome;
pub(super) use loops::{LaterLeads, ModelReviewInput, review};
pub(super) use opener::{PartOpener, vars};
