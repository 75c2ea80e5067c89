//! Measuring reviews: what a case expects, what a review found of it, and what that comes to. Pure data and arithmetic.
//!
//! ```text
//! Expected ─┐
//! findings ─┴▶ score ─▶ CaseRun ─▶ CaseResult ─▶ Evaluation ─▶ Figures ─▶ Floors
//!                                                   └────────▶ compared with an Earlier one ─▶ Comparison
//! ```
//!
//! Main types: [`Evaluation`], [`Figures`]; main function: [`score`]. How cases are written and run belongs in `app`, how it all looks in
//! `present`.

mod assign;
mod compare;
mod figures;
mod floors;
mod golden;
mod result;
mod score;

pub use assign::best;
pub use compare::{CaseChange, Comparison, Earlier, EarlierCase, EarlierRun, NotCompared, Turned, compare};
pub use figures::{Figures, Share};
pub use floors::{Floor, Floors, InvalidFloors, Measure};
pub use golden::{Expected, Golden};
pub use result::{CaseResult, CaseRun, Evaluation, RunEnd, Who};
pub use score::{Extra, Found, IssueResult, NEAR, Reported, Score, score};
