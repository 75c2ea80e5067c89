//! Locates a suggestion in a file that may have changed since the review. Main function: [`locate`].

use crate::domain::finding::{Anchor, Finding, Suggestion};
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::evidence::{self, QuoteLocation};

/// The reason why a suggestion cannot be located.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceFault {
    /// The replaced lines are unknown.
    #[error("the review does not say which text it replaces; review again")]
    Unknown,
    /// The lines changed.
    #[error("the lines that it replaces do not stand there any more as they were reviewed; review again")]
    Gone,
    /// Several places have the same lines.
    #[error(
        "the file changed since the review, and the lines that it replaces stand at several places now; review again"
    )]
    Several,
    /// The lines are not distinctive.
    #[error(
        "the file changed since the review, and the lines that it replaces (a brace, say) could be any; review again"
    )]
    NotDistinctive,
}

/// The lines that a suggestion replaces and the quoted lines around them, as reviewed.
struct SuggestionBlock<'a> {
    /// The number of the first line.
    start: u32,
    lines: Vec<&'a str>,
}

/// Locates the lines of `text` that the suggestion of a finding replaces. `is_as_reviewed` means that the file equals the reviewed head:
/// then they are unchanged. Else the quote must occur at exactly one place, anywhere in the file.
pub(super) fn locate(finding: &Finding, text: &FileText, is_as_reviewed: bool) -> Result<LineRange, PlaceFault> {
    let suggestion = finding.suggestion.as_ref().ok_or(PlaceFault::Unknown)?;
    let anchors = finding.anchors.iter();
    let mut blocks = anchors.filter_map(|anchor| SuggestionBlock::of(anchor, suggestion));
    let block = blocks.next().ok_or(PlaceFault::Unknown)?;
    let start = if is_as_reviewed { block.start } else { block.find_start(text)? };
    if !block.matches_at(start, text) {
        return Err(PlaceFault::Gone);
    }
    let moved = |line: u32| (line - block.start).checked_add(start).ok_or(PlaceFault::Gone);
    let lines = suggestion.lines;
    LineRange::new(moved(lines.start())?, moved(lines.end())?).map_err(|_| PlaceFault::Gone)
}

impl<'a> SuggestionBlock<'a> {
    /// Builds the known lines of a suggestion: the quote, and the adjacent line that an insertion includes and restores unchanged.
    fn of(anchor: &'a Anchor, suggestion: &'a Suggestion) -> Option<Self> {
        let quoted = anchor.lines.filter(|_| anchor.side == DiffSide::New && anchor.path == suggestion.path)?;
        let mut lines: Vec<&str> = anchor.quote.split('\n').collect();
        if u32::try_from(lines.len()).ok()? != quoted.count() {
            return None;
        }
        let replaced = suggestion.lines;
        let mut start = quoted.start();
        if replaced.start().checked_add(1) == Some(quoted.start()) {
            lines.insert(0, suggestion.replacement.split('\n').next()?);
            start = replaced.start();
        }
        if quoted.end().checked_add(1) == Some(replaced.end()) {
            lines.push(suggestion.replacement.rsplit('\n').next()?);
        }
        let end = start.checked_add(u32::try_from(lines.len()).ok()?)?;
        (start <= replaced.start() && replaced.end() < end).then_some(Self { start, lines })
    }

    /// Finds the start line of its only occurrence in a text.
    fn find_start(&self, text: &FileText) -> Result<u32, PlaceFault> {
        // A quote is found without the blank lines at its ends.
        let blank = self.lines.iter().take_while(|line| line.trim().is_empty()).count();
        match evidence::locate(text, &self.lines.join("\n"), None) {
            QuoteLocation::Exact(found) => {
                let blank = u32::try_from(blank).map_err(|_| PlaceFault::Gone)?;
                found.start().checked_sub(blank).filter(|start| *start > 0).ok_or(PlaceFault::Gone)
            }
            QuoteLocation::Moved(_) | QuoteLocation::Nowhere { .. } | QuoteLocation::Empty => Err(PlaceFault::Gone),
            QuoteLocation::Ambiguous(_) => Err(PlaceFault::Several),
            QuoteLocation::NotDistinctive { .. } => Err(PlaceFault::NotDistinctive),
        }
    }

