//! Shared fields of tool responses, and their schema. Main type: [`ToolAnswer`].
//!
//! Each tool builds its response from a struct, and the schema is generated from the same struct, so that the two cannot differ.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use super::input;

/// A tool's own fields, and those that every answer may have.
#[derive(Serialize, JsonSchema)]
pub(super) struct ToolAnswer<T> {
    #[serde(flatten)]
    pub(super) own: T,
    /// Remarks: what is not shown, masked or done differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) note: Option<String>,
    /// The call that goes on where this answer ends; missing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NextCall")]
    pub(super) next: Option<NextCall>,
}

/// A call to make.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NextCall {
    /// The tool.
    pub tool: &'static str,
    /// Its whole input.
    #[schemars(with = "Map<String, Value>")]
    pub input: Value,
}

/// First word of the last line of a response that has a next call.
const NEXT: &str = "Next: ";

impl NextCall {
    /// Returns the line of a response that names the call.
    pub(super) fn line(&self) -> String {
        format!("{NEXT}{} {}", self.tool, self.input)
    }
}

/// Returns the text of a response whose last line names another input of the next call.
pub(crate) fn with_next_input(text: &str, input: &Value) -> String {
    let Some(at) = text.rfind(&format!("\n{NEXT}")) else { return text.to_owned() };
    let tool = text[at + 1 + NEXT.len()..].split(' ').next().unwrap_or_default();
    format!("{}\n{NEXT}{tool} {input}\n", &text[..at])
}

/// Returns the self-contained schema of a response with these fields of its own.
pub(super) fn schema<T: JsonSchema>() -> Value {
    input::schema_by::<ToolAnswer<T>>(SchemaSettings::draft2020_12().for_serialize(), true)
}

/// Returns a struct's fields, in order.
pub(super) fn fields(answer: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(answer) {
        Ok(Value::Object(fields)) => fields,
        // Only maps with odd keys cannot be serialized, and only structs are passed here.
        _ => Map::new(),
    }
}
