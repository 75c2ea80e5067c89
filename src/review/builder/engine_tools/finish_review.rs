//! `finish_review`: the only clean end of a review.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::ReaderText;
use super::{EngineCall, EngineTool};
use crate::llm::is_refusal;
use crate::tools::{ErrorKind, ToolFault, input};

/// The longest summary, in bytes.
const LONGEST: usize = 16 << 10;

pub(in crate::review) const NAME: &str = "finish_review";

pub(super) const TOOL: EngineTool = EngineTool {
    name: NAME,
    description: "Ends the review. Call it when you have looked at everything, in the same answer as the last reports if there are any, but beside no call that reads: \
        the answer is that it was accepted, or what is still open (hunks that were never seen, leads without an answer, reports that were not accepted, findings that \
        may be one). No findings is a good result where there are none.",
    schema: input::schema::<Input>,
    read,
};

/// Closing words of the model.
#[derive(Debug)]
pub(in crate::review) struct Closing {
    pub(in crate::review) summary: Option<String>,
    pub(in crate::review) no_findings_reason: Option<String>,
    /// Remarks for the model besides the outcome.
    pub(in crate::review) notes: Vec<String>,
    /// Reasons why some of its words cannot be shown.
    pub(in crate::review) faults: Vec<String>,
}

/// The end.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Markdown, a few sentences: what the change does, and the verdict.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String", required)]
    summary: Option<String>,
    /// Where nothing was reported: what was looked at to be sure.
    #[serde(default, deserialize_with = "input::text")]
    no_findings_reason: Option<String>,
}

fn read(input: Value) -> Result<EngineCall, ToolFault> {
    let input: Input = input::parse(input)?;
    // A refusal is no summary of a change: accepted as one, it would pass for a review without findings.
    if input.summary.as_deref().is_some_and(is_refusal) {
        let message = "`summary` says that you will not do this. If you cannot review the change, stop without calling finish_review; otherwise say \
                       what the change does and what you found";
        return Err(ToolFault::new(ErrorKind::InvalidInput, message));
    }
    let mut notes = Vec::new();
    let mut faults = Vec::new();
    let mut block = |field, text: Option<String>| {
        let read = text.map(|text| ReaderText { field, text: &text }.block(LONGEST, &mut notes)).transpose();
        read.unwrap_or_else(|fault| {
            faults.push(fault.message);
            None
        })
    };
    let summary = block("summary", input.summary);
    let no_findings_reason = block("no_findings_reason", input.no_findings_reason);
    Ok(EngineCall::Finish(Closing { summary, no_findings_reason, notes, faults }))
}
