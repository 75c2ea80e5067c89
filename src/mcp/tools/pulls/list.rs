//! `pr_list`: the remarks on a pull request, in one line each.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{
    PullToolFault, PullToolScope, RESERVE, begin_fields, links, next, next_schema, output, read, reads, run, schema,
};
use crate::app::PullView;
use crate::domain::forge::{PullId, Remark, RemarkSeverity, Source};
use crate::mcp::answer_size;
use crate::mcp::pull_json;
use crate::mcp::tool::{McpTool, McpToolCall, McpToolResult};
use crate::tools::{ErrorKind, ToolFault, input};

const NAME: &str = "pr_list";
/// Default number of listed remarks.
const MANY: u32 = 20;
/// Maximum number of listed remarks.
const MOST: u32 = 100;

/// The row of the table.
pub(super) fn tool() -> McpTool {
    McpTool {
        input: |_, _| schema::<Input>(PullToolScope::Pull),
        output: |_| output_schema(),
        ..reads(
            NAME,
            "Remarks on a pull request",
            "Lists the remarks on a pull request in a line each: threads, and the lists that review bots keep. pr_get shows one whole.",
            |call| Box::pin(run(call, answer)),
        )
    }
}

/// The selection and number of remarks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Only those that fit all of it.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "RemarkFilterInput")]
    filter: RemarkFilterInput,
    /// Default: 20; at most 100.
    #[serde(default, deserialize_with = "input::number")]
    max: Option<u32>,
    /// From the answer before.
    #[serde(default, deserialize_with = "input::text")]
    cursor: Option<String>,
}

/// A filter of remarks.
#[derive(Debug, Default, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RemarkFilterInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<bool>,
    /// Part of the path.
    #[serde(deserialize_with = "input::text", skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Login.
    #[serde(deserialize_with = "input::text", skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// CRIT, MAJOR, MINOR, ISSUE, REFACTOR, NITPICK, TRIVIAL, DOCS or N/A.
    #[serde(deserialize_with = "input::text", skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    /// coderabbit, gemini, codex, copilot, sourcery, qodo, greptile, review or unknown.
    #[serde(deserialize_with = "input::text", skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// Deserializes a filter; `null` is no filter.
fn filter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RemarkFilterInput, D::Error> {
    Ok(Option::<RemarkFilterInput>::deserialize(deserializer)?.unwrap_or_default())
}

/// A parsed filter.
struct RemarkFilter {
    filter: RemarkFilterInput,
    severity: Option<RemarkSeverity>,
    source: Option<Source>,
}

fn word<T: Copy>(
    given: Option<&String>,
    field: &str,
    all: &[T],
    word: fn(T) -> &'static str,
) -> Result<Option<T>, ToolFault> {
    let Some(given) = given else { return Ok(None) };
    let found = all.iter().copied().find(|one| word(*one).eq_ignore_ascii_case(given.trim()));
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| word(*one)).collect();
        let message = format!("`{field}` cannot be {given:?}; it takes {}", known.join(", "));
        ToolFault::new(ErrorKind::InvalidInput, message)
    })
}

impl RemarkFilter {
    fn of(filter: RemarkFilterInput) -> Result<Self, ToolFault> {
        let severity = word(filter.severity.as_ref(), "severity", RemarkSeverity::ALL, RemarkSeverity::word)?;
        let source = word(filter.source.as_ref(), "source", Source::ALL, Source::word)?;
        Ok(Self { filter, severity, source })
    }

    fn matches(&self, remark: &Remark) -> bool {
        let RemarkFilterInput { resolved, outdated, file, author, .. } = &self.filter;
        let in_file =
            |part: &String| remark.path.as_ref().is_some_and(|path| path.display_name().contains(part.trim()));
        // One of the forge's two interfaces appends `[bot]` to the name of an app, and people write `@` before one.
        let plain = |name: &str| name.trim().trim_start_matches('@').trim_end_matches("[bot]").to_ascii_lowercase();
        let by = |author: &String| remark.author.as_ref().is_some_and(|login| plain(login) == plain(author));
        resolved.is_none_or(|resolved| remark.is_resolved == resolved)
            && outdated.is_none_or(|outdated| remark.is_outdated == outdated)
            && file.as_ref().is_none_or(in_file)
            && author.as_ref().is_none_or(by)
            && self.severity.is_none_or(|severity| remark.severity == severity)
            && self.source.is_none_or(|source| remark.source == source)
    }
}

fn output_schema() -> Value {
    let fields = json!({
        "total": { "type": "integer", "description": "How many fit the filter." },
        "comments": { "type": "array", "items": pull_json::item_schema() },
        "hasMore": { "type": "boolean" },
        "cursor": { "type": "string", "description": "Where the next answer begins." },
        "next": next_schema(),
        "note": { "type": "string" },
    });
    output(PullToolScope::Pull, fields, &["total", "comments", "hasMore"])
}

async fn answer(call: McpToolCall) -> Result<McpToolResult, PullToolFault> {
    let (named, input) = read::<Input>(call.input, PullToolScope::Pull)?;
    let wanted = RemarkFilter::of(input.filter.clone())?;
    let id = call.service.resolve_pull(&named).await?;
    let read = call.service.pull(&id).await?;
    Ok(render(&id, &read, &input, &wanted, call.room))
}

/// Filters first, then cuts: a result is short only if nothing more fits.
fn render(id: &PullId, read: &PullView, input: &Input, wanted: &RemarkFilter, room: usize) -> McpToolResult {
    let max = input.max.unwrap_or(MANY).clamp(1, MOST) as usize;
    // A cursor is the last remark that was shown, so remarks that are resolved meanwhile move nothing.
    let from = input.cursor.as_deref().map(|cursor| read.remarks.iter().position(|remark| remark.id == cursor));
    let lost = from == Some(None);
    let from = from.flatten().map_or(0, |last| last + 1);
    let total = read.remarks.iter().filter(|remark| wanted.matches(remark)).count();
    let mut rest = read.remarks.iter().skip(from).filter(|remark| wanted.matches(remark)).peekable();
    let mut page: Vec<&Remark> = rest.by_ref().take(max).collect();
    let mut more = rest.peek().is_some();
    let mut fields = begin_fields(id);
    fields.insert("total".to_owned(), total.into());
    fields.insert("comments".to_owned(), page.iter().map(|remark| Value::from(pull_json::item(remark))).collect());
    let count = answer_size::fit_list(&mut fields, "comments", room, RESERVE);
    more |= count < page.len();
    page.truncate(count);
    fields.insert("hasMore".to_owned(), more.into());
    if let Some(last) = page.last().filter(|_| more) {
        fields.insert("cursor".to_owned(), last.id.clone().into());
        let filter = json!(input.filter);
        let filter = if filter == json!({}) { Value::Null } else { filter };
        let own = json!({ "filter": filter, "max": input.max, "cursor": last.id });
        fields.insert("next".to_owned(), next(NAME, id, own));
    }
    let lost = lost.then(|| "What the cursor stood at is gone: this is the beginning again.".to_owned());
    let notes: Vec<String> = lost.into_iter().chain(pull_json::notes(read)).collect();
    if !notes.is_empty() {
        fields.insert("note".to_owned(), notes.join(" ").into());
    }
    McpToolResult { links: links(id), ..McpToolResult::of(fields.into()) }
}
