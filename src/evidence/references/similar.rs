//! Suggestions for a broken reference: lines similar to its pattern, files with names similar to its path's.
//!
//! Main functions: [`similar_lines`] and [`compare_names`]; bounded work, heuristics.

use std::collections::HashSet;

use crate::domain::path::RepoPath;
use crate::domain::text::{FileText, first_characters};

/// Maximum number of suggested places.
const NAMED: usize = 3;
/// Maximum bytes of a file that are searched.
pub(super) const LOOKED_AT: usize = 1 << 20;
/// Maximum number of words of a pattern that are searched, the longest ones.
const WORDS: usize = 4;
/// Minimum length of a word.
const SHORTEST: usize = 3;
/// Maximum length of a word; a longer one is data.
const LONGEST: usize = 80;
/// Maximum number of lines with such words that are compared.
const COMPARED: usize = 2_000;

/// Finds lines with the longest name of the pattern, or a similar one, the likeliest first: those with more of the pattern's other words.
/// None if the pattern is mostly punctuation.
pub(super) fn similar_lines(pattern: &str, text: &FileText) -> Vec<u32> {
    let Some(names) = names(pattern) else { return Vec::new() };
    let looked_at = &text.text()[..text.text().floor_char_boundary(LOOKED_AT)];
    let mut wanted = names.iter().map(|name| matching_word(name, looked_at));
    let Some(Some(name)) = wanted.next() else { return Vec::new() };
    let others: Vec<&str> = wanted.flatten().collect();
    let mut found: Vec<(usize, u32)> = Vec::new();
    for at in memchr::memmem::find_iter(looked_at.as_bytes(), name) {
        let number = text.line_at(at);
        if found.last().is_some_and(|(_, last)| *last == number) {
            continue;
        }
        let line = text.line(number).unwrap_or_default();
        // A minified file is one line.
        let line = first_characters(line, 1_000);
        found.push((others.iter().filter(|other| line.contains(**other)).map(|other| other.len()).sum(), number));
        if found.len() == COMPARED {
            break;
        }
    }
    found.sort_by(|(a, of_a), (b, of_b)| b.cmp(a).then(of_a.cmp(of_b)));
    found.into_iter().take(NAMED).map(|(_, number)| number).collect()
}

/// Returns the words of a pattern, the longest first; `None` if it has none, or if it is mostly regex syntax.
fn names(pattern: &str) -> Option<Vec<String>> {
    let mut plain = String::with_capacity(pattern.len());
    let mut signs = 0;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            // `\b` and `\w` are not letters of a word, `\(` is not punctuation.
            '\\' => {
                let escaped = chars.next();
                signs += usize::from(escaped.is_some_and(char::is_alphanumeric));
                plain.push(' ');
            }
            '.' | '*' | '+' | '?' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                signs += 1;
                plain.push(' ');
            }
            c => plain.push(c),
        }
    }
    let mut words: Vec<String> = words(&plain).map(str::to_owned).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.truncate(WORDS);
    let longest = words.first()?;
    (signs <= longest.chars().count()).then_some(words)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| (SHORTEST..=LONGEST).contains(&word.len()))
}

/// Returns the word as the text has it: the same, or the most similar one.
fn matching_word<'t>(word: &str, text: &'t str) -> Option<&'t str> {
    if let Some(at) = memchr::memmem::find(text.as_bytes(), word.as_bytes()) {
        return Some(&text[at..at + word.len()]);
    }
    let lower = word.to_lowercase();
    let allowed = allowed_typos(&lower);
    let mut seen: HashSet<&str> = HashSet::new();
    let mut best: Option<(usize, &str)> = None;
    for other in words(text) {
        if other.len().abs_diff(word.len()) > allowed || !seen.insert(other) {
            continue;
        }
        let distance = strsim::osa_distance(&lower, &other.to_lowercase());
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, other));
        }
    }
    best.map(|(_, other)| other)
}

/// Returns the number of letters of a word that may be wrong, missing, added or swapped with the next one.
fn allowed_typos(word: &str) -> usize {
    match word.chars().count() {
        ..=2 => 0,
        3..=7 => 1,
        8..=11 => 2,
        _ => 3,
    }
}

