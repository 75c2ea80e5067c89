//! The part of a finding's quoted lines that it is about, and its column. Main function: [`matched_part`].
//!
//! A finding names lines. The part is what its text names in backticks, if that occurs once in them, else the first line without its
//! indentation.

use std::ops::Range;

use crate::domain::finding::{Anchor, Finding};
use crate::domain::place::DiffSide;
use crate::present::digest;

/// Maximum number of names in a text that are looked for, and of characters of the lines.
const MOST_NAMES: usize = 16;
const MOST_QUOTED: usize = 20_000;

/// A part of one of the quoted lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchedPart {
    /// The index of the line in the quote.
    pub(super) row: usize,
    /// Its bytes in that line.
    pub(super) bytes: Range<usize>,
    /// `true` if the text names it, `false` if it is the whole line.
    pub(super) is_named: bool,
}

/// Returns the part of the first anchor's quote that the finding is about; `None` if nothing is quoted.
pub(super) fn matched_part(finding: &Finding) -> Option<MatchedPart> {
    let anchor = finding.anchors.first().filter(|anchor| anchor.lines.is_some())?;
    let rows: Vec<&str> = anchor.quote.split('\n').collect();
    // The placeholder of a masked secret is not what stands in the file.
    let is_searched = !anchor.masked && anchor.quote.len() <= MOST_QUOTED;
    let mut named = names(&finding.title).chain(names(&finding.body)).filter(|_| is_searched).take(MOST_NAMES);
    named.find_map(|name| only_place(&rows, name)).or_else(|| {
        let line = rows.first()?;
        let start = line.len() - line.trim_start().len();
        let end = line.trim_end().len();
        (start < end).then_some(MatchedPart { row: 0, bytes: start..end, is_named: false })
    })
}

/// Formats the first place of a finding with its column: `src/a.rs:12:9`. Only lines at the head have a column.
pub(super) fn place_with_column(finding: &Finding) -> String {
    let Some(anchor) = finding.anchors.first() else { return String::new() };
    match (anchor.side, anchor.lines) {
        (DiffSide::New, Some(lines)) => format!("{}:{}:{}", anchor.path.display_name(), lines.start(), column(finding)),
        _ => digest::place(anchor),
    }
}

/// Formats another place of a finding: `src/a.rs:12:5`, at the indentation of its first line.
pub(super) fn other_place(anchor: &Anchor) -> String {
    match (anchor.side, anchor.lines) {
        (DiffSide::New, Some(lines)) => {
            let line = anchor.quote.split('\n').next().unwrap_or_default();
            format!("{}:{}:{}", anchor.path.display_name(), lines.start(), indentation(line) + 1)
        }
        _ => digest::place(anchor),
    }
}

/// Returns the column of a finding in the first of its lines, in characters from 1.
pub(super) fn column(finding: &Finding) -> usize {
    let Some(anchor) = finding.anchors.first() else { return 1 };
    let line = anchor.quote.split('\n').next().unwrap_or_default();
    let named = matched_part(finding).filter(|part| part.row == 0 && part.is_named);
    1 + named
        .and_then(|part| line.get(..part.bytes.start))
        .map_or_else(|| indentation(line), |text| text.chars().count())
}

fn indentation(line: &str) -> usize {
    if line.trim().is_empty() { 0 } else { line.chars().take_while(|c| c.is_whitespace()).count() }
}

/// Returns the texts between single backticks.
fn names(markdown: &str) -> impl Iterator<Item = &str> {
    let prose = markdown.split("```").step_by(2);
    prose.flat_map(|text| text.split('`').skip(1).step_by(2)).map(str::trim).filter(|name| name.len() > 1)
}

/// Returns the place of a name that occurs once in the lines.
fn only_place(rows: &[&str], name: &str) -> Option<MatchedPart> {
    let mut places = rows.iter().enumerate().flat_map(|(row, line)| {
        line.match_indices(name).filter(|(at, _)| is_whole(line, *at, name)).map(move |(at, _)| (row, at))
    });
    let (row, at) = places.next()?;
    places.next().is_none().then(|| MatchedPart { row, bytes: at..at + name.len(), is_named: true })
}

/// Checks that a match is no part of a longer word.
fn is_whole(line: &str, at: usize, name: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let before = is_word(line[..at].chars().next_back()) && is_word(name.chars().next());
    let after = is_word(line[at + name.len()..].chars().next()) && is_word(name.chars().next_back());
    !before && !after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    fn part(title: &str, body: &str, quote: &str) -> (Option<String>, usize) {
        let mut review = json::parse(include_bytes!("../../fixtures/documents/typical.json")).unwrap();
        let mut finding = review.findings.remove(1);
        (finding.title, finding.body) = (title.to_owned(), body.to_owned());
        quote.clone_into(&mut finding.anchors[0].quote);
        let part = matched_part(&finding);
        let text = part.map(|part| quote.split('\n').nth(part.row).unwrap()[part.bytes].to_owned());
        (text, column(&finding))
    }

    #[test]
    fn the_part_is_named_by_the_text_or_is_the_line() {
        assert_eq!(part("Calls `eval`", "", "    x = eval(y)"), (Some("eval".to_owned()), 9));
        assert_eq!(part("Calls `eval`", "", "  evaluate()"), (Some("evaluate()".to_owned()), 3));
        assert_eq!(part("T", "`a` and `b c`", "é b c"), (Some("b c".to_owned()), 3), "columns count characters");
        assert_eq!(part("T", "Use `x + 1`", "  x + x + 1;\n y"), (Some("x + 1".to_owned()), 7));
        assert_eq!(part("`ab`", "", "ab ab"), (Some("ab ab".to_owned()), 1), "which of two is not known");
        assert_eq!(part("T", "```\n`ab`\n```", " ab cd"), (Some("ab cd".to_owned()), 2));
        assert_eq!(part("T", "", ""), (None, 1));
    }
}
