//! Finds the imports of a text: `@path` in running text. Main function: [`imports`].

use crate::document::prose_ranges;

/// Limit on the imports of one text.
const MOST: usize = 100;
/// Limit in bytes on an import's path.
const LONGEST: usize = 512;

/// An import as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GuidelineImport {
    /// The text after the `@`.
    pub(super) path: String,
    /// Its line in the text, from 1.
    pub(super) line: u32,
}

impl GuidelineImport {
    /// `true` if it can only be a file: `@name` may also be a mention, `@scope/package` a package.
    pub(super) fn is_surely_a_file(&self) -> bool {
        let path = &self.path;
        let is_document = [".md", ".mdc", ".mdx", ".txt"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
        is_document || ["./", "../", "~/", "/"].iter().any(|start| path.starts_with(start))
    }
}

/// Finds the imports of a text, in order. Code, comments and the middle of words contain none.
pub(super) fn imports(text: &str) -> Vec<GuidelineImport> {
    let mut found = Vec::new();
    let (mut line, mut counted) = (1u32, 0);
    for piece in prose_ranges(text) {
        for at in memchr::memchr_iter(b'@', &text.as_bytes()[piece.clone()]).map(|at| piece.start + at) {
            if !text[piece.start..at].chars().next_back().is_none_or(char::is_whitespace) {
                continue;
            }
            let rest = &text[at + 1..piece.end];
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            // A sentence may end after it.
            let path = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
            let begins_so =
                path.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '/'));
            if !begins_so || path.len() > LONGEST {
                continue;
            }
            if found.len() >= MOST {
                return found;
            }
            let newlines = memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
            line = line.saturating_add(u32::try_from(newlines).unwrap_or(u32::MAX));
            counted = at;
            found.push(GuidelineImport { path: path.to_owned(), line });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(text: &str) -> Vec<(String, u32)> {
        imports(text).into_iter().map(|import| (import.path, import.line)).collect()
    }

    #[test]
    fn an_import_is_a_word_of_the_running_text() {
        let text = "# Rules\n\nSee @docs/style_guide_v2.md, and @./a.md.\n- @~/mine.md\n\n`@code.md` a@b.example\n\n```\n@fenced.md\n```\n\
                    <!-- @hidden.md -->\n\n@AGENTS.md";
        let expected = [("docs/style_guide_v2.md", 3), ("./a.md", 3), ("~/mine.md", 4), ("AGENTS.md", 13)];
        assert_eq!(named(text), expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn what_names_somebody_is_no_file_for_sure() {
        let sure: Vec<bool> =
            imports("@ada @types/node @docs/x.MD @../y").iter().map(GuidelineImport::is_surely_a_file).collect();
        assert_eq!(sure, [false, false, true, true]);
    }

    #[test]
    fn no_more_are_taken_than_anybody_needs() {
        assert_eq!(imports(&"@a.md ".repeat(5_000)).len(), MOST);
        assert!(imports(&format!("@{}", "a".repeat(10_000))).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(@|[a-z./~]{1,5}|[ \\n`<!>()\\-\\[\\]*_]|\\PC){0,40}") {
            for import in imports(&text) {
                prop_assert!(text.lines().nth(import.line as usize - 1).is_some_and(|line| line.contains(&import.path)));
            }
        }
    }
}
