//! Tools that a model may call: one file per tool, and the table [`TOOLS`].
//!
//! Main types: [`Toolbox`] (calls a tool by name), [`ToolContext`] (what the tools read), [`ToolOutcome`] (the response). The engine, other agents
//! and `review tool` share this code. Reading trees belongs in `workspace`.
//!
//! To add a tool: one file with its input, its schema and its `call`, and one line in the table.

mod answer;
mod build;
mod build_runner;
mod checkout;
mod diff_source;
mod fault;
pub(crate) mod input;
mod list_files;
mod outcome;
mod output_room;
mod paths;
mod range;
mod read_diff;
mod read_file_part;
mod search_in_files;
mod toolbox;

pub use answer::NextCall;
pub(crate) use answer::with_next_input;
pub use build::{BuildProof, NAME as BUILD, read_proof};
pub use build_runner::BuildRunner;
pub use checkout::{Checkout, NotAtHead, Uncommitted};
pub use diff_source::{DiffError, DiffPart, DiffPlace, DiffSource};
pub use fault::{ErrorKind, ToolFault};
pub(crate) use input::FIELDS;
pub use outcome::{HunkPart, ShownLines, ToolOutcome, ToolReply, Truncation};
pub use toolbox::{ToolContext, ToolLimits, Toolbox};

/// Definition of a tool for models.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Purpose of the tool, when to use it, and what it returns. Clients pay for each word on every turn, so it does not repeat the schemas.
    pub description: &'static str,
    /// The JSON Schema of its input.
    pub schema: fn() -> serde_json::Value,
    /// JSON Schema of a successful response.
    pub answer: fn() -> serde_json::Value,
    /// Returns what a call with this input reads.
    pub looks: fn(&serde_json::Value) -> TreeNeeds,
    /// Runs it.
    pub call: fn(&ToolContext, serde_json::Value) -> Result<ToolReply, ToolFault>,
}

/// Data that a call reads, so that nothing else is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNeeds {
    /// Only the tree after the change.
    AtTree,
    /// Likewise; and if a file is missing, the change says where it was moved.
    AtTreeFirst,
    /// The change and both of its sides.
    AtChange,
}

/// All tools that only read.
pub const TOOLS: &[ToolSpec] = &[read_file_part::SPEC, search_in_files::SPEC, list_files::SPEC, read_diff::SPEC];

/// The tool that runs the project's own: offered where the user allows it.
const BUILD_TOOL: &ToolSpec = &build::SPEC;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_what_models_were_told() {
        for tool in TOOLS {
            insta::assert_json_snapshot!(tool.name, (tool.schema)());
        }
    }

    #[test]
    fn answers_are_described() {
        for tool in TOOLS {
            insta::assert_json_snapshot!(format!("{}_answer", tool.name), (tool.answer)());
        }
    }

    #[test]
    fn every_field_of_an_answer_says_what_it_is() {
        fn hold(tool: &str, schema: &serde_json::Value) {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                assert!(field["description"].is_string(), "{tool}: {name}");
                hold(tool, field);
                hold(tool, &field["items"]);
            }
        }
        for tool in TOOLS {
            hold(tool.name, &(tool.answer)());
        }
    }
}
