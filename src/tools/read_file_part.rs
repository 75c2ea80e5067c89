//! `read_file_part`: lines of a file, numbered.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::NextCall;
use super::fault::{ErrorKind, ToolFault};
use super::input::{self, SideInput};
use super::outcome::{ShownLines, ToolReply, Truncation};
use super::output_room::{OutputRoom, json_length, push_numbered};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, paths};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::workspace::{WorkspaceError, nearest_paths_in};

const NAME: &str = "read_file_part";

/// Maximum number of characters per line, if several lines are shown.
const LINE_LIMIT: usize = 500;
/// Assumed growth of text in JSON: a character of text takes about one byte, a control character six.
const JSON_GROWTH: usize = 2;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "Read lines of a file",
    description: "Reads lines of a file as `12: text`, counted from 1, both ends included; without a range the whole file. Up to 500 lines an \
        answer; `next` goes on. Lines over 500 characters are cut, unless asked for alone.",
    schema: input::schema::<Input>,
    answer: answer::schema::<ReadFilePartOutput>,
    looks: |input| match input::parse::<Input>(input.clone()) {
        Ok(Input { side: SideInput::Old, .. }) => TreeNeeds::AtChange,
        _ => TreeNeeds::AtTreeFirst,
    },
    call,
};

/// What to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// From the repository root.
    file_path: String,
    #[serde(default, deserialize_with = "input::number")]
    start_line: Option<u32>,
    #[serde(default, deserialize_with = "input::number")]
    end_line: Option<u32>,
    /// Instead of `end_line`.
    #[serde(default, deserialize_with = "input::number")]
    num_lines: Option<u32>,
    /// `old`: before the change.
    #[serde(default, deserialize_with = "input::side")]
    side: SideInput,
}

/// What was read.
#[derive(Debug, Serialize, JsonSchema)]
struct ReadFilePartOutput<'a> {
    /// The file, from the repository root.
    file_path: Cow<'a, str>,
    /// Set to `old` where that side was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SideInput")]
    side: Option<SideInput>,
    /// The lines, each its number, six wide, a tab and its text; secrets masked.
    content: String,
    /// The first line that is shown; 0 where the file is empty.
    start_line: u32,
    /// The last line that is shown; 0 where the file is empty.
    end_line: u32,
    /// How many lines the file has.
    total_lines: u32,
    /// What the file is encoded in, where that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    charset: Option<&'a str>,
}

impl ReadFilePartOutput<'_> {
    /// Returns the first line of the text.
    fn heading(&self) -> String {
        let Self { file_path, start_line, end_line, total_lines, .. } = self;
        let side = if self.side.is_some() { ", before the change" } else { "" };
        let charset = self.charset.map(|charset| format!(", from {charset}")).unwrap_or_default();
        format!("=== {file_path} (lines {start_line}-{end_line} of {total_lines}{side}{charset})")
    }
}

fn call(context: &ToolContext, input: Value) -> Result<ToolReply, ToolFault> {
    let input: Input = input::parse(input)?;
    let given = paths::resolve_path(context, &input.file_path)?;
    let path = given.file(&input.file_path)?;
    let side = DiffSide::from(input.side);
    let text = context.tree(side)?.read(&path).map_err(|error| similar_files(context, side, &path, error))?;
    let empty = ReadFilePartOutput {
        file_path: path.display_name(),
        side: Some(input.side).filter(|side| *side == SideInput::Old),
        content: String::new(),
        start_line: 0,
        end_line: 0,
        total_lines: 0,
        charset: None,
    };
    let mut reply = match range(&input, &text)? {
        Some(range) => show(context, empty, (&path, side), &text, range),
        None => {
            let mut reply = ToolReply::of(&empty, String::new());
            reply.note("The file is empty.");
            reply.references.push(ShownLines { path: path.clone(), side, lines: None, hunk: None, cut: Vec::new() });
            reply
        }
    };
    reply.notes.extend(given.note);
    Ok(reply)
}

