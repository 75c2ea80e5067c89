//! `review action`: a step of a GitHub workflow. The Action itself only installs the program; every decision is made here.
//!
//! ```text
//! environment ─▶ given ─▶ inputs ─┐
//! payload ─────▶ event ───────────┴▶ what ─▶ who ─▶ step ─▶ gate ─▶ outputs · summary · commands
//! ```
//!
//! `given` is read once; `inputs` and `event` are checked before anybody is asked; `what` decides what a step is about and `who` who
//! reviews; `step` does it; `gate` says how it ends (the table in `docs/gate.md`). What a review is, and how it is posted, is decided
//! elsewhere in `app`. Main function: [`act`].

mod commands;
mod error;
mod event;
mod gate;
mod given;
mod inputs;
mod outputs;
mod step;
mod summary;
mod what;
mod who;

pub use commands::mask;
pub use error::ActionError;
pub use gate::{Kind, Verdict};
pub use given::{Given, INPUTS, Input, TOKEN};
pub use outputs::OUTPUTS;
pub use step::{Acted, act};
