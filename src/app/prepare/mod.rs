//! Preparation of a review: all that is read of a change. Main type: [`PreparedChange`](change::PreparedChange).
//!
//! Running an engine on it belongs in `review`.

pub(in crate::app) mod build_tools;
mod build_tree;
pub(in crate::app) mod builds;
pub(in crate::app) mod change;
pub(in crate::app) mod checks;
pub(in crate::app) mod diff_source;
pub(in crate::app) mod dismissals;
pub(in crate::app) mod guidelines;
pub(in crate::app) mod inputs;
pub(in crate::app) mod instructions;
pub(in crate::app) mod packs;
pub(in crate::app) mod previous;
pub(in crate::app) mod pull;
pub(in crate::app) mod rule_files;
pub(in crate::app) mod sarif;
mod target_tree;
pub(in crate::app) mod uncommitted;
pub(in crate::app) mod uncommitted_count;
pub(in crate::app) mod view;