/// Returns the lines to show, as far as they exist; `None` for an empty file.
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

fn show<'a>(
    context: &ToolContext,
    empty: ReadFilePartOutput<'a>,
    (path, side): (&RepoPath, DiffSide),
    text: &'a FileText,
    range: LineRange,
) -> ToolReply {
    let total = text.line_count();
    let mut room = OutputRoom::new(context.limits.lines, context.limits.bytes, &path.display_name());
    let mut numbered = String::new();
    let mut last = range.start();
    let mut cut_lines = Vec::new();
    let mut text_rows = String::new();
    // A single line is shown as far as there is space: otherwise the end of an over-long one could never be read.
    let limit = if range.count() == 1 { room.bytes() / JSON_GROWTH } else { LINE_LIMIT };
    for (number, line) in text.lines(range) {
        let before = numbered.len();
        let text_before = text_rows.len();
        let cut = push_numbered(&mut numbered, number, line, limit);
        let _ = writeln!(
            text_rows,
            "{number}: {}",
            &numbered[before..].split_once('\t').map_or("", |(_, line)| line.trim_end_matches('\n'))
        );
        if !room.try_take(1, json_length(&numbered[before..])) && number > range.start() {
            numbered.truncate(before);
            text_rows.truncate(text_before);
            break;
        }
        cut_lines.extend(cut.then_some(number));
        last = number;
    }
    let output = ReadFilePartOutput {
        content: numbered,
        start_line: range.start(),
        end_line: last,
        total_lines: total,
        charset: Some(text.charset()).filter(|charset| *charset != "UTF-8"),
        ..empty
    };
    let mut reply = ToolReply::of(&output, format!("{}\n{text_rows}", output.heading()));
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
        let mut rest = json!({ "file_path": path.display_name(), "start_line": last + 1, "end_line": range.end() });
        if side == DiffSide::Old {
            rest["side"] = "old".into();
        }
        let what = format!(
            "Lines {}-{} of those asked for are not shown; `next` is the call that goes on.",
            last + 1,
            range.end()
        );
        reply.cut = Some(Truncation { what, next: Some(NextCall { tool: NAME, input: rest }) });
    }
    reply.references.push(ShownLines { path: path.clone(), side, lines: shown, hunk: None, cut: cut_lines });
    reply
}

/// Finds files similar to one that is missing on the requested side; first the path the change moved it to.
fn similar_files(context: &ToolContext, side: DiffSide, path: &RepoPath, error: WorkspaceError) -> ToolFault {
    let missing = matches!(error, WorkspaceError::NotFound(_));
    let mut fault = ToolFault::from(error);
    if missing && let Ok(names) = context.tree(side).and_then(|tree| Ok(nearest_paths_in(path, tree, &context.cancel)?))
    {
        fault.near = names.iter().map(|path| path.display_name().into_owned()).collect();
    }
    if missing
        && side == DiffSide::New
        && let Some(hint) = context.checkout.check_at_head(Some(path))
    {
        fault.message = format!("{path} is {hint}");
        fault.near.clear();
    }
    let Some(change) = context.change.as_ref().filter(|_| missing) else { return fault };
    let other = match side {
        DiffSide::Old => DiffSide::New,
        DiffSide::New => DiffSide::Old,
    };
    let Some(file) = change.files.iter().find(|file| file.path_at(other) == path) else { return fault };
    let there = file.path_at(side);
    let hint = match (side, there == path) {
        (DiffSide::New, true) => "; the change deletes it: read it with side \"old\"".to_owned(),
        (DiffSide::Old, true) => "; the change adds it: read it with side \"new\"".to_owned(),
        (DiffSide::New, false) => format!("; the change renames it to {there}"),
        (DiffSide::Old, false) => format!("; before the change it was {there}"),
    };
    fault.message.push_str(&hint);
    if there != path {
        fault.near.retain(|name| *name != there.display_name());
        fault.near.insert(0, there.display_name().into_owned());
    }
    fault
}
