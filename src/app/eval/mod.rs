//! `review eval`: how well the configured engine reviews changes of which it is known what is wrong with them.
//!
//! ```text
//! DIR ─▶ folder ─▶ case ─▶ recipe ─▶ run (app::review, as for anybody) ─▶ domain::eval::score ─▶ Evaluation
//! ```
//!
//! `folder` finds the cases, `case` reads what one expects, `recipe` says what its change is made of, `run` reviews it in a repository
//! and a state of its own. What counts as found, and all arithmetic, is in [`domain::eval`](crate::domain::eval). Cases are untrusted:
//! they name no place outside of what the caller gave, and nothing is fetched. Main function: [`evaluate`].

mod case;
mod error;
mod evaluate;
mod folder;
mod recipe;
mod run;

pub use error::EvalError;
pub use evaluate::{EvalJob, earlier, evaluate, write_evaluation};
