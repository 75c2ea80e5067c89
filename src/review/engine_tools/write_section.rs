//! `write_section`: a longer titled part of the review.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::ReaderText;
use super::{CallEnvironment, CallRefusal, EngineTool};
use crate::domain::review::ReviewSection;
use crate::review::builder::{EngineToolResponse, ReviewBuilder};
use crate::tools::input;

/// The longest body, in bytes.
const LONGEST: usize = 32 << 10;

pub(super) const TOOL: EngineTool = EngineTool {
    name: "write_section",
    description: "Writes a titled part of the review, such as a walk through the change or an account of one dimension. Not for defects: those are reported \
        with report_finding. A section with the same title is replaced.",
    schema: input::schema::<Input>,
    call,
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

fn call(builder: &mut ReviewBuilder, input: Value, _: &CallEnvironment<'_>) -> Result<EngineToolResponse, CallRefusal> {
    let input: Input = input::parse(input)?;
    let mut notes = Vec::new();
    let title = ReaderText { field: "title", text: &input.title }.title(&mut notes)?;
    let body = ReaderText { field: "body", text: &input.body }.block(LONGEST, &mut notes)?;
    Ok(builder.write(ReviewSection { title, body }, &notes)?)
}
