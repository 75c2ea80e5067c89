//! A word of a comment or a text that stands there twice in a row.

use super::super::subject::{Hit, Subject, is_test_path};
use super::{Check, CheckInfo};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::LineRange;

pub(super) struct WordTwice;

static INFO: CheckInfo = CheckInfo {
    name: "general/word-written-twice",
    title: "A word stands twice in a row",
    message: "One of them is left over from an edit, or stands where another word was meant.",
    severity: Severity::Nit,
    category: Category::Documentation,
    cwe: None,
};

/// English words that no sentence needs twice. Those of which two can meet (`logged in in time`, `that that`) are not among them.
const WORDS: &[&str] = &[
    "the", "an", "is", "are", "of", "to", "and", "for", "with", "be", "this", "from", "we", "you", "can", "has",
    "have", "was", "if", "when", "these", "its", "into", "there",
];
/// Data holds texts that nobody wrote as such.
const DATA: &[&str] =
    &["json", "csv", "tsv", "xml", "po", "pot", "xlf", "ts", "svg", "lock", "snap", "map", "sum", "txt"];

impl Check for WordTwice {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, subject: &Subject<'_>) -> Vec<Hit> {
        let extension = subject.extension();
        // Translations by Qt end like scripts do.
        let is_data =
            DATA.contains(&extension.as_str()) && !(extension == "ts" && !subject.text.text().starts_with("<?xml"));
        if is_data || is_test_path(subject.path) || is_of_others(subject.path) {
            return Vec::new();
        }
        let mut hits = Vec::new();
        for (number, line) in subject.text.all_lines() {
            // Who writes another language may need such a word twice.
            let Some(word) = twice(line).filter(|_| line.is_ascii()) else { continue };
            let mut hit = Hit::of_lines(subject.text, LineRange::line(number));
            hit.title = Some(format!("\"{word}\" stands twice in a row"));
            hits.push(hit);
        }
        hits
    }
}

/// Whether it was brought along or made from something else.
fn is_of_others(path: &RepoPath) -> bool {
    let others =
        ["dist", "vendor", "vendored", "third_party", "third-party", "thirdparty", "node_modules", "external", "lib"];
    path.spelled().split('/').any(|part| others.contains(&part))
}

/// A word that the line says twice in a row, with words before and after: a sentence.
fn twice(line: &str) -> Option<&'static str> {
    let mut last = "";
    let mut words = line.split(' ').filter(|word| !word.is_empty()).peekable();
    let mut before = 0;
    while let Some(word) = words.next() {
        // Hardly any word is followed by itself: only then is it looked up.
        if before > 1
            && last.eq_ignore_ascii_case(word)
            && let Some(known) = WORDS.iter().find(|known| known.eq_ignore_ascii_case(word))
            && words.peek().is_some_and(|next| next.starts_with(|c: char| c.is_ascii_alphabetic() || c == '`'))
        {
            return Some(known);
        }
        last = word;
        before += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_stands_twice_is_seen() {
        for (line, word) in [
            ("// This is what the the caller wants.", "the"),
            ("Returns an an error where", "an"),
            ("    # and this is is why it is", "is"),
        ] {
            assert_eq!(twice(line), Some(word), "{line}");
        }
    }

    #[test]
    fn what_a_sentence_needs_twice_is_left_alone() {
        for line in [
            "// who is logged in in time",
            "// I know that that is so",
            "the the",
            "for (the of the) {",
            "// to the `to` to look at, to. To be",
            "// bathe the theme",
        ] {
            assert_eq!(twice(line), None, "{line}");
        }
    }
}
