//! What each scope means, the default target, and repositories of every shape.

use std::path::Path;

use review_runner::domain::change::{ChangeSet, FileStatus};
use review_runner::domain::place::WorkspaceAt;
use review_runner::domain::request::ReviewScope;
use review_runner::git::{GitError, ResolvedRange};
use review_runner::sys::repo_error::RepoError;

use crate::support::change::{against_main, assert_as_git, change_of, collected, file};
use crate::support::{TestRepo, git_command};

const DEFAULT: ReviewScope = ReviewScope::Branch { target: None, head: None };

fn branch(target: &str, head: &str) -> ReviewScope {
    ReviewScope::Branch { target: Some(target.to_owned()), head: Some(head.to_owned()) }
}

fn range_scope(from: &str, to: &str, from_merge_base: bool) -> ReviewScope {
    ReviewScope::Range { from: from.to_owned(), to: to.to_owned(), from_merge_base }
}

fn ok(folder: &Path, scope: &ReviewScope) -> (ResolvedRange, ChangeSet) {
    collected(folder, scope).expect("a change")
}

fn fault(folder: &Path, scope: &ReviewScope) -> String {
    collected(folder, scope).expect_err("an error").to_string()
}

fn paths(change: &ChangeSet) -> Vec<String> {
    change.files.iter().map(|file| file.path.to_string()).collect()
}

fn git_in(folder: &Path, args: &[&str]) -> String {
    let out = git_command(folder).args(args).output().expect("the git program");
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// `main` and `topic` with two commits each behind a common one; `topic` is checked out.
fn forked() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a", "a\n").write("b", "b\n").commit("root");
    repo.branch("topic");
    repo.write("a", "a1\n").commit("topic one\n\nwith a body\nof two lines");
    repo.write("c", "c\n").commit("topic two");
    repo.git(["checkout", "-q", "main"]);
    repo.write("b", "b1\n").commit("main one");
    repo.git(["checkout", "-q", "topic"]);
    repo
}

#[test]
fn a_branch_is_compared_with_where_it_left_the_target() {
    let repo = forked();
    let (range, change) = ok(repo.root(), &against_main());
    assert_as_git(&repo, &change, &["main...topic"]);
    assert_eq!(change.merge_base.unwrap().to_string(), repo.git(["merge-base", "main", "topic"]).trim());
    assert_eq!(change.base.unwrap().to_string(), repo.git(["rev-parse", "main"]).trim());
    assert_eq!((range.settings_at, change.head_name.as_str()), (change.base, "topic"));
    let commits: Vec<_> = change.commits.iter().map(|commit| (commit.subject.as_str(), commit.body.as_str())).collect();
    assert_eq!(commits, [("topic two", ""), ("topic one", "with a body\nof two lines")]);
    assert_eq!(
        (change.commits[0].author.as_str(), change.commits[0].date.as_str()),
        ("Ada Author", "2024-05-01T12:00:00+02:00")
    );
    assert_eq!(change.repository, "project");
}

#[test]
fn a_target_that_is_the_head_gives_no_change() {
    let repo = forked();
    let (_, change) = ok(repo.root(), &branch("topic", "topic"));
    assert!(change.files.is_empty() && change.commits.is_empty());
}

#[test]
fn two_and_three_dots_differ() {
    let repo = forked();
    let (range, two) = ok(repo.root(), &range_scope("main", "topic", false));
    assert_as_git(&repo, &two, &["main", "topic"]);
    assert_eq!(range.merge_base, range.base);
    let (_, three) = ok(repo.root(), &range_scope("main", "", true));
    assert_as_git(&repo, &three, &["main...topic"]);
    assert_ne!(paths(&two), paths(&three));
}

