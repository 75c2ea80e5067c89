//! What a model may call: one file per tool, and the table [`TOOLS`].
//!
//! Main types: [`ToolBox`] (calls a tool by name), [`ToolContext`] (what the tools look at), [`ToolOutcome`] (what comes back). The same
//! code stands behind the engine, behind other agents and behind `review tool`. How a tree is read belongs in `workspace`.
//!
//! To add a tool: one file with its input, its schema and its `call`, and one line in the table.

mod diff_source;
mod fault;
mod fit;
pub(crate) mod input;
mod list_files;
mod outcome;
mod read_diff;
mod read_file_part;
mod search_in_files;
mod toolbox;

pub use diff_source::{DiffError, DiffPart, DiffPlace, DiffSource};
pub use fault::{ErrorKind, ToolFault};
pub use outcome::{Cut, HunkPart, NextCall, Reference, Reply, ToolOutcome};
pub use toolbox::{Limits, ToolBox, ToolContext};

/// A tool as a model is told of it.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does, when to use it, and what it answers.
    pub description: &'static str,
    /// The JSON Schema of its input.
    pub schema: fn() -> serde_json::Value,
    /// Runs it.
    pub call: fn(&ToolContext, serde_json::Value) -> Result<Reply, ToolFault>,
}

/// All tools that only read.
pub const TOOLS: &[ToolSpec] = &[read_file_part::SPEC, search_in_files::SPEC, list_files::SPEC, read_diff::SPEC];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_what_models_were_told() {
        for tool in TOOLS {
            insta::assert_json_snapshot!(tool.name, (tool.schema)());
        }
    }
}
