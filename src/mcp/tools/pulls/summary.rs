//! `pr_summary`: counts of the remarks on a pull request.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PullToolFault, PullToolScope, begin_fields, links, output, read, reads, run, schema};
use crate::mcp::pull_json;
use crate::mcp::tool::{McpTool, McpToolCall, McpToolResult};

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Pull),
        output: |_| output_schema(),
        ..reads(
            "pr_summary",
            "Summary of a pull request",
            "Counts the remarks on a pull request, of people and of review bots: resolved, unresolved, by severity and by file.",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// No fields of its own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

fn output_schema() -> Value {
    let count = json!({ "type": "integer" });
    let counts =
        |description: &str| json!({ "type": "object", "additionalProperties": count, "description": description });
    let fields = json!({
        "title": { "type": "string" },
        "state": { "type": "string", "enum": ["OPEN", "CLOSED", "MERGED"] },
        "total": { "type": "integer", "description": "Resolved and unresolved." },
        "resolved": count,
        "unresolved": count,
        "outdated": { "type": "integer", "description": "Those whose lines changed since, resolved or not." },
        "bySeverity": counts("Unresolved ones."),
        "byFile": counts("Unresolved ones; `general` where they name no file."),
        "nitpicks": { "type": "object", "properties": { "total": count, "resolved": count, "unresolved": count } },
        "note": { "type": "string" },
    });
    let required = ["title", "state", "total", "resolved", "unresolved", "outdated", "bySeverity", "byFile"];
    output(PullToolScope::Pull, fields, &required)
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, Input {}) = read(call.input, PullToolScope::Pull)?;
    let id = call.service.resolve_pull(&named).await?;
    let read = call.service.pull(&id).await?;
    let mut fields = begin_fields(&id);
    fields.insert("title".to_owned(), read.pull.title.clone().into());
    fields.insert("state".to_owned(), read.pull.state.as_str().into());
    if let Value::Object(summary) = pull_json::summary(&read.summary) {
        fields.extend(summary);
    }
    if let Some(note) = pull_json::notes(&read) {
        fields.insert("note".to_owned(), note.into());
    }
    Ok(McpToolResult { links: links(&id), ..McpToolResult::of(fields.into()) })
}
