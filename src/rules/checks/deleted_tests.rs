//! Tests that are gone although what they tested is still there.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::subject::{Hit, Subject, Touched, is_test_path};
use super::{BothSides, Check, CheckInfo};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{LineRange, Side};
use crate::domain::text::FileText;
use crate::sys::cancel::Stopped;

pub(super) struct DeletedTests;

static INFO: CheckInfo = CheckInfo {
    name: "general/test-deleted",
    title: "Tests are deleted while what they tested stays",
    message: "Nothing checks this behaviour any more. Bring the tests back or adapt them; if they were wrong or are covered elsewhere, \
              say so in the commit.",
    severity: Severity::Medium,
    category: Category::Testing,
    cwe: None,
};

/// How tests are written, by extension. Group 1 is the name.
const TESTS: &[(&[&str], &str)] = &[
    (&["rs"], r"^\s*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)\s*[(<]"),
    (&["py"], r"^\s*(?:async\s+)?def\s+(test_\w+)\s*\("),
    (&["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"], r#"^\s*(?:it|test)\(\s*["'`]([^"'`]+)["'`]"#),
    (&["go"], r"^func\s+((?:Test|Fuzz)\w+)\s*\("),
    (&["rb"], r#"^\s*(?:it\s+["']([^"']+)["']|def\s+(test_\w+))"#),
];

static TEST_LINES: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| TESTS.iter().map(|(_, pattern)| Regex::new(pattern).ok()).collect());
static RUST_TEST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*#\[\s*(?:\w+\s*::\s*)*(?:test|rstest)\b").ok());
static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "fn|def|class|func|function|struct|enum|trait|interface|type|module|mod|static";
    // Names inside functions say nothing about what a test is for; at the margin a `const` may be a function.
    let name = r"(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]{2,})";
    Regex::new(&format!(r"(?:\b(?:{words})|^(?:export\s+)?(?:const|let|var))\s+{name}")).ok()
});

/// A test in a text.
struct Test {
    name: String,
    /// Where it is declared, attributes included.
    lines: LineRange,
    /// Up to where the next one begins.
    until: u32,
}

impl Check for DeletedTests {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, _: &Subject<'_>) -> Vec<Hit> {
        Vec::new()
    }

    fn lost(&self, sides: &BothSides<'_>) -> Result<Vec<(usize, Hit)>, Stopped> {
        let mut added: BTreeMap<String, usize> = BTreeMap::new();
        let mut lost = Vec::new();
        for (at, file) in sides.change.files.iter().enumerate() {
            sides.cancel.check()?;
            if let Some(compared) = compare(sides, file) {
                for name in compared.added {
                    *added.entry(name).or_default() += 1;
                }
                if !compared.gone.is_empty() {
                    lost.push((at, compared.gone, compared.old));
                }
            }
        }
        // A test that stands in another file now has moved.
        for (_, gone, _) in &mut lost {
            gone.retain(|test: &Test| match added.get_mut(&test.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            });
        }
        lost.retain(|(_, gone, _)| !gone.is_empty());
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let dead = deleted_names(sides)?;
        let mut hits = Vec::new();
        for (at, mut gone, old) in lost {
            // A whole file of tests is about what any line of it names: an import may stand far from the test.
            let whole = sides.change.files[at].status == FileStatus::Deleted;
            gone.retain(|test| !mentions(&old, test, whole, &dead));
            hits.extend(hit(&old, &gone).map(|hit| (at, hit)));
        }
        Ok(hits)
    }
}

/// One claim a file: where the first of its deleted tests stood, and the names of all.
fn hit(old: &FileText, gone: &[Test]) -> Option<Hit> {
    let first = gone.first()?;
    let mut hit = Hit::of_lines(old, first.lines);
    let names: Vec<String> = gone.iter().take(5).map(|test| format!("`{}`", test.name.replace('`', "'"))).collect();
    let more = if gone.len() > 5 { format!(" and {} more", gone.len() - 5) } else { String::new() };
    hit.title = Some(match gone.len() {
        1 => "A test is deleted while what it tested stays".to_owned(),
        count => format!("{count} tests are deleted while what they tested stays"),
    });
    hit.detail = Some(format!("Deleted: {}{more}.", names.join(", ")));
    Some(hit)
}

struct Compared {
    old: std::sync::Arc<FileText>,
    gone: Vec<Test>,
    added: Vec<String>,
}

