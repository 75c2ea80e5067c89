//! `read_diff`: the diff of a changed file, hunk by hunk.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ToolSpec;
use super::fault::{ErrorKind, ToolFault};
use super::fit::{LINE_CUT, Room, cut_line, json_length};
use super::input;
use super::outcome::{Cut, NextCall, Reference, Reply};
use super::toolbox::ToolContext;
use crate::domain::change::{ChangeSet, FileChange, FileMode};
use crate::domain::path::RepoPath;
use crate::domain::place::Side;
use crate::workspace::{TreeEntry, near};

const NAME: &str = "read_diff";

/// Longer lines are cut, in characters.
const LINE_LIMIT: usize = 500;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    description: "Reads the diff of a changed file from a hunk on: use it where the diff you were given is cut. Hunks count from 0. \
        One answer shows up to 500 lines; when more follow, `next` is the call that goes on.",
    schema: input::schema::<Input>,
    call,
};

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Path of the changed file, relative to the repository root.
    file_path: String,
    /// First hunk to show, counted from 0. Default: 0.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32")]
    start: Option<u32>,
    /// How many lines of that hunk to leave out, for hunks that are longer than one answer. Default: 0.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32")]
    skip_lines: Option<u32>,
}

fn call(context: &ToolContext, input: Value) -> Result<Reply, ToolFault> {
    let input: Input = input::parse(input)?;
    let path = input::file_path(&input.file_path)?;
    let none = || ToolFault::new(ErrorKind::InvalidInput, "there is no diff here: no change is being reviewed");
    let change = context.change.as_ref().ok_or_else(none)?;
    let source = context.diff.as_ref().ok_or_else(none)?;
    let file = changed(change, &path)?;
    let (start, total) = (input.start.unwrap_or(0) as usize, file.hunks.len());
    if file.binary {
        return Err(ToolFault::new(ErrorKind::NotText, format!("{path} is a binary file: it has no line diff")));
    }
    let mut reply = Reply::default();
    reply.set("file_path", file.path.spelled());
    if let Some(old) = &file.old_path {
        reply.set("old_path", old.spelled());
    }
    if total == 0 {
        reply.set("content", "");
        reply.set("total_hunks", 0);
        reply.note("No line of the file changed: only its name, its mode or its kind did.");
        return Ok(reply);
    }
    if start >= total {
        let message = format!("hunk {start} does not exist: {path} has {total} hunks, counted from 0");
        return Err(ToolFault::range(message, "total_hunks", total as u64));
    }
    let hunks = source.hunks(file, start, &context.cancel)?;
    show(context, &mut reply, file, &hunks, start, input.skip_lines.unwrap_or(0) as usize)?;
    Ok(reply)
}

fn changed<'c>(change: &'c ChangeSet, path: &RepoPath) -> Result<&'c FileChange, ToolFault> {
    let by_new = change.files.iter().find(|file| file.path == *path);
    let found = by_new.or_else(|| change.files.iter().find(|file| file.old_path.as_ref() == Some(path)));
    found.ok_or_else(|| {
        let entry = |file: &FileChange| TreeEntry { path: file.path.clone(), mode: FileMode::File, blob: None };
        let files: Vec<_> = change.files.iter().map(entry).collect();
        let message = format!("{path} is not changed here; read_file_part reads files that are not");
        ToolFault::not_found(message, &near(path, &files))
    })
}

fn show(
    context: &ToolContext,
    reply: &mut Reply,
    file: &FileChange,
    hunks: &[String],
    start: usize,
    skip: usize,
) -> Result<(), ToolFault> {
    let mut room = Room::new(context.limits.lines, context.limits.bytes, &file.path.spelled());
    let mut content = String::new();
    let mut shortened = 0;
    let mut next = None;
    'hunks: for (at, hunk) in hunks.iter().enumerate() {
        let skip = if at == 0 { skip } else { 0 };
        let lines = hunk.strip_suffix('\n').unwrap_or(hunk).split('\n');
        let all = lines.clone().count();
        if skip >= all {
            let message = format!("skip_lines {skip} is beyond the end: hunk {start} has {all} lines");
            return Err(ToolFault::range(message, "hunk_lines", all as u64));
        }
        for (number, line) in lines.enumerate().skip(skip) {
            let (shown, cut) = cut_line(line, LINE_LIMIT);
            let mark = if cut { LINE_CUT } else { "" };
            if !room.take(1, json_length(shown) + mark.len() + 2) && !content.is_empty() {
                next = Some((start + at, number));
                break 'hunks;
            }
            content.extend([shown, mark, "\n"]);
            shortened += u32::from(cut);
        }
    }
    reply.set("content", content);
    reply.set("start", start);
    reply.set("total_hunks", file.hunks.len());
    if shortened > 0 {
        reply.note(format!("{shortened} lines are longer than {LINE_LIMIT} characters and shown cut."));
    }
    if let Some((hunk, line)) = next {
        let mut rest = json!({ "file_path": file.path.spelled(), "start": hunk });
        if line > 0 {
            rest["skip_lines"] = line.into();
        }
        let what = format!("The diff goes on with hunk {hunk}, line {}; `next` is the call that goes on.", line + 1);
        reply.cut = Some(Cut { what, next: Some(NextCall { tool: NAME, input: rest }) });
    }
    let last = next.map_or(file.hunks.len(), |(hunk, line)| hunk + usize::from(line > 0)).min(file.hunks.len());
    for hunk in file.hunks.get(start..last).unwrap_or_default() {
        // A pure deletion has no lines on the new side.
        let (side, span) = if hunk.new.count > 0 { (Side::New, hunk.new) } else { (Side::Old, hunk.old) };
        reply.references.push(Reference { path: file.path_at(side).clone(), side, lines: span.range() });
    }
    Ok(())
}
