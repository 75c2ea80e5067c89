//! Changes that are too large for one conversation: divided into units of related files, reviewed side by side, and put together again.
//!
//! `kinship` says which files belong together, `plan` divides them, `layout` decides whether that is needed and what a first message may
//! take, `loops` drives the conversations over one purse (`budget`), `together` puts together what came of them (`merge` says how), and `across` looks at how the
//! parts go together. A change that fits is one unit and goes the same way. What happens within a conversation belongs in `turns`.

mod across;
mod kinship;
mod layout;
mod loops;
mod merge;
mod plan;
mod together;

pub(super) use layout::{Laid, Layout};
pub(super) use loops::{Begin, Reviewed, review};
