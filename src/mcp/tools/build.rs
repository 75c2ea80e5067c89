//! `build`: runs a build, tests or a linter of the project, and reads logs of its runs.
//!
//! Name, arguments and results are those of Buildvise's tool (seed 001), so that prompts written for it work here. It is not offered by
//! default: whoever starts the server with `--tools build` lets clients run programs of the repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::answer_size;
use super::super::tool::{CallProgress, McpTool, McpToolCall, McpToolResult, ToolHints};
use super::super::tool_selection::ToolSelection;
use crate::app::{self, BuildAsk, Cancel, Service};
use crate::domain::build::{BuildAnswer, BuildDiagnostic, EXECUTION_ERROR, INVALID_CWD, LogPage};
use crate::domain::text::count_noun;

const DESCRIPTION: &str = "Runs a build, tests or a linter of the project and returns its errors and warnings with their places, in place of the \
    log. list: the tools here. log: lines of a run's log, when the errors do not say enough. Tools that change files need confirmed: true.";

/// Characters of an answer that are left for the other fields, of which some come later.
const RESERVE: usize = 2_000;
/// The interval of progress messages, in lines.
const LINES: usize = 200;

pub(super) const TOOL: McpTool = McpTool {
    name: "build",
    title: "Build, test, lint",
    description: std::borrow::Cow::Borrowed(DESCRIPTION),
    input,
    output,
    hints: |_| ToolHints::Runs,
    alias_of: None,
    is_first: false,
    by_default: false,
    group: None,
    call,
};

fn input(_: &str, _: &ToolSelection) -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ["exec", "log", "list"] },
            "tool": { "type": "string", "description": "For exec, as listed" },
            "cwd": { "type": "string", "description": "For exec; default: the repository" },
            "args": { "type": "array", "items": { "type": "string" }, "description": "For exec: more arguments" },
            "confirmed": { "type": "boolean", "description": "For exec: the user agrees that files change" },
            "runId": { "type": "string", "description": "For log" },
            "startLine": { "type": "number", "description": "For log; default 1" },
            "lineCount": { "type": "number", "description": "For log; default 50, at most 500" },
        },
        "required": ["action"],
    })
}

fn output(_: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": { "type": "boolean" },
            "errors": { "type": "array", "items": { "$ref": "#/$defs/diagnostic" } },
            "warnings": { "type": "array", "items": { "$ref": "#/$defs/diagnostic" } },
            "runId": { "type": "string" },
            "summary": {
                "type": "object",
                "properties": {
                    "passed": { "type": "integer" },
                    "failed": { "type": "integer" },
                    "skipped": { "type": "integer" },
                    "total": { "type": "integer" },
                    "projectsBuildFailed": { "type": "integer" },
                },
            },
            "notes": { "type": "array", "items": { "type": "string" } },
            "hint": { "type": "string" },
            "lines": { "type": "array", "items": { "type": "string" } },
            "startLine": { "type": "integer" },
            "endLine": { "type": "integer" },
            "totalLines": { "type": "integer" },
            "hasMore": { "type": "boolean" },
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "name": { "type": "string" }, "description": { "type": "string" } },
                },
            },
            "error": { "type": "string" },
            "code": { "type": "string" },
        },
        "anyOf": [
            { "required": ["success", "runId"] },
            { "required": ["lines", "hasMore"] },
            { "required": ["tools"] },
            { "required": ["error"] },
        ],
        "$defs": {
            "diagnostic": {
                "type": "object",
                "properties": {
                    "message": { "type": "string" },
                    "file": { "type": "string" },
                    "line": { "type": "integer" },
                    "column": { "type": "integer" },
                    "code": { "type": "string" },
                },
                "required": ["message"],
            },
        },
    })
}

