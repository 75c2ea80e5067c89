//! `search_in_files`: lines that match, with the lines around them. Main type: [`SearchPage`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::NextCall;
use super::fault::{ErrorKind, ToolFault};
use super::outcome::{ShownLines, ToolReply, Truncation};
use super::output_room::{OutputRoom, cut_line_around};
use super::toolbox::ToolContext;
use super::{ToolSpec, TreeNeeds, answer, input, paths};
use crate::domain::filter::PathFilter;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::count_noun;
use crate::workspace::{FileHits, LineRegex, Query, SearchHits};

const NAME: &str = "search_in_files";

/// Longer lines are cut, in characters.
const LINE_LIMIT: usize = 300;

const MOST_RESULTS: u32 = 500;
const MOST_CONTEXT: u32 = 20;
const MOST_SKIPPED: u32 = 1_000_000;
const LONGEST_PATTERN: usize = 4096;
/// Files in which the functions around matches are named: each must be parsed.
const MOST_PARSED: usize = 20;
/// Generated files that are named.
const MOST_NAMED: usize = 3;

pub(super) const SPEC: ToolSpec = ToolSpec {
    name: NAME,
    title: "Search in files",
    description: "Searches text files, after the change, by line, for a Rust regular expression (no look-around or back-references; (?i) ignores case) \
        or plain text. `12>` is a match, `11:` around it, `@@` the function; generated files last. `next` goes on.",
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
    file_pattern: Option<String>,
    /// Globs to leave out.
    #[serde(default, deserialize_with = "input::texts")]
    exclude: Option<Vec<String>>,
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
    skip: Option<u32>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchInFilesOutput<'a> {
    /// The lines that match, in path order; those of generated, vendored and minified files come last.
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
    let mut glob = paths::glob(context, "file_pattern", input.file_pattern.as_deref(), None)?;
    if let Some(exclude) = &input.exclude {
        let filter = glob.filter.take().unwrap_or_else(PathFilter::all).without(exclude);
        glob.filter = Some(filter.map_err(|error| invalid(format!("exclude: {error}")))?);
    }
    let most = input.max_results.unwrap_or(50).clamp(1, MOST_RESULTS);
    let skip = input.skip.unwrap_or(0);
    if skip > MOST_SKIPPED {
        return Err(invalid(format!("`skip` is at most {MOST_SKIPPED}: narrow the search with file_pattern")));
    }
    // One match more than is shown reveals whether there are more.
    let wanted = skip as usize + most as usize + 1;
    let query = Query { pattern: &pattern, files: glob.filter.as_ref(), most: wanted, generated_last: true };
    let hits = context.new.search(&query, &context.cancel)?;
    let around = input.context_lines.unwrap_or(2).min(MOST_CONTEXT);
    let page = SearchPage { context, pattern: &pattern, hits: &hits, around, skip: skip as usize };
    let mut reply = page.show(&input, most as usize);
    remarks(&mut reply, &input, &pattern, &hits);
    reply.notes.extend(glob.note);
    if !hits.exhausted {
        reply.notes.extend(paths::not_listed(context));
    }
    Ok(reply)
}

/// A line that matches, and its file.
type Hit<'h> = (&'h FileHits, u32);

/// The part of the matches that one response shows.
struct SearchPage<'p> {
    context: &'p ToolContext,
    pattern: &'p LineRegex,
    hits: &'p SearchHits,
    around: u32,
    skip: usize,
}

