//! Source of builds. Main type: the trait [`BuildRunner`].
//!
//! Which tools may run, and on which files, belongs in `app`; how they run, in `build`.

use super::fault::ToolFault;
use crate::domain::build::{BuildAnswer, BuildToolList, LogPage};
use crate::sys::cancel::Cancel;

/// Runs the project's tools for a model.
pub trait BuildRunner: Send + Sync {
    /// Lists the tools that may run here.
    fn list(&self) -> Result<BuildToolList, ToolFault>;
    /// Runs one in a folder of the repository, to its end or until `cancel` stops. The arguments stand behind its own.
    fn run(&self, tool: &str, folder: &str, arguments: &[String], cancel: &Cancel) -> Result<BuildAnswer, ToolFault>;
    /// Reads lines of the log of a run of this review.
    fn log(&self, run: &str, start: u32, count: u32) -> Result<LogPage, ToolFault>;
}
