//! `pr_changes`: the changes on a pull request since the last call.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PullToolFault, PullToolScope, begin_fields, links, next, next_schema, output, read, reads, run, schema};
use crate::app::{PullUpdates, RemarkChange};
use crate::domain::forge::PullId;
use crate::mcp::answer_size;
use crate::mcp::pull_json;
use crate::mcp::tool::{McpTool, McpToolCall, McpToolResult};
use crate::tools::input;

const NAME: &str = "pr_changes";
/// Default number of listed changes.
const MANY: u32 = 50;
/// Maximum number of listed changes.
const MOST: u32 = 100;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Pull),
        output: |_| output_schema(),
        ..reads(
            NAME,
            "News of a pull request",
            "Lists remarks that are new, answered, resolved, reopened or changed since the call that gave the cursor; without one, all.",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// The start of the listed changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// From the answer before.
    #[serde(default, deserialize_with = "input::text")]
    cursor: Option<String>,
    /// Default: 50; at most 100.
    #[serde(default, deserialize_with = "input::number")]
    max: Option<u32>,
}

fn output_schema() -> Value {
    let mut item = pull_json::item_schema();
    item["properties"]["change"] = json!({ "type": "string", "enum": ["new", "changed"] });
    item["properties"]["replies"] = json!({ "type": "integer" });
    let fields = json!({
        "total": { "type": "integer", "description": "How many are new or changed." },
        "comments": { "type": "array", "items": item },
        "gone": { "type": "array", "items": { "type": "string" }, "description": "Remarks that are not there any more." },
        "hasMore": { "type": "boolean" },
        "cursor": { "type": "string", "description": "For the next call: it knows what was shown." },
        "restarted": { "type": "boolean", "description": "The cursor was not known; everything counts as new." },
        "next": next_schema(),
        "note": { "type": "string" },
    });
    output(PullToolScope::Pull, fields, &["total", "comments", "hasMore", "cursor"])
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, input) = read::<Input>(call.input, PullToolScope::Pull)?;
    let id = call.service.resolve_pull(&named).await?;
    let mut max = input.max.unwrap_or(MANY).clamp(1, MOST);
    loop {
        let since = call.service.pull_since(&id, input.cursor.as_deref(), max as usize).await?;
        let answer = render(&id, &since, input.max);
        // The cursor knows what was shown: a smaller answer is another one.
        if max == 1 || answer_size::size(&answer) <= call.room {
            return Ok(answer);
        }
        max /= 2;
    }
}

fn render(id: &PullId, since: &PullUpdates, max: Option<u32>) -> McpToolResult {
    let item = |(at, news): &(usize, RemarkChange)| {
        let remark = since.read.remarks.get(*at)?;
        let mut item = pull_json::item(remark);
        let change = match news {
            RemarkChange::New => "new",
            RemarkChange::Changed => "changed",
        };
        item.insert("change".to_owned(), change.into());
        let replies = since.read.thread_of(remark).map_or(0, |thread| thread.comments.len().saturating_sub(1));
        item.insert("replies".to_owned(), replies.into());
        Some(Value::from(item))
    };
    let shown: Vec<Value> = since.remarks.iter().filter_map(item).collect();
    let more = shown.len() < since.total;
    let mut fields = begin_fields(id);
    fields.insert("total".to_owned(), since.total.into());
    fields.insert("comments".to_owned(), shown.into());
    if !since.gone.is_empty() {
        fields.insert("gone".to_owned(), since.gone.clone().into());
    }
    fields.insert("hasMore".to_owned(), more.into());
    fields.insert("cursor".to_owned(), since.cursor.clone().into());
    if since.restarted {
        fields.insert("restarted".to_owned(), true.into());
    }
    if more {
        fields.insert("next".to_owned(), next(NAME, id, json!({ "cursor": since.cursor, "max": max })));
    }
    let restarted = since.restarted.then(|| "The cursor is not known any more: everything counts as new.".to_owned());
    let notes: Vec<String> = restarted.into_iter().chain(since.notes.iter().cloned()).collect();
    if !notes.is_empty() {
        fields.insert("note".to_owned(), notes.join(" ").into());
    }
    McpToolResult { links: links(id), ..McpToolResult::of(fields.into()) }
}
