//! The guidelines of a project: finds and reads them, and determines their scope. Main functions: [`load`], [`explain()`], [`list`].
//!
//! They are read from where the project's settings are: the target commit, never the head, whose author would otherwise write the rules of
//! the review (`target_tree`). Imports and links are resolved in the same tree only. `find` finds the files, `front` parses their front matter, `imports` finds what they import, `gather` combines them under the limits, `changed` detects changes to them. Presenting
//! them to a model belongs in `review`.

mod changed;
mod explain;
mod find;
mod front;
mod gather;
mod imports;
mod prepare;
mod resolve;

pub use explain::{explain, list};
pub(in crate::app) use gather::load;
pub(in crate::app) use prepare::begin;
