//! `search_in_files`: lines that match, with the lines around them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::NextCall;
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{ShownLines, ToolReply, Truncation};
use super::output_room::{LINE_CUT, OutputRoom, cut_line, push_numbered};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, input, paths};
use crate::domain::place::{DiffSide, LineRange};
use crate::workspace::{FileHits, LineRegex, Query, SearchHits};

const NAME: &str = "search_in_files";

/// Longer lines are cut, in characters.
const LINE_LIMIT: usize = 300;

const MOST_RESULTS: u32 = 500;
const MOST_CONTEXT: u32 = 20;
const MOST_SKIPPED: u32 = 1_000_000;
const LONGEST_PATTERN: usize = 4096;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "Search in files",
    description: "Searches all text files, after the change, line by line for a regular expression: Rust syntax, no look-around, no back-references; case \
        matters unless it begins with (?i). What is no regular expression is searched as plain text. In path order; `next` is the call that \
        goes on.",
    schema: input::schema::<Input>,
    answer: answer::schema::<SearchInFilesOutput>,
    looks: |_| TreeNeeds::AtTree,
    call,
};

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    /// Glob: `*.rs` at any depth, `src/**/*.rs` from the root; or a folder, the root's first.
    #[serde(default, deserialize_with = "input::text")]
    #[schemars(with = "String")]
    file_pattern: Option<String>,
    /// Around each match. Default: 2.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(max = 20))]
    context_lines: Option<u32>,
    /// Default: 50.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32", range(max = 500))]
    max_results: Option<u32>,
    /// Matches to leave out first.
    #[serde(default, deserialize_with = "input::number")]
    #[schemars(with = "u32")]
    skip: Option<u32>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchInFilesOutput<'a> {
    /// The lines that match, in path order.
    matches: Vec<MatchingLine<'a>>,
    /// Whether there are more.
    truncated: bool,
    /// How many there are in all; `null` where the search ended before it knew.
    total: Option<usize>,
}

/// A line that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct MatchingLine<'a> {
    /// The file, from the repository root.
    file_path: Cow<'a, str>,
    /// The line, from 1.
    line_number: u32,
    /// Its text; secrets masked.
    line_content: Cow<'a, str>,
    /// It and the lines around it, each its number, six wide, a tab and its text; missing where `context_lines` is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    match_context: Option<String>,
}

fn call(context: &ToolContext, input: Value) -> Result<ToolReply, ToolFault> {
    let input: Input = input::parse(input)?;
    let invalid = |message: String| ToolFault::new(ErrorKind::InvalidInput, message);
    if input.pattern.is_empty() || input.pattern.len() > LONGEST_PATTERN {
        return Err(invalid(format!("`pattern` must have 1 to {LONGEST_PATTERN} bytes; list_files lists files")));
    }
    let pattern = LineRegex::new(&input.pattern).map_err(|error| invalid(error.to_string()))?;
    let glob = paths::glob(context, "file_pattern", input.file_pattern.as_deref(), None)?;
    let most = input.max_results.unwrap_or(50).clamp(1, MOST_RESULTS);
    let skip = input.skip.unwrap_or(0);
    if skip > MOST_SKIPPED {
        return Err(invalid(format!("`skip` is at most {MOST_SKIPPED}: narrow the search with file_pattern")));
    }
    // One match more than is shown reveals whether there are more.
    let wanted = skip as usize + most as usize + 1;
    let hits =
        context.new.search(&Query { pattern: &pattern, files: glob.filter.as_ref(), most: wanted }, &context.cancel)?;
    let mut reply = show(context, &input, &hits, most as usize);
    remarks(&mut reply, &input, &pattern, &hits);
    reply.notes.extend(glob.note);
    if !hits.exhausted {
        reply.notes.extend(paths::not_listed(context));
    }
    Ok(reply)
}

