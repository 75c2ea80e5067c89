//! The code that a deleted test covers: what it calls, found by the names of files. Main type: [`TestableCode`].
//!
//! Recognizing tests belongs in `deleted_tests`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use regex::Regex;

use super::super::sides::BothSides;
use super::super::target::{ChangedLineIndex, is_test_path};
use crate::domain::change::{FileChange, FileStatus};
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::sys::cancel::CancelReason;

/// A definition that lost more lines than this, and more than a quarter of its lines, was rewritten.
const KEPT: usize = 2;
/// A definition that lost more lines than this was rewritten, whatever its size.
const MANY: usize = 5;
/// A file that lost more lines than this was rewritten, whatever is left of it.
const SHRUNK: usize = 20;

static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "fn|def|class|func|function|struct|enum|trait|interface|type|module|mod|static";
    // Names inside functions do not show what a test covers; at the top level a `const` may be a function.
    let name = r"(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_$][\w$]{2,})";
    Regex::new(&format!(r"(?:\b(?:{words})|^(?:export\s+)?(?:const|let|var))\s+{name}")).ok()
});
/// A called name, or a type used in a path; either group.
static USE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([A-Za-z_$][\w$]{2,})\s*(?:::<[^>]*>)?\(|\b([A-Z][\w$]{2,})\b").ok());
/// Common names, so that a call of one is no evidence.
const COMMON: &[&str] =
    &["new", "default", "from", "into", "get", "set", "len", "push", "run", "main", "init", "setup", "clone", "close"];

/// A definition in a text: its name, and its lines up to the next one at the same or a lower depth.
struct TestedDefinition {
    name: String,
    first: u32,
    last: u32,
}

/// The code of both sides that tests may cover.
#[derive(Default)]
pub(super) struct TestableCode {
    /// Names defined on removed lines and on no added one, and the stems of deleted files.
    gone: HashSet<String>,
    /// Names whose definition the change rewrites.
    rewritten: HashSet<String>,
    /// Names whose definition the change touches.
    edited: HashSet<String>,
    /// Files that lose much of their code.
    shrunk: HashSet<RepoPath>,
    /// The files at the head that are not tests, by stem.
    by_stem: BTreeMap<String, Vec<RepoPath>>,
}

impl TestableCode {
    pub(super) fn of(sides: &BothSides<'_>) -> Result<Self, CancelReason> {
        let mut code = Self::default();
        let mut come = HashSet::new();
        for file in &sides.change.files {
            sides.cancel.check()?;
            if file.binary || file.generated.is_some() {
                continue;
            }
            let was = file.path_at(DiffSide::Old);
            if file.status == FileStatus::Deleted && !is_test_path(&file.path) {
                code.gone.extend(stem(&file.path).filter(|stem| stem.len() > 2));
            }
            if file.deletions > 0
                && !is_test_path(was)
                && let Ok(text) = sides.old.read(was)
            {
                code.takes_from(&text, file);
            }
            if file.status != FileStatus::Deleted
                && let Ok(text) = sides.new.read(&file.path)
            {
                let touched = ChangedLineIndex::of(file, DiffSide::New);
                for one in definitions(&text) {
                    if (one.first..=one.last).any(|line| touched.covers(line)) {
                        code.edited.insert(one.name.clone());
                    }
                    if touched.covers(one.first) {
                        come.insert(one.name);
                    }
                }
            }
        }
        code.gone.retain(|name| !come.contains(name));
        code.by_stem = stems(sides);
        Ok(code)
    }

    /// Checks whether the change touches the definition of one of the names.
    pub(super) fn edits(&self, names: &BTreeSet<String>) -> bool {
        names.iter().any(|name| self.edited.contains(name))
    }

    /// Collects what the change removes from a text.
    fn takes_from(&mut self, text: &FileText, file: &FileChange) {
        let touched = ChangedLineIndex::of(file, DiffSide::Old);
        let all = definitions(text);
        let lost = |first: u32, last: u32| (first..=last).filter(|line| touched.covers(*line)).count();
        if lost(1, all.iter().map(|one| one.last).max().unwrap_or(0)) > SHRUNK {
            self.shrunk.insert(file.path.clone());
        }
        for one in all {
            if touched.covers(one.first) {
                self.gone.insert(one.name.clone());
            }
            let (lost, all) = (lost(one.first, one.last), (one.first..=one.last).count());
            if lost > 0 {
                self.edited.insert(one.name.clone());
            }
            if lost > MANY || (lost > KEPT && lost * 4 > all) {
                self.rewritten.insert(one.name);
            }
        }
    }

    /// Returns the names that a test in the file at `path` calls and the one matching code file defines; none if that file is unknown, or
    /// if the test names something that is deleted or rewritten.
    pub(super) fn called_names(
        &self,
        sides: &BothSides<'_>,
        path: &RepoPath,
        test: &str,
        around: &str,
    ) -> BTreeSet<String> {
        let words = |text: &str| -> HashSet<String> {
            let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
            parts.filter(|word| word.len() > 2).map(str::to_owned).collect()
        };
        if words(around).iter().any(|word| self.gone.contains(word)) {
            return BTreeSet::new();
        }
        let used = used_names(test);
        if used.iter().any(|word| self.rewritten.contains(word)) {
            return BTreeSet::new();
        }
        let paired = self.paired(path).filter(|path| !self.shrunk.contains(path));
        let Some(code) = paired.and_then(|path| sides.new.read(path).ok()) else { return BTreeSet::new() };
        let there: HashSet<String> = definitions(&code).into_iter().map(|one| one.name).collect();
        used.into_iter().filter(|name| there.contains(name) && !COMMON.contains(&name.as_str())).collect()
    }

    /// Returns the file that tests at `path` cover: the same one, or the only one with its name.
    fn paired(&self, path: &RepoPath) -> Option<&RepoPath> {
        let own = stem(path)?;
        // Rust tests are in the file of the code; test files of their own cover all of it.
        if path.extension() == Some("rs") {
            return self.by_stem.get(&own)?.iter().find(|one| *one == path);
        }
        let bare = own.trim_start_matches("test_");
        let bare = ["_test", "_tests", "_spec"].iter().fold(bare, |name, end| name.trim_end_matches(end));
        let same = |one: &&RepoPath| family(one.extension()) == family(path.extension());
        let found: Vec<&RepoPath> = self.by_stem.get(bare)?.iter().filter(same).collect();
        let beside = |one: &&&RepoPath| one.folder() == path.folder();
        match found.as_slice() {
            [one] => Some(one),
            many => many.iter().find(beside).copied(),
        }
    }
}

/// Collects the called names of a text, and the types in it.
pub(super) fn used_names(text: &str) -> BTreeSet<String> {
    let Some(pattern) = USE.as_ref() else { return BTreeSet::new() };
    let names = pattern.captures_iter(text).filter_map(|groups| groups.get(1).or_else(|| groups.get(2)));
    names.map(|name| name.as_str().to_owned()).collect()
}

/// Extensions of one language count as the same.
fn family(extension: Option<&str>) -> &str {
    match extension.unwrap_or_default() {
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => "ts",
        other => other,
    }
}

fn stem(path: &RepoPath) -> Option<String> {
    let name = std::str::from_utf8(path.file_name()).ok()?;
    Some(name.split('.').next().unwrap_or_default().to_owned())
}

/// Collects the code files at the head by stem, without tests.
fn stems(sides: &BothSides<'_>) -> BTreeMap<String, Vec<RepoPath>> {
    let mut found: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
    let outcome = sides.new.visit(sides.cancel, &mut |path, _| {
        if let Ok(path) = RepoPath::from_bytes(path)
            && matches!(family(path.extension()), "rs" | "py" | "ts" | "go" | "rb")
            && !is_test_path(&path)
            && let Some(stem) = stem(&path)
        {
            found.entry(stem).or_default().push(path);
        }
        ControlFlow::Continue(())
    });
    if outcome.is_ok() { found } else { BTreeMap::new() }
}

/// Finds the definitions in a text. What follows the test marker in a Rust file is tests and their helpers.
fn definitions(text: &FileText) -> Vec<TestedDefinition> {
    let Some(pattern) = DEFINITION.as_ref() else { return Vec::new() };
    let mut found: Vec<TestedDefinition> = Vec::new();
    // The open definitions, outermost first: index in `found`, and depth.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut last = 0;
    for (number, line) in text.all_lines().take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]")) {
        last = number;
        let depth = line.len() - line.trim_start().len();
        for groups in pattern.captures_iter(line) {
            while let Some((at, _)) = open.pop_if(|(_, above)| *above >= depth) {
                if let Some(one) = found.get_mut(at) {
                    one.last = number.saturating_sub(1).max(one.first);
                }
            }
            let Some(name) = groups.get(1) else { continue };
            open.push((found.len(), depth));
            found.push(TestedDefinition { name: name.as_str().to_owned(), first: number, last: number });
        }
    }
    for (at, _) in open {
        if let Some(one) = found.get_mut(at) {
            one.last = last.max(one.first);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(USE.is_some() && DEFINITION.is_some());
    }

    #[test]
    fn a_definition_reaches_to_the_next_that_is_no_deeper() {
        let text = FileText::new(
            "class Sum:\n    def add(self):\n        pass\n    def sub(self):\n        pass\ndef other():\n    pass\n",
            "UTF-8",
        );
        let found: Vec<_> = definitions(&text).into_iter().map(|one| (one.name, one.first, one.last)).collect();
        let expected = [("Sum", 1, 5), ("add", 2, 3), ("sub", 4, 5), ("other", 6, 7)];
        assert_eq!(found, expected.map(|(name, first, last)| (name.to_owned(), first, last)));
    }

    #[test]
    fn what_a_test_uses_are_its_calls_and_types() {
        let names = used_names("let a = add(1); Sum.of(b); if (c) {} let d = e;");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Sum", "add"]);
    }
}
