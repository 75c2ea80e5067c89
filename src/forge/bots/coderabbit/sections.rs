//! The lists in the text of a review: one fold for each list, in it one fold for each file. Main type: [`Sections`].
//!
//! The list of remarks outside the diff stands in a quote, with its folds. It is read from the text without that quote.

use std::ops::Range;

use super::super::blocks::{HtmlBlock, HtmlBlocks};
use super::super::visible_text::{BlankedParts, blank_hidden, unquote};
use crate::domain::forge::Held;

/// The names of lists.
const LISTS: &[(Held, &str)] =
    &[(Held::Nitpick, "nitpick comments"), (Held::OutsideDiff, "outside diff range comments")];

/// Lists of a review.
pub(super) struct Sections {
    /// Those that can be read, nitpicks first.
    pub(super) all: Vec<RemarkSection>,
    /// `true` if one begins that does not end.
    pub(super) has_unended: bool,
}

/// One list.
pub(super) struct RemarkSection {
    /// The kind of list.
    pub(super) held: Held,
    text: String,
    blocks: HtmlBlocks,
    inside: Range<usize>,
}

/// The part of a list about one file.
pub(super) struct SectionFile<'s> {
    /// Its path as it is written there.
    pub(super) name: &'s str,
    /// All of the text that the list stands in.
    pub(super) text: &'s str,
    /// Its folds.
    pub(super) blocks: &'s HtmlBlocks,
    /// The range of the text about this file.
    pub(super) inside: Range<usize>,
}

/// Finds the lists.
pub(super) fn split_sections(text: &str) -> Sections {
    let mut sections = Sections { all: Vec::new(), has_unended: false };
    let plain = SectionText::of(text.to_owned());
    let mut open: Option<SectionText> = None;
    for (held, called) in LISTS {
        let Some(block) = plain.fold(called) else {
            sections.has_unended |= plain.names(called);
            continue;
        };
        if !plain.is_quoted(block) {
            sections.all.push(plain.section(*held, block));
            continue;
        }
        let unquoted = open.get_or_insert_with(|| SectionText::of(unquote(text)));
        match unquoted.fold(called) {
            Some(block) => sections.all.push(unquoted.section(*held, block)),
            None => sections.has_unended = true,
        }
    }
    sections
}

struct SectionText {
    text: String,
    blocks: HtmlBlocks,
}

impl SectionText {
    fn of(text: String) -> Self {
        Self { blocks: HtmlBlocks::of(&text), text }
    }

    fn fold(&self, called: &str) -> Option<&HtmlBlock> {
        self.blocks.all.iter().find(|block| {
            // What is longer is no name; folds may hold anything.
            block.summary.len() < 200 && self.text[block.summary.clone()].to_lowercase().contains(called)
        })
    }

    /// Checks whether the list is begun at all.
    fn names(&self, called: &str) -> bool {
        let shown = blank_hidden(&self.text, BlankedParts { quotes: false, comments: true }).to_lowercase();
        shown.contains(&format!("{called} ("))
    }

    fn is_quoted(&self, block: &HtmlBlock) -> bool {
        let before = &self.text[..block.whole.start];
        before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('>'))
    }

    fn section(&self, held: Held, block: &HtmlBlock) -> RemarkSection {
        RemarkSection { held, text: self.text.clone(), blocks: self.blocks.clone(), inside: block.inside.clone() }
    }
}

impl RemarkSection {
    /// The files that it speaks of, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = SectionFile<'_>> {
        self.blocks.outermost_in(&self.inside).filter_map(|block| {
            let name = file_name(self.text[block.summary.clone()].trim())?;
            let inside = unwrapped(&self.text, &block.inside);
            Some(SectionFile { name, text: &self.text, blocks: &self.blocks, inside })
        })
    }
}

/// Returns the text inside a `<blockquote>` that encloses all of it.
fn unwrapped(text: &str, inside: &Range<usize>) -> Range<usize> {
    const OPEN: &str = "<blockquote>";
    const CLOSE: &str = "</blockquote>";
    let all = &text[inside.clone()];
    let start = inside.end - all.trim_start().strip_prefix(OPEN).map_or(all.len(), str::len);
    let end = inside.start + all.trim_end().strip_suffix(CLOSE).map_or(all.len(), str::len);
    start.min(end)..end
}

/// The name in `name (3)`. What has no count is no file; what is only said beside is not read.
fn file_name(summary: &str) -> Option<&str> {
    let (name, count) = summary.strip_suffix(')')?.rsplit_once('(')?;
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.trim();
    let is_beside = name.starts_with('🔇') || name.contains("Additional comments");
    (is_count && !is_beside && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_around_all_of_it_is_no_part_of_it() {
        for (text, left) in [
            ("<blockquote>\na <blockquote>b</blockquote>\n</blockquote>\n", "\na <blockquote>b</blockquote>\n"),
            ("a", "a"),
            ("<blockquote>", ""),
            ("", ""),
        ] {
            assert_eq!(&text[unwrapped(text, &(0..text.len()))], left);
        }
    }

    #[test]
    fn a_file_has_a_name_and_a_count() {
        assert_eq!(file_name("src/a (b).rs (12)"), Some("src/a (b).rs"));
        for none in ["src/a.rs", "src/a.rs (x)", "src/a.rs ()", "(1)", "🔇 Additional comments (3)"] {
            assert_eq!(file_name(none), None, "{none}");
        }
    }
}
