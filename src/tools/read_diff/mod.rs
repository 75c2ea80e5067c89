//! `read_diff`: the diff of a changed file, hunk by hunk.

mod changed_files;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::NextCall;
use super::diff_source::{DiffPart, DiffPlace, DiffSource};
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{HunkPart, ShownLines, ToolReply, Truncation};
use super::output_room::{OutputRoom, json_length};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, input, paths, range};
use crate::domain::change::{ChangeSet, FileChange, FileMode, number_lines, shortened_lines};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::workspace::{TreeEntry, nearest_paths};

pub(super) const NAME: &str = "read_diff";

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "Read the diff of a file",
    description: "Diff of a changed file; of a folder (`.`: all), the list of what changed. Up to 500 lines; `next` goes on.",
    schema: input::schema::<Input>,
    answer: answer::schema::<ReadDiffOutput>,
    looks: |_| TreeNeeds::AtChange,
    call,
};

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// From the repository root.
    file_path: String,
    /// First hunk, from 0.
    #[serde(default, deserialize_with = "input::number")]
    start: Option<u32>,
    /// How many lines of that hunk to leave out first.
    #[serde(default, deserialize_with = "input::number")]
    skip_lines: Option<u32>,
}

/// What was read.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadDiffOutput<'a> {
    /// The file or folder, from the repository root.
    pub(super) file_path: Cow<'a, str>,
    /// What it was called before the change, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) old_path: Option<Cow<'a, str>>,
    /// Which change this is of, as `A...B` or `A..B`, and the commits whose trees are compared.
    pub(super) change: String,
    /// Hunk headers and lines as a unified diff has them; secrets masked. For a folder, a line for each changed file.
    pub(super) content: String,
    /// The first hunk, or file of a folder, that is shown, from 0.
    pub(super) start: usize,
    /// How many hunks there are.
    pub(super) total_hunks: usize,
}

fn call(context: &ToolContext, input: Value) -> Result<ToolReply, ToolFault> {
    let input: Input = input::parse(input)?;
    let paths::ResolvedPath { path, note } = paths::resolve_path(context, &input.file_path)?;
    let none = || ToolFault::new(ErrorKind::InvalidInput, "there is no diff here: no change is being reviewed");
    let change = context.change.as_ref().ok_or_else(none)?;
    let source = context.diff.as_ref().ok_or_else(none)?;
    let start = input.start.unwrap_or(0) as usize;
    let noted = |mut reply: ToolReply| {
        reply.notes.extend(note);
        reply
    };
    let listed = |folder| changed_files::list_changed_files(context, change, folder, start);
    let Some(path) = path else { return listed(None).map(noted).ok_or_else(none) };
    let Some(file) = changed(change, &path) else {
        return listed(Some(&path)).map(noted).ok_or_else(|| unchanged(context, change, &path));
    };
    let total = file.hunks.len();
    if file.binary {
        return Err(ToolFault::new(ErrorKind::NotText, format!("{path} is a binary file: it has no line diff")));
    }
    if start > 0 && start >= total {
        let message = format!("hunk {start} does not exist: {path} has {total} hunks, counted from 0");
        return Err(ToolFault::range(message, "total_hunks", total as u64));
    }
    let from = DiffPlace { hunk: start, line: input.skip_lines.unwrap_or(0) as usize };
    let part = part(context, source.as_ref(), file, from)?;
    if part.text.is_empty() && from.line > 0 {
        let message = format!("skip_lines {} is beyond the end of the diff", from.line);
        return Err(ToolFault::new(ErrorKind::InvalidRange, message));
    }
    Ok(noted(show(file, range::describe_range(context, change), from, part)))
}

/// Returns a part of the diff that fits into a response once it is serialized as JSON.
fn part(
    context: &ToolContext,
    source: &dyn DiffSource,
    file: &FileChange,
    from: DiffPlace,
) -> Result<DiffPart, ToolFault> {
    let room = OutputRoom::new(context.limits.lines, context.limits.bytes, &file.path.display_name()).bytes();
    let mut bytes = room;
    loop {
        context.cancel.check()?;
        let part = source.part(file, from, context.limits.lines, bytes)?;
        // Quotes and tabs take two bytes in JSON, so the text may be larger there; halving the size succeeds within a few steps.
        if json_length(&part.text) <= room || bytes <= 1024 {
            return Ok(part);
        }
        bytes /= 2;
    }
}

