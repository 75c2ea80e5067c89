//! `review action`: a step of a GitHub workflow. The Action only installs the program; all decisions are made here.
//!
//! ```text
//! environment ─▶ given ─▶ inputs ─┐
//! payload ─────▶ event ───────────┴▶ what ─▶ who ─▶ step ─▶ gate ─▶ outputs · summary · commands
//! ```
//!
//! `given` is read once; `inputs` and `event` are checked before any request; `what` derives the task of a step and `who` its reviewer;
//! `step` performs it; `gate` determines the exit code (the table in `docs/gate.md`). Reviewing and posting belong elsewhere in `app`.
//! Main function: [`run_action`].

mod commands;
mod error;
mod event;
mod gate;
mod inputs;
mod outputs;
mod reviewer;
mod step;
mod task;
mod variables;

pub use commands::mask;
pub use error::ActionError;
pub use gate::{Kind, StepVerdict};
pub use outputs::OUTPUTS;
pub use step::{ActionResult, run_action};
pub use variables::{ActionVariables, INPUTS, Input, TOKEN};
