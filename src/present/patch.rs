//! Quoted lines and a suggestion as rows of a small diff, for the outputs that people read.
//!
//! Main type: [`DiffRow`]. Suggestions were verified before; here they are only drawn.

use crate::domain::finding::{Anchor, Finding, Suggestion};
use crate::domain::place::DiffSide;

/// The kind of a row in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffMark {
    /// An unchanged line.
    Same,
    /// A removed line.
    Removed,
    /// An added line.
    Added,
}

impl DiffMark {
    /// Returns the marker of a diff.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// One line of code; untrusted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffRow<'a> {
    /// Its number in the file; `None` for added lines.
    pub(crate) number: Option<u32>,
    /// The kind of row.
    pub(crate) mark: DiffMark,
    /// The line.
    pub(crate) text: &'a str,
}

/// Returns the quoted lines as unchanged rows; none for a whole file.
pub(crate) fn quoted_rows(anchor: &Anchor) -> Vec<DiffRow<'_>> {
    let Some(lines) = anchor.lines else { return Vec::new() };
    let numbers = lines.start()..=lines.end();
    numbers
        .zip(anchor.quote.split('\n'))
        .map(|(n, text)| DiffRow { number: Some(n), mark: DiffMark::Same, text })
        .collect()
}

/// Returns the lines that a suggestion adds.
pub(crate) fn added_rows(suggestion: &Suggestion) -> Vec<DiffRow<'_>> {
    if suggestion.replacement.is_empty() {
        return Vec::new();
    }
    suggestion.replacement.split('\n').map(|text| DiffRow { number: None, mark: DiffMark::Added, text }).collect()
}

/// Returns the quoted lines of the first anchor with the suggestion applied, if it lies within them. Unchanged lines at its ends stay so.
pub(crate) fn diff_rows(finding: &Finding) -> Option<Vec<DiffRow<'_>>> {
    let (anchor, suggestion) = (finding.anchors.first()?, finding.suggestion.as_ref()?);
    if anchor.side != DiffSide::New || anchor.path != suggestion.path {
        return None;
    }
    let mut rows = quoted_rows(anchor);
    let first = rows.iter().position(|row| row.number == Some(suggestion.lines.start()))?;
    let last = rows.iter().position(|row| row.number == Some(suggestion.lines.end()))?;
    let added = added_rows(suggestion);
    let same = |(old, new): &(&DiffRow<'_>, &DiffRow<'_>)| old.text.trim_end() == new.text.trim_end();
    let head = rows[first..=last].iter().zip(&added).take_while(same).count();
    let tail = rows[first + head..=last].iter().rev().zip(added[head..].iter().rev()).take_while(same).count();
    let (from, to) = (first + head, last + 1 - tail);
    for row in &mut rows[from..to] {
        row.mark = DiffMark::Removed;
    }
    rows.splice(to..to, added[head..added.len() - tail].iter().copied());
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::json;

    fn drawn(quote: &str, lines: (u32, u32), replaced: (u32, u32), replacement: &str) -> Option<String> {
        let typical = include_bytes!("../../fixtures/documents/typical.json");
        let mut finding = json::parse(typical).unwrap().findings.remove(0);
        let range = |(a, b)| crate::domain::place::LineRange::new(a, b).unwrap();
        finding.anchors[0].quote = quote.to_owned();
        finding.anchors[0].lines = Some(range(lines));
        let suggestion = finding.suggestion.as_mut().unwrap();
        suggestion.lines = range(replaced);
        suggestion.replacement = replacement.to_owned();
        let rows = diff_rows(&finding)?;
        Some(rows.iter().map(|row| format!("{}{}", row.mark.sign(), row.text)).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn only_what_changes_is_marked() {
        assert_eq!(drawn("a\nb\nc", (5, 7), (5, 7), "a\nx\nc").as_deref(), Some(" a|-b|+x| c"));
        assert_eq!(drawn("a\nb\nc", (5, 7), (6, 6), "x\ny").as_deref(), Some(" a|-b|+x|+y| c"));
        assert_eq!(drawn("a\nb", (5, 6), (6, 6), "").as_deref(), Some(" a|-b"));
        assert_eq!(drawn("a\na", (5, 6), (5, 6), "a").as_deref(), Some(" a|-a"));
        assert_eq!(drawn("a", (5, 5), (5, 5), "a\na").as_deref(), Some(" a|+a"));
    }

    #[test]
    fn a_suggestion_for_other_lines_is_not_worked_in() {
        assert_eq!(drawn("a\nb", (5, 6), (6, 7), "x"), None);
        assert_eq!(drawn("a", (5, 9), (6, 6), "x"), None, "the quote is shorter than its lines say");
    }
}
