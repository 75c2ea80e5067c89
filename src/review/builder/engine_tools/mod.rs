//! Tools with which a model changes the review: one file per tool, and the table [`ENGINE_TOOLS`].
//!
//! A tool reads its input and describes errors in it; the builder decides what follows. Tools that only read the change belong in
//! [`tools`](crate::tools).
//!
//! To add a tool: one file with its input and its `read`, one line in the table, and a variant of [`EngineCall`].

mod finish_review;
mod refute_lead;
mod report_finding;
mod text;
mod values;
mod withdraw_finding;
mod write_section;

use serde_json::Value;

use crate::domain::review::ReviewSection;
use crate::tools::ToolFault;

/// Definition of a tool for models.
pub(in crate::review) struct EngineTool {
    pub(in crate::review) name: &'static str,
    pub(in crate::review) description: &'static str,
    pub(in crate::review) schema: fn() -> Value,
    pub(in crate::review) read: fn(Value) -> Result<EngineCall, ToolFault>,
}

/// A call that could be read.
#[derive(Debug)]
pub(in crate::review) enum EngineCall {
    Report(FindingReport),
    /// An unreadable report is still a claim: it stays open until it is repeated.
    UnreadableReport(UnreadableReport),
    Withdraw {
        id: String,
    },
    Refute {
        id: String,
        reason: String,
        notes: Vec<String>,
    },
    Write {
        section: ReviewSection,
        notes: Vec<String>,
    },
    Finish(Closing),
}

pub(in crate::review) use finish_review::{Closing, NAME as FINISH};
pub(in crate::review) use report_finding::{BUILD_RUN, FindingReport, NAME as REPORT, UnreadableReport};
pub(in crate::review) use text::ReaderText;
pub(in crate::review) use values::{StatedConfidence, severity as read_severity, stated_confidence};

/// Message about a call in the text without an end.
pub(in crate::review) const NO_END: &str = "the call has no line `@@end`, so it was not made: write it again, whole";

pub(in crate::review) fn is_engine_tool(name: &str) -> bool {
    ENGINE_TOOLS.iter().any(|tool| tool.name == name)
}

pub(in crate::review) const ENGINE_TOOLS: &[EngineTool] =
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
