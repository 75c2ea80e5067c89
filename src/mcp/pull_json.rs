//! Pull requests as JSON, for tools and resources: clients know the names and order of the fields. Texts are as the forge returned them;
//! the callers sanitize them.

use serde_json::{Map, Value, json};

use crate::app::{ListedPull, PullFault, PullView};
use crate::domain::forge::{Actor, Comment, PullFile, PullId, PullRequest, Remark, RemarkSummary, Thread};
use crate::domain::path::RepoPath;
use crate::domain::text::strip_line;

/// The key under which remarks without a file are counted.
const NO_FILE: &str = "general";
/// The value for a pull request whose mergeability the forge has not determined yet.
const UNKNOWN: &str = "UNKNOWN";

fn login(author: Option<&Actor>) -> Value {
    author.map_or(Value::Null, |author| author.login.clone().into())
}

/// Renders `pr` of the resource: facts of a pull request.
pub(super) fn pull(id: &PullId, pull: &PullRequest) -> Value {
    json!({
        "owner": id.repo.owner(),
        "repo": id.repo.name(),
        "number": id.number.value(),
        "title": pull.title,
        "state": pull.state.as_str(),
        "isDraft": pull.is_draft,
        "author": login(pull.author.as_ref()),
        "branch": pull.head_ref,
        "baseBranch": pull.base_ref,
        "mergeable": pull.mergeable.as_deref().unwrap_or(UNKNOWN),
        "reviewDecision": pull.review_decision,
        "createdAt": pull.created_at,
        "updatedAt": pull.updated_at,
    })
}

/// Renders `summary` of the resource: counts of the remarks.
pub(super) fn summary(summary: &RemarkSummary) -> Value {
    let by_severity: Map<String, Value> =
        summary.by_severity.iter().map(|(severity, count)| (severity.word().to_owned(), (*count).into())).collect();
    let mut fields = json!({
        "total": summary.total,
        "resolved": summary.resolved,
        "unresolved": summary.unresolved,
        "outdated": summary.outdated,
        "bySeverity": by_severity,
        "byFile": summary.by_file,
    });
    if let Some(nitpicks) = summary.nitpicks {
        let (total, resolved, unresolved) = (nitpicks.total, nitpicks.resolved, nitpicks.unresolved);
        fields["nitpicks"] = json!({ "total": total, "resolved": resolved, "unresolved": unresolved });
    }
    fields
}

/// Renders a pull request in the list of a repository.
pub(super) fn listed(listed: &ListedPull) -> Value {
    let pull = &listed.pull;
    json!({
        "number": pull.id.number.value(),
        "title": strip_line(&pull.title),
        "state": pull.state.as_str(),
        "isDraft": pull.is_draft,
        "author": login(pull.author.as_ref()),
        "branch": pull.head_ref,
        "baseBranch": pull.base_ref,
        "reviewDecision": pull.review_decision,
        "createdAt": pull.created_at,
        "updatedAt": pull.updated_at,
        "additions": pull.additions,
        "deletions": pull.deletions,
        "changedFiles": pull.changed_files,
        "threads": listed.threads,
        "unresolved": listed.unresolved,
        "comments": listed.comments,
    })
}

/// Returns the JSON Schema of [`listed`].
pub(super) fn listed_schema() -> Value {
    let text = json!({ "type": "string" });
    let perhaps = json!({ "type": ["string", "null"] });
    let count = json!({ "type": "integer" });
    json!({
        "type": "object",
        "properties": {
            "number": count, "title": text, "state": { "type": "string", "enum": ["OPEN", "CLOSED", "MERGED"] },
            "isDraft": { "type": "boolean" }, "author": perhaps, "branch": text, "baseBranch": text, "reviewDecision": perhaps,
            "createdAt": text, "updatedAt": text, "additions": count, "deletions": count, "changedFiles": count,
            "threads": count, "unresolved": { "type": "integer", "description": "Of the first 100 threads." }, "comments": count
        },
        "required": ["number", "title", "state", "isDraft", "author", "branch", "baseBranch", "updatedAt"]
    })
}