fn changed<'c>(change: &'c ChangeSet, path: &RepoPath) -> Option<&'c FileChange> {
    let by_new = change.files.iter().find(|file| file.path == *path);
    by_new.or_else(|| change.files.iter().find(|file| file.old_path.as_ref() == Some(path)))
}

/// Returns the reason why a path has no diff.
fn unchanged(context: &ToolContext, change: &ChangeSet, path: &RepoPath) -> ToolFault {
    let what = format!("{path} is not changed in {}", range::describe_range(context, change));
    if let Some(pending) = context.checkout.uncommitted(Some(path)) {
        return ToolFault::not_found(format!("{what}; it has uncommitted changes: {}", pending.ask), &[]);
    }
    let entry = |file: &FileChange| TreeEntry { path: file.path.clone(), mode: FileMode::File, blob: None };
    let files: Vec<_> = change.files.iter().map(entry).collect();
    let message = format!("{what}; read_diff of `.` lists what is, read_file_part reads what is not");
    ToolFault::not_found(message, &nearest_paths(path, &files))
}

fn show(file: &FileChange, change: String, from: DiffPlace, part: DiffPart) -> ToolReply {
    let total = file.hunks.len();
    let nothing = part.text.is_empty();
    let cut = if part.shortened_lines > 0 { shortened_lines(&part.text, from.line) } else { Vec::new() };
    let old = file.old_path.as_ref().map(|old| format!(", before {}", old.display_name())).unwrap_or_default();
    let begun = (from.line > 0).then(|| file.hunks.get(from.hunk).map(|hunk| hunk.new_line_after(from.line))).flatten();
    let text = format!(
        "=== {}{old} (in {change}; from hunk {} of {total}, counted from 0)\n{}",
        file.path.display_name(),
        from.hunk,
        number_lines(&part.text, begun)
    );
    let output = ReadDiffOutput {
        file_path: file.path.display_name(),
        old_path: file.old_path.as_ref().map(RepoPath::display_name),
        change,
        content: part.text,
        start: from.hunk,
        total_hunks: total,
    };
    let mut reply = ToolReply::of(&output, text);
    if nothing {
        reply.note("No line of the file changed: only its name, its mode or its kind did.");
    }
    if part.shortened_lines > 0 {
        let count = part.shortened_lines;
        reply.note(format!(
            "{count} over-long lines are shown cut; read_file_part shows one whole when it is asked for alone."
        ));
    }
    if let Some(next) = part.next {
        let mut rest = json!({ "file_path": file.path.display_name(), "start": next.hunk });
        if next.line > 0 {
            rest["skip_lines"] = next.line.into();
        }
        let what = format!("{} more lines of the diff follow; `next` is the call that goes on.", part.lines_left);
        reply.cut = Some(Truncation { what, next: Some(NextCall { tool: NAME, input: rest }) });
    }
    let last = part.next.map_or(total, |next| next.hunk + usize::from(next.line > 0)).min(total);
    for (at, hunk) in file.hunks.iter().enumerate().take(last).skip(from.hunk) {
        // A pure deletion has no lines on the new side.
        let (side, span) = if hunk.new.count > 0 { (DiffSide::New, hunk.new) } else { (DiffSide::Old, hunk.old) };
        let shown = HunkPart {
            hunk: at,
            from: if at == from.hunk { from.line } else { 0 },
            to: part.next.filter(|next| next.hunk == at).map(|next| next.line),
        };
        reply.references.push(ShownLines {
            path: file.path_at(side).clone(),
            side,
            lines: span.range(),
            hunk: Some(shown),
            cut: cut
                .iter()
                .filter(|(hunk, _)| from.hunk + hunk == at)
                .filter_map(|(_, line)| u32::try_from(*line).ok())
                .collect(),
        });
    }
    reply
}
