//! Tools with which a model changes the review: one file per tool, and the table [`ENGINE_TOOLS`].
//!
//! A tool parses its input and describes errors in it; its effect is implemented in `builder`. Tools that only read belong in [`tools`](crate::tools).
//!
//! To add a tool: one file with its input and its `call`, and one line in the table.

mod finish_review;
mod refute_lead;
mod report_finding;
mod text;
mod values;
mod withdraw_finding;
mod write_section;

use serde_json::Value;

use super::builder::{EngineToolResponse, ReviewBuilder};
use crate::sys::cancel::{Cancel, CancelReason};
use crate::tools::ToolFault;

/// Definition of a tool for models.
pub(super) struct EngineTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) call: fn(&mut ReviewBuilder, Value, &CallEnvironment<'_>) -> Result<EngineToolResponse, CallRefusal>,
}

/// Further context of a call.
pub(super) struct CallEnvironment<'a> {
    /// Number of reading calls in the same turn, whose results the model has not seen.
    pub(super) pending_reads: usize,
    pub(super) cancel: &'a Cancel,
}

/// Reasons why a call was not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallRefusal {
    /// The model must call it otherwise.
    #[error(transparent)]
    Fault(#[from] ToolFault),
    /// The run was stopped.
    #[error(transparent)]
    Stopped(#[from] CancelReason),
}

pub(super) use finish_review::NAME as FINISH;
pub(super) use report_finding::NAME as REPORT;
pub(super) use text::ReaderText;
pub(super) use values::{StatedConfidence, stated_confidence};

/// Message about a call in the text without an end.
pub(super) const NO_END: &str = "the call has no line `@@end`, so it was not made: write it again, whole";

/// Checks whether a tool is one of the engine's.
pub(super) fn is_engine_tool(name: &str) -> bool {
    ENGINE_TOOLS.iter().any(|tool| tool.name == name)
}

pub(super) const ENGINE_TOOLS: &[EngineTool] =
    &[report_finding::TOOL, withdraw_finding::TOOL, refute_lead::TOOL, write_section::TOOL, finish_review::TOOL];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_what_models_were_told() {
        for tool in ENGINE_TOOLS {
            insta::assert_json_snapshot!(tool.name, (tool.schema)());
        }
    }

    #[test]
    fn schemas_have_nothing_that_a_provider_refuses() {
        fn hold(name: &str, schema: &Value) {
            let Some(fields) = schema.as_object() else { return };
            for word in ["$ref", "$defs", "oneOf", "anyOf", "allOf", "const", "format", "not"] {
                assert!(!fields.contains_key(word), "{name}: {word} in {schema}");
            }
            assert!(fields["type"].is_string(), "{name}: {schema}");
            fields
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .for_each(|(_, inner)| hold(name, inner));
            fields.get("items").into_iter().for_each(|inner| hold(name, inner));
        }
        for tool in ENGINE_TOOLS {
            hold(tool.name, &(tool.schema)());
        }
    }
}
