//! Untrusted text on its way into a comment: secrets out, Markdown harmless, never longer than its room. Main type: [`CommentWriter`].
//!
//! Sanitizing Markdown is shared with files (`present::safe`); detecting secrets belongs in `guard`.

use crate::domain::text::{shorten, strip_line};
use crate::present::escape;

use super::guard::SecretGuard;

/// Returns the length of a text as a forge counts it: GitHub counts characters, some of its parts UTF-16 units; those are never fewer.
pub(super) fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Makes texts fit for a comment.
pub(super) struct CommentWriter<'g> {
    guard: &'g SecretGuard,
}

impl<'g> CommentWriter<'g> {
    pub(super) fn new(guard: &'g SecretGuard) -> Self {
        Self { guard }
    }

    /// One line of plain text; not Markdown.
    pub(super) fn plain_line(&self, text: &str) -> String {
        strip_line(&self.guard.clean(text).0).trim().to_owned()
    }

    /// One line as Markdown, at most `most` characters of the text.
    pub(super) fn markdown_line(&self, text: &str, most: usize) -> String {
        escape::inline(&shorten(&self.plain_line(text), most))
    }

    /// A code span, at most `most` characters of the text.
    pub(super) fn inline_code(&self, text: &str, most: usize) -> String {
        escape::code(&shorten(&self.plain_line(text), most))
    }

    /// A line and a code span as they stand in a cell of a table.
    pub(super) fn cell(&self, text: &str, most: usize) -> String {
        escape::table_cell(&shorten(&self.plain_line(text), most))
    }

    pub(super) fn cell_code(&self, text: &str, most: usize) -> String {
        escape::cell_code(&shorten(&self.plain_line(text), most))
    }

    /// A fenced block of at most `room`, by lines; empty where not even one line has room.
    pub(super) fn fenced_block(&self, language: &str, text: &str, room: usize) -> String {
        let clean = self.guard.clean(text).0;
        let block = escape::fenced(language, &clean);
        if length(&block) <= room {
            return block;
        }
        let mut kept = prefix(&clean, room.saturating_sub(60));
        while let Some(at) = kept.rfind('\n') {
            kept = &kept[..at];
            let left = clean[at..].lines().count().saturating_sub(1);
            let block = escape::fenced(language, &format!("{kept}\n… {left} more lines"));
            if length(&block) <= room {
                return block;
            }
        }
        String::new()
    }

    /// A text of several lines in at most `room`, and whether it was cut. It is cut at a paragraph in its second half, a line, or a word.
    pub(super) fn prose(&self, markdown: &str, room: usize) -> (String, bool) {
        let clean = self.guard.clean(markdown).0;
        let whole = escape::prose(&clean);
        if length(&whole) <= room {
            return (whole, false);
        }
        let mut most = room;
        while most > 0 {
            let rendered = escape::prose(cut(&clean, most));
            if length(&rendered) <= room {
                return (rendered, true);
            }
            // Escapes made it longer; fewer characters of the text will do.
            most = most / 4 * 3;
        }
        (String::new(), true)
    }

    /// A whole text once more, as what was split between its parts is whole only here.
    pub(super) fn recheck(&self, text: &str) -> (String, usize) {
        self.guard.clean(text)
    }
}

/// The beginning of a text, in UTF-16 units.
fn prefix(text: &str, units: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > units {
            return &text[..at];
        }
    }
    text
}

fn cut(text: &str, units: usize) -> &str {
    let start = prefix(text, units);
    if start.len() == text.len() {
        return text;
    }
    let half = start.len() / 2;
    let at = start.rfind("\n\n").filter(|at| *at >= half);
    let at = at.or_else(|| start.rfind('\n').filter(|at| *at >= half));
    let at = at.or_else(|| start.rfind(' ').filter(|at| *at >= half));
    &start[..at.unwrap_or(start.len())]
}

#[cfg(test)]
mod tests;
