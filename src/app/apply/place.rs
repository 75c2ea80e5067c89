//! Where a suggestion belongs in a file that may have changed since it was reviewed. Main function: [`place`].

use crate::domain::finding::{Anchor, Finding, Suggestion};
use crate::domain::place::{LineRange, Side};
use crate::domain::text::FileText;
use crate::evidence::{Located, locate};

/// Why a suggestion has no place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceFault {
    /// Nobody can tell what it replaces.
    #[error("the review does not say which text it replaces; review again")]
    Unknown,
    /// The lines changed.
    #[error("the lines that it replaces do not stand there any more as they were reviewed; review again")]
    Gone,
    /// There are several such lines.
    #[error("the file changed since the review, and the lines that it replaces stand at several places now; review again")]
    Several,
    /// They tell nothing apart.
    #[error("the file changed since the review, and the lines that it replaces (a brace, say) could be any; review again")]
    NotDistinctive,
}

/// The lines that a suggestion replaces and those that were quoted around them, as they were reviewed.
struct Block<'a> {
    /// The number of the first line.
    start: u32,
    lines: Vec<&'a str>,
}

/// The lines of `text` that the suggestion of a finding replaces. `is_as_reviewed` says that the file is what it was at the reviewed head:
/// then they are where they were. Else the quote has to stand at one place, wherever that is.
pub(super) fn place(finding: &Finding, text: &FileText, is_as_reviewed: bool) -> Result<LineRange, PlaceFault> {
    let suggestion = finding.suggestion.as_ref().ok_or(PlaceFault::Unknown)?;
    let anchors = finding.anchors.iter();
    let mut blocks = anchors.filter_map(|anchor| Block::of(anchor, suggestion));
    let block = blocks.next().ok_or(PlaceFault::Unknown)?;
    let start = if is_as_reviewed { block.start } else { block.found_in(text)? };
    if !block.stands_at(start, text) {
        return Err(PlaceFault::Gone);
    }
    let moved = |line: u32| (line - block.start).checked_add(start).ok_or(PlaceFault::Gone);
    let lines = suggestion.lines;
    LineRange::new(moved(lines.start())?, moved(lines.end())?).map_err(|_| PlaceFault::Gone)
}

impl<'a> Block<'a> {
    /// What is known to have stood on the lines of a suggestion: the quote, and the line beside it that an insertion takes along and gives
    /// back as it was.
    fn of(anchor: &'a Anchor, suggestion: &'a Suggestion) -> Option<Self> {
        let quoted = anchor.lines.filter(|_| anchor.side == Side::New && anchor.path == suggestion.path)?;
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

    /// The line at which it begins in a text where it stands once.
    fn found_in(&self, text: &FileText) -> Result<u32, PlaceFault> {
        // A quote is found without the blank lines at its ends.
        let blank = self.lines.iter().take_while(|line| line.trim().is_empty()).count();
        match locate(text, &self.lines.join("\n"), None) {
            Located::Exact(found) => {
                let blank = u32::try_from(blank).map_err(|_| PlaceFault::Gone)?;
                found.start().checked_sub(blank).filter(|start| *start > 0).ok_or(PlaceFault::Gone)
            }
            Located::Moved(_) | Located::Nowhere { .. } | Located::Empty => Err(PlaceFault::Gone),
            Located::Ambiguous(_) => Err(PlaceFault::Several),
            Located::NotDistinctive => Err(PlaceFault::NotDistinctive),
        }
    }

    /// Whether each of its lines stands there to the letter: what is found may be indented otherwise, and a replacement is not.
    fn stands_at(&self, start: u32, text: &FileText) -> bool {
        (start..).zip(&self.lines).all(|(number, line)| text.line(number) == Some(line))
    }
}
