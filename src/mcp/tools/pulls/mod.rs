//! Tools about pull requests: one file each, and the rows. They are offered where `--tools` says `pr`, or names them.
//!
//! Here they say which pull request is meant, and how failures are told. The fields of their answers are those that clients know (`pull_json`).

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
use crate::mcp::tool::{Answer, Call, Hints, Link, Tool, UNTRUSTED};
use crate::mcp::{clean, pull_json};
use crate::tools::{FIELDS, ToolFault, input};

/// The word by which all of them are offered.
pub(in crate::mcp) const GROUP: &str = "pr";

/// The rows.
pub(super) fn rows() -> impl Iterator<Item = Tool> {
    [summary::tool(), list::tool(), get::tool(), changes::tool(), list_prs::tool(), resolve::tool()].into_iter()
}

/// A row that only reads.
fn reads(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    call: fn(Call) -> BoxFuture<'static, Answer>,
) -> Tool {
    Tool {
        name,
        title,
        description: description.into(),
        input: |_, _| Value::Null,
        output: |_| Value::Null,
        hints: |_| Hints::Asks,
        alias_of: None,
        by_default: false,
        group: Some(GROUP),
        call,
    }
}

/// Why a call did nothing.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Input(#[from] ToolFault),
    #[error(transparent)]
    Pull(#[from] PullFault),
}

/// Whether a tool is about one pull request, or about a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Pull,
    Repo,
}

/// The schema of an input: the tool's own fields behind those that say what it is about.
fn schema<T: JsonSchema>(about: About) -> Value {
    let mut schema = input::schema::<T>();
    let text = |description: &str| json!({ "type": "string", "description": description });
    let mut fields = Map::new();
    fields.insert("owner".to_owned(), text("Default: from the folder's remote."));
    fields.insert("repo".to_owned(), text("Name on the forge. Default: likewise."));
    if about == About::Pull {
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

/// What a tool is about, taken out of its input, and its own fields.
fn read<T: DeserializeOwned + JsonSchema>(
    mut input: Map<String, Value>,
    about: About,
) -> Result<(NamedPull, T), Fault> {
    let mut text = |name: &str| match input.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
        // A number is how most callers name a pull request.
        Some(Value::Number(number)) if name == "pr" => Ok(Some(number.to_string())),
        Some(other) => Err(ToolFault::new(
            crate::tools::ErrorKind::InvalidInput,
            format!("invalid input: `{name}`: {other} is not a string"),
        )),
    };
    let (owner, repo) = (text("owner")?, text("repo")?);
    let pr = if about == About::Pull { text("pr")? } else { None };
    let own = input::parse(Value::Object(input)).map_err(|mut fault| {
        // The error names the tool's own fields; these are fields of it as well.
        if let Some(at) = fault.message.find(FIELDS) {
            let more = if about == About::Pull { "owner, repo, pr, " } else { "owner, repo, " };
            fault.message.insert_str(at + FIELDS.len(), more);
        }
        fault
    })?;
    Ok((NamedPull { owner, repo, pr }, own))
}

/// Runs a tool; whoever gives up waiting for it stops it.
fn run(
    call: Call,
    answer: impl AsyncFnOnce(Call) -> Result<Answer, Fault> + Send + 'static,
) -> impl Future<Output = Answer> {
    let cancelled = call.cancelled.clone();
    async move {
        tokio::select! {
            answered = answer(call) => answered.unwrap_or_else(|fault| failed(&fault)),
            () = cancelled.cancelled() => Answer::error("the call was cancelled"),
        }
    }
}

/// A failure as programs that know such tools read it.
fn failed(fault: &Fault) -> Answer {
    let error = match fault {
        Fault::Pull(fault) => pull_json::fault(fault),
        Fault::Input(fault) => json!({
            "kind": fault.kind.word(), "message": fault.message, "retryable": false,
            "user_action": "call the tool again with other arguments", "correlation_id": null,
        }),
    };
    // Cleaned before it is written: the text is JSON, and what it escapes would come back.
    Answer::error_of(&clean::value(json!({ "success": false, "error": error })))
}

/// The fields that every answer about a pull request has; what the others are comes first.
fn begin(id: &PullId) -> Map<String, Value> {
    let (untrusted, pr) = (UNTRUSTED.into(), id.to_string().into());
    [("untrusted".to_owned(), untrusted), ("pr".to_owned(), pr)].into_iter().collect()
}

/// The JSON Schema of an answer with these fields behind those that every answer has.
fn output(about: About, fields: Value, required: &[&str]) -> Value {
    let mut properties = Map::new();
    let mark =
        json!({ "type": "string", "const": UNTRUSTED, "description": "What the texts of the other fields are." });
    properties.insert("untrusted".to_owned(), mark);
    let mut all = vec!["untrusted"];
    if about == About::Pull {
        properties.insert("pr".to_owned(), json!({ "type": "string", "description": "owner/repo#number" }));
        all.push("pr");
    }
    if let Value::Object(fields) = fields {
        properties.extend(fields);
    }
    all.extend(required);
    json!({ "type": "object", "properties": properties, "required": all })
}

/// The call that goes on: the same with another cursor.
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

/// Links to a pull request and to what was said on it.
fn links(id: &PullId) -> Vec<Link> {
    let link = |uri: String, name: &str| Link { uri, name: name.to_owned(), mime: "application/json" };
    vec![link(pull_uri(id), "the pull request"), link(format!("{}/comments", pull_uri(id)), "what was said on it")]
}

#[cfg(test)]
mod tests;