fn file(path: Option<&RepoPath>) -> Value {
    path.map_or_else(|| NO_FILE.into(), |path| path.display_name().into())
}

/// Renders the lines of a remark: a number, `12-14`, or `?`.
fn line(lines: Option<(u32, u32)>) -> Value {
    match lines {
        None => "?".into(),
        Some((start, end)) if start == end => start.into(),
        Some((start, end)) => format!("{start}-{end}").into(),
    }
}

/// Renders a remark in a list, in one line.
pub(super) fn item(remark: &Remark) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("id", remark.id.clone().into());
    set("threadId", remark.thread.clone().into());
    set("file", file(remark.path.as_ref()));
    set("line", line(remark.lines));
    set("severity", remark.severity.word().into());
    set("source", remark.source.word().into());
    set("title", strip_line(&remark.title).into());
    set("resolved", remark.is_resolved.into());
    set("hasAiPrompt", remark.prompt.is_some().into());
    set("outdated", remark.is_outdated.into());
    set("author", remark.author.clone().into());
    fields
}

/// Returns the JSON Schema of [`item`].
pub(super) fn item_schema() -> Value {
    let perhaps = json!({ "type": ["string", "null"] });
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "threadId": perhaps,
            "file": { "type": "string", "description": "`general` where it names none." },
            "line": { "type": ["integer", "string"], "description": "A number, `12-14`, or `?`." },
            "severity": { "type": "string" },
            "source": { "type": "string" },
            "title": { "type": "string" },
            "resolved": { "type": "boolean" },
            "hasAiPrompt": { "type": "boolean" },
            "outdated": { "type": "boolean" },
            "author": perhaps
        },
        "required": ["id", "threadId", "file", "line", "severity", "source", "title", "resolved", "hasAiPrompt"]
    })
}

/// Renders a remark's instructions for a coding agent.
pub(super) fn prompt(remark: &Remark) -> Value {
    remark.prompt.as_ref().map_or(
        Value::Null,
        |prompt| json!({ "text": prompt.text, "confidence": if prompt.is_certain { "high" } else { "low" } }),
    )
}

/// Renders one comment of a conversation.
pub(super) fn comment(comment: &Comment) -> Value {
    json!({
        "id": comment.node,
        "author": login(comment.author.as_ref()),
        "association": comment.association,
        "createdAt": comment.created_at,
        "updatedAt": comment.updated_at,
        "url": comment.url,
        "hidden": comment.is_minimized,
        "body": comment.body,
    })
}

/// Renders a thread without its comments.
pub(super) fn thread(thread: &Thread) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("id", thread.node.clone().into());
    set("file", file(thread.path.as_ref()));
    let end = thread.line.or(thread.original_line);
    let start = thread.start_line.or(thread.original_start_line.filter(|_| thread.line.is_none())).or(end);
    set("line", line(start.zip(end)));
    set("side", if thread.side == crate::domain::place::DiffSide::Old { "old" } else { "new" }.into());
    set("resolved", thread.is_resolved.into());
    set("resolvedBy", login(thread.resolved_by.as_ref()));
    set("outdated", thread.is_outdated.into());
    set("canResolve", thread.can_resolve.into());
    fields
}

/// Renders a file of a pull request.
pub(super) fn changed_file(file: &PullFile) -> Value {
    let mut fields = json!({ "path": file.path.display_name(), "status": file.status, "additions": file.additions, "deletions": file.deletions });
    if let Some(old) = &file.old_path {
        fields["oldPath"] = old.display_name().into();
    }
    fields
}

/// Joins the notes about unreadable parts of a pull request; `None` if all was read.
pub(super) fn notes(read: &PullView) -> Option<String> {
    (!read.notes.is_empty()).then(|| read.notes.join(" "))
}

/// Renders a failure, with its advice.
pub(super) fn fault(fault: &PullFault) -> Value {
    let mut fields = json!({
        "kind": fault.kind.word(),
        "message": fault.message,
        "retryable": fault.kind.is_retryable(),
        "user_action": fault.action,
        "correlation_id": fault.correlation,
    });
    if let Some(wait) = fault.retry_after {
        fields["retry_after_seconds"] = wait.as_secs().into();
    }
    fields
}
