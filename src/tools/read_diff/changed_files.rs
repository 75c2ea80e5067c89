//! Listing of the changed files below a folder, which `read_diff` returns for a folder. Main function: [`list_changed_files`].
//!
//! A listed file does not count as read: a line here is no line of a diff.

use super::super::answer::NextCall;
use super::super::outcome::{ToolReply, Truncation};
use super::super::output_room::{OutputRoom, json_length};
use super::super::range;
use super::super::toolbox::ToolContext;
use super::{NAME, ReadDiffOutput};
use crate::domain::change::{ChangeSet, FileChange, FileStatus};
use crate::domain::path::RepoPath;
use crate::domain::text::count_noun;
use serde_json::json;

/// Returns the changed files below a folder, `None` being the root, from the `start`th on; `None` without any.
pub(super) fn list_changed_files(
    context: &ToolContext,
    change: &ChangeSet,
    folder: Option<&RepoPath>,
    start: usize,
) -> Option<ToolReply> {
    let prefix = folder.map_or_else(Vec::new, |folder| [folder.as_bytes(), b"/"].concat());
    let files: Vec<&FileChange> = change.files.iter().filter(|file| is_below(file, &prefix)).collect();
    if files.is_empty() && folder.is_some() {
        return None;
    }
    let spelled = folder.map_or_else(|| ".".into(), RepoPath::display_name);
    let mut room = OutputRoom::new(context.limits.paths, context.limits.bytes, &spelled);
    let (mut content, mut end) = (String::new(), start.min(files.len()));
    for file in files.iter().skip(start) {
        let line = line(file);
        if !room.try_take(1, json_length(&line)) && end > start {
            break;
        }
        content.push_str(&line);
        end += 1;
    }
    let compared = range::describe_range(context, change);
    let answer = ReadDiffOutput {
        file_path: spelled.clone(),
        old_path: None,
        change: compared.clone(),
        content: content.clone(),
        start,
        total_hunks: 0,
    };
    let total = files.len();
    let heading = format!("{} changed below {spelled} in {compared}\n", count_noun(total, "file"));
    let mut reply = ToolReply::of(&answer, heading + &content);
    if end < total {
        let what = format!("{} more changed files follow; `next` is the call that goes on.", total - end);
        let input = json!({ "file_path": spelled, "start": end });
        reply.cut = Some(Truncation { what, next: Some(NextCall { tool: NAME, input }) });
    } else if total == 0 {
        reply.note(format!("No file is changed in {compared}."));
        if let Some(pending) = context.checkout.uncommitted(folder) {
            reply.note(format!("There are uncommitted changes: {}.", pending.ask));
        }
    } else if start >= total {
        reply.note(format!("There are {total} changed files here, counted from 0."));
    }
    Some(reply)
}

fn is_below(file: &FileChange, prefix: &[u8]) -> bool {
    [Some(&file.path), file.old_path.as_ref()].into_iter().flatten().any(|path| path.as_bytes().starts_with(prefix))
}

fn line(file: &FileChange) -> String {
    let status = match file.status {
        FileStatus::Added => "added",
        FileStatus::Deleted => "deleted",
        FileStatus::Modified => "modified",
        FileStatus::Renamed => "renamed",
        FileStatus::TypeChanged => "type changed",
    };
    let lines = if file.binary { "binary".to_owned() } else { format!("+{} -{}", file.additions, file.deletions) };
    let from = file.old_path.as_ref().map(|path| format!(" (from {})", path.display_name())).unwrap_or_default();
    let generated = if file.generated.is_some() { " (generated)" } else { "" };
    format!("{status} {lines} {}{from}{generated}\n", file.path.display_name())
}
