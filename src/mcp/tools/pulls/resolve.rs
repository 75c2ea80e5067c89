//! `pr_resolve`: marks a remark as resolved.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PullToolFault, PullToolScope, begin_fields, output, read, reads, run, schema};
use crate::app::ResolvedBy;
use crate::mcp::tool::{McpTool, McpToolCall, McpToolResult, ToolHints};

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Pull),
        output: |_| output_schema(),
        hints: |offer| if offer.allow_write { ToolHints::Settles } else { ToolHints::Asks },
        ..reads(
            "pr_resolve",
            "Resolve a remark",
            "Calls a remark of pr_list resolved on the forge. Only where the server was started with --allow-write.",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// The remark to resolve.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    /// Id of a remark, or of a thread as a whole.
    #[serde(alias = "id")]
    thread_id: String,
}

fn output_schema() -> Value {
    let fields = json!({
        "success": { "type": "boolean" },
        "id": { "type": "string" },
        "resolved": { "type": "boolean" },
        "already": { "type": "boolean", "description": "It was resolved before; nothing was changed." },
        "by": { "type": "string", "enum": ["thread", "state comment", "tracker comment"], "description": "What says so on the forge." },
        "note": { "type": "string" },
    });
    output(PullToolScope::Pull, fields, &["success", "id", "resolved", "already", "by"])
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, input) = read::<Input>(call.input, PullToolScope::Pull)?;
    let id = call.service.resolve_pull(&named).await?;
    let done = call.service.resolve_remark(&id, input.thread_id.trim()).await?;
    let by = match done.by {
        ResolvedBy::Thread => "thread",
        ResolvedBy::StateComment => "state comment",
        ResolvedBy::Tracker => "tracker comment",
    };
    let mut fields = begin_fields(&id);
    let own = json!({ "success": true, "id": done.id, "resolved": true, "already": done.already, "by": by });
    if let Value::Object(own) = own {
        fields.extend(own);
    }
    if let Some(note) = done.note {
        fields.insert("note".to_owned(), note.into());
    }
    Ok(McpToolResult::of(fields.into()))
}
