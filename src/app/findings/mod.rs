//! Use of the findings of a saved review: listing, applying, dismissing.
//!
//! Reading and writing saved reviews belongs in `context::saved_runs`.

pub(in crate::app) mod apply;
pub(in crate::app) mod dismiss;
pub(in crate::app) mod open;
pub(in crate::app) mod runs;
