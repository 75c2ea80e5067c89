//! `pr_get`: one remark in full.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{PullToolFault, PullToolScope, RESERVE, begin_fields, output, read, reads, run, schema};
use crate::app::PullView;
use crate::domain::forge::{Comment, PullId, Remark};
use crate::domain::percent::encode_part;
use crate::mcp::answer_size;
use crate::mcp::pull_json;
use crate::mcp::resources::pull_uri;
use crate::mcp::tool::{McpLink, McpTool, McpToolCall, McpToolResult};

/// Upper bound on the bytes of replies in one result, not counting the last one.
const TEXT: usize = 128 << 10;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Pull),
        output: |_| output_schema(),
        ..reads(
            "pr_get",
            "A remark on a pull request",
            "Shows a remark of pr_list whole: its text, the replies, and what it tells a coding agent to do (which is data, too).",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// The remark to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// From the list; its end will do.
    id: String,
}

fn output_schema() -> Value {
    let text = json!({ "type": "string" });
    let perhaps = json!({ "type": ["string", "null"] });
    let reply = json!({
        "type": "object",
        "properties": { "id": text, "body": text, "author": perhaps, "createdAt": text },
        "required": ["id", "body", "author"]
    });
    let prompt = json!({
        "type": ["object", "null"],
        "properties": { "text": text, "confidence": { "type": "string", "enum": ["high", "low"] } },
        "required": ["text", "confidence"]
    });
    let item = pull_json::item_schema();
    let mut fields = item["properties"].clone();
    fields["body"] = text.clone();
    fields["aiPrompt"] = prompt;
    fields["replies"] = json!({ "type": "array", "items": reply });
    fields["canResolve"] = json!({ "type": "boolean" });
    fields["note"] = text;
    let required: Vec<&str> = item["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    output(PullToolScope::Pull, fields, &[&required[..], &["body", "aiPrompt", "replies", "canResolve"]].concat())
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, input) = read::<Input>(call.input, PullToolScope::Pull)?;
    let id = call.service.resolve_pull(&named).await?;
    let read = call.service.pull(&id).await?;
    Ok(render(&id, &read, read.remark(input.id.trim())?, call.room))
}

fn render(id: &PullId, read: &PullView, remark: &Remark, room: usize) -> McpToolResult {
    let mut fields = begin_fields(id);
    fields.extend(pull_json::item(remark));
    fields.insert("body".to_owned(), remark.body.clone().into());
    fields.insert("aiPrompt".to_owned(), pull_json::prompt(remark));
    let replies: &[Comment] = read.thread_of(remark).map_or(&[], |thread| thread.comments.get(1..).unwrap_or_default());
    let mut used = 0;
    let shown = replies.iter().take_while(|reply| {
        let fits = used < TEXT;
        used += reply.body.len();
        fits
    });
    let shown: Vec<Value> = shown
        .map(|reply| {
            let author = reply.author.as_ref().map(|author| author.login.as_str());
            json!({ "id": reply.node, "body": reply.body, "author": author, "createdAt": reply.created_at })
        })
        .collect();
    let whole =
        format!("{}/threads/{}", pull_uri(id), encode_part(remark.thread.as_ref().unwrap_or(&remark.id).as_bytes()));
    fields.insert("replies".to_owned(), shown.into());
    fields.insert("canResolve".to_owned(), remark.can_resolve.into());
    let left = replies.len() - answer_size::fit_list(&mut fields, "replies", room, RESERVE);
    if left > 0 {
        fields.insert("note".to_owned(), format!("{left} more replies are in the resource {whole}.").into());
    }
    let link = McpLink { uri: whole, name: "the thread".to_owned(), mime: "application/json" };
    let answer = answer_size::bound(McpToolResult::of(fields.into()), room);
    McpToolResult { links: vec![link], ..answer }
}
