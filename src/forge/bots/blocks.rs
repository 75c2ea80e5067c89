//! The `<details>` blocks of a text, however they are nested. Main type: [`HtmlBlock`].
//!
//! Bots fold what they list into such blocks, and fold again inside them. Blocks are found in one pass over the tags, so a block ends where its
//! own end stands, not where the first end stands. Tags in code and in HTML comments are no tags.

use std::ops::Range;

use super::visible_text::{BlankedParts, blank_hidden};

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HtmlBlock {
    /// All of it, tags included.
    pub(super) whole: Range<usize>,
    /// Its title: the text between the tags of its summary.
    pub(super) summary: Range<usize>,
    /// The text after the summary, up to the end of the block.
    pub(super) inside: Range<usize>,
    /// The number of blocks it stands in.
    pub(super) depth: usize,
}

/// The blocks of a text, in the order in which they begin, and how many tags stand alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlBlocks {
    /// Those that are whole.
    pub(super) all: Vec<HtmlBlock>,
    /// Blocks that never end, and ends of none.
    pub(super) broken: usize,
}

struct OpenHtmlBlock {
    start: usize,
    after_tag: usize,
    summary: Option<(usize, Option<Range<usize>>)>,
    after_summary: usize,
}

impl HtmlBlocks {
    /// Finds them.
    pub(super) fn of(text: &str) -> Self {
        let shown = blank_hidden(text, BlankedParts { quotes: false, comments: true });
        let mut open: Vec<OpenHtmlBlock> = Vec::new();
        let mut blocks = Self::default();
        for tag in tags(shown.as_bytes()) {
            match tag.kind {
                Kind::Details => open.push(OpenHtmlBlock {
                    start: tag.at.start,
                    after_tag: tag.at.end,
                    summary: None,
                    after_summary: tag.at.end,
                }),
                Kind::Summary => {
                    if let Some(last) = open.last_mut().filter(|last| last.summary.is_none()) {
                        last.summary = Some((tag.at.end, None));
                    }
                }
                Kind::SummaryEnd => {
                    if let Some(OpenHtmlBlock { summary: Some((start, end @ None)), after_summary, .. }) =
                        open.last_mut()
                    {
                        *end = Some(*start..tag.at.start);
                        *after_summary = tag.at.end;
                    }
                }
                Kind::DetailsEnd => match open.pop() {
                    Some(one) => blocks.all.push(HtmlBlock {
                        whole: one.start..tag.at.end,
                        summary: one.summary.and_then(|(_, range)| range).unwrap_or(one.after_tag..one.after_tag),
                        inside: one.after_summary..tag.at.start,
                        depth: open.len(),
                    }),
                    None => blocks.broken += 1,
                },
            }
        }
        blocks.broken += open.len();
        blocks.all.sort_by_key(|block| block.whole.start);
        blocks
    }

    /// Those that stand in a range and in no other block of that range.
    pub(super) fn outermost_in(&self, range: &Range<usize>) -> impl Iterator<Item = &HtmlBlock> {
        let mut end = range.start;
        let first = self.all.partition_point(|block| block.whole.start < range.start);
        let last = range.end;
        self.all[first..].iter().take_while(move |block| block.whole.start < last).filter(move |block| {
            let is_next = block.whole.start >= end && block.whole.end <= last;
            if is_next {
                end = block.whole.end;
            }
            is_next
        })
    }
}

enum Kind {
    Details,
    DetailsEnd,
    Summary,
    SummaryEnd,
}

struct Tag {
    kind: Kind,
    at: Range<usize>,
}

/// The longest tag that is believed; what is longer is not one, so that no search for its end goes far.
const LONGEST_TAG: usize = 300;

fn tags(bytes: &[u8]) -> impl Iterator<Item = Tag> {
    memchr::memchr_iter(b'<', bytes).filter_map(|start| {
        let near = &bytes[start + 1..bytes.len().min(start + LONGEST_TAG)];
        let is_end = near.first() == Some(&b'/');
        let name = if is_end { &near[1..] } else { near };
        let (kind, length) = [("details", true), ("summary", false)].into_iter().find_map(|(word, is_details)| {
            let fits = name.get(..word.len()).is_some_and(|name| name.eq_ignore_ascii_case(word.as_bytes()));
            let kind = match (is_details, is_end) {
                (true, false) => Kind::Details,
                (true, true) => Kind::DetailsEnd,
                (false, false) => Kind::Summary,
                (false, true) => Kind::SummaryEnd,
            };
            fits.then_some((kind, word.len()))
        })?;
        let after = name.get(length)?;
        if !matches!(after, b'>' | b' ' | b'\n' | b'\t' | b'\r' | b'/') {
            return None;
        }
        let close = memchr::memchr(b'>', near)?;
        Some(Tag { kind, at: start..start + 1 + close + 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_ends_where_its_own_end_stands() {
        let text = "<details open>\n<summary>a (1)</summary>\nx<DETAILS><summary>b</summary>y</DETAILS>z\n</details>w";
        let blocks = HtmlBlocks::of(text);
        let told: Vec<_> =
            blocks.all.iter().map(|one| (&text[one.summary.clone()], &text[one.inside.clone()], one.depth)).collect();
        assert_eq!(told, [("a (1)", "\nx<DETAILS><summary>b</summary>y</DETAILS>z\n", 0), ("b", "y", 1)]);
        assert_eq!(blocks.broken, 0);
    }

    #[test]
    fn tags_in_code_and_in_comments_are_none() {
        let text =
            "`<details>` <!-- <details> -->\n```\n<details>\n```\n<detailsx><details><summary>a</summary></details>";
        let blocks = HtmlBlocks::of(text);
        assert_eq!((blocks.all.len(), blocks.broken), (1, 0));
    }

    #[test]
    fn what_never_ends_is_counted_and_hides_nothing() {
        let text = "<details><details><summary>a</summary>b</details></details></details><details>";
        let blocks = HtmlBlocks::of(text);
        assert_eq!((blocks.all.len(), blocks.broken), (2, 2));
        assert_eq!(blocks.outermost_in(&(0..text.len())).count(), 1);
    }

    proptest! {
        #[test]
        fn blocks_are_nested_or_apart(text in "(<details>|</details>|<summary>|</summary>|a|\n){0,30}") {
            let blocks = HtmlBlocks::of(&text);
            for (index, one) in blocks.all.iter().enumerate() {
                prop_assert!(text.get(one.inside.clone()).is_some() && text.get(one.summary.clone()).is_some());
                for other in &blocks.all[index + 1..] {
                    prop_assert!(other.whole.start >= one.whole.end || other.whole.end <= one.whole.end);
                }
            }
        }
    }
}
