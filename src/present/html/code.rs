//! Lines of code with their numbers: the diff of a file, the part of it around a place, quotes and suggestions.
//!
//! Main items: [`CodeLine`], [`parse`], [`render_diff`]. Each line is one element: a report may have a hundred thousand of them.

use std::fmt::Write as _;

use super::escape;
use crate::domain::finding::Anchor;
use crate::domain::place::{DiffSide, LineRange};
use crate::present::patch::{DiffMark, DiffRow};

/// Number of lines that are shown before and after a place.
const CONTEXT: u32 = 4;
/// Upper bound on the lines that are shown for one place.
const MOST_LINES: usize = 80;
/// Upper bound on the characters of a line.
const MOST_CHARACTERS: usize = 1000;

/// A line of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeLine<'a> {
    /// Its number before the change.
    pub(super) old: Option<u32>,
    /// Its number after the change.
    pub(super) new: Option<u32>,
    /// The kind of line; `None` for the header of a hunk or a remark of git.
    pub(super) mark: Option<DiffMark>,
    /// The line without its mark; untrusted text.
    pub(super) text: &'a str,
}

impl<'a> From<DiffRow<'a>> for CodeLine<'a> {
    fn from(row: DiffRow<'a>) -> Self {
        Self { old: None, new: row.number, mark: Some(row.mark), text: row.text }
    }
}

impl CodeLine<'_> {
    /// Returns its number on a side.
    fn number(&self, side: DiffSide) -> Option<u32> {
        match side {
            DiffSide::Old => self.old,
            DiffSide::New => self.new,
        }
    }

    fn is_within(&self, side: DiffSide, lines: LineRange) -> bool {
        self.number(side).is_some_and(|number| (lines.start()..=lines.end()).contains(&number))
    }
}

/// Parses the text of a diff.
pub(super) fn parse(patch: &str) -> Vec<CodeLine<'_>> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (0_u32, 0_u32);
    for row in patch.split_terminator('\n') {
        let (sign, rest) = row.split_at_checked(1).unwrap_or(("", row));
        let (has_old, has_new, mark) = match sign {
            "+" => (false, true, DiffMark::Added),
            "-" => (true, false, DiffMark::Removed),
            " " => (true, true, DiffMark::Same),
            _ => {
                if let Some(starts) = hunk_starts(row) {
                    (old, new) = starts;
                }
                lines.push(CodeLine { old: None, new: None, mark: None, text: row });
                continue;
            }
        };
        lines.push(CodeLine { old: has_old.then_some(old), new: has_new.then_some(new), mark: Some(mark), text: rest });
        old = old.saturating_add(u32::from(has_old));
        new = new.saturating_add(u32::from(has_new));
    }
    lines
}

/// Reads the first lines of both sides from the header of a hunk.
fn hunk_starts(header: &str) -> Option<(u32, u32)> {
    let (old, new) = header.strip_prefix("@@ -")?.split_once(" +")?;
    let start = |span: &str| span.split([',', ' ']).next()?.parse().ok();
    Some((start(old)?, start(new)?))
}

/// Returns the lines of a diff around an anchor, if it shows all the lines of the anchor as they are quoted.
pub(super) fn around<'l, 'a>(diff: &'l [CodeLine<'a>], anchor: &Anchor) -> Option<&'l [CodeLine<'a>]> {
    let lines = anchor.lines?;
    let is_at = |number: u32| diff.iter().position(|line| line.number(anchor.side) == Some(number));
    let (first, last) = (is_at(lines.start())?, is_at(lines.end())?);
    let whole = diff.get(first..=last)?;
    // Lines of an earlier head may have other text now.
    let quote: Vec<&str> =
        whole.iter().filter(|line| line.is_within(anchor.side, lines)).map(|line| line.text).collect();
    if whole.iter().any(|line| line.mark.is_none()) || quote.join("\n") != anchor.quote {
        return None;
    }
    let context = CONTEXT as usize;
    let before = diff[..first].iter().rev().take(context).take_while(|line| line.mark.is_some()).count();
    let after = diff[last + 1..].iter().take(context).take_while(|line| line.mark.is_some()).count();
    diff.get(first - before..=last + after)
}

/// A remark that stands below a line of a diff: that a finding is there.
pub(super) struct CodeNote {
    /// The side of the line.
    pub(super) side: DiffSide,
    /// The number of the line.
    pub(super) line: u32,
    /// HTML.
    pub(super) html: String,
}