#[test]
fn one_commit_is_compared_with_its_first_parent() {
    let repo = forked();
    let (range, change) = ok(repo.root(), &ReviewScope::Commit("HEAD~1".to_owned()));
    assert_eq!(paths(&change), ["a"]);
    assert_eq!(change.commits.len(), 1);
    assert_eq!(range.settings_at.unwrap().to_string(), repo.git(["rev-parse", "main"]).trim());
    let (range, root) = ok(repo.root(), &ReviewScope::Commit("main~1".to_owned()));
    assert_eq!(paths(&root), ["a", "b"]);
    assert_eq!((root.old_at, root.base), (WorkspaceAt::Empty, None));
    assert!(range.notices[0].contains("compared with nothing"), "{:?}", range.notices);
    repo.git(["merge", "-q", "--no-ff", "-m", "merge", "main"]);
    let (range, merge) = ok(repo.root(), &ReviewScope::Commit("HEAD".to_owned()));
    assert_eq!(paths(&merge), ["b"]);
    assert!(range.notices[0].contains("merge of 2 parents"), "{:?}", range.notices);
}

#[test]
fn criss_cross_merges_take_gits_merge_base_and_say_so() {
    let repo = TestRepo::new();
    let at = |second: u32, args: &[&str]| {
        let date = format!("2024-05-01T12:00:{second:02}+02:00");
        let out = git_command(repo.root())
            .args(args)
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_AUTHOR_DATE", &date)
            .output()
            .unwrap();
        assert!(out.status.success(), "{args:?} {}", String::from_utf8_lossy(&out.stderr));
    };
    repo.write("a", "1\n").commit("root");
    repo.branch("topic");
    repo.write("t", "t\n");
    repo.git(["add", "-A"]);
    at(10, &["commit", "-qm", "topic"]);
    repo.git(["checkout", "-q", "main"]);
    repo.write("m", "m\n");
    repo.git(["add", "-A"]);
    at(20, &["commit", "-qm", "main"]);
    repo.git(["tag", "old-main"]);
    at(30, &["merge", "-q", "--no-ff", "-m", "into main", "topic"]);
    repo.git(["checkout", "-q", "topic"]);
    at(40, &["merge", "-q", "--no-ff", "-m", "into topic", "old-main"]);
    repo.write("t", "t2\n").commit("more");
    let (range, change) = ok(repo.root(), &against_main());
    assert_eq!(repo.git(["merge-base", "--all", "main", "topic"]).lines().count(), 2);
    assert_eq!(change.merge_base.unwrap().to_string(), repo.git(["merge-base", "main", "topic"]).trim());
    assert!(range.notices.iter().any(|notice| notice.contains("criss-cross")), "{:?}", range.notices);
}

#[test]
fn commits_come_in_the_order_of_git_log_and_are_counted_beyond_the_limit() {
    let repo = forked();
    repo.git(["merge", "-q", "--no-ff", "-m", "merge main", "main"]);
    for n in 0..5 {
        repo.write("n", format!("{n}\n")).commit(&format!("more {n}"));
    }
    repo.git(["branch", "-q", "base", "main~1"]);
    let scope = branch("base", "topic");
    let (_, change) = ok(repo.root(), &scope);
    let ours: Vec<_> = change.commits.iter().map(|commit| commit.id.to_string()).collect();
    assert_eq!(ours, repo.git(["log", "--format=%H", "base..topic"]).lines().collect::<Vec<_>>());
    let options = review_runner::git::CollectOptions { max_commits: 3, ..Default::default() };
    let (_, cut) = crate::support::change::with_options(repo.root(), &scope, &options).unwrap();
    assert_eq!((cut.commits.len(), cut.commits_omitted), (3, change.commits.len() - 3));
}

#[test]
fn a_message_in_another_charset_is_decoded_by_its_header() {
    let repo = forked();
    let message = repo.beside("message");
    std::fs::write(&message, b"caf\xe9\n\nd\xe9j\xe0\n").unwrap();
    repo.git([
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        message.to_str().unwrap(),
    ]);
    let (_, change) = ok(repo.root(), &against_main());
    assert_eq!((change.commits[0].subject.as_str(), change.commits[0].body.as_str()), ("café", "déjà"));
}

