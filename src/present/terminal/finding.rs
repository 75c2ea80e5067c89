//! One finding on a page: title, place, what goes wrong, the code, and the small print.

use anstyle::{AnsiColor, Style};

use super::page::{Page, expand_tabs, fit, plain};
use super::{BAD, BOLD, DIM, GOOD};
use crate::domain::finding::{Anchor, Finding, FindingStatus, OriginKind, Suggestion, VerificationState};
use crate::domain::place::Side;
use crate::present::digest;

/// Lines of code shown for one finding.
const CODE_LINES: usize = 20;
/// Other places named for one finding.
const ALSO: usize = 5;
const INDENT: usize = 4;
const PLACE: Style = AnsiColor::Blue.on_default();

/// Draws the finding under the number it has in this output.
pub(super) fn draw(page: &mut Page<'_>, number: usize, finding: &Finding) {
    let title = if finding.title.trim().is_empty() { "(no title)" } else { &finding.title };
    page.wrapped(&format!("{number:>2}  "), &" ".repeat(INDENT), title, BOLD);
    if let Some(anchor) = finding.anchors.first() {
        place(page, "", anchor);
    }
    if !finding.body.trim().is_empty() {
        page.blank();
        page.prose(INDENT, &finding.body);
    }
    code(page, finding);
    let others = finding.anchors.len() - finding.anchors.len().min(1);
    for anchor in finding.anchors.iter().skip(1).take(ALSO) {
        place(page, "also ", anchor);
    }
    if others > ALSO {
        page.wrapped("    ", "    ", &format!("and {} more places; --format json lists all", others - ALSO), DIM);
    }
    if let Some(rationale) = &finding.verification.rationale {
        page.blank();
        page.prose(INDENT, &format!("Second look: {rationale}"));
    }
    page.blank();
    page.wrapped("    ", "    ", &small_print(finding), DIM);
}

fn place(page: &mut Page<'_>, lead: &str, anchor: &Anchor) {
    let note = digest::place_note(anchor);
    page.place(INDENT, lead, &anchor.path, &digest::place(anchor), note, PLACE);
}

fn small_print(finding: &Finding) -> String {
    let mut parts = vec![finding.category.word().replace('_', " ")];
    let name = &finding.origin.name;
    match finding.origin.kind {
        _ if name.is_empty() => {}
        OriginKind::Rule => parts.push(format!("rule {name}")),
        OriginKind::Build => parts.push(format!("reported by {name}")),
        OriginKind::Model => {}
    }
    if let Some(confidence) = finding.confidence {
        parts.push(format!("confidence {}/10", confidence.value()));
    }
    match finding.verification.state {
        VerificationState::Unchecked => {}
        state @ (VerificationState::Confirmed | VerificationState::Uncertain) => {
            let by = finding.verification.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
            parts.push(format!("{state}{by}"));
        }
    }
    if let Some(guideline) = &finding.guideline {
        parts.push(format!("see {}:{}", guideline.path, guideline.line));
    }
    match finding.status {
        FindingStatus::New => {}
        FindingStatus::Open => parts.push("still open".to_owned()),
        status @ (FindingStatus::Reopened | FindingStatus::Fixed | FindingStatus::Dismissed) => {
            parts.push(status.to_string());
        }
    }
    parts.push(format!("id {}", finding.id));
    parts.join(" · ")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Removed,
    Added,
}

struct Row<'a> {
    number: Option<u32>,
    mark: Mark,
    text: &'a str,
}

fn code(page: &mut Page<'_>, finding: &Finding) {
    let quoted = finding.anchors.first().map(quoted_rows).unwrap_or_default();
    match &finding.suggestion {
        None => rows(page, "", &quoted),
        Some(suggestion) => match finding.anchors.first().and_then(|anchor| patched(anchor, suggestion)) {
            Some(patched) => rows(page, "suggested change", &patched),
            None => {
                rows(page, "", &quoted);
                let lines = suggestion.lines;
                let title =
                    format!("suggested instead of lines {}-{} of {}", lines.start(), lines.end(), suggestion.path);
                let added: Vec<Row<'_>> = added_rows(suggestion).collect();
                rows(page, &title, &added);
            }
        },
    }
}

fn quoted_rows(anchor: &Anchor) -> Vec<Row<'_>> {
    let Some(lines) = anchor.lines else { return Vec::new() };
    (lines.start()..)
        .zip(anchor.quote.split('\n'))
        .map(|(n, text)| Row { number: Some(n), mark: Mark::Same, text })
        .collect()
}

fn added_rows(suggestion: &Suggestion) -> impl Iterator<Item = Row<'_>> {
    let text = Some(suggestion.replacement.as_str()).filter(|text| !text.is_empty());
    text.into_iter().flat_map(|text| text.split('\n')).map(|text| Row { number: None, mark: Mark::Added, text })
}

/// The quoted lines with the suggestion worked in, where it lies within them; lines that stay are not shown as changed.
fn patched<'a>(anchor: &'a Anchor, suggestion: &'a Suggestion) -> Option<Vec<Row<'a>>> {
    let inside = anchor.side == Side::New
        && anchor.path == suggestion.path
        && anchor
            .lines
            .is_some_and(|lines| lines.contains(suggestion.lines.start()) && lines.contains(suggestion.lines.end()));
    if !inside {
        return None;
    }
    let mut rows = quoted_rows(anchor);
    let first = rows.iter().position(|row| row.number == Some(suggestion.lines.start()))?;
    let last = rows.iter().position(|row| row.number == Some(suggestion.lines.end()))?;
    let added: Vec<Row<'a>> = added_rows(suggestion).collect();
    let replaced = &rows[first..=last];
    let same = |(old, new): &(&Row<'_>, &Row<'_>)| old.text.trim_end() == new.text.trim_end();
    let head = replaced.iter().zip(&added).take_while(same).count();
    let tail = replaced[head..].iter().rev().zip(added[head..].iter().rev()).take_while(same).count();
    let (from, to) = (first + head, last + 1 - tail);
    for row in &mut rows[from..to] {
        row.mark = Mark::Removed;
    }
    let kept = added.len() - tail;
    let fresh: Vec<Row<'a>> = added.into_iter().take(kept).skip(head).collect();
    rows.splice(to..to, fresh);
    Some(rows)
}

fn rows(page: &mut Page<'_>, title: &str, rows: &[Row<'_>]) {
    if rows.is_empty() {
        return;
    }
    page.blank();
    if !title.is_empty() {
        page.wrapped("    ", "    ", title, DIM);
    }
    let marked = rows.iter().any(|row| row.mark != Mark::Same);
    let digits = rows.iter().filter_map(|row| row.number).max().map_or(0, |number| number.to_string().len());
    for row in rows.iter().take(CODE_LINES) {
        let number = row.number.map(|number| number.to_string()).unwrap_or_default();
        let (mark, style) = match row.mark {
            Mark::Same => (" ", Style::new()),
            Mark::Removed => ("-", BAD),
            Mark::Added => ("+", GOOD),
        };
        let gutter = format!("      {number:>digits$} │ ");
        let mark = if marked { format!("{mark} ") } else { String::new() };
        let room = page.width().saturating_sub(gutter.chars().count() + mark.len());
        let text = fit(plain(&expand_tabs(row.text)).trim_end(), room);
        page.code_line(&gutter, format!("{mark}{text}").trim_end(), style);
    }
    if rows.len() > CODE_LINES {
        page.wrapped("      ", "      ", &format!("… {} more lines", rows.len() - CODE_LINES), DIM);
    }
}
