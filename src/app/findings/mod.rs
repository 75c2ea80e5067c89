//! What is done with the findings of a saved review: listed, applied, dismissed.
//!
//! Reading and writing saved reviews belongs in `context::saved_runs`.

pub(in crate::app) mod apply;
pub(in crate::app) mod dismiss;
pub(in crate::app) mod runs;
