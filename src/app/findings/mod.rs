//! Use of the findings of a saved review: listing, applying, dismissing, mapping to current text.
//!
//! Reading and writing saved reviews belongs in `context::saved_runs`.

pub(in crate::app) mod apply;
pub(in crate::app) mod ask;
pub(in crate::app) mod current;
pub(in crate::app) mod dismiss;
pub(in crate::app) mod live;
pub(in crate::app) mod open;
pub(in crate::app) mod runs;
pub(in crate::app) mod task;