impl<'p> SearchPage<'p> {
    fn show(&self, input: &Input, most: usize) -> ToolReply {
        let Self { context, hits, skip, .. } = *self;
        let found = hits.lines + hits.generated_lines;
        // Generated files are shown on pages of their own.
        let most = if skip < hits.lines { most.min(hits.lines - skip) } else { most };
        let exclude = input.exclude.as_deref().unwrap_or_default().join(" ");
        let repeated = [&input.pattern, input.file_pattern.as_deref().unwrap_or_default(), &exclude].concat();
        let mut room = OutputRoom::new(context.limits.lines, context.limits.bytes, &repeated);
        let (mut matches, mut references, mut page) = (Vec::new(), Vec::new(), Vec::new());
        let all = hits.files.iter().chain(&hits.generated);
        let all = all.flat_map(|file| file.lines.iter().map(move |line| (file, *line)));
        for hit in all.skip(skip).take(most) {
            let (shown, lines, cut) = self.render_match(hit);
            let size = serde_json::to_string(&shown).map_or(0, |text| text.len()) + 1;
            let before = page.last().filter(|(file, _): &&Hit<'_>| file.path == hit.0.path);
            let added = new_lines(before.map(|before| self.lines_around(*before)), lines);
            if !room.try_take(added as usize, size) && !matches.is_empty() {
                break;
            }
            matches.push(shown);
            page.push(hit);
            let path = hit.0.path.clone();
            references.push(ShownLines { path, side: DiffSide::New, lines: Some(lines), hunk: None, cut });
        }
        let shown = matches.len();
        let truncated = found > skip + shown;
        let total = hits.exhausted.then_some(found);
        let text = self.text(&page, total);
        let mut reply = ToolReply::of(&SearchInFilesOutput { matches, truncated, total }, text);
        reply.references = references;
        if truncated {
            let next = Some(NextCall { tool: NAME, input: self.next_input(input, skip + shown) });
            reply.cut = Some(Truncation { what: self.what_follows(shown), next });
        } else if shown == 0 && skip > 0 {
            reply.note(format!("There are only {found} matches."));
        } else if shown == 0 && hits.exhausted {
            reply.note(format!("Nothing found in {}.", count_noun(hits.searched, "file")));
        }
        reply
    }

    /// Describes the matches that are not shown.
    fn what_follows(&self, shown: usize) -> String {
        let Self { hits, skip, .. } = self;
        if skip + shown < hits.lines || hits.generated_lines == 0 {
            return format!(
                "Matches {}-{} are shown and there are more; `next` is the call that goes on, or narrow the search with file_pattern or exclude.",
                skip + 1,
                skip + shown
            );
        }
        let left = hits.generated_lines - (skip + shown - hits.lines);
        let named: Vec<_> = hits.generated.iter().take(MOST_NAMED).map(|file| file.path.display_name()).collect();
        let more = if hits.generated.len() > named.len() { ", …" } else { "" };
        format!(
            "{left} more matches are in generated, vendored or minified files ({}{more}); `next` is the call that shows them.",
            named.join(", ")
        )
    }

    fn next_input(&self, input: &Input, skip: usize) -> Value {
        let mut next = json!({ "pattern": input.pattern });
        if let Some(glob) = &input.file_pattern {
            next["file_pattern"] = glob.clone().into();
        }
        if let Some(exclude) = &input.exclude {
            next["exclude"] = exclude.clone().into();
        }
        if self.around != 2 {
            next["context_lines"] = self.around.into();
        }
        if let Some(most) = input.max_results.filter(|most| *most != 50) {
            next["max_results"] = most.clamp(1, MOST_RESULTS).into();
        }
        next["skip"] = skip.into();
        next
    }

    /// Returns the lines around a match, itself included.
    fn lines_around(&self, (file, line): Hit<'_>) -> LineRange {
        let first = line.saturating_sub(self.around).max(1);
        let last = line.saturating_add(self.around).min(file.text.line_count());
        LineRange::new(first, last).unwrap_or(LineRange::line(line))
    }

    /// Returns a line of a file, cut if it is too long, around its match if it has one.
    fn line<'t>(&self, file: &FileHits, number: u32, text: &'t str) -> (Cow<'t, str>, bool) {
        let is_long = text.len() > LINE_LIMIT && file.lines.binary_search(&number).is_ok();
        cut_line_around(text, LINE_LIMIT, if is_long { self.pattern.match_start(text) } else { None })
    }

