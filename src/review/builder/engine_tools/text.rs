//! Text that a model writes for readers: masked, of bounded length, and never the markup of a tool call.

use std::borrow::Cow;

use crate::domain::text::mask;
use crate::llm::find_leaked_markup;
use crate::tools::{ErrorKind, ToolFault};

/// The longest title, in characters.
const LONGEST_TITLE: usize = 200;
/// The longest reason or remark, in characters.
const LONGEST_SENTENCE: usize = 600;

/// A field of an input that a reader will see.
pub(in crate::review) struct ReaderText<'a> {
    /// Its name.
    pub(in crate::review) field: &'static str,
    /// Text of the model.
    pub(in crate::review) text: &'a str,
}

impl ReaderText<'_> {
    /// Returns one line of at most [`LONGEST_TITLE`] characters; a remark is added if it was cut.
    pub(super) fn title(&self, notes: &mut Vec<String>) -> Result<String, ToolFault> {
        self.line(LONGEST_TITLE, notes)
    }

    /// Returns one line of at most [`LONGEST_SENTENCE`] characters; a remark is added if it was cut.
    pub(in crate::review) fn sentence(&self, notes: &mut Vec<String>) -> Result<String, ToolFault> {
        self.line(LONGEST_SENTENCE, notes)
    }

    fn line(&self, most: usize, notes: &mut Vec<String>) -> Result<String, ToolFault> {
        let line = self.checked()?.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((cut, _)) = line.char_indices().nth(most) else { return Ok(line) };
        notes.push(format!("`{}` is longer than {most} characters and was cut.", self.field));
        // The ellipsis replaces the last character.
        let end = line[..cut].char_indices().next_back().map_or(0, |(at, _)| at);
        Ok(format!("{}…", line[..end].trim_end()))
    }

    /// Returns Markdown of at most this many bytes; a remark is added if it was cut.
    pub(super) fn block(&self, most: usize, notes: &mut Vec<String>) -> Result<String, ToolFault> {
        let text = self.checked()?;
        if text.len() <= most {
            return Ok(text);
        }
        notes.push(format!("`{}` is longer than {} KiB and was cut.", self.field, most >> 10));
        let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
        Ok(format!("{}…", &text[..end]))
    }

    fn checked(&self) -> Result<String, ToolFault> {
        let field = self.field;
        let text = self.text.trim();
        if text.is_empty() {
            return Err(ToolFault::new(ErrorKind::InvalidInput, format!("`{field}` is empty: it must say something")));
        }
        if let Some(dialect) = find_leaked_markup(text) {
            return Err(ToolFault::new(
                ErrorKind::InvalidInput,
                format!(
                    "`{field}` holds a tool call written as text ({dialect}): write only what a reader shall see, and code in backticks"
                ),
            ));
        }
        Ok(mask(&plain_lines(text)).text)
    }
}

fn plain_lines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> (String, usize) {
        let mut notes = Vec::new();
        (ReaderText { field: "title", text }.title(&mut notes).unwrap(), notes.len())
    }

    #[test]
    fn a_title_is_one_line_of_bounded_length() {
        assert_eq!(title(" a\n  b\tc "), ("a b c".to_owned(), 0));
        let (cut, notes) = title(&"ä".repeat(300));
        assert_eq!((cut.chars().count(), cut.ends_with("ä…"), notes), (LONGEST_TITLE, true, 1));
        assert_eq!(title(&"x".repeat(LONGEST_TITLE)).1, 0);
    }

    #[test]
    fn a_block_is_cut_at_a_character() {
        let mut notes = Vec::new();
        let text = "ü".repeat(2000);
        let cut = ReaderText { field: "body", text: &text }.block(1024, &mut notes).unwrap();
        assert!(cut.len() <= 1024 && cut.ends_with("ü…"), "{}", cut.len());
        assert_eq!(notes, ["`body` is longer than 1 KiB and was cut."]);
    }

    #[test]
    fn nothing_and_leaked_markup_are_refused_and_secrets_are_masked() {
        let fault = |text| ReaderText { field: "body", text }.checked().unwrap_err().message;
        assert_eq!(fault(" \n"), "`body` is empty: it must say something");
        assert!(fault("<invoke name=\"finish_review\">").contains("tool call written as text"));
        let secret = ["AKIA", "QWERTYUIOPASDFGH"].concat();
        let text = format!("The token {secret} is in the code.");
        let kept = ReaderText { field: "body", text: &text }.checked().unwrap();
        assert!(!kept.contains(&secret[6..20]), "{kept}");
    }
}
