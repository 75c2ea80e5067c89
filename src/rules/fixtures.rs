//! The rules against their fixtures, found by walking `fixtures/rules/<pack>/<id>/`.
//!
//! `hit-*` are files in which every line that ends in a comment `HIT` begins a match, or the next line where a comment says
//! `HIT below`, and no other line does; `ok-*` are files without
//! a match. A folder `hit-*` or `ok-*` with `base/` and `head/` is a whole change; marks on the old side count too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::checks::CHECKS;
use super::run::{RulesInput, RulesReport, run};
use super::{PACKS, Packs};
use crate::domain::change::*;
use crate::domain::event::Silent;
use crate::domain::path::RepoPath;
use crate::domain::place::{Side, WorkspaceAt};
use crate::domain::text::FileText;
use crate::sys::cancel::Cancel;
use crate::workspace::Workspace as _;
use crate::workspace::memory::Memory;

/// Both sides of a made-up change.
#[derive(Default)]
pub(super) struct MadeUp {
    old: BTreeMap<String, String>,
    new: BTreeMap<String, String>,
}

impl MadeUp {
    pub(super) fn was(mut self, path: &str, text: &str) -> Self {
        self.old.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(super) fn now(mut self, path: &str, text: &str) -> Self {
        self.new.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(super) fn change(&self) -> (ChangeSet, Memory, Memory) {
        let (mut old, mut new) = (Memory::default(), Memory::default());
        let paths: BTreeSet<&String> = self.old.keys().chain(self.new.keys()).collect();
        let mut files = Vec::new();
        for path in paths {
            let (before, after) = (self.old.get(path), self.new.get(path));
            let repo_path = RepoPath::parse(path).unwrap();
            if let Some(text) = before {
                old.insert(repo_path.clone(), text);
            }
            if let Some(text) = after {
                new.insert(repo_path.clone(), text);
            }
            if before != after {
                files.push(file_change(repo_path, before.map(String::as_str), after.map(String::as_str)));
            }
        }
        let change = ChangeSet {
            repository: "made-up".to_owned(),
            target: "main".to_owned(),
            head_name: "HEAD".to_owned(),
            old_at: WorkspaceAt::Empty,
            new_at: WorkspaceAt::Empty,
            ..ChangeSet::of(files)
        };
        (change, old, new)
    }

    pub(super) fn review(&self) -> RulesReport {
        self.review_with(&Packs::built_in().unwrap())
    }

    pub(super) fn review_with(&self, packs: &Packs) -> RulesReport {
        let (change, old, new) = self.change();
        let cancel = Cancel::never();
        run(&RulesInput { change: &change, new: &new, old: &old, packs, cancel: &cancel, events: &Silent })
    }

    /// `<rule> <path>:<line>` of every claim.
    pub(super) fn told(&self) -> Vec<String> {
        let claims = self.review().claims;
        let line = |claim: &crate::domain::claim::Claim| claim.place.lines.unwrap().start();
        claims.iter().map(|claim| format!("{} {}:{}", claim.origin.name, claim.place.path, line(claim))).collect()
    }
}

pub(super) fn language(path: &RepoPath) -> Option<&'static str> {
    Some(match path.extension()? {
        "rs" => "rust",
        "py" => "python",
        "js" | "jsx" => "javascript",
        "ts" => "typescript",
        "tsx" => "tsx",
        "go" => "go",
        _ => return None,
    })
}

fn file_change(path: RepoPath, old: Option<&str>, new: Option<&str>) -> FileChange {
    let runs = runs(old.unwrap_or_default(), new.unwrap_or_default());
    let status = match (old, new) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        _ => FileStatus::Modified,
    };
    FileChange {
        language: language(&path),
        status,
        old_mode: old.map(|_| FileMode::File),
        new_mode: new.map(|_| FileMode::File),
        additions: runs.iter().map(|run| run.new.count).sum(),
        deletions: runs.iter().map(|run| run.old.count).sum(),
        hunks: vec![Hunk { runs, ..Hunk::default() }],
        ..FileChange::modified(path)
    }
}