fn call(call: McpToolCall) -> BoxFuture<'static, McpToolResult> {
    Box::pin(async move {
        match call.input.get("action").and_then(Value::as_str) {
            Some("exec") => execute(call).await,
            Some(action @ ("log" | "list")) => {
                let read = if action == "log" { log } else { list };
                let work = move |service: &Arc<Service>| read(service, &call.input, call.room);
                let service = Arc::clone(&call.service);
                let answer = service.spawn_blocking("reading runs", work).await;
                answer.unwrap_or_else(|error| McpToolResult::error(error.to_string()))
            }
            _ => McpToolResult::error("Invalid arguments for tool build: action has to be exec, log or list"),
        }
    })
}

fn text(input: &Map<String, Value>, name: &str) -> Option<String> {
    input.get(name).and_then(Value::as_str).map(str::to_owned).filter(|text| !text.is_empty())
}

fn number(input: &Map<String, Value>, name: &str, default: i64) -> i64 {
    let given = input.get(name);
    #[expect(clippy::cast_possible_truncation, reason = "a number beyond is cut to the largest, and bounded later")]
    given.and_then(|value| value.as_i64().or_else(|| value.as_f64().map(|value| value as i64))).unwrap_or(default)
}

/// The JSON of an answer, as its fields and as its text.
fn result(value: &impl serde::Serialize) -> McpToolResult {
    serde_json::to_value(value).map_or_else(|error| McpToolResult::error(error.to_string()), McpToolResult::of)
}

fn missing(name: &str, action: &str) -> McpToolResult {
    McpToolResult::of(json!({ "error": format!("Missing required parameter '{name}' for {action} action") }))
}

/// The repository of a call, and the folder to run in; the error is the answer.
fn folders(service: &Service, cwd: Option<&str>) -> Result<(PathBuf, PathBuf), Box<McpToolResult>> {
    let refuse = |why: String| {
        let answer = BuildAnswer::failed("", BuildDiagnostic::of(INVALID_CWD, format!("Invalid cwd: {why}")));
        Box::new(result(&answer.with_hint()))
    };
    service.repository_of(cwd.map(Path::new)).map_err(|error| refuse(error.to_string()))
}

async fn execute(call: McpToolCall) -> McpToolResult {
    let Some(tool) = text(&call.input, "tool") else { return missing("tool", "exec") };
    let (root, directory) = match folders(&call.service, text(&call.input, "cwd").as_deref()) {
        Ok(folders) => folders,
        Err(answer) => return *answer,
    };
    let arguments = match call.input.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(given) => match serde_json::from_value::<Vec<String>>(given.clone()) {
            Ok(arguments) => arguments,
            Err(_) => return McpToolResult::error("Invalid arguments for tool build: args has to be a list of texts"),
        },
    };
    let ask = BuildAsk {
        tool,
        arguments,
        root,
        directory,
        is_confirmed: call.input.get("confirmed") == Some(&Value::Bool(true)),
        network: false,
        timeout: app::BUILD_TIMEOUT,
    };
    let (cancel, room) = (Cancel::never(), call.room);
    let (stop, progress, cancelled) = (cancel.clone(), call.progress.clone(), call.cancelled.clone());
    let running = app::run_build(ask, call.service.environment().clone(), cancel, count_lines(progress));
    tokio::pin!(running);
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = cancelled.cancelled() => {
            stop.interrupt();
            running.await
        }
    };
    match ended {
        Ok(report) => fit_diagnostics(result(&report.answer.with_hint()), room),
        Err(error) => {
            let answer = BuildAnswer::failed("", BuildDiagnostic::of(EXECUTION_ERROR, error.to_string()));
            result(&answer.with_hint())
        }
    }
}

fn count_lines(progress: CallProgress) -> impl FnMut(&str) + Send + 'static {
    let mut lines = 0;
    move |_| {
        lines += 1;
        if lines % LINES == 0 {
            progress.report(format!("{} of output", count_noun(lines, "line")));
        }
    }
}

