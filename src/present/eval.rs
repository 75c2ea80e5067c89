//! Evaluations: a table for people, JSON for machines and for the next comparison. Main type: [`Report`].

mod json;
mod table;

pub use json::{NotAnEvaluation, SCHEMA, json, parse};
pub use table::table;

use crate::domain::eval::{Comparison, Evaluation, Floor, Share};

/// Everything that is told about an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// What was measured.
    pub evaluation: &'r Evaluation,
    /// How it stands against an earlier one, where one was given.
    pub comparison: Option<&'r Comparison>,
    /// The floors that were not held.
    pub broken: &'r [(Floor, Share)],
}
