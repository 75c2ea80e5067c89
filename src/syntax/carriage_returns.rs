//! Lone carriage returns that end lines. Main type: [`LoneReturns`].
//!
//! Some languages end a line at them, but their grammars, git and most editors do not. So a parser is given a line feed in place of each,
//! and the tree is corrected afterwards: its lines are then those of the text again.

use std::borrow::Cow;

use tree_sitter::{InputEdit, Point, Tree};

use super::grammar::{Grammar, ParseFailure};

/// Maximum number of them; each costs a walk over the tree.
const MOST: usize = 1000;

/// The lone carriage returns of a text that end lines in its language.
pub(super) struct LoneReturns {
    /// Their byte offsets, ascending.
    at: Vec<usize>,
}

impl LoneReturns {
    /// Finds those of `text`. An error if there are too many.
    pub(super) fn of(grammar: Grammar, text: &str) -> Result<Self, ParseFailure> {
        let at: Vec<usize> = if ends_lines(grammar) { positions(text).take(MOST + 1).collect() } else { Vec::new() };
        if at.len() > MOST {
            return Err(ParseFailure::BeyondScanner("too many of its lines end in a lone carriage return"));
        }
        Ok(Self { at })
    }

    /// `true` if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Returns the text with line feeds in their places.
    pub(super) fn replace<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        if self.is_empty() {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut bytes = text.as_bytes().to_vec();
        for at in &self.at {
            bytes[*at] = b'\n';
        }
        Cow::Owned(bytes)
    }

    /// Corrects the lines in the tree of the replaced text.
    pub(super) fn restore(&self, tree: &mut Tree, replaced: &[u8]) {
        let mut places = Vec::with_capacity(self.at.len());
        let (mut row, mut line, mut from) = (0, 0, 0);
        for at in &self.at {
            for feed in memchr::memchr_iter(b'\n', &replaced[from..*at]) {
                (row, line) = (row + 1, from + feed + 1);
            }
            places.push((*at, Point { row, column: at - line }));
            from = *at;
        }
        // From the last to the first: an edit does not move the places before it.
        for (at, start_position) in places.into_iter().rev() {
            let Point { row, column } = start_position;
            tree.edit(&InputEdit {
                start_byte: at,
                old_end_byte: at + 1,
                new_end_byte: at + 1,
                start_position,
                old_end_position: Point { row: row + 1, column: 0 },
                new_end_position: Point { row, column: column + 1 },
            });
        }
    }
}

/// Checks whether compilers and interpreters of the language end a line there. Go, Rust and shells do not.
const fn ends_lines(grammar: Grammar) -> bool {
    !matches!(grammar, Grammar::Rust | Grammar::Go | Grammar::Bash)
}

fn positions(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) != Some(&b'\n'))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::grammar::ParseLimits;
    use super::super::tree::SyntaxTree;
    use super::*;
    use crate::sys::cancel::Cancel;

    #[test]
    fn code_behind_a_comment_is_code_on_the_line_of_the_comment() {
        for (grammar, text, kind) in [
            (Grammar::Python, "a = 1\nb = 2  # fine\rhidden(b)\nlast(c)\n", "call"),
            (Grammar::Python, "a = 1\nb = '''\rx\ny'''  # fine\rhidden(b)\nlast(c)\n", "call"),
            (Grammar::JavaScript, "a = 1\nb = 2 // fine\rhidden(b)\nlast(c)\n", "call_expression"),
            (Grammar::TypeScript, "a = 1\nb = 2 // fine\rhidden(b)\nlast(c)\n", "call_expression"),
            (Grammar::Java, "class A { void f() {\nint b; // fine\r hidden(b);\nlast(c); } }\n", "method_invocation"),
            (Grammar::Cpp, "void f() {\nint b; // fine\r hidden(b);\nlast(c); }\n", "call_expression"),
            (Grammar::Yaml, "a: 1\nb: 2 # fine\rhidden: c\nlast: c\n", "block_mapping_pair"),
        ] {
            let cancel = Cancel::never();
            let tree = SyntaxTree::parse(grammar, text, &ParseLimits::new(&cancel, Duration::from_mins(1))).unwrap();
            let root = tree.root.root();
            let line_of = |word: &str| {
                let found = root.dfs().find(|node| node.kind() == kind && node.text().starts_with(word));
                found.map(|node| node.start_pos().line())
            };
            let line = |word: &str| text[..text.find(word).unwrap()].matches('\n').count();
            assert_eq!((line_of("hidden"), line_of("last")), (Some(line("hidden")), Some(line("last"))), "{text:?}");
        }
        let many = "a = 1\r".repeat(MOST + 1);
        assert!(matches!(LoneReturns::of(Grammar::Python, &many), Err(ParseFailure::BeyondScanner(_))));
        assert!(LoneReturns::of(Grammar::Python, "a\r\nb\r\n").unwrap().is_empty());
    }
}
