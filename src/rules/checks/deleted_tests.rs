//! Deleted tests whose tested code still exists.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, RuleMatch, RuleTarget, is_test_path};
use super::guards::is_intentional;
use super::tested_code::{TestableCode, used_names};
use super::{Check, CheckInfo, CheckMemory};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::finding::{Category, Severity};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;

pub(super) struct DeletedTests;

static INFO: CheckInfo = CheckInfo {
    name: "general/test-deleted",
    title: "Tests deleted, but the tested code remains",
    message: "A change of what they checked goes unnoticed from now on. Bring the tests back or adapt them; if they were wrong or are \
              covered elsewhere, say so in the commit.",
    severity: Severity::Medium,
    category: Category::Testing,
    cwe: None,
};

/// Patterns of test declarations by extension. Group 1 is the name.
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
/// A test in a text.
struct FoundTest {
    name: String,
    /// Its declaration, attributes included.
    lines: LineRange,
    /// Its end: the begin of the next test.
    until: u32,
}

impl FoundTest {
    /// The test without its name, up to the next test.
    fn body(&self, text: &FileText) -> String {
        let end = self.until.saturating_sub(1).max(self.lines.end());
        let lines = LineRange::new(self.lines.end(), end).into_iter().flat_map(|lines| text.lines(lines));
        let all: String = lines.flat_map(|(_, line)| [line, "\n"]).collect();
        all.replacen(&self.name, "", 1)
    }
}

impl Check for DeletedTests {
    fn info(&self) -> &'static CheckInfo {
        &INFO
    }

    fn find(&self, _: &RuleTarget<'_>) -> Vec<RuleMatch> {
        Vec::new()
    }

    fn lost(&self, sides: &BothSides<'_>, _: &CheckMemory) -> Result<Vec<(usize, RuleMatch)>, CancelReason> {
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
        // A test that is in another file now was moved.
        for (_, gone, _) in &mut lost {
            gone.retain(|test: &FoundTest| match added.get_mut(&test.name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            });
        }
        lost.retain(|(_, gone, _)| !gone.is_empty());
        // If as many were added under other names as were deleted, they were rewritten.
        let (came, left) = (added.values().sum::<usize>(), lost.iter().map(|(_, gone, _)| gone.len()).sum::<usize>());
        if came >= left {
            return Ok(Vec::new());
        }
        let code = TestableCode::of(sides)?;
        let mut hits = Vec::new();
        for (at, gone, old) in lost {
            let file = &sides.change.files[at];
            hits.extend(hit(sides, &code, file, &old, gone).map(|hit| (at, hit)));
        }
        let is_hint = is_intentional(sides.change);
        for (_, hit) in &mut hits {
            hit.is_hint = is_hint;
        }
        Ok(hits)
    }
}

/// Builds one claim per file, about the deleted tests whose code remains: the place of the first, and the names of all.
fn hit(
    sides: &BothSides<'_>,
    code: &TestableCode,
    file: &FileChange,
    old: &FileText,
    gone: Vec<FoundTest>,
) -> Option<RuleMatch> {
    let path = file.path_at(DiffSide::Old);
    // A whole test file covers what any line of it names: an import may be far from the test.
    let whole = file.status == FileStatus::Deleted;
    let mut called = BTreeSet::new();
    let mut kept = Vec::new();
    for test in gone {
        let body = test.body(old);
        let mine = code.called_names(sides, path, &body, if whole { old.text() } else { &body });
        if !mine.is_empty() {
            called.extend(mine);
            kept.push(test);
        }
    }
    let first = kept.first()?;
    let mut hit = RuleMatch::from_lines(old, first.lines);
    let names: Vec<String> = kept.iter().take(5).map(|test| format!("`{}`", test.name.replace('`', "'"))).collect();
    let more = if kept.len() > 5 { format!(" and {} more", kept.len() - 5) } else { String::new() };
    hit.title = Some(match kept.len() {
        1 => "A test is deleted while what it tested stays".to_owned(),
        count => format!("{count} tests are deleted while what they tested stays"),
    });
    hit.detail = Some(format!("Deleted: {}{more}.", names.join(", ")));
    // If remaining tests call the same, less is lost.
    let still = sides.new.read(&file.path).ok().filter(|_| !whole);
    let pattern = pattern_of(&file.path);
    let still_called = still.zip(pattern).map(|(text, pattern)| {
        let tests = tests_in(&text, pattern, file.path.extension() == Some("rs"));
        tests.iter().flat_map(|test| used_names(&test.body(&text))).collect::<BTreeSet<String>>()
    });
    if still_called.is_some_and(|still| called.is_subset(&still)) {
        // Fewer tests of unchanged code are a matter of taste.
        if !code.edits(&called) {
            return None;
        }
        hit.severity = Some(Severity::Low);
    }
    Some(hit)
}

