//! `review eval`: benchmarks the configured engine on changes with known defects.
//!
//! ```text
//! DIR ─▶ folder ─▶ case ─▶ recipe ─▶ run (app::review) ─▶ domain::eval::score ─▶ Evaluation
//! ```
//!
//! `folder` finds the cases, `case` parses one, `recipe` builds its change, `run` reviews it in a repository and a state folder of its
//! own; `quotes` reads from the journal what was quoted for each finding. Matching findings, and all arithmetic, belong in
//! [`domain::eval`](crate::domain::eval). Cases are untrusted: they can name no place outside of those that the caller gave, and nothing is
//! fetched. Main function: [`evaluate()`].

mod case;
mod error;
mod evaluate;
mod folder;
mod quotes;
mod recipe;
mod run;

pub use error::EvalError;
pub use evaluate::{EvalJob, earlier, evaluate, write_evaluation};
