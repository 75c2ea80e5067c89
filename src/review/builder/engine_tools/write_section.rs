//! `write_section`: a longer titled part of the review.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::ReaderText;
use super::{EngineCall, EngineTool};
use crate::domain::review::ReviewSection;
use crate::tools::{ToolFault, input};

/// The longest body, in bytes.
const LONGEST: usize = 32 << 10;

pub(super) const TOOL: EngineTool = EngineTool {
    name: "write_section",
    description: "Writes a titled part of the review, such as a walk through the change or an account of one dimension. Not for defects: those are reported \
        with report_finding. A section with the same title is replaced.",
    schema: input::schema::<Input>,
    read,
};

/// The section.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Its heading, one line.
    title: String,
    /// Markdown.
    body: String,
}

fn read(input: Value) -> Result<EngineCall, ToolFault> {
    let input: Input = input::parse(input)?;
    let mut notes = Vec::new();
    let title = ReaderText { field: "title", text: &input.title }.title(&mut notes)?;
    let body = ReaderText { field: "body", text: &input.body }.block(LONGEST, &mut notes)?;
    Ok(EngineCall::Write { section: ReviewSection { title, body }, notes })
}
