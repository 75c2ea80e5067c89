//! `refute_lead`: refutes a lead of the rules.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::ReaderText;
use super::values;
use super::{EngineCall, EngineTool};
use crate::tools::{ToolFault, input};

pub(super) const TOOL: EngineTool = EngineTool {
    name: "refute_lead",
    description: "Says that a lead (L1, L2, …) is no defect here, and why. Look at the code first: the reason is shown to people. A lead that is a defect is \
        confirmed by report_finding with its id in `leads`; one of high severity or worse that is neither confirmed nor refuted is delivered as the rule found it.",
    schema: input::schema::<Input>,
    read,
};

/// Which lead.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The lead's id.
    #[serde(deserialize_with = "values::id")]
    id: String,
    /// What in the code shows that it is no defect, one sentence.
    reason: String,
}

fn read(input: Value) -> Result<EngineCall, ToolFault> {
    let input: Input = input::parse(input)?;
    let mut notes = Vec::new();
    let reason = ReaderText { field: "reason", text: &input.reason }.sentence(&mut notes)?;
    Ok(EngineCall::Refute { id: input.id, reason, notes })
}
