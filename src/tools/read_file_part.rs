//! `read_file_part`: lines of a file, numbered.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ToolSpec;
use super::fault::{ErrorKind, ToolFault};
use super::fit::{Room, json_length, push_numbered};
use super::input::{self, WhichSide};
use super::outcome::{Cut, NextCall, Reference, Reply};
use super::toolbox::ToolContext;
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::domain::text::FileText;
use crate::workspace::{WorkspaceError, near};

const NAME: &str = "read_file_part";

/// Longer lines are cut, in characters, where several are shown.
const LINE_LIMIT: usize = 500;
/// A character takes up to so many bytes in JSON: the line of a text takes about one, a control character six.
const JSON_GROWTH: usize = 2;

pub(super) const SPEC: super::ToolSpec = ToolSpec {
    name: NAME,
    description: "Reads lines of a file of the reviewed tree. Lines count from 1 and both ends are included; without a range the whole file is \
        read. Each line of `content` is its number, a tab and its text. One answer shows up to 500 lines; when more follow, `next` is the call that goes on. \
        Lines over 500 characters are cut, unless one is asked for alone.",
    schema: input::schema::<Input>,
    call,
};

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Path of the file, relative to the repository root.
    file_path: String,
    /// First line, counted from 1. Default: 1.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    start_line: Option<u32>,
    /// Last line, included. Default: the end of the file.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    end_line: Option<u32>,
    /// How many lines to read, instead of `end_line`.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(min = 1))]
    num_lines: Option<u32>,
    /// The file before the change (`old`) or after it (`new`, the default).
    #[serde(default, deserialize_with = "input::side")]
    side: WhichSide,
}

fn call(context: &ToolContext, input: Value) -> Result<Reply, ToolFault> {
    let input: Input = input::parse(input)?;
    let path = input::file_path(&input.file_path)?;
    let side = Side::from(input.side);
    let text = context.tree(side)?.read(&path).map_err(|error| elsewhere(context, side, &path, error))?;
    let mut reply = Reply::default();
    reply.set("file_path", path.spelled());
    if side == Side::Old {
        reply.set("side", "old");
    }
    match range(&input, &text)? {
        Some(range) => show(context, &mut reply, (&path, side), &text, range),
        None => {
            reply.set("content", "");
            reply.set("start_line", 0);
            reply.set("end_line", 0);
            reply.set("total_lines", 0);
            reply.note("The file is empty.");
            reply.references.push(Reference { path, side, lines: None, hunk: None, cut: Vec::new() });
        }
    }
    Ok(reply)
}

/// The lines to show, as far as they exist; `None` for an empty file.
fn range(input: &Input, text: &FileText) -> Result<Option<LineRange>, ToolFault> {
    let total = text.line_count();
    let fault = |message: String| ToolFault::range(message, "total_lines", u64::from(total));
    let start = input.start_line.unwrap_or(1);
    let counted = match input.num_lines {
        Some(0) => return Err(fault("num_lines is 0: ask for at least one line".to_owned())),
        Some(count) => Some(start.saturating_add(count - 1)),
        None => None,
    };
    let end = match (input.end_line, counted) {
        (Some(end), Some(counted)) if end != counted => {
            let message = format!("end_line {end} and num_lines (to line {counted}) disagree: give one of them");
            return Err(ToolFault::new(ErrorKind::InvalidInput, message));
        }
        (Some(end), _) | (None, Some(end)) => end,
        (None, None) => u32::MAX,
    };
    let asked = LineRange::new(start, end).map_err(|error| fault(format!("{error}; the file has {total} lines")))?;
    if total == 0 && start == 1 {
        return Ok(None);
    }
    if start > total {
        return Err(fault(format!("start_line {start} is beyond the end: the file has {total} lines")));
    }
    Ok(LineRange::new(start, asked.end().min(total)).ok())
}

fn show(context: &ToolContext, reply: &mut Reply, (path, side): (&RepoPath, Side), text: &FileText, range: LineRange) {
    let total = text.line_count();
    let mut room = Room::new(context.limits.lines, context.limits.bytes, &path.spelled());
    let mut numbered = String::new();
    let mut last = range.start();
    let mut cut_lines = Vec::new();
    // A single line is shown as far as there is room: else nothing would show the end of an over-long one.
    let limit = if range.count() == 1 { room.bytes() / JSON_GROWTH } else { LINE_LIMIT };
    for (number, line) in text.lines(range) {
        let before = numbered.len();
        let cut = push_numbered(&mut numbered, number, line, limit);
        if !room.take(1, json_length(&numbered[before..])) && number > range.start() {
            numbered.truncate(before);
            break;
        }
        cut_lines.extend(cut.then_some(number));
        last = number;
    }
    reply.set("content", numbered);
    reply.set("start_line", range.start());
    reply.set("end_line", last);
    reply.set("total_lines", total);
    if text.charset() != "UTF-8" {
        reply.set("charset", text.charset());
    }
    let shown = LineRange::new(range.start(), last).ok();
    if shown.is_some_and(|shown| text.is_masked(shown)) {
        reply.note("Secrets in these lines are masked.");
    }
    if !cut_lines.is_empty() {
        let count = cut_lines.len();
        let alone = if range.count() == 1 { "" } else { " one of them alone is shown whole, and" };
        reply.note(format!(
            "{count} lines are longer than {limit} characters and shown cut;{alone} search_in_files finds text anywhere in them."
        ));
    }
    if last < range.end() {
        let mut rest = json!({ "file_path": path.spelled(), "start_line": last + 1, "end_line": range.end() });
        if side == Side::Old {
            rest["side"] = "old".into();
        }
        let what = format!(
            "Lines {}-{} of those asked for are not shown; `next` is the call that goes on.",
            last + 1,
            range.end()
        );
        reply.cut = Some(Cut { what, next: Some(NextCall { tool: NAME, input: rest }) });
    }
    reply.references.push(Reference { path: path.clone(), side, lines: shown, hunk: None, cut: cut_lines });
}

/// Names files like one that is not on the side that was asked for, first the place where the change moved it.
fn elsewhere(context: &ToolContext, side: Side, path: &RepoPath, error: WorkspaceError) -> ToolFault {
    let missing = matches!(error, WorkspaceError::NotFound(_));
    let mut fault = ToolFault::from(error);
    if missing && let Ok(files) = context.tree(side).and_then(|tree| Ok(tree.files(&context.cancel)?)) {
        fault.near = near(path, files.iter()).iter().map(|path| path.spelled().into_owned()).collect();
    }
    let Some(change) = context.change.as_ref().filter(|_| missing) else { return fault };
    let other = match side {
        Side::Old => Side::New,
        Side::New => Side::Old,
    };
    let Some(file) = change.files.iter().find(|file| file.path_at(other) == path) else { return fault };
    let there = file.path_at(side);
    let hint = match (side, there == path) {
        (Side::New, true) => "; the change deletes it: read it with side \"old\"".to_owned(),
        (Side::Old, true) => "; the change adds it: read it with side \"new\"".to_owned(),
        (Side::New, false) => format!("; the change renames it to {there}"),
        (Side::Old, false) => format!("; before the change it was {there}"),
    };
    fault.message.push_str(&hint);
    if there != path {
        fault.near.retain(|name| *name != there.spelled());
        fault.near.insert(0, there.spelled().into_owned());
    }
    fault
}
