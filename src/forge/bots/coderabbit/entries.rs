//! The entries of a list about one file. Main function: [`parse_entries`].
//!
//! An entry begins on a line with its lines in code: `` `12-14`: **Title** ``. Newer reviews put the sort and the severity there and the title
//! below. What stands in a fold or in a fence begins no entry.

use regex::Regex;

use super::super::blocks::HtmlBlocks;
use super::super::label::read_label;
use super::super::visible_text::{BlankedParts, blank_hidden, fenced_blocks};
use super::sections::SectionFile;
use crate::domain::forge::{RemarkSeverity, Source};
use crate::domain::text::LazyPattern;

/// One entry.
pub(super) struct CodeRabbitEntry<'t> {
    /// The first line, as it is written.
    pub(super) first: &'t str,
    /// The last line, where there are several.
    pub(super) last: Option<&'t str>,
    /// Its title, with its Markdown.
    pub(super) title: &'t str,
    /// Its text, without its title.
    pub(super) body: &'t str,
    /// Its severity, where it names one.
    pub(super) severity: Option<RemarkSeverity>,
}

static START: LazyPattern = LazyPattern::new(r"^[ \t]*`(\d{1,20})(?:-(\d{1,20}))?`:[ \t]*(.*)");

/// Reads them, in order.
pub(super) fn parse_entries<'s>(file: &SectionFile<'s>) -> Vec<CodeRabbitEntry<'s>> {
    let Some(start) = START.regex() else { return Vec::new() };
    let text: &'s str = file.text;
    let starts: Vec<usize> = begins(file).into_iter().filter(|at| start.is_match(line_at(text, *at))).collect();
    let of = |(index, at): (usize, &usize)| {
        let end = starts.get(index + 1).copied().unwrap_or(file.inside.end);
        entry(start, &text[*at..end])
    };
    starts.iter().enumerate().filter_map(of).collect()
}

fn line_at(text: &str, at: usize) -> &str {
    text[at..].split('\n').next().unwrap_or_default()
}

/// Returns the starts of the lines that are in no fold and in no fence of their own.
fn begins(file: &SectionFile<'_>) -> Vec<usize> {
    let mut away: Vec<(usize, usize)> =
        file.blocks.outermost_in(&file.inside).map(|block| (block.whole.start, block.whole.end)).collect();
    let inside = &file.text[file.inside.clone()];
    let offset = file.inside.start;
    away.extend(fenced_blocks(inside).iter().map(|code| (offset + code.whole.start, offset + code.whole.end)));
    away.sort_unstable();
    let mut away = away.into_iter().peekable();
    let mut hidden_to = 0;
    let mut begins = Vec::new();
    let mut at = offset;
    for line in inside.split_inclusive('\n') {
        // The lines of an entry stand in code, so the list cannot be looked for in what is left without code.
        let from = at + line.len() - line.trim_start().len();
        while let Some((_, end)) = away.next_if(|(start, _)| *start <= from) {
            hidden_to = hidden_to.max(end);
        }
        if from >= hidden_to && line.trim_start().starts_with('`') {
            begins.push(from);
        }
        at += line.len();
    }
    begins
}

fn entry<'t>(start: &Regex, text: &'t str) -> Option<CodeRabbitEntry<'t>> {
    let found = start.captures(line_at(text, 0))?;
    let first = found.get(1)?.range();
    let last = found.get(2).map(|last| &text[last.range()]);
    let rest = found.get(3)?.range();
    let after = &text[rest.start..];
    if let Some(bold) = after.strip_prefix("**")
        && let Some(close) = line_at(bold, 0).find("**")
    {
        let body = trimmed(&bold[close + 2..]);
        return Some(CodeRabbitEntry { first: &text[first], last, title: &bold[..close], body, severity: None });
    }
    let (severity, source) = read_label(&text[rest], None);
    let severity = (source == Source::CodeRabbit && severity != RemarkSeverity::Unknown).then_some(severity);
    Some(CodeRabbitEntry { first: &text[first], last, title: bold_below(after), body: trimmed(after), severity })
}

/// The first bold words that are not folded away, else the first line.
fn bold_below(text: &str) -> &str {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let folded = HtmlBlocks::of(text).all.first().map_or(text.len(), |block| block.whole.start);
    let bold = shown[..folded].find("**").map(|open| open + 2);
    let inside = bold.and_then(|open| Some(&text[open..open + line_at(&shown, open).find("**")?]));
    inside.unwrap_or_else(|| line_at(text, 0)).trim()
}

/// Entries have rules between them.
fn trimmed(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix("\n---").unwrap_or(text).trim()
}
