use super::*;
use crate::domain::change::{
    ChangeRun, Commit, FileChange, FileMode, FileStatus, Generated, Hunk, Omission, PatchCut, PatchText, Span,
};
use crate::domain::finding::{Category, Severity};
use crate::domain::id::{CommitId, ObjectId};
use crate::domain::place::WorkspaceAt;

const WHOLE: u64 = 1_000_000;

pub(super) fn change(files: Vec<FileChange>) -> ChangeSet {
    let commit = |byte: u8| Some(CommitId(ObjectId::new([byte; 20])));
    ChangeSet {
        repository: "shop".into(),
        target: "main".into(),
        head_name: "feature".into(),
        base: commit(1),
        head: commit(2),
        merge_base: commit(3),
        old_at: WorkspaceAt::PatchOnly,
        new_at: WorkspaceAt::PatchOnly,
        commits: Vec::new(),
        commits_omitted: 0,
        files,
        omissions: Vec::new(),
    }
}

/// A file with one hunk of `lines` added lines.
pub(super) fn edited(path: &str, lines: u32) -> FileChange {
    hunks(path, 1, lines)
}

/// A file with so many hunks of so many added lines each.
fn hunks(path: &str, count: u32, lines: u32) -> FileChange {
    let path = RepoPath::parse(path).unwrap();
    let (mut text, mut hunks) = (String::new(), Vec::new());
    for at in 0..count {
        let (old, new) = (Span { start: at * 100, count: 0 }, Span { start: at * 100 + 1, count: lines });
        text.push_str(&format!("@@ -{},0 +{},{lines} @@\n", old.start, new.start));
        text.extend((0..lines).map(|line| format!("+let value_{at}_{line} = compute({line});\n")));
        hunks.push(Hunk { old, new, runs: vec![ChangeRun { old, new }] });
    }
    FileChange {
        language: crate::domain::language::of(&path),
        path,
        old_path: None,
        status: FileStatus::Modified,
        old_mode: Some(FileMode::File),
        new_mode: Some(FileMode::File),
        old_blob: None,
        new_blob: None,
        additions: count * lines,
        deletions: 0,
        binary: false,
        generated: None,
        hunks,
        patch: PatchText { text: text.into(), cut: None },
    }
}

fn opened(change: &ChangeSet, leads: &[LeadVars], room: u64) -> Opening {
    open(&Prompts::built_in().unwrap(), change, leads, None, room).unwrap()
}

#[test]
fn a_small_change_is_shown_whole() {
    let change = change(vec![edited("src/a.rs", 3), edited("src/b.rs", 2)]);
    let opening = opened(&change, &[], WHOLE);
    assert_eq!(opening.shown.iter().map(|shown| shown.hunks).collect::<Vec<_>>(), [1, 1]);
    assert_eq!((opening.left_out, opening.notes), (vec![], vec![]));
}
