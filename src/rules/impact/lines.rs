//! Words on lines of a text. Main function: [`has_word`].

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
