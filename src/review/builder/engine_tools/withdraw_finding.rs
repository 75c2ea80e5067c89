//! `withdraw_finding`: withdraws a finding, or a rejected report.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::ReaderText;
use super::values;
use super::{EngineCall, EngineTool};
use crate::tools::{ToolFault, input};

pub(super) const TOOL: EngineTool = EngineTool {
    name: "withdraw_finding",
    description: "Takes back a finding (F1, F2, …) that turned out to be wrong, or a report that was not accepted (W1, W2, …) and that you will not correct.",
    schema: input::schema::<Input>,
    read,
};

/// What to take back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that `report_finding` answered.
    #[serde(deserialize_with = "values::id")]
    id: String,
    /// Why, one sentence.
    reason: String,
}

fn read(input: Value) -> Result<EngineCall, ToolFault> {
    let input: Input = input::parse(input)?;
    ReaderText { field: "reason", text: &input.reason }.sentence(&mut Vec::new())?;
    Ok(EngineCall::Withdraw { id: input.id })
}