/// Renders a whole diff with both numbers of each line, and remarks below the lines that they are about.
pub(super) fn render_diff(lines: &[CodeLine<'_>], notes: &[CodeNote]) -> String {
    let mut out = String::with_capacity(lines.iter().map(|line| line.text.len() + 48).sum());
    out.push_str("<pre class=\"code both\" tabindex=\"0\">");
    for line in lines {
        let numbers = line.mark.map(|_| format!("{:>5} {:>5}", number(line.old), number(line.new)));
        render_line(&mut out, line, numbers.as_deref(), false);
        for note in notes.iter().filter(|note| line.number(note.side) == Some(note.line)) {
            out.push_str(&note.html);
        }
    }
    out.push_str("</pre>");
    out
}

/// Renders the lines at a place; those that it is about are marked if there are others.
pub(super) fn render_lines(lines: &[CodeLine<'_>], marked: Option<(DiffSide, LineRange)>) -> String {
    let is_marked = |line: &CodeLine<'_>| marked.is_some_and(|(side, range)| line.is_within(side, range));
    let has_others = !lines.iter().all(is_marked);
    let mut out = String::from("<pre class=\"code\" tabindex=\"0\">");
    for line in lines.iter().take(MOST_LINES) {
        let shown = format!("{:>5}", number(line.new.or(line.old)));
        render_line(&mut out, line, Some(&shown), has_others && is_marked(line));
    }
    if lines.len() > MOST_LINES {
        let _ = write!(out, "<span class=\"l o\">… {} more lines</span>", lines.len() - MOST_LINES);
    }
    out.push_str("</pre>");
    out
}

fn number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn render_line(out: &mut String, line: &CodeLine<'_>, numbers: Option<&str>, is_marked: bool) {
    let class = match line.mark {
        Some(DiffMark::Same) => "s",
        Some(DiffMark::Added) => "a",
        Some(DiffMark::Removed) => "r",
        None => "o",
    };
    let marked = if is_marked { " h" } else { "" };
    let _ = write!(out, "<span class=\"l {class}{marked}\"");
    if let Some(numbers) = numbers {
        let _ = write!(out, " data-n=\"{numbers}\"");
    }
    let (text, rest) = match line.text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => (&line.text[..end], " … (the rest of the line is not shown)"),
        None => (line.text, ""),
    };
    let sign = line.mark.map_or(String::new(), |mark| mark.sign().to_string());
    let _ = write!(out, ">{sign}{}{rest}\n</span>", escape(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::AnchorMatch;
    use crate::domain::path::RepoPath;

    const PATCH: &str =
        "@@ -10,4 +20,5 @@ fn main() {\n a\n-b\n+c\n+<d>\n e\n\\ No newline at end of file\n@@ -90 +99,0 @@\n-z\n";

    fn anchor(side: DiffSide, first: u32, last: u32, quote: &str) -> Anchor {
        Anchor {
            path: RepoPath::parse("a").unwrap(),
            side,
            lines: LineRange::new(first, last).ok(),
            quote: quote.to_owned(),
            matched: AnchorMatch::Exact,
            masked: false,
        }
    }

    #[test]
    fn both_numbers_follow_the_headers() {
        let lines = parse(PATCH);
        let numbers: Vec<_> = lines.iter().map(|line| (line.old, line.new, line.text)).collect();
        assert_eq!(
            numbers[1..6],
            [
                (Some(10), Some(20), "a"),
                (Some(11), None, "b"),
                (None, Some(21), "c"),
                (None, Some(22), "<d>"),
                (Some(12), Some(23), "e"),
            ]
        );
        assert_eq!(numbers[8], (Some(90), None, "z"));
        assert!(parse("").is_empty() && parse("é\n+\n").len() == 2);
    }

    #[test]
    fn a_place_is_shown_with_its_surroundings_or_not_at_all() {
        let lines = parse(PATCH);
        let text =
            |anchor: &Anchor| around(&lines, anchor).map(|lines| lines.iter().map(|one| one.text).collect::<String>());
        assert_eq!(text(&anchor(DiffSide::New, 21, 22, "c\n<d>")).as_deref(), Some("abc<d>e"));
        assert_eq!(text(&anchor(DiffSide::Old, 90, 90, "z")).as_deref(), Some("z"));
        assert_eq!(text(&anchor(DiffSide::New, 21, 22, "c\nx")), None, "another text was there");
        assert_eq!(text(&anchor(DiffSide::New, 23, 24, "e\n")), None);
        assert_eq!(text(&anchor(DiffSide::Old, 12, 90, "e\nz")), None, "it is in two hunks");
    }

    #[test]
    fn lines_are_escaped_and_numbered() {
        let lines = parse(PATCH);
        let note = CodeNote { side: DiffSide::New, line: 22, html: "<i>here</i>".to_owned() };
        let html = render_diff(&lines, &[note]);
        assert!(html.contains("<span class=\"l a\" data-n=\"         22\">+&lt;d&gt;\n</span><i>here</i>"), "{html}");
        let marked = render_lines(&lines[1..4], Some((DiffSide::Old, LineRange::line(11))));
        assert!(marked.contains("<span class=\"l r h\" data-n=\"   11\">-b"), "{marked}");
        let long = "x".repeat(3000);
        let long = [CodeLine { old: None, new: Some(1), mark: None, text: &long }; 100];
        let cut = render_lines(&long, None);
        assert!(cut.contains("not shown") && cut.contains("… 20 more lines"));
    }
}
