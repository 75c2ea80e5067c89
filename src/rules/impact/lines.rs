//! Finds lines of a text by words on them. Main functions: [`with_word`], [`has_word`].

use super::super::target::ChangedLineIndex;
use crate::domain::place::LineRange;
use crate::domain::text::FileText;

/// Checks whether `word` is in `line` as a whole identifier.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/');
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find(word)) {
        let (start, end) = (from + at, from + at + word.len());
        let before = line[..start].chars().next_back();
        let after = line[end..].chars().next();
        if !before.is_some_and(is_part) && !after.is_some_and(is_part) {
            return true;
        }
        from = end;
    }
    false
}

/// Returns the first changed line with `word`; a line that also has `beside` takes precedence.
pub(super) fn find_line_with_word(
    text: &FileText,
    touched: &ChangedLineIndex,
    word: &str,
    beside: &str,
) -> Option<LineRange> {
    let lines = || text.all_lines().filter(|(number, line)| touched.covers(*number) && has_word(line, word));
    let found = lines().find(|(_, line)| line.contains(beside)).or_else(|| lines().next());
    found.map(|(number, _)| LineRange::line(number))
}