/// The tests that left a file and those that came; `None` where there is nothing to compare.
fn compare(sides: &BothSides<'_>, file: &FileChange) -> Option<Compared> {
    // Tests that stand beside the code in one file go with it.
    let with_code = file.status == FileStatus::Deleted && !is_test_path(&file.path);
    if file.binary || file.generated.is_some() || file.hunks.is_empty() || with_code {
        return None;
    }
    let pattern = pattern_of(file.path_at(Side::Old)).or_else(|| pattern_of(&file.path))?;
    let is_rust = file.path.extension() == Some("rs");
    let read = |side: Side| match side {
        Side::Old => sides.old.read(file.path_at(Side::Old)).ok(),
        Side::New => sides.new.read(&file.path).ok(),
    };
    let old = if file.status == FileStatus::Added || file.deletions == 0 { None } else { read(Side::Old) };
    let new = if file.status == FileStatus::Deleted { None } else { read(Side::New) };
    let new_tests = new.as_ref().map(|text| tests_in(text, pattern, is_rust)).unwrap_or_default();
    let Some(old) = old else {
        // Nothing can have left it; what came may have come from elsewhere.
        let added = new_tests.into_iter().map(|test| test.name).collect();
        return new.map(|old| Compared { old, gone: Vec::new(), added });
    };
    let old_tests = tests_in(&old, pattern, is_rust);
    let names = |tests: &[Test]| -> HashSet<String> { tests.iter().map(|test| test.name.clone()).collect() };
    let (old_names, new_names) = (names(&old_tests), names(&new_tests));
    let removed = Touched::of(file, Side::Old);
    let gone: Vec<Test> = old_tests
        .into_iter()
        .filter(|test| !new_names.contains(&test.name) && removed.covers(test.lines.end()))
        .collect();
    let added: Vec<String> = new_names.difference(&old_names).cloned().collect();
    // As many came as left: they were renamed or rewritten.
    let gone = if added.len() >= gone.len() { Vec::new() } else { gone };
    Some(Compared { old, gone, added })
}

fn pattern_of(path: &RepoPath) -> Option<&'static Regex> {
    let extension = path.extension()?;
    let at = TESTS.iter().position(|(extensions, _)| extensions.contains(&extension))?;
    // In Rust tests stand beside the code; elsewhere a file of tests is named as one.
    if extension != "rs" && !is_test_path(path) {
        return None;
    }
    TEST_LINES.get(at)?.as_ref()
}

fn tests_in(text: &FileText, pattern: &Regex, is_rust: bool) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    let mut attribute: Option<u32> = None;
    for (number, line) in text.all_lines() {
        if is_rust && RUST_TEST.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            attribute = Some(number);
            continue;
        }
        let Some(groups) = pattern.captures(line) else { continue };
        let start = if is_rust { attribute.take() } else { Some(number) };
        let Some(name) = groups.iter().skip(1).flatten().next() else { continue };
        if let Some(last) = tests.last_mut().filter(|last| last.until == u32::MAX) {
            last.until = number;
        }
        if let Some(Ok(lines)) = start.map(|start| LineRange::new(start, number)) {
            tests.push(Test { name: name.as_str().to_owned(), lines, until: u32::MAX });
        }
    }
    tests
}

/// What the change deletes besides tests: names that were defined on removed lines and on no added one, and files.
fn deleted_names(sides: &BothSides<'_>) -> Result<HashSet<String>, Stopped> {
    let (mut gone, mut come) = (HashSet::new(), HashSet::new());
    for file in &sides.change.files {
        sides.cancel.check()?;
        if file.binary || file.generated.is_some() {
            continue;
        }
        if file.status == FileStatus::Deleted && !is_test_path(&file.path) {
            let name = String::from_utf8_lossy(file.path.file_name()).into_owned();
            let stem = name.split('.').next().unwrap_or_default();
            if stem.len() > 2 {
                gone.insert(stem.to_owned());
            }
        }
        if !is_test_path(file.path_at(Side::Old))
            && let Ok(text) = sides.old.read(file.path_at(Side::Old))
        {
            definitions(&text, &Touched::of(file, Side::Old), &mut gone);
        }
        if file.status != FileStatus::Deleted
            && let Ok(text) = sides.new.read(&file.path)
        {
            definitions(&text, &Touched::of(file, Side::New), &mut come);
        }
    }
    gone.retain(|name: &String| !come.contains(name));
    Ok(gone)
}

fn definitions(text: &FileText, touched: &Touched, names: &mut HashSet<String>) {
    let Some(pattern) = DEFINITION.as_ref() else { return };
    // What follows in a Rust file are tests and what only they use.
    for (number, line) in text.all_lines().take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]")) {
        if touched.covers(number) {
            names.extend(pattern.captures_iter(line).filter_map(|groups| Some(groups.get(1)?.as_str().to_owned())));
        }
    }
}

/// Whether a test speaks of something that is deleted too. Its own name does not count.
fn mentions(old: &FileText, test: &Test, whole: bool, dead: &HashSet<String>) -> bool {
    let own = (test.lines.start(), test.until.saturating_sub(1).max(test.lines.end()));
    let (start, end) = if whole { (1, u32::MAX) } else { own };
    let Ok(lines) = LineRange::new(start, end) else { return false };
    old.lines(lines).any(|(_, line)| {
        let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        words.filter(|word| *word != test.name).any(|word| dead.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(TEST_LINES.iter().all(Option::is_some));
        assert!(RUST_TEST.is_some() && DEFINITION.is_some());
    }

    #[test]
    fn only_functions_marked_as_tests_are_tests_in_rust() {
        let text = FileText::new(
            "fn a() {}\n#[tokio::test]\nasync fn b() {}\n#[test]\n#[ignore]\nfn c() {}\nfn d() {}\n",
            "UTF-8",
        );
        let pattern = pattern_of(&RepoPath::parse("a.rs").unwrap()).unwrap();
        let found = tests_in(&text, pattern, true);
        let places: Vec<_> = found.iter().map(|test| (test.name.as_str(), test.lines.start(), test.until)).collect();
        assert_eq!(places, [("b", 2, 6), ("c", 4, 7)]);
    }
}
