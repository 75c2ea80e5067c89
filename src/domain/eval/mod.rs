//! Measuring reviews: what a case expects, what a review found of it, and what that comes to. Pure data and arithmetic.
//!
//! ```text
//! Expected ─┐
//! findings ─┴▶ score ─▶ CaseRun ─▶ CaseResult ─▶ Evaluation ─▶ Figures ─▶ Floors
//!                                                   └────────▶ compared with an Earlier one ─▶ Comparison
//! ```
//!
//! Main types: [`Evaluation`], [`Figures`]; main function: [`score()`]. How cases are written and run belongs in `app`, how it all looks in
//! `present`.

mod assign;
mod compare;
mod figures;
mod golden;
mod result;
mod score;
mod thresholds;

pub use assign::assign_best;
pub use compare::{
    CaseChange, CaseTrend, EarlierCase, EarlierEvaluation, EarlierRun, EvalComparison, NotCompared, compare,
};
pub use figures::{EvalRatio, Figures};
pub use golden::{ExpectedResult, Golden};
pub use result::{CaseResult, CaseRun, EvalReviewer, Evaluation, RunEnd, ShownFinding};
pub use score::{CaseScore, Extra, IssueMatch, IssueResult, NEAR, ReportedFinding, score};
pub use thresholds::{EvalThresholds, InvalidThresholds, Measure, MeasureThreshold};
