//! Synthetic changes built from texts, for fixtures and tests. Main type: [`SyntheticChange`].
//!
//! The format of fixtures belongs in `rule_test`.

use std::collections::{BTreeMap, BTreeSet};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::domain::change::{ChangeRun, ChangeSet, FileChange, FileMode, FileStatus, Hunk, HunkSpan};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::workspace::memory::MemoryTree;

/// Both sides of a synthetic change.
#[derive(Debug, Clone, Default)]
pub(super) struct SyntheticChange {
    old: BTreeMap<RepoPath, String>,
    new: BTreeMap<RepoPath, String>,
}

impl SyntheticChange {
    /// Adds a file to a side. A file that is the same on both sides is in the trees but not in the change.
    pub(super) fn add_file(&mut self, side: DiffSide, path: RepoPath, text: &str) {
        let files = if side == DiffSide::Old { &mut self.old } else { &mut self.new };
        files.insert(path, text.to_owned());
    }

    /// Adds all files of another change below a folder.
    #[cfg(test)]
    pub(super) fn add_folder(&mut self, folder: &str, other: &Self) {
        for (side, files) in [(DiffSide::Old, &other.old), (DiffSide::New, &other.new)] {
            for (path, text) in files {
                self.add_file(side, RepoPath::parse(&format!("{folder}/{path}")).unwrap(), text);
            }
        }
    }

    /// Builds the change and its trees, the old one first.
    pub(super) fn build(&self) -> (ChangeSet, MemoryTree, MemoryTree) {
        let (mut old, mut new) = (MemoryTree::default(), MemoryTree::default());
        let paths: BTreeSet<&RepoPath> = self.old.keys().chain(self.new.keys()).collect();
        let mut files = Vec::new();
        for path in paths {
            let (before, after) = (self.old.get(path), self.new.get(path));
            if let Some(text) = before {
                old.insert(path.clone(), text);
            }
            if let Some(text) = after {
                new.insert(path.clone(), text);
            }
            if before != after {
                files.push(file_change(path.clone(), before.map(String::as_str), after.map(String::as_str)));
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
}

fn file_change(path: RepoPath, old: Option<&str>, new: Option<&str>) -> FileChange {
    let runs = runs(old.unwrap_or_default(), new.unwrap_or_default());
    let status = match (old, new) {
        (None, _) => FileStatus::Added,
        (_, None) => FileStatus::Deleted,
        _ => FileStatus::Modified,
    };
    FileChange {
        language: language::from_path(&path),
        status,
        old_mode: old.map(|_| FileMode::File),
        new_mode: new.map(|_| FileMode::File),
        additions: runs.iter().map(|run| run.new.count).sum(),
        deletions: runs.iter().map(|run| run.old.count).sum(),
        hunks: vec![Hunk { runs, ..Hunk::default() }],
        ..FileChange::modified(path)
    }
}

/// Computes the runs of changed lines.
fn runs(old: &str, new: &str) -> Vec<ChangeRun> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    // An empty side is positioned at the line before it.
    let span = |from: usize, count: usize| HunkSpan {
        start: number(if count > 0 { from + 1 } else { from }),
        count: number(count),
    };
    let run = |op: &DiffOp| match *op {
        DiffOp::Equal { .. } => None,
        DiffOp::Delete { old_index, old_len, new_index } => Some((old_index, old_len, new_index, 0)),
        DiffOp::Insert { old_index, new_index, new_len } => Some((old_index, 0, new_index, new_len)),
        DiffOp::Replace { old_index, old_len, new_index, new_len } => Some((old_index, old_len, new_index, new_len)),
    };
    let mut joined: Vec<(usize, usize, usize, usize)> = Vec::new();
    for (old_at, old_len, new_at, new_len) in capture_diff_slices(Algorithm::Myers, &a, &b).iter().filter_map(run) {
        match joined.last_mut() {
            // Adjacent deletions and insertions form one run.
            Some(last) if last.0 + last.1 == old_at && last.2 + last.3 == new_at => {
                last.1 += old_len;
                last.3 += new_len;
            }
            _ => joined.push((old_at, old_len, new_at, new_len)),
        }
    }
    let run = |(old_at, old_len, new_at, new_len)| ChangeRun { old: span(old_at, old_len), new: span(new_at, new_len) };
    joined.into_iter().map(run).collect()
}