/// Similarity of the names of two files, in any folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameLikeness {
    /// Equal but for the case of letters.
    Same,
    /// Equal except for typos, the extension, or a part that one of them has more.
    Similar,
}

/// Compares the name of a file with that of `wanted`.
pub(super) fn compare_names(wanted: &RepoPath, other: &RepoPath) -> Option<NameLikeness> {
    let name = |path: &RepoPath| String::from_utf8_lossy(path.file_name()).to_lowercase();
    let is_beside = wanted.folder() == other.folder();
    let (wanted, other) = (name(wanted), name(other));
    if wanted == other {
        return Some(NameLikeness::Same);
    }
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let (wanted, other) = (stem(&wanted), stem(&other));
    let (short, long) = if wanted.len() < other.len() { (&wanted, &other) } else { (&other, &wanted) };
    let is_part = short.len() > SHORTEST && 2 * short.len() >= long.len() && long.contains(short.as_str());
    // Short names are similar more often if both are in the same folder.
    let least = usize::from(is_beside && short.chars().count() > 1);
    (is_part || strsim::osa_distance(&wanted, &other) <= allowed_typos(short).max(least))
        .then_some(NameLikeness::Similar)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "import os\n\n\ndef load_state(path):\n    return os.open(path)\n\n\nclass State:\n    def save(self):\n        \
                        load_state(self.path)\n        self.save_all_of_it()\n";

    fn told(pattern: &str) -> Vec<u32> {
        similar_lines(pattern, &FileText::new(CODE, "UTF-8"))
    }

    #[test]
    fn a_misspelt_name_is_found_where_it_is_defined_first() {
        for (pattern, near) in [
            ("def load_stte", vec![4, 10]),
            ("def laod_state", vec![4, 10]),
            ("^\\s*def Load_State\\(", vec![4, 10]),
            ("class Stata", vec![8]),
            ("load_state\\(path, mode\\)", vec![4, 10]),
            ("def sawe", vec![9, 11]),
        ] {
            assert_eq!(told(pattern), near, "{pattern}");
        }
    }

    #[test]
    fn what_is_nothing_like_it_is_not_told() {
        for pattern in ["def remove_user", "fn", "xyz", ".*", "^[a-z]+(\\w|\\d)*?save$", "save_nothing_at_all", ""] {
            assert_eq!(told(pattern), Vec::<u32>::new(), "{pattern}");
        }
    }

    #[test]
    fn a_large_file_is_looked_at_in_part() {
        let text = format!("{}def load_state(): pass\n", "é = 1\n".repeat(LOOKED_AT / 6));
        assert!(text.len() > LOOKED_AT);
        assert_eq!(similar_lines("def load_stte", &FileText::new(&text, "UTF-8")), Vec::<u32>::new());
        assert_eq!(similar_lines("load_stte", &FileText::new(&"load_state ".repeat(200_000), "UTF-8")), [1]);
    }

    #[test]
    fn names_are_alike_but_for_slips() {
        let like = |wanted: &str, other: &str| {
            compare_names(&RepoPath::parse(wanted).unwrap(), &RepoPath::parse(other).unwrap())
        };
        assert_eq!(like("src/helpers.py", "src/app/Helpers.py"), Some(NameLikeness::Same));
        for (wanted, other) in [
            ("auht.ts", "src/auth.ts"),
            ("README.rst", "README.md"),
            ("helper.py", "src/helpers.py"),
            ("src/sessoins.py", "src/sessions.py"),
            ("login.py", "tests/test_login.py"),
            ("src/ap.py", "src/app.py"),
        ] {
            assert_eq!(like(wanted, other), Some(NameLikeness::Similar), "{wanted} {other}");
        }
        for (wanted, other) in [
            ("helpers.py", "tests/test_apps/helloworld/hello.py"),
            ("config.py", "src/conftest.py"),
            ("a.rs", "b.rs"),
            ("src/io.rs", "lib/id.rs"),
            ("app.py", "application_context_of_all.py"),
            ("nowhere.ts", "src/where.rs.txt"),
        ] {
            assert_eq!(like(wanted, other), None, "{wanted} {other}");
        }
    }
}
