//! The guidelines of a project: which texts they are, where they are read, and which files they are about. Main functions: [`load`],
//! [`explain`], [`list`].
//!
//! They come from where the project's settings come from: the target's tip, never from the head, whose author would write the rules that he is
//! reviewed by. What an import or a link names is looked for in the same tree and nowhere else. `ground` is that tree, `find` looks for the
//! files, `front` reads the settings at their heads, `imports` what they import, `gather` puts it together under the limits, `changed` tells
//! where a change touches them. How they are said to a model belongs in `review`.

mod begin;
mod changed;
mod explain;
mod find;
mod front;
mod gather;
mod ground;
mod imports;
mod resolve;

pub(super) use begin::for_review;
pub use explain::{Explained, ListedGuideline, Reached, explain, list};
pub(super) use gather::load;
pub(super) use ground::{Ground, Kind, join};
