//! Finding lines of a text by what stands on them. Main functions: [`with_word`], [`has_word`].

use super::super::subject::Touched;
use crate::domain::place::LineRange;
use crate::domain::text::FileText;

/// Whether `word` stands in `line` with nothing before or after it that names are made of.
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

/// The first changed line that has `word`; one that has `beside` as well comes before.
pub(super) fn with_word(text: &FileText, touched: &Touched, word: &str, beside: &str) -> Option<LineRange> {
    let lines = || text.all_lines().filter(|(number, line)| touched.covers(*number) && has_word(line, word));
    let found = lines().find(|(_, line)| line.contains(beside)).or_else(|| lines().next());
    found.map(|(number, _)| LineRange::line(number))
}