    /// Renders one match: the lines it shows, and those of them that are cut.
    fn render_match(&self, hit: Hit<'p>) -> (MatchingLine<'p>, LineRange, Vec<u32>) {
        let (file, line) = hit;
        let lines = self.lines_around(hit);
        let mut surroundings = String::new();
        let mut cut_lines = Vec::new();
        for (number, text) in file.text.lines(lines) {
            let (text, cut) = self.line(file, number, text);
            let _ = writeln!(surroundings, "{number:6}\t{text}");
            cut_lines.extend(cut.then_some(number));
        }
        let shown = MatchingLine {
            file_path: file.path.display_name(),
            line_number: line,
            line_content: self.line(file, line, file.text.line(line).unwrap_or_default()).0,
            match_context: (self.around > 0).then_some(surroundings),
        };
        (shown, lines, cut_lines)
    }

    /// Renders the page as text: files, and in them the lines around their matches, each once.
    fn text(&self, page: &[Hit<'_>], total: Option<usize>) -> String {
        let mut text = String::new();
        let files = page.chunk_by(|one, other| one.0.path == other.0.path);
        match total {
            _ if page.is_empty() => {}
            Some(total) if total == page.len() => {
                let _ = writeln!(
                    text,
                    "{} in {}",
                    count_noun(total, "matching line"),
                    count_noun(files.clone().count(), "file")
                );
            }
            total => {
                let of = total.map_or_else(|| "more".to_owned(), |total| total.to_string());
                let _ = writeln!(text, "matching lines {}-{} of {of}", self.skip + 1, self.skip + page.len());
            }
        }
        let mut parsed = HashSet::new();
        for hits in files {
            let Some((file, _)) = hits.first() else { continue };
            let _ = writeln!(text, "=== {}", file.path.display_name());
            let mut named: Option<String> = None;
            for block in self.blocks(hits) {
                let may_parse = parsed.contains(&file.path) || parsed.len() < MOST_PARSED;
                let name = if may_parse { self.name_of(file, &block) } else { None };
                parsed.insert(&file.path);
                if let Some(name) = name.as_deref().filter(|name| named.as_deref() != Some(name)) {
                    let _ = writeln!(text, "@@ {name}");
                }
                named = name;
                for (number, line) in file.text.lines(block.lines) {
                    let mark = if file.lines.binary_search(&number).is_ok() { '>' } else { ':' };
                    let _ = writeln!(text, "{number}{mark} {}", self.line(file, number, line).0);
                }
            }
        }
        text
    }

    /// Joins the lines around matches of one file where they touch.
    fn blocks(&self, hits: &[Hit<'_>]) -> Vec<LineBlock> {
        let mut blocks: Vec<LineBlock> = Vec::new();
        for hit in hits {
            let lines = self.lines_around(*hit);
            match blocks.last_mut() {
                Some(last) if lines.start() <= last.lines.end() + 1 => {
                    last.lines = LineRange::new(last.lines.start(), lines.end()).unwrap_or(last.lines);
                }
                _ => blocks.push(LineBlock { lines, first_match: hit.1 }),
            }
        }
        blocks
    }

    /// Returns the name of the function or type around a block, unless the block shows it.
    fn name_of(&self, file: &FileHits, block: &LineBlock) -> Option<String> {
        let languages = self.context.languages.as_ref()?;
        let name = languages.enclosing_symbol(&file.path, &file.text, block.first_match)?;
        let until = LineRange::new(block.lines.start(), block.first_match).unwrap_or(block.lines);
        let is_shown = file.text.lines(until).any(|(_, line)| line.contains(&name));
        (!is_shown).then_some(name)
    }
}

/// Returns the number of lines that a match adds to a text which ends with the lines around the match before it: each is shown once.
fn new_lines(before: Option<LineRange>, lines: LineRange) -> u32 {
    let shown_until = before.map_or(0, LineRange::end);
    lines.end().saturating_sub(shown_until.max(lines.start() - 1))
}

/// Lines of a file without a gap, among them matches.
struct LineBlock {
    lines: LineRange,
    first_match: u32,
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