fn show(context: &ToolContext, input: &Input, hits: &SearchHits, most: usize) -> ToolReply {
    let around = input.context_lines.unwrap_or(2).min(MOST_CONTEXT);
    let skip = input.skip.unwrap_or(0) as usize;
    let repeated = format!("{}{}", input.pattern, input.file_pattern.as_deref().unwrap_or_default());
    let mut room = OutputRoom::new(context.limits.lines, context.limits.bytes, &repeated);
    let (mut matches, mut references) = (Vec::new(), Vec::new());
    let all = hits.files.iter().flat_map(|file| file.lines.iter().map(move |line| (file, *line)));
    for (file, line) in all.skip(skip).take(most) {
        let (shown, lines, cut) = render_match(file, line, around);
        let size = serde_json::to_string(&shown).map_or(0, |text| text.len()) + 1;
        if !room.try_take(lines.count() as usize, size) && !matches.is_empty() {
            break;
        }
        matches.push(shown);
        let path = file.path.clone();
        references.push(ShownLines { path, side: DiffSide::New, lines: Some(lines), hunk: None, cut });
    }
    let shown = matches.len();
    let truncated = hits.lines > skip + shown;
    let mut reply =
        ToolReply::of(&SearchInFilesOutput { matches, truncated, total: hits.exhausted.then_some(hits.lines) });
    reply.references = references;
    if truncated {
        let mut next = json!({ "pattern": input.pattern });
        if let Some(glob) = &input.file_pattern {
            next["file_pattern"] = glob.clone().into();
        }
        if around != 2 {
            next["context_lines"] = around.into();
        }
        if most != 50 {
            next["max_results"] = most.into();
        }
        next["skip"] = (skip + shown).into();
        let what = format!(
            "Matches {}-{} are shown and there are more; `next` is the call that goes on, or narrow the search with file_pattern.",
            skip + 1,
            skip + shown
        );
        reply.cut = Some(Truncation { what, next: Some(NextCall { tool: NAME, input: next }) });
    } else if shown == 0 && skip > 0 {
        reply.note(format!("There are only {} matches.", hits.lines));
    }
    reply
}

/// Renders one match: the lines it shows, and those of them that are cut.
fn render_match(file: &FileHits, line: u32, around: u32) -> (MatchingLine<'_>, LineRange, Vec<u32>) {
    let first = line.saturating_sub(around).max(1);
    let last = line.saturating_add(around).min(file.text.line_count());
    let lines = LineRange::new(first, last).unwrap_or(LineRange::line(line));
    let mut surroundings = String::new();
    let mut cut_lines = Vec::new();
    for (number, text) in file.text.lines(lines) {
        cut_lines.extend(push_numbered(&mut surroundings, number, text, LINE_LIMIT).then_some(number));
    }
    let (content, cut) = cut_line(file.text.line(line).unwrap_or_default(), LINE_LIMIT);
    let shown = MatchingLine {
        file_path: file.path.display_name(),
        line_number: line,
        line_content: if cut { format!("{content}{LINE_CUT}").into() } else { content.into() },
        match_context: (around > 0).then_some(surroundings),
    };
    (shown, lines, cut_lines)
}

fn remarks(reply: &mut ToolReply, input: &Input, pattern: &LineRegex, hits: &SearchHits) {
    if let Some(reason) = pattern.literal_after_error() {
        reply.note(format!(
            "The pattern is not a regular expression here ({reason}), so it was searched as plain text."
        ));
    }
    if input.max_results.is_some_and(|most| most > MOST_RESULTS) {
        reply.note(format!("max_results is at most {MOST_RESULTS}."));
    }
    if input.context_lines.is_some_and(|lines| lines > MOST_CONTEXT) {
        reply.note(format!("context_lines is at most {MOST_CONTEXT}."));
    }
    if hits.unread > 0 {
        let named: Vec<_> = hits.unread_named.iter().map(|(path, why)| format!("{path}: {why}")).collect();
        reply.note(format!("{} files could not be searched: {}.", hits.unread, named.join("; ")));
    }
}