/// The changed runs by a longest common subsequence of lines: small texts only.
fn runs(old: &str, new: &str) -> Vec<ChangeRun> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut best = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i][j] = if a[i] == b[j] { best[i + 1][j + 1] + 1 } else { best[i + 1][j].max(best[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut runs) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        let (from_i, from_j) = (i, j);
        while (i < a.len() || j < b.len()) && !(i < a.len() && j < b.len() && a[i] == b[j]) {
            if j == b.len() || (i < a.len() && best[i + 1][j] >= best[i][j + 1]) { i += 1 } else { j += 1 }
        }
        if i > from_i || j > from_j {
            let span = |from: usize, to: usize| Span {
                start: u32::try_from(if to > from { from + 1 } else { from }).unwrap(),
                count: u32::try_from(to - from).unwrap(),
            };
            runs.push(ChangeRun { old: span(from_i, i), new: span(from_j, j) });
        } else {
            (i, j) = (i + 1, j + 1);
        }
    }
    runs
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The change that a fixture stands for, and the places where matches begin: `<side> <path>:<line>`.
fn read_case(case: &Path) -> (MadeUp, BTreeSet<String>) {
    let mut change = MadeUp::default();
    let mut expected = BTreeSet::new();
    if !case.is_dir() {
        let text = fs::read_to_string(case).unwrap();
        let path = format!("src/{}", name(case));
        marks(&text, &path, Side::New, &mut expected);
        return (change.now(&path, &text), expected);
    }
    for (folder, side) in [("base", Side::Old), ("head", Side::New)] {
        let mut stack = vec![case.join(folder)];
        while let Some(at) = stack.pop() {
            if at.is_dir() {
                stack.extend(sorted(&at));
                continue;
            }
            if !at.exists() {
                continue;
            }
            let path = at.strip_prefix(case.join(folder)).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&at).unwrap();
            marks(&text, &path, side, &mut expected);
            change = if side == Side::Old { change.was(&path, &text) } else { change.now(&path, &text) };
        }
    }
    (change, expected)
}

fn marks(text: &str, path: &str, side: Side, expected: &mut BTreeSet<String>) {
    for (at, line) in text.lines().enumerate() {
        if line.trim_end().ends_with(" HIT") || line.trim_end().ends_with(" HIT */") {
            expected.insert(format!("{side:?} {path}:{}", at + 1));
        }
        if line.trim_end().ends_with(" HIT below") {
            expected.insert(format!("{side:?} {path}:{}", at + 2));
        }
    }
}

#[test]
fn every_rule_matches_its_hits_and_nothing_else() {
    let mut faults = Vec::new();
    let packs = Packs::built_in().unwrap();
    for rule in packs.rules() {
        let folder = root().join(&rule.name);
        if !folder.is_dir() {
            faults.push(format!("{}: no folder of fixtures", rule.name));
            continue;
        }
        let (mut hits, mut oks) = (0, 0);
        for case in sorted(&folder) {
            let (change, expected) = read_case(&case);
            match (name(&case).starts_with("hit-"), name(&case).starts_with("ok-")) {
                (true, _) => hits += 1,
                (_, true) => oks += 1,
                _ => faults.push(format!("{}: {} is neither hit-* nor ok-*", rule.name, name(&case))),
            }
            if expected.is_empty() == name(&case).starts_with("hit-") {
                faults.push(format!("{}: {} has the wrong marks", rule.name, name(&case)));
            }
            let report = change.review();
            for file in report.files.iter().filter(|file| file.reason.is_some()) {
                faults.push(format!("{}: {}: {file:?}", rule.name, name(&case)));
            }
            let own = report.claims.iter().filter(|claim| claim.origin.name == rule.name);
            let place = |claim: &crate::domain::claim::Claim| {
                format!("{:?} {}:{}", claim.place.side, claim.place.path, claim.place.lines.unwrap().start())
            };
            let found: BTreeSet<String> = own.map(place).collect();
            if found != expected {
                faults.push(format!("{}: {}: expected {expected:?}, found {found:?}", rule.name, name(&case)));
            }
        }
        if hits == 0 || oks == 0 {
            faults.push(format!("{}: {hits} hits and {oks} non-hits", rule.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_folder_of_fixtures_has_a_rule() {
    let known: BTreeSet<String> = Packs::built_in().unwrap().rules().map(|rule| rule.name).collect();
    for pack in sorted(&root()) {
        for rule in sorted(&pack) {
            let name = format!("{}/{}", name(&pack), name(&rule));
            assert!(known.contains(&name), "no rule {name}");
        }
    }
    assert!(!PACKS.is_empty() && !CHECKS.is_empty());
}

#[test]
fn every_claim_quotes_its_lines_and_touches_the_change() {
    for pack in sorted(&root()) {
        for case in sorted(&pack).iter().flat_map(|rule| sorted(rule)) {
            let (made_up, _) = read_case(&case);
            let (change, old, new) = made_up.change();
            for claim in made_up.review().claims {
                let place = &claim.place;
                let tree = if place.side == Side::Old { &old } else { &new };
                let lines = place.lines.unwrap();
                let text: std::sync::Arc<FileText> = tree.read(&place.path).unwrap();
                let quoted: Vec<&str> = text.lines(lines).map(|(_, line)| line).collect();
                assert_eq!(place.quote.as_deref(), Some(quoted.join("\n").as_str()), "{}", case.display());
                assert!(lines.count() <= 8, "{}", case.display());
                let file = change.files.iter().find(|file| file.path == place.path).unwrap();
                assert!(file.touches(place.side, lines), "{}: {claim:?}", case.display());
            }
        }
    }
}
