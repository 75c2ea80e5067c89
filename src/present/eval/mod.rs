//! Evaluations: a table for people, JSON for machines and for the next comparison. Main type: [`Report`].

mod json;
mod table;

pub use json::{EvaluationParseError, SCHEMA, json, parse};
pub use table::table;

use crate::domain::eval::{EvalComparison, EvalRatio, Evaluation, MeasureThreshold};

/// An evaluation with its comparison and thresholds.
#[derive(Debug, Clone, Copy)]
pub struct Report<'r> {
    /// The measured results.
    pub evaluation: &'r Evaluation,
    /// The comparison with an earlier evaluation, if one was given.
    pub comparison: Option<&'r EvalComparison>,
    /// The thresholds that were missed.
    pub broken: &'r [(MeasureThreshold, EvalRatio)],
}
