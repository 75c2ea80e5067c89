//! One text with several issues, taken apart. Main function: [`split`].
//!
//! Each issue ends with its own prompt for an agent, so the text is cut after those. The names of the parts are those of `pr-review-mcp` for a
//! text that it sees whole, so that what its users resolved stays so: they are made from what stands between one heading and the next.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::blocks::HtmlBlocks;
use super::visible_text::{BlankedParts, blank_hidden, fenced_blocks};
use crate::domain::id::hex;
use crate::domain::text::LazyPattern;

/// More are left in the last part.
pub(super) const MOST_PARTS: usize = 100;

static HEADING: LazyPattern = LazyPattern::new(r"(?i)🤖\s*\*{0,2}Prompt for AI Agents");

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPart<'t> {
    /// Its name, made from its parent's.
    pub(super) id: String,
    /// Its text.
    pub(super) body: &'t str,
}

/// The parts of a text that has several; none where it has one. Also whether there were more than are taken apart.
pub(super) fn split<'t>(parent: &str, text: &'t str) -> (Vec<TextPart<'t>>, bool) {
    let shown = blank_hidden(text, BlankedParts { quotes: true, comments: true });
    let all = HEADING.regex().into_iter().flat_map(|heading| heading.find_iter(&shown)).map(|found| found.start());
    let mut starts: Vec<usize> = all.take(MOST_PARTS + 1).collect();
    let has_more = starts.len() > MOST_PARTS;
    starts.truncate(MOST_PARTS);
    if starts.len() < 2 {
        return (Vec::new(), false);
    }
    let ends = ends(text, &starts);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut from = 0;
    let mut parts = Vec::with_capacity(starts.len());
    for (index, start) in starts.iter().enumerate() {
        let section = &text[*start..starts.get(index + 1).copied().unwrap_or(text.len())];
        let mut id = format!("{parent}-child-{}", &hex(&Sha256::digest(section.trim().as_bytes()))[..12]);
        let times = seen.entry(id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            id = format!("{id}-{times}");
        }
        let end = if index + 1 == starts.len() { text.len() } else { ends[index] };
        parts.push(TextPart { id, body: text[from..end].trim().trim_start_matches("---").trim() });
        from = end;
    }
    (parts, has_more)
}

/// Finds the end of each issue: after the fold or the fence that its heading begins, else where the next one's heading stands.
fn ends(text: &str, starts: &[usize]) -> Vec<usize> {
    let blocks = HtmlBlocks::of(text);
    let code = fenced_blocks(text);
    let mut floor = 0;
    let end_of = |(index, start): (usize, &usize)| {
        let next = starts.get(index + 1).copied().unwrap_or(text.len());
        let before = blocks.all.partition_point(|block| block.whole.start < *start);
        // A heading stands in the summary of the fold that began last before it.
        let fold = before.checked_sub(1).map(|last| &blocks.all[last]).filter(|block| block.summary.contains(start));
        let first = code.partition_point(|code| code.whole.start < *start);
        let fence = code.get(first).map(|code| code.whole.end);
        let end = fold.map(|block| block.whole.end).or(fence).filter(|end| *end <= next).unwrap_or(next);
        floor = end.max(floor);
        floor
    };
    starts.iter().enumerate().map(end_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(what: &str) -> String {
        format!("<details>\n<summary>🤖 Prompt for AI Agents</summary>\n\n```\n{what}\n```\n\n</details>")
    }

    #[test]
    fn each_part_has_its_words_and_its_prompt() {
        let text = format!("**One.**\n\nx\n\n{}\n\n---\n\n**Two.**\n\n{}\n\nlast", fold("a"), fold("b"));
        let (parts, more) = split("P", &text);
        assert!(!more);
        let bodies: Vec<_> = parts.iter().map(|part| part.body.to_owned()).collect();
        assert_eq!(bodies, [format!("**One.**\n\nx\n\n{}", fold("a")), format!("**Two.**\n\n{}\n\nlast", fold("b"))]);
        assert_eq!(parts, split("P", &text).0);
        assert_ne!(parts[0].id, parts[1].id);
    }

    #[test]
    fn a_part_is_called_after_what_follows_its_heading() {
        let text = "🤖 Prompt for AI Agents\nfirst\n\n🤖 **Prompt for AI Agents**\nsecond\n";
        let (parts, _) = split("P", text);
        let named = |section: &str| format!("P-child-{}", &hex(&Sha256::digest(section.as_bytes()))[..12]);
        assert_eq!(parts[0].id, named("🤖 Prompt for AI Agents\nfirst"));
        assert_eq!(parts[1].id, named("🤖 **Prompt for AI Agents**\nsecond"));
    }

    #[test]
    fn equal_parts_have_names_of_their_own() {
        let text = "🤖 Prompt for AI Agents\nsame\n".repeat(3);
        let ids: Vec<_> = split("P", &text).0.into_iter().map(|part| part.id).collect();
        assert_eq!(ids[1], format!("{}-2", ids[0]));
        assert_eq!(ids[2], format!("{}-3", ids[0]));
    }

    #[test]
    fn one_prompt_and_quoted_prompts_split_nothing() {
        let one = fold("a");
        let quoted = format!("{one}\n\n> 🤖 Prompt for AI Agents\n\n`🤖 Prompt for AI Agents`");
        assert!(split("P", &one).0.is_empty() && split("P", &quoted).0.is_empty());
    }

    #[test]
    fn many_parts_are_cut_and_said() {
        let text = "🤖 Prompt for AI Agents\n".repeat(500);
        let (parts, more) = split("P", &text);
        assert!(more && parts.len() == MOST_PARTS);
    }
}