    /// Checks that each of its lines matches exactly: a quote is located regardless of indentation, but a replacement is not.
    fn matches_at(&self, start: u32, text: &FileText) -> bool {
        (start..).zip(&self.lines).all(|(number, line)| text.line(number) == Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::finding::AnchorMatch;
    use crate::domain::path::RepoPath;
    use crate::present::json;

    const TEXT: &str = "one();\n\ntwo();\nthree();\n\n}\n";

    /// A finding that quotes some lines of `TEXT` and would replace others.
    fn finding(quoted: (u32, u32), replaced: (u32, u32), replacement: &str) -> Finding {
        let mut finding =
            json::parse(include_bytes!("../../../../fixtures/documents/typical.json")).unwrap().findings.remove(0);
        let range = |(start, end)| LineRange::new(start, end).unwrap();
        let path = RepoPath::parse("a.c").unwrap();
        let text = FileText::new(TEXT, "UTF-8");
        let quote: Vec<&str> = text.lines(range(quoted)).map(|(_, line)| line).collect();
        finding.anchors = vec![Anchor {
            path: path.clone(),
            side: DiffSide::New,
            lines: Some(range(quoted)),
            quote: quote.join("\n"),
            matched: AnchorMatch::Exact,
            masked: false,
        }];
        finding.suggestion = Some(Suggestion { path, lines: range(replaced), replacement: replacement.to_owned() });
        finding
    }

    fn placed(finding: &Finding, text: &str, is_as_reviewed: bool) -> Result<(u32, u32), PlaceFault> {
        let text = FileText::new(text, "UTF-8");
        locate(finding, &text, is_as_reviewed).map(|lines| (lines.start(), lines.end()))
    }

    #[test]
    fn lines_within_a_quote_move_with_it() {
        let within = finding((2, 5), (3, 3), "2();");
        assert_eq!(placed(&within, TEXT, true), Ok((3, 3)));
        assert_eq!(placed(&within, &format!("zero();\n{TEXT}"), false), Ok((4, 4)));
        assert_eq!(placed(&within, &TEXT.replace("three", "four"), false), Err(PlaceFault::Gone));
        assert_eq!(
            placed(&within, &TEXT.replace("\n\n}", "\n}"), false),
            Err(PlaceFault::Gone),
            "a quoted blank line is gone"
        );
        assert_eq!(placed(&within, &format!("{TEXT}{TEXT}"), false), Err(PlaceFault::Several));
        assert_eq!(placed(&within, "", true), Err(PlaceFault::Gone));
    }

    #[test]
    fn the_line_beside_a_quote_is_known_by_what_it_is_replaced_with() {
        for (quoted, replaced, replacement) in
            [((4, 4), (3, 4), "two();\nnew();\nthree();"), ((3, 3), (3, 4), "two();\nnew();\nthree();")]
        {
            let beside = finding(quoted, replaced, replacement);
            assert_eq!(placed(&beside, TEXT, true), Ok((3, 4)));
            assert_eq!(placed(&beside, &format!("zero();\n{TEXT}"), false), Ok((4, 5)));
            let other = TEXT.replace("two", "2").replace("three", if quoted.0 == 3 { "3" } else { "three" });
            assert_eq!(placed(&beside, &other, true), Err(PlaceFault::Gone), "the line beside it is another one");
        }
        let apart = finding((1, 1), (3, 4), "x");
        assert_eq!(placed(&apart, TEXT, true), Err(PlaceFault::Unknown));
    }

    #[test]
    fn a_brace_stands_only_where_it_was() {
        let brace = finding((6, 6), (6, 6), "};");
        assert_eq!(placed(&brace, TEXT, true), Ok((6, 6)));
        assert_eq!(placed(&brace, TEXT, false), Err(PlaceFault::NotDistinctive));
    }

    #[test]
    fn a_document_that_fits_nothing_has_no_place() {
        let mut odd = finding((2, 4), (3, 3), "x");
        odd.anchors[0].quote = "two();".to_owned();
        assert_eq!(placed(&odd, TEXT, true), Err(PlaceFault::Unknown), "fewer lines than it says");
        odd.anchors.clear();
        assert_eq!(placed(&odd, TEXT, true), Err(PlaceFault::Unknown));
        let far = finding((1, 1), (1, u32::MAX), "x");
        assert_eq!(placed(&far, TEXT, true), Err(PlaceFault::Unknown));
    }
}