/// Shortens the lists of diagnostics to those that fit; the notes say how many are missing.
fn fit_diagnostics(mut answer: McpToolResult, room: usize) -> McpToolResult {
    for name in ["warnings", "errors"] {
        let Some(Value::Object(fields)) = &mut answer.structured else { return answer };
        let all = fields.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        // Each of the two lists may take half of the room.
        let room = if name == "warnings" { room / 2 } else { room };
        let left_out = all - answer_size::fit_list(fields, name, room, RESERVE);
        if left_out > 0 {
            let note = format!("{left_out} more {name} are not shown; those shown come first. The log has them all.");
            if let Some(notes) = fields.entry("notes").or_insert_with(|| json!([])).as_array_mut() {
                notes.push(note.into());
            }
        }
    }
    answer
}

/// Ends a page of a log at the last line that fits.
fn fit_page(page: &LogPage, room: usize) -> McpToolResult {
    let mut answer = result(page);
    if let Some(Value::Object(fields)) = &mut answer.structured {
        let end = page.start_line + answer_size::fit_list(fields, "lines", room, 0) as u64;
        fields.insert("endLine".to_owned(), end.saturating_sub(1).into());
        fields.insert("hasMore".to_owned(), (end <= page.total_lines).into());
    }
    answer
}

fn log(service: &Service, input: &Map<String, Value>, room: usize) -> McpToolResult {
    let Some(run) = text(input, "runId") else { return missing("runId", "log") };
    let (start, count) = (number(input, "startLine", 1), number(input, "lineCount", 50));
    match app::build_log(service.environment(), &run, start, count) {
        Ok(page) => fit_page(&page, room),
        Err(error) => McpToolResult::of(match error.code() {
            Some(code) => json!({ "error": error.to_string(), "code": code }),
            None => json!({ "error": error.to_string() }),
        }),
    }
}

fn list(service: &Service, input: &Map<String, Value>, _: usize) -> McpToolResult {
    let (root, directory) = match folders(service, text(input, "cwd").as_deref()) {
        Ok(folders) => folders,
        Err(answer) => return *answer,
    };
    match app::list_tools(&directory, &root, false, service.environment()) {
        Ok(list) => result(&list),
        Err(error) => McpToolResult::error(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_log_ends_at_a_line_and_says_which() {
        let page = |count: u64| LogPage {
            lines: (0..count).map(|number| format!("{number} \u{7f}{}", "x".repeat(100))).collect(),
            start_line: 11,
            end_line: 10 + count,
            total_lines: 510,
            has_more: false,
        };
        let answer = fit_page(&page(500), 24_000);
        let fields = answer.structured.as_ref().unwrap();
        let shown = fields["lines"].as_array().unwrap().len();
        assert!(answer_size::size(&answer) <= 24_000 && shown > 150, "{shown}");
        assert_eq!((&fields["endLine"], &fields["hasMore"]), (&json!(10 + shown), &json!(true)));
        let fields = fit_page(&page(5), 24_000).structured.unwrap();
        assert_eq!((&fields["endLine"], &fields["hasMore"]), (&json!(15), &json!(true)));
        let none = LogPage { lines: Vec::new(), start_line: 9, end_line: 8, total_lines: 3, has_more: false };
        assert_eq!(fit_page(&none, 24_000).structured, Some(serde_json::to_value(&none).unwrap()));
    }

    #[test]
    fn errors_come_before_warnings_and_what_is_missing_is_noted() {
        let many = |word: &str| Some(vec![BuildDiagnostic::of("E1", format!("{word} {}", "x".repeat(100))); 400]);
        let answer =
            BuildAnswer { errors: many("error"), warnings: many("warning"), ..BuildAnswer::of(false, "r", &[], None) };
        let answer = fit_diagnostics(result(&answer), 24_000);
        assert!(answer_size::size(&answer) <= 24_000, "{}", answer_size::size(&answer));
        let fields = answer.structured.unwrap();
        let count = |name: &str| fields[name].as_array().unwrap().len();
        assert!(count("errors") > 100 && count("warnings") >= 1, "{} {}", count("errors"), count("warnings"));
        let note = format!("{} more errors are not shown", 400 - count("errors"));
        assert!(
            fields["notes"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().starts_with(&note)),
            "{fields}"
        );
    }
}
