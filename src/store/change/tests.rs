//! Tests that a saved change is read back unchanged and that damage is reported.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::domain::change::{
    ChangeRun, Commit, FileChange, FileMode, FileStatus, Generated, Hunk, HunkSpan, Omission, PatchCut, PatchId,
    PatchText,
};
use crate::domain::forge::{PullId, ReviewedPull};
use crate::domain::id::{BlobId, CommitId, ObjectId};
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::WorkspaceAt;

fn id() -> impl Strategy<Value = ObjectId> {
    any::<[u8; 20]>().prop_map(ObjectId::new)
}

fn commit_id() -> impl Strategy<Value = CommitId> {
    id().prop_map(CommitId)
}

fn path() -> impl Strategy<Value = RepoPath> {
    let usable = |bytes: Vec<u8>| RepoPath::from_bytes(&bytes).ok();
    vec(any::<u8>(), 1..20).prop_filter_map("a path of a repository", usable)
}

fn at() -> impl Strategy<Value = WorkspaceAt> {
    prop_oneof![
        commit_id().prop_map(WorkspaceAt::Revision),
        Just(WorkspaceAt::Index),
        Just(WorkspaceAt::Worktree),
        Just(WorkspaceAt::PatchOnly),
        Just(WorkspaceAt::Empty),
    ]
}

fn commit() -> impl Strategy<Value = Commit> {
    (commit_id(), ".*", any::<String>(), ".*", ".*").prop_map(|(id, subject, body, author, date)| Commit {
        id,
        subject,
        body,
        author,
        date,
    })
}

fn pull() -> impl Strategy<Value = ReviewedPull> {
    let named = ("[a-z]{1,8}", "[a-z]{1,4}[._-]?x", 1_u64..=0x7fff_ffff).prop_map(|(owner, name, number)| PullId {
        repo: format!("{owner}/{name}").parse().unwrap(),
        number: number.to_string().parse().unwrap(),
    });
    (named, ".*", ".*", any::<String>(), option::of(".*")).prop_map(|(id, server, title, body, author)| ReviewedPull {
        id,
        server,
        title,
        body,
        author,
    })
}

fn span() -> impl Strategy<Value = HunkSpan> {
    any::<(u32, u32)>().prop_map(|(start, count)| HunkSpan { start, count })
}

fn hunk() -> impl Strategy<Value = Hunk> {
    let run = (span(), span()).prop_map(|(old, new)| ChangeRun { old, new });
    (span(), span(), vec(run, 0..3)).prop_map(|(old, new, runs)| Hunk { old, new, runs })
}

fn patch() -> impl Strategy<Value = PatchText> {
    let cut = any::<(u16, u32, u32)>().prop_map(|(hunk, lines, shortened_lines)| PatchCut {
        first_unseen_hunk: hunk.into(),
        lines,
        shortened_lines,
    });
    (any::<String>(), option::of(cut)).prop_map(|(text, cut)| PatchText { text: text.into(), cut })
}

fn status() -> impl Strategy<Value = FileStatus> {
    use FileStatus::{Added, Deleted, Modified, Renamed, TypeChanged};
    prop::sample::select(vec![Added, Deleted, Modified, Renamed, TypeChanged])
}

fn mode() -> impl Strategy<Value = FileMode> {
    use FileMode::{Executable, File, Link, Submodule};
    prop::sample::select(vec![File, Executable, Link, Submodule])
}

fn generated() -> impl Strategy<Value = Generated> {
    use Generated::{Attribute, Header, LockFile, Name, Vendored};
    prop::sample::select(vec![Attribute, Vendored, LockFile, Name, Header])
}

