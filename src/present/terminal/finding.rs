//! One finding on a page: title, place, effect, code, and further facts.

use anstyle::Style;

use super::page::{TerminalPage, expand_tabs, fit, plain};
use super::{BAD, BOLD, DIM, GOOD};
use crate::domain::finding::{Anchor, Finding, FindingStatus, OriginKind};
use crate::domain::place::DiffSide;
use crate::present::digest;
use crate::present::patch::{self, DiffMark, DiffRow};

/// Number of code lines shown for one finding.
const CODE_LINES: usize = 20;
/// Number of further places named for one finding.
const ALSO: usize = 5;
const INDENT: usize = 4;

/// Draws the finding under its number in this output.
pub(super) fn draw(page: &mut TerminalPage<'_>, number: usize, finding: &Finding, why: bool) {
    page.wrapped(&format!("{number:>2}  "), &" ".repeat(INDENT), title(finding), BOLD);
    if let Some(anchor) = finding.anchors.first() {
        place(page, "", anchor);
    }
    let others = finding.anchors.len() - finding.anchors.len().min(1);
    for anchor in finding.anchors.iter().skip(1).take(ALSO) {
        place(page, "also ", anchor);
    }
    if others > ALSO {
        page.wrapped("    ", "    ", &format!("and {} more places; --format json lists all", others - ALSO), DIM);
    }
    if !finding.body.trim().is_empty() {
        page.blank();
        page.prose(INDENT, &finding.body);
    }
    code(page, finding);
    if let Some(rationale) = digest::rationale(finding).filter(|_| why) {
        page.blank();
        page.prose(INDENT, &rationale);
    }
    page.blank();
    page.parts(INDENT, &small_print(finding), DIM);
}

/// Draws the finding as one line: severity, title, place, mark and id.
pub(super) fn draw_line(page: &mut TerminalPage<'_>, number: usize, finding: &Finding) {
    let mut parts: Vec<String> = finding.anchors.first().map(digest::place).into_iter().collect();
    parts.extend(finding.describe_mark());
    parts.extend(status(finding));
    parts.push(format!("id {}", finding.id));
    let text = format!("{}: {} ({})", finding.severity, title(finding), parts.join(", "));
    page.wrapped(&format!("{number:>2}  "), &" ".repeat(INDENT), &text, Style::new());
}

pub(super) fn title(finding: &Finding) -> &str {
    if finding.title.trim().is_empty() { "(no title)" } else { &finding.title }
}

fn place(page: &mut TerminalPage<'_>, lead: &str, anchor: &Anchor) {
    let note = digest::place_note(anchor);
    // A file that is deleted at the head cannot be opened.
    let path = (anchor.side == DiffSide::New).then_some(&anchor.path);
    page.place(INDENT, lead, path, &digest::place(anchor), note);
}

fn small_print(finding: &Finding) -> Vec<String> {
    let mut parts: Vec<String> = finding.describe_mark().into_iter().collect();
    parts.push(finding.category.word().replace('_', " "));
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
    if let Some(guideline) = &finding.guideline {
        parts.push(format!("see {}:{}", guideline.path, guideline.line));
    }
    parts.extend(status(finding));
    parts.extend(digest::carried(finding));
    parts.push(format!("id {}", finding.id));
    parts
}

/// Describes the status of a finding that is not new.
fn status(finding: &Finding) -> Option<String> {
    match finding.status {
        FindingStatus::New => None,
        FindingStatus::Open => Some("still open".to_owned()),
        status @ (FindingStatus::Reopened
        | FindingStatus::Fixed
        | FindingStatus::Dismissed
        | FindingStatus::Refuted) => Some(status.to_string()),
    }
}

fn code(page: &mut TerminalPage<'_>, finding: &Finding) {
    if let Some(patched) = patch::diff_rows(finding) {
        rows(page, "suggested change", &patched);
        return;
    }
    rows(page, "", &finding.anchors.first().map(patch::quoted_rows).unwrap_or_default());
    if let Some(suggestion) = &finding.suggestion {
        let title = format!("suggested instead of {} of {}", digest::describe_lines(suggestion.lines), suggestion.path);
        rows(page, &title, &patch::added_rows(suggestion));
    }
}

fn rows(page: &mut TerminalPage<'_>, title: &str, rows: &[DiffRow<'_>]) {
    if rows.is_empty() {
        return;
    }
    page.blank();
    if !title.is_empty() {
        page.wrapped("    ", "    ", title, DIM);
    }
    let marked = rows.iter().any(|row| row.mark != DiffMark::Same);
    let digits = rows.iter().filter_map(|row| row.number).max().map_or(0, |number| number.to_string().len());
    for row in rows.iter().take(CODE_LINES) {
        let number = row.number.map(|number| number.to_string()).unwrap_or_default();
        let style = match row.mark {
            DiffMark::Same => Style::new(),
            DiffMark::Removed => BAD,
            DiffMark::Added => GOOD,
        };
        let gutter = format!("      {number:>digits$} │ ");
        let mark = if marked { format!("{} ", row.mark.sign()) } else { String::new() };
        let room = page.width().saturating_sub(gutter.chars().count() + mark.len());
        let text = fit(plain(&expand_tabs(row.text)).trim_end(), room);
        page.code_line(&gutter, format!("{mark}{text}").trim_end(), style);
    }
    if rows.len() > CODE_LINES {
        page.wrapped("      ", "      ", &format!("… {} more lines", rows.len() - CODE_LINES), DIM);
    }
}
