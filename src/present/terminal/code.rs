//! The code of a finding: its quoted lines with the matched part underlined, or its suggestion as a minimal diff.

use std::ops::Range;

use anstyle::Style;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use textwrap::core::display_width;

use super::page::{TerminalPage, expand_tabs, plain, wrap_code};
use super::{BAD, GOOD, INDENT, severity_style};
use crate::domain::finding::Finding;
use crate::present::digest;
use crate::present::matched::matched_part;
use crate::present::patch::{self, DiffMark, DiffRow};

/// Number of code lines of one finding on a screen.
const CODE_LINES: usize = 20;

/// Draws the code.
pub(super) fn draw(page: &mut TerminalPage<'_>, finding: &Finding) {
    if let Some(patched) = patch::diff_rows(finding) {
        let rows = minimal(patched);
        if rows.iter().all(|row| row.mark == DiffMark::Same) {
            let margin = " ".repeat(INDENT);
            page.wrapped(&margin, &margin, "the suggestion changes white space at the ends of lines", super::DIM);
        }
        return draw_rows(page, &rows, None);
    }
    let rows = finding.anchors.first().map(patch::quoted_rows).unwrap_or_default();
    // A quote of several lines is underlined only where the text names a part of it.
    let part = matched_part(finding).filter(|part| part.is_named || rows.len() == 1);
    let style = severity_style(finding.severity);
    let underline = part.map(|part| Underline { row: part.row, bytes: part.bytes, is_named: part.is_named, style });
    draw_rows(page, &rows, underline.as_ref());
    if let Some(suggestion) = &finding.suggestion {
        let margin = " ".repeat(INDENT);
        let title = format!("suggested for {} of {}", digest::describe_lines(suggestion.lines), suggestion.path);
        page.wrapped(&margin, &margin, &title, super::DIM);
        draw_rows(page, &patch::added_rows(suggestion), None);
    }
}

/// The underlined part of a row.
struct Underline {
    row: usize,
    bytes: Range<usize>,
    /// `false` for a whole line, which is underlined only if it fits on the page.
    is_named: bool,
    style: Style,
}