struct ComparedTests {
    old: std::sync::Arc<FileText>,
    gone: Vec<FoundTest>,
    added: Vec<String>,
}

/// Collects the tests deleted from a file and those added; `None` if there is nothing to compare.
fn compare(sides: &BothSides<'_>, file: &FileChange) -> Option<ComparedTests> {
    // Tests in the same file as the code are deleted with it.
    let with_code = file.status == FileStatus::Deleted && !is_test_path(&file.path);
    if file.binary || file.generated.is_some() || file.hunks.is_empty() || with_code {
        return None;
    }
    let pattern = pattern_of(file.path_at(DiffSide::Old)).or_else(|| pattern_of(&file.path))?;
    let is_rust = file.path.extension() == Some("rs");
    let read = |side: DiffSide| match side {
        DiffSide::Old => sides.old.read(file.path_at(DiffSide::Old)).ok(),
        DiffSide::New => sides.new.read(&file.path).ok(),
    };
    let old = if file.status == FileStatus::Added || file.deletions == 0 { None } else { read(DiffSide::Old) };
    let new = if file.status == FileStatus::Deleted { None } else { read(DiffSide::New) };
    let new_tests = new.as_ref().map(|text| tests_in(text, pattern, is_rust)).unwrap_or_default();
    let Some(old) = old else {
        // Nothing can have been deleted from it; added tests may come from elsewhere.
        let added = new_tests.into_iter().map(|test| test.name).collect();
        return new.map(|old| ComparedTests { old, gone: Vec::new(), added });
    };
    let old_tests = tests_in(&old, pattern, is_rust);
    let names = |tests: &[FoundTest]| -> HashSet<String> { tests.iter().map(|test| test.name.clone()).collect() };
    let (old_names, new_names) = (names(&old_tests), names(&new_tests));
    let removed = ChangedLineIndex::of(file, DiffSide::Old);
    let gone: Vec<FoundTest> = old_tests
        .into_iter()
        .filter(|test| !new_names.contains(&test.name) && removed.covers(test.lines.end()))
        .collect();
    let added: Vec<String> = new_names.difference(&old_names).cloned().collect();
    // As many added as deleted: renamed or rewritten.
    let gone = if added.len() >= gone.len() { Vec::new() } else { gone };
    Some(ComparedTests { old, gone, added })
}

fn pattern_of(path: &RepoPath) -> Option<&'static Regex> {
    let extension = path.extension()?;
    let at = TESTS.iter().position(|(extensions, _)| extensions.contains(&extension))?;
    // Rust tests may be in the file of the code; elsewhere test files are named as such.
    if extension != "rs" && !is_test_path(path) {
        return None;
    }
    TEST_LINES.get(at)?.as_ref()
}

fn tests_in(text: &FileText, pattern: &Regex, is_rust: bool) -> Vec<FoundTest> {
    let mut tests: Vec<FoundTest> = Vec::new();
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
            tests.push(FoundTest { name: name.as_str().to_owned(), lines, until: u32::MAX });
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(TEST_LINES.iter().all(Option::is_some));
        assert!(RUST_TEST.is_some());
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
