//! Plan of a review: the division of the change into parts, and the first message about each. Main types: [`PlannedParts`], [`ReviewLayout`],
//! [`Opening`].
//!
//! `links` finds files that belong together, `division` divides them, `layout` decides whether that is needed and how large a first message may be,
//! and `opening` writes it. A change that fits is one part and takes the same path.

mod division;
mod layout;
mod links;
mod opening;

pub(super) use layout::{
    PlannedParts, RelationsByFile, ReviewLayout, definitions_before, relations_of, visit_relations,
};
pub(super) use links::{MOST_DEFINERS, SHORTEST_NAME};
pub(super) use opening::{ListedChange, listed_names};
pub use opening::{Opening, brief, open};
