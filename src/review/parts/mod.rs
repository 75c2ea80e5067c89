//! Changes that are too large for one conversation: divided into parts of related files, reviewed concurrently, and merged again.
//!
//! `links` finds files that belong together, `plan` divides them, `layout` decides whether that is needed and how large a first message may be,
//! `loops` drives the conversations over one shared budget (`budget`), `combined` combines their results (with the help of `merge`), and `cross_part` is
//! the cross-part pass. A change that fits is one part and takes the same path. The steps of a conversation belong in `conversation`.

mod combined;
mod cross_part;
mod layout;
mod links;
mod loops;
mod merge;
mod plan;

pub(super) use layout::{PlannedParts, ReviewLayout};
pub(super) use loops::{ModelReviewInput, ModelReviewOutcome, review};
