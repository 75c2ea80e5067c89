//! `pr_list_prs`: the pull requests of a repository.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{PullToolFault, PullToolScope, RESERVE, next_schema, output, read, reads, run, schema};
use crate::domain::forge::{PullId, PullState};
use crate::mcp::answer_size;
use crate::mcp::pull_json;
use crate::mcp::resources::pull_uri;
use crate::mcp::tool::{McpTool, McpToolCall, McpToolResult, UNTRUSTED};
use crate::tools::{ErrorKind, ToolFault, input};

const NAME: &str = "pr_list_prs";
/// Default number of listed pull requests.
const MANY: u32 = 20;
/// Maximum number of listed pull requests.
const MOST: u32 = 100;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Repo),
        output: |_| output_schema(),
        ..reads(
            NAME,
            "Pull requests of a repository",
            "Lists the pull requests of a repository, newest first, with how many threads of each are unresolved.",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// The selection and number of pull requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// OPEN (default), CLOSED, MERGED or all.
    #[serde(default, deserialize_with = "input::text")]
    state: Option<String>,
    /// Default: 20; at most 100.
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<u32>,
    /// Default: 0.
    #[serde(default, deserialize_with = "input::number")]
    skip: Option<u32>,
}

fn output_schema() -> Value {
    let text = json!({ "type": "string" });
    let mut pull = pull_json::listed_schema();
    pull["properties"]["uri"] = text.clone();
    let fields = json!({
        "owner": text,
        "repo": text,
        "total": { "type": "integer", "description": "How many there are in that state." },
        "prs": { "type": "array", "items": pull },
        "hasMore": { "type": "boolean" },
        "next": next_schema(),
    });
    output(PullToolScope::Repo, fields, &["owner", "repo", "total", "prs", "hasMore"])
}

fn state(given: Option<&str>) -> Result<Option<PullState>, ToolFault> {
    let given = given.unwrap_or("OPEN").trim();
    let all = [PullState::Open, PullState::Closed, PullState::Merged];
    if given.eq_ignore_ascii_case("all") {
        return Ok(None);
    }
    all.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(given)).map(Some).ok_or_else(|| {
        let message = format!("`state` cannot be {given:?}; it takes OPEN, CLOSED, MERGED, all");
        ToolFault::new(ErrorKind::InvalidInput, message)
    })
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, input) = read::<Input>(call.input, PullToolScope::Repo)?;
    let state = state(input.state.as_deref())?;
    let limit = input.limit.unwrap_or(MANY).clamp(1, MOST) as usize;
    let repo = call.service.resolve_repo(&named).await?;
    let page = call.service.pulls_of(&repo, state).await?;
    let skip = input.skip.unwrap_or(0) as usize;
    let listed = page.pulls.iter().skip(skip).take(limit).map(|one| {
        let mut fields = pull_json::listed(one);
        fields["uri"] = pull_uri(&PullId { repo: repo.clone(), number: one.pull.id.number }).into();
        fields
    });
    let prs: Vec<Value> = listed.collect();
    let mut fields = Map::new();
    let own = [("untrusted", UNTRUSTED.into()), ("owner", repo.owner().into()), ("repo", repo.name().into())];
    let counted = [("total", page.total.into()), ("prs", Value::from(prs))];
    fields.extend(own.into_iter().chain(counted).map(|(name, value): (&str, Value)| (name.to_owned(), value)));
    let end = skip + answer_size::fit_list(&mut fields, "prs", call.room, RESERVE);
    fields.insert("hasMore".to_owned(), (end < page.total).into());
    // The forge lists the newest ones; those before them are no page of it.
    if end < page.pulls.len() {
        let next = json!({
            "owner": repo.owner(), "repo": repo.name(), "state": input.state, "limit": input.limit, "skip": end,
        });
        let given: Map<String, Value> = next
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        fields.insert("next".to_owned(), json!({ "tool": NAME, "input": given }));
    }
    Ok(McpToolResult::of(fields.into()))
}