#[test]
fn what_is_staged_is_compared_not_the_disk() {
    let repo = forked();
    repo.write("a", "staged\n").write("new", "n\n");
    repo.git(["add", "a", "new"]);
    repo.git(["rm", "-q", "c"]);
    repo.write("a", "on the disk\n").write("untracked", "u\n").write("later", "later\n");
    repo.git(["add", "-N", "later"]);
    let (range, change) = ok(repo.root(), &ReviewScope::Staged);
    assert_as_git(&repo, &change, &["--cached"]);
    assert_eq!(paths(&change), ["a", "c", "new"]);
    assert!(file(&change, "a").patch.text.contains("+staged\n"));
    assert_eq!((change.head, change.new_at, range.settings_at), (None, WorkspaceAt::Index, change.base));
}

#[test]
fn the_disk_is_compared_with_untracked_files_and_without_ignored_ones() {
    let repo = forked();
    repo.write(".gitignore", "*.log\n").commit("ignore");
    repo.write("a", "staged\n");
    repo.git(["add", "a"]);
    repo.write("a", "on the disk\n").write("untracked/deep/u", "u\n").write("x.log", "ignored\n").remove("c");
    let (_, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    assert_eq!(paths(&change), ["a", "c", "untracked/deep/u"]);
    assert!(file(&change, "a").patch.text.contains("+on the disk\n"));
    assert_eq!(file(&change, "c").status, FileStatus::Deleted);
    assert_eq!(file(&change, "untracked/deep/u").status, FileStatus::Added);
    assert_eq!((change.head_name.as_str(), change.new_at), ("worktree", WorkspaceAt::Worktree));
    repo.git(["add", "-A"]);
    let (_, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    assert_as_git(&repo, &change, &["HEAD"]);
}

#[test]
fn a_file_that_was_moved_on_the_disk_is_one_file() {
    let repo = TestRepo::new();
    let text: String = (0..50).flat_map(|n: u32| ["line ".to_owned(), n.to_string(), "\n".to_owned()]).collect();
    repo.write("old", &text).commit("root");
    repo.remove("old").write("new", text.replace("line 7\n", "seven\n"));
    let (_, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    let new = file(&change, "new");
    assert_eq!((new.status, new.additions, new.deletions), (FileStatus::Renamed, 1, 1));
}

#[test]
fn line_ends_of_a_checkout_are_no_change() {
    let repo = TestRepo::new();
    repo.write(".gitattributes", "*.txt text\n*.bat -text\n")
        .write("a.txt", "one\ntwo\n")
        .write("b.bat", "x\n")
        .commit("root");
    repo.write("a.txt", "one\r\ntwo\r\nthree\r\n").write("b.bat", "x\r\n");
    let (_, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    assert_as_git(&repo, &change, &["HEAD"]);
    assert_eq!((file(&change, "a.txt").additions, file(&change, "a.txt").deletions), (1, 0));
    assert_eq!((file(&change, "b.bat").additions, file(&change, "b.bat").deletions), (1, 1));
}

#[cfg(unix)]
#[test]
fn a_link_on_the_disk_is_not_followed() {
    use std::os::unix::fs::symlink;
    let repo = TestRepo::new();
    repo.write("dir/secret", "inside\n").write("a", "a\n").commit("root");
    std::fs::create_dir(repo.beside("outside")).unwrap();
    std::fs::write(repo.beside("outside/secret"), "outside\n").unwrap();
    std::fs::remove_dir_all(repo.root().join("dir")).unwrap();
    symlink(repo.beside("outside"), repo.root().join("dir")).unwrap();
    let (_, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    assert_eq!(paths(&change), ["dir", "dir/secret"]);
    assert_eq!(file(&change, "dir/secret").status, FileStatus::Deleted);
    assert!(!change.files.iter().any(|file| file.patch.text.contains("+outside")));
}

#[test]
fn conflicts_in_the_index_are_told() {
    let repo = forked();
    repo.git(["checkout", "-q", "-b", "other", "main"]);
    repo.write("a", "a2\n").commit("other");
    let merge = git_command(repo.root()).args(["merge", "-q", "topic"]).output().unwrap();
    assert!(!merge.status.success());
    let (_, change) = ok(repo.root(), &ReviewScope::Staged);
    assert!(
        change.omissions.iter().any(|told| told.path.as_deref() == Some("a") && told.unseen),
        "{:?}",
        change.omissions
    );
    assert_eq!(paths(&change), ["c"]);
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repo = TestRepo::new();
    repo.write("a", "a\n");
    repo.git(["add", "a"]);
    repo.write("b", "b\n");
    assert_eq!(paths(&ok(repo.root(), &ReviewScope::Staged).1), ["a"]);
    let (range, change) = ok(repo.root(), &ReviewScope::Uncommitted);
    assert_eq!(paths(&change), ["a", "b"]);
    assert_eq!((change.old_at, range.settings_at), (WorkspaceAt::Empty, None));
    assert!(fault(repo.root(), &against_main()).contains("no commit yet"));
    assert!(fault(repo.root(), &DEFAULT).contains("no commit yet"));
}

#[test]
fn the_default_target_is_found_and_said() {
    let repo = forked();
    assert_eq!(ok(repo.root(), &DEFAULT).0.target, "main");
    let clone = repo.beside("clone");
    git_in(repo.root(), &["checkout", "-q", "main"]);
    git_in(repo.root(), &["clone", "-q", ".", clone.to_str().unwrap()]);
    git_in(&clone, &["checkout", "-q", "topic"]);
    let (range, change) = ok(&clone, &DEFAULT);
    assert_eq!(range.target, "origin/main");
    assert_eq!(range.notices, ["no --target given: using origin/main (the remote's default branch)"]);
    assert_eq!(paths(&change), ["a", "c"]);
    git_in(&clone, &["remote", "set-head", "origin", "-d"]);
    assert_eq!(ok(&clone, &DEFAULT).0.target, "origin/main");
    git_in(&clone, &["checkout", "-q", "-b", "deeper", "--track", "origin/topic"]);
    let (range, _) = ok(&clone, &DEFAULT);
    assert_eq!(range.notices[0], "no --target given: using origin/topic (the branch's upstream)");
    assert!(range.notices[1].starts_with("deeper has no commits that are not on origin/topic"), "{:?}", range.notices);
}

#[test]
fn without_a_target_the_message_says_what_to_do() {
    let repo = TestRepo::new();
    repo.write("a", "a\n").commit("root");
    assert!(fault(repo.root(), &DEFAULT).contains("--commit HEAD"), "{}", fault(repo.root(), &DEFAULT));
    repo.git(["branch", "-q", "-m", "trunk"]);
    assert!(fault(repo.root(), &DEFAULT).contains("name one with --target"));
    assert!(matches!(
        collected(repo.root(), &branch("nowhere", "HEAD")),
        Err(GitError::Repo(RepoError::UnknownRevision(..)))
    ));
}

#[test]
fn histories_that_never_met_are_said() {
    let repo = forked();
    repo.git(["checkout", "-q", "--orphan", "island"]);
    repo.commit("island");
    assert!(fault(repo.root(), &against_main()).contains("--range main..island"));
    ok(repo.root(), &range_scope("main", "island", false));
}

#[test]
fn a_detached_head_works() {
    let repo = forked();
    repo.git(["checkout", "-q", "--detach"]);
    let (range, change) = ok(repo.root(), &DEFAULT);
    assert_eq!((range.target.as_str(), range.head_name.as_str()), ("main", "HEAD"));
    assert_as_git(&repo, &change, &["main...HEAD"]);
}

#[test]
fn a_bare_repository_works_but_has_no_disk() {
    let repo = forked();
    let bare = repo.beside("bare.git");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let (_, change) = ok(&bare, &branch("main", "topic"));
    assert_as_git(&repo, &change, &["main...topic"]);
    assert_eq!(change.repository, "bare");
    assert!(fault(&bare, &ReviewScope::Staged).contains("no index"));
    assert!(fault(&bare, &ReviewScope::Uncommitted).contains("no files on the disk"));
}

#[test]
fn a_linked_worktree_has_its_own_head_index_and_disk() {
    let repo = forked();
    let linked = repo.beside("linked");
    repo.git(["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap(), "main"]);
    std::fs::write(linked.join("b"), "b2\n").unwrap();
    let (_, change) = ok(&linked, &ReviewScope::Uncommitted);
    assert_eq!(paths(&change), ["b"]);
    assert!(file(&change, "b").patch.text.contains("-b1\n+b2\n"));
    git_in(&linked, &["commit", "-qam", "side"]);
    let (range, change) = ok(&linked, &DEFAULT);
    assert_eq!((range.head_name.as_str(), paths(&change)), ("side", vec!["b".to_owned()]));
}

#[test]
fn a_shallow_clone_says_how_to_get_the_rest() {
    let repo = forked();
    let shallow = repo.beside("shallow");
    let url = format!("file://{}", repo.root().display());
    repo.git(["clone", "-q", "--depth=1", "--no-single-branch", &url, shallow.to_str().unwrap()]);
    let message = fault(&shallow, &branch("origin/main", "origin/topic"));
    assert!(message.contains("git fetch --unshallow"), "{message}");
    let (range, change) = ok(&shallow, &ReviewScope::Commit("origin/topic".to_owned()));
    assert!(range.notices.iter().any(|notice| notice.contains("unshallow")), "{:?}", range.notices);
    assert_eq!(paths(&change), ["a", "b", "c"]);
}

#[test]
fn a_partial_clone_loses_only_the_files_it_has_not_got() {
    let repo = forked();
    repo.git(["config", "uploadpack.allowFilter", "true"]);
    let partial = repo.beside("partial");
    let url = format!("file://{}", repo.root().display());
    repo.git(["clone", "-q", "--filter=blob:none", "--branch=topic", &url, partial.to_str().unwrap()]);
    let (_, change) = ok(&partial, &branch("origin/main", "HEAD"));
    assert_eq!(paths(&change), ["a", "c"]);
    assert_eq!(file(&change, "c").additions, 1);
    let told = &change.omissions[0];
    assert_eq!((told.path.as_deref(), told.unseen), (Some("a"), true));
    assert!(told.reason.contains("git fetch --refetch --no-filter"), "{}", told.reason);
}

#[test]
fn a_sha256_repository_is_refused_with_a_way_out() {
    let repo = TestRepo::folder_only();
    repo.git(["init", "-q", "--object-format=sha256", "."]);
    repo.write("a", "a\n").commit("root");
    assert!(fault(repo.root(), &against_main()).contains("review --diff -"));
}

#[test]
fn outside_a_repository_the_message_says_so() {
    let folder = TestRepo::folder_only();
    assert!(fault(folder.root(), &against_main()).contains("not inside a git repository"));
}

#[test]
fn one_thread_or_many_collect_the_same() {
    let repo = TestRepo::new();
    for n in 0..200 {
        repo.write(format!("d{}/f{n}", n % 7), format!("{n}\nsame\nend {n}\n"));
    }
    repo.commit("root");
    repo.branch("topic");
    for n in 0..200 {
        repo.write(format!("d{}/f{n}", n % 7), format!("{n}\nsame\nchanged {n}\n"));
    }
    repo.commit("second");
    let with = |threads| {
        let options = review_runner::git::CollectOptions { threads: Some(threads), ..Default::default() };
        crate::support::change::with_options(repo.root(), &against_main(), &options).unwrap().1
    };
    let (one, many) = (with(1), with(4));
    assert_as_git(&repo, &one, &["main...HEAD"]);
    let text = |change: &ChangeSet| format!("{:?}", change.files);
    assert_eq!(text(&one), text(&many));
}

#[test]
fn a_change_is_never_empty_by_mistake() {
    assert_eq!(paths(&change_of(&forked())), ["a", "c"]);
}
