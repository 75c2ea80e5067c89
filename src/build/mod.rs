//! The project's own builds, tests and linters: which there are, how one runs, what its output means. Main types: [`BuildRequest`],
//! [`EndedBuild`]; main function: [`run()`].
//!
//! ```text
//! tools, declared ─▶ execute (sandbox, environment, runs) ─▶ log ─▶ parsers ─▶ diagnostics (places)
//! ```
//!
//! Nothing here decides whether a tool may run: that is the user's word, in `app`. Children are started in `sys::process`.

pub mod declared;
pub mod environment;
pub mod execute;
pub mod log;
pub mod parsers;
pub mod places;
mod run;
pub mod runs;
mod toolchains;
pub mod tools;

pub use declared::ResolvedTool;
pub use run::{BuildFault, BuildRequest, EndedBuild, finds_program, run};
pub use runs::{BuildRuns, BuildRunsError};
