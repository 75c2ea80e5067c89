//! Tools about pull requests: one file each, and their rows. They are offered if `--tools` names them, or `pr`.
//!
//! Shared here: naming the pull request, and reporting failures. Clients know the fields of the results (`pull_json`).

mod changes;
mod get;
mod list;
mod list_prs;
mod resolve;
mod summary;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::app::{NamedPull, PullFault};
use crate::domain::forge::PullId;
use crate::mcp::resources::pull_uri;
use crate::mcp::tool::{McpLink, McpTool, McpToolCall, McpToolResult, ToolHints, UNTRUSTED};
use crate::mcp::{pull_json, sanitize};
use crate::tools::{FIELDS, ToolFault, input};

/// The word in `--tools` that offers all of them.
pub(in crate::mcp) const GROUP: &str = "pr";

/// Characters of an answer that are left for the cursor, the next call and the notes.
const RESERVE: usize = 4_000;

/// Returns the rows.
pub(super) fn rows() -> impl Iterator<Item = McpTool> {
    [summary::tool(), list::tool(), get::tool(), changes::tool(), list_prs::tool(), resolve::tool()].into_iter()
}

/// Builds the row of a tool that only reads.
fn reads(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    call: fn(McpToolCall) -> BoxFuture<'static, McpToolResult>,
) -> McpTool {
    McpTool {
        name,
        title,
        description: description.into(),
        input: |_, _| Value::Null,
        output: |_| Value::Null,
        hints: |_| ToolHints::Asks,
        alias_of: None,
        is_first: false,
        by_default: false,
        group: Some(GROUP),
        call,
    }
}

/// Reasons why a call did nothing.
#[derive(Debug, thiserror::Error)]
enum PullToolFault {
    #[error(transparent)]
    Input(#[from] ToolFault),
    #[error(transparent)]
    Pull(#[from] PullFault),
}

/// The object of a tool: one pull request, or a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PullToolScope {
    Pull,
    Repo,
}

/// Returns the schema of an input: the tool's own fields after those that name the pull request.
fn schema<T: JsonSchema>(about: PullToolScope) -> Value {
    let mut schema = input::schema::<T>();
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut fields = Map::new();
    fields.insert("owner".to_owned(), text("Default: from the folder's remote."));
    fields.insert("repo".to_owned(), text("Name on the forge. Default: likewise."));
    if about == PullToolScope::Pull {
        fields.insert("pr".to_owned(), text("Number, owner/repo#number or URL."));
        let required = schema.get_mut("required").and_then(Value::as_array_mut);
        match required {
            Some(required) => required.insert(0, "pr".into()),
            None => schema["required"] = json!(["pr"]),
        }
    }
    if let Some(own) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.extend(std::mem::take(own));
        *own = fields;
    } else {
        schema["properties"] = fields.into();
    }
    schema
}

/// Splits an input into the named pull request and the tool's own fields.
fn read<T: DeserializeOwned + JsonSchema>(
    mut input: Map<String, Value>,
    about: PullToolScope,
) -> Result<(NamedPull, T), PullToolFault> {
    let mut text = |name: &str| match input.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
        // Most callers name a pull request by a number.
        Some(Value::Number(number)) if name == "pr" => Ok(Some(number.to_string())),
        Some(other) => Err(ToolFault::new(
            crate::tools::ErrorKind::InvalidInput,
            format!("invalid input: `{name}`: {other} is not a string"),
        )),
    };
    let (owner, repo) = (text("owner")?, text("repo")?);
    let pr = if about == PullToolScope::Pull { text("pr")? } else { None };
    let own = input::parse(Value::Object(input)).map_err(|mut fault| {
        // The error lists the tool's own fields; these belong to them as well.
        if let Some(at) = fault.message.find(FIELDS) {
            let more = if about == PullToolScope::Pull { "owner, repo, pr, " } else { "owner, repo, " };
            fault.message.insert_str(at + FIELDS.len(), more);
        }
        fault
    })?;
    Ok((NamedPull { owner, repo, pr }, own))
}

/// Runs a tool; it is stopped if the caller stops waiting.
fn run(
    call: McpToolCall,
    answer: impl AsyncFnOnce(McpToolCall) -> Result<McpToolResult, PullToolFault> + Send + 'static,
) -> impl Future<Output = McpToolResult> {
    let cancelled = call.cancelled.clone();
    async move {
        tokio::select! {
            answered = answer(call) => answered.unwrap_or_else(|fault| failed(&fault)),
            () = cancelled.cancelled() => McpToolResult::error("the call was cancelled"),
        }
    }
}

/// Builds a failure in the form that clients of such tools expect.
fn failed(fault: &PullToolFault) -> McpToolResult {
    let error = match fault {
        PullToolFault::Pull(fault) => pull_json::fault(fault),
        PullToolFault::Input(fault) => json!({
            "kind": fault.kind.word(), "message": fault.message, "retryable": false,
            "user_action": "call the tool again with other arguments", "correlation_id": null,
        }),
    };
    // Sanitized before it is serialized: the text is JSON, and its escapes would come back.
    McpToolResult::error_of(&sanitize::value(json!({ "success": false, "error": error })))
}

/// Returns the fields of every result about a pull request; the one that marks the others as untrusted comes first.
fn begin_fields(id: &PullId) -> Map<String, Value> {
    let (untrusted, pr) = (UNTRUSTED.into(), id.to_string().into());
    [("untrusted".to_owned(), untrusted), ("pr".to_owned(), pr)].into_iter().collect()
}

/// Returns the JSON Schema of a result with these fields after the common ones.
fn output(about: PullToolScope, fields: Value, required: &[&str]) -> Value {
    let mut properties = Map::new();
    let mark =
        json!({ "type": "string", "const": UNTRUSTED, "description": "What the texts of the other fields are." });
    properties.insert("untrusted".to_owned(), mark);
    let mut all = vec!["untrusted"];
    if about == PullToolScope::Pull {
        properties.insert("pr".to_owned(), json!({ "type": "string", "description": "owner/repo#number" }));
        all.push("pr");
    }
    if let Value::Object(fields) = fields {
        properties.extend(fields);
    }
    all.extend(required);
    json!({ "type": "object", "properties": properties, "required": all })
}

/// Returns the call for the next page: the same with another cursor.
fn next(tool: &str, id: &PullId, own: Value) -> Value {
    let mut input = json!({ "pr": id.to_string() });
    if let (Some(input), Value::Object(own)) = (input.as_object_mut(), own) {
        input.extend(own.into_iter().filter(|(_, value)| !value.is_null()));
    }
    json!({ "tool": tool, "input": input })
}

fn next_schema() -> Value {
    json!({ "type": "object", "description": "The call that goes on." })
}

/// Returns links to a pull request and its comments.
fn links(id: &PullId) -> Vec<McpLink> {
    let link = |uri: String, name: &str| McpLink { uri, name: name.to_owned(), mime: "application/json" };
    vec![link(pull_uri(id), "the pull request"), link(format!("{}/comments", pull_uri(id)), "what was said on it")]
}

#[cfg(test)]
mod tests;