/// Narrows the changed rows of a diff to the lines that differ.
fn minimal(rows: Vec<DiffRow<'_>>) -> Vec<DiffRow<'_>> {
    let Some(from) = rows.iter().position(|row| row.mark != DiffMark::Same) else { return rows };
    let to = rows.iter().rposition(|row| row.mark != DiffMark::Same).map_or(from, |last| last + 1);
    let changed = rows.get(from..to).unwrap_or_default();
    let (old, new): (Vec<DiffRow<'_>>, Vec<DiffRow<'_>>) =
        changed.iter().copied().partition(|row| row.mark == DiffMark::Removed);
    let texts = |rows: &[DiffRow<'_>]| rows.iter().map(|row| row.text.trim_end().to_owned()).collect::<Vec<String>>();
    let mut narrowed = rows.get(..from).unwrap_or_default().to_vec();
    for op in capture_diff_slices(Algorithm::Myers, &texts(&old), &texts(&new)) {
        let removed = old.get(op.old_range()).unwrap_or_default();
        if matches!(op, DiffOp::Equal { .. }) {
            narrowed.extend(removed.iter().map(|row| DiffRow { mark: DiffMark::Same, ..*row }));
        } else {
            narrowed.extend_from_slice(removed);
            narrowed.extend_from_slice(new.get(op.new_range()).unwrap_or_default());
        }
    }
    narrowed.extend_from_slice(rows.get(to..).unwrap_or_default());
    narrowed
}

/// Renders a line of code for display, before it is cut or wrapped.
fn displayed(text: &str) -> String {
    plain(&expand_tabs(text)).trim_end().to_owned()
}

/// Renders a line with its white space visible.
fn with_visible_space(text: &str) -> String {
    let body = text.trim_end();
    let end = text[body.len()..].replace(' ', "·").replace('\t', "→");
    plain(&format!("{}{end}", body.replace('\t', "→   ")))
}

fn draw_rows(page: &mut TerminalPage<'_>, rows: &[DiffRow<'_>], underline: Option<&Underline>) {
    let is_diff = rows.iter().any(|row| row.mark != DiffMark::Same);
    let digits = rows.iter().filter_map(|row| row.number).max().map_or(0, |number| number.to_string().len());
    let most = if page.is_screen() { CODE_LINES } else { usize::MAX };
    let texts = rows.iter().map(|row| displayed(row.text)).collect::<Vec<_>>();
    for (index, (row, shown)) in rows.iter().zip(&texts).enumerate().take(most) {
        // Two lines that look alike differ in white space, which is made visible.
        let opposite = |other: &DiffRow<'_>| {
            matches!(
                (row.mark, other.mark),
                (DiffMark::Removed, DiffMark::Added) | (DiffMark::Added, DiffMark::Removed)
            )
        };
        let alike = rows.iter().zip(&texts).any(|(other, text)| opposite(other) && text == shown);
        let shown = if alike { with_visible_space(row.text) } else { shown.clone() };
        let style = match row.mark {
            DiffMark::Same => Style::new(),
            DiffMark::Removed => BAD,
            DiffMark::Added => GOOD,
        };
        let number = row.number.map(|number| number.to_string()).unwrap_or_default();
        let mark = if is_diff { format!("{} ", row.mark.sign()) } else { String::new() };
        let marked = underline.filter(|underline| underline.row == index);
        let margin = " ".repeat(INDENT);
        let gutters =
            [format!("{margin}{number:>digits$} │ {mark}"), format!("{margin}{:digits$} │ {:2$}", "", "", mark.len())];
        let room = page.width().saturating_sub(display_width(&gutters[0])).max(8);
        let pieces = if page.is_screen() { wrap_code(&shown, room) } else { vec![(0, shown)] };
        let columns = marked.and_then(|underline| columns(row.text, &underline.bytes));
        let columns =
            columns.filter(|columns| columns.end <= room || marked.is_some_and(|underline| underline.is_named));
        for (at, (start, piece)) in pieces.iter().enumerate() {
            let gutter = if at == 0 { &gutters[0] } else { &gutters[1] };
            page.code_line(gutter, piece.trim_end(), style);
            let Some((columns, underline)) = columns.clone().zip(marked) else { continue };
            let end = start + display_width(piece);
            let (from, to) = (columns.start.max(*start), columns.end.min(end));
            if from < to {
                let carets = format!("{}{}", " ".repeat(from - start), "^".repeat(to - from));
                page.code_line(&gutters[1], &carets, underline.style);
            }
        }
    }
    if rows.len() > most {
        let margin = " ".repeat(INDENT);
        page.wrapped(&margin, &margin, &format!("… {} more lines", rows.len() - most), super::DIM);
    }
}

/// Returns the columns of some bytes of a line as it is displayed.
fn columns(line: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let before = |at: usize| Some(display_width(&plain(&expand_tabs(line.get(..at)?))));
    Some(before(bytes.start)?..before(bytes.end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(rows: &[(DiffMark, &'static str)]) -> String {
        let rows = rows.iter().map(|(mark, text)| DiffRow { number: None, mark: *mark, text }).collect();
        minimal(rows).iter().map(|row| format!("{}{}", row.mark.sign(), row.text)).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_diff_marks_only_lines_that_differ() {
        use DiffMark::{Added, Removed, Same};
        let rows =
            [(Same, "x"), (Removed, "a"), (Removed, "b"), (Removed, "c"), (Added, "A"), (Added, "b"), (Added, "C")];
        assert_eq!(narrowed(&rows), " x|-a|+A| b|-c|+C");
    }

    #[test]
    fn white_space_can_be_seen() {
        assert_eq!(with_visible_space("\ta b  "), "→   a b··");
        assert_eq!(columns("\té = x", &(3..6)), Some(5..8));
    }
}