fn file() -> impl Strategy<Value = FileChange> {
    let names = (path(), option::of(path()), status(), option::of(mode()), option::of(mode()));
    let blobs = (option::of(id().prop_map(BlobId)), option::of(id().prop_map(BlobId)));
    let patch_id = option::of("[0-9a-f]{40}".prop_map(PatchId));
    let told = (any::<(u32, u32, bool)>(), option::of(generated()), vec(hunk(), 0..3), patch(), patch_id);
    (names, blobs, told).prop_map(
        |(
            (path, old_path, status, old_mode, new_mode),
            (old_blob, new_blob),
            (counts, generated, hunks, patch, patch_id),
        )| {
            let (additions, deletions, binary) = counts;
            let language = language::from_path(&path).or(binary.then_some("rust"));
            FileChange {
                path,
                old_path,
                status,
                old_mode,
                new_mode,
                old_blob,
                new_blob,
                additions,
                deletions,
                binary,
                language,
                generated,
                hunks,
                patch,
                patch_id,
            }
        },
    )
}

fn omission() -> impl Strategy<Value = Omission> {
    (option::of(any::<String>()), any::<String>(), any::<bool>()).prop_map(|(path, reason, unseen)| Omission {
        path,
        reason,
        unseen,
    })
}

fn change() -> impl Strategy<Value = ChangeSet> {
    let names = (any::<String>(), any::<String>(), any::<String>());
    let ends = (option::of(commit_id()), option::of(commit_id()), option::of(commit_id()), at(), at());
    let rest = (option::of(pull()), vec(commit(), 0..3), any::<u16>(), vec(file(), 0..4), vec(omission(), 0..3));
    (names, ends, rest).prop_map(
        |(
            (repository, target, head_name),
            (base, head, merge_base, old_at, new_at),
            (pull, commits, more, files, omissions),
        )| ChangeSet {
            repository,
            target,
            head_name,
            base,
            head,
            merge_base,
            old_at,
            new_at,
            pull,
            commits,
            commits_omitted: more.into(),
            files,
            omissions,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_change_comes_back_as_it_was_kept(change in change()) {
        let bytes = write(&change).unwrap();
        let back = read(&bytes).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{change:?}"));
        prop_assert_eq!(write(&back).unwrap(), bytes);
    }

    #[test]
    fn a_damaged_change_is_told_and_never_panics(change in change(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = write(&change).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(&bytes);
        prop_assert!(read(&bytes[..at.min(bytes.len() - 2)]).is_err());
    }
}

#[test]
fn a_change_of_a_later_version_says_so() {
    let fault = read(br#"{"version":2,"change":{"anything":true}}"#).unwrap_err().to_string();
    assert_eq!(fault, "change.json has version 2, this program reads 1: use the program that wrote it");
}

#[test]
fn the_bytes_of_a_stored_change_are_fixed() {
    let stored = include_bytes!("../../../fixtures/runs/change.json");
    let change = read(stored).unwrap();
    assert_eq!(change.old_at, WorkspaceAt::Revision(change.merge_base.unwrap()));
    assert_eq!(change.files[0].hunks[0].runs[1].new, HunkSpan { start: 8, count: 1 });
    assert_eq!(String::from_utf8(write(&change).unwrap()).unwrap(), String::from_utf8_lossy(stored));
}

#[test]
fn what_no_version_wrote_into_a_change_is_refused() {
    let stored = include_str!("../../../fixtures/runs/change.json");
    for (known, unknown) in [
        (r#""repository":"#, r#""strange":1,"repository":"#),
        (r#""path":"link","#, r#""path":"link","strange":1,"#),
        (r#""first_unseen_hunk":"#, r#""strange":1,"first_unseen_hunk":"#),
        (r#""server":"#, r#""strange":1,"server":"#),
        (r#""subject":"#, r#""strange":1,"subject":"#),
        ("owner/shop#12", "https://host/owner/shop/pull/12"),
        ("100755", "100700"),
        ("bbbb", "bbb"),
        ("[1,7]", "[1]"),
    ] {
        let strange = stored.replacen(known, unknown, 1);
        assert!(strange != stored && read(strange.as_bytes()).is_err(), "{unknown}");
    }
}
