//! The reviewed tree: a revision, the index, the disk, a patch; and nothing outside of it.

#![allow(clippy::expect_used, reason = "the steps of a test fail loudly")]

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use review_runner::domain::change::FileMode;
use review_runner::domain::filter::PathFilter;
use review_runner::domain::path::RepoPath;
use review_runner::domain::place::{DiffSide, WorkspaceAt};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::{Repo, RepoPool};
use review_runner::workspace::{self, LineRegex, Query, SearchHits, Workspace, WorkspaceError, nearest_paths};

use crate::support::TestRepo;

fn path(spelled: &str) -> RepoPath {
    RepoPath::parse(spelled).expect("a path")
}

fn open_filtered(repo: &TestRepo, at: WorkspaceAt, filter: PathFilter) -> Arc<dyn Workspace> {
    let pool = RepoPool::new(Repo::open(repo.root()).expect("a repository"));
    workspace::open(Some(&pool), at, DiffSide::New, &[], filter).expect("a tree")
}

fn head(repo: &TestRepo) -> WorkspaceAt {
    WorkspaceAt::Revision(Repo::open(repo.root()).expect("a repository").commit("HEAD").expect("a commit"))
}

fn open(repo: &TestRepo, at: WorkspaceAt) -> Arc<dyn Workspace> {
    open_filtered(repo, at, PathFilter::all())
}

fn names(tree: &dyn Workspace) -> Vec<String> {
    let files = tree.files(&Cancel::never()).expect("files");
    files.iter().map(|file| file.path.display_name().into_owned()).collect()
}

fn search(tree: &dyn Workspace, pattern: &str, most: usize) -> SearchHits {
    let pattern = LineRegex::new(pattern).expect("a pattern");
    tree.search(&Query { pattern: &pattern, files: None, most, generated_last: false }, &Cancel::never()).expect("hits")
}

fn grep_lines(hits: &SearchHits) -> Vec<String> {
    let lines = hits.files.iter().flat_map(|file| {
        file.lines.iter().map(move |line| format!("{}:{line}:{}", file.path, file.text.line(*line).expect("a line")))
    });
    lines.collect()
}

/// A repository with many files, so that a search has many chunks.
fn large() -> TestRepo {
    let repo = TestRepo::new();
    for folder in 0..12 {
        for file in 0..25 {
            let mut text = String::new();
            for line in 0..40 {
                let word = ["alpha", "beta", "gamma", "delta"][(folder * 7 + file * 3 + line) % 4];
                let _ = writeln!(text, "fn {word}_{line}(x: u{file}) -> Result<(), E{folder}> {{ \"{word}.{line}\" }}");
            }
            repo.write(format!("d{folder}/f{file}.rs"), text);
        }
    }
    // A file between a folder and its contents in path order.
    repo.write("d1.txt", "alpha\n").write("d1-x/y", "beta\nno end alpha");
    repo.commit("many");
    repo
}

#[test]
fn a_revision_lists_what_git_lists() {
    let repo = large();
    repo.write("odd \"name\"", "x\n").write("grüße.txt", "x\n");
    repo.commit("odd");
    let tree = open(&repo, head(&repo));
    let listed = repo.git_bytes(["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    let listed: Vec<_> = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    let files = tree.files(&Cancel::never()).unwrap();
    assert_eq!(files.iter().map(|file| file.path.as_bytes()).collect::<Vec<_>>(), listed);
}

#[test]
fn a_search_finds_the_lines_git_grep_finds() {
    let repo = large();
    repo.write("crlf.rs", "fn alpha()\r\n").write("binary", b"alpha\0beta").write("empty", "");
    repo.commit("more");
    let tree = open(&repo, head(&repo));
    for pattern in [
        "alpha_7",
        "fn (alpha|delta)_1[0-9]",
        "^fn beta",
        "u3\\)",
        "E1[01]> \\{ \"gamma",
        "alpha$",
        "[[:digit:]]{2}\\(",
        ".",
    ] {
        let grep = repo.git(["grep", "-I", "-n", "-E", "-e", pattern, "HEAD", "--", ".", ":!crlf.rs"]);
        let expected: Vec<_> = grep.lines().map(|line| line["HEAD:".len()..].to_owned()).collect();
        let found = search(tree.as_ref(), pattern, usize::MAX);
        assert!(found.exhausted);
        let found: Vec<_> = grep_lines(&found).into_iter().filter(|line| !line.starts_with("crlf.rs")).collect();
        assert_eq!(found, expected, "{pattern}");
    }
}

#[test]
fn the_first_hits_are_the_first_in_path_order_every_time() {
    let repo = large();
    let all = grep_lines(&search(open(&repo, head(&repo)).as_ref(), "alpha", usize::MAX));
    for most in [1, 50, 333, all.len() - 1] {
        for _ in 0..5 {
            let fresh = open(&repo, head(&repo));
            let found = search(fresh.as_ref(), "alpha", most);
            assert!(!found.exhausted);
            assert_eq!(grep_lines(&found), all[..most]);
            assert_eq!(grep_lines(&search(fresh.as_ref(), "alpha", most)), all[..most], "from memory");
        }
    }
}

#[test]
fn every_kind_of_tree_finds_the_same() {
    let repo = large();
    let expected = grep_lines(&search(open(&repo, head(&repo)).as_ref(), "gamma_2", usize::MAX));
    for at in [WorkspaceAt::Index, WorkspaceAt::Worktree] {
        let tree = open(&repo, at);
        // The first search of the disk keeps nothing, the second keeps all, the third reads nothing.
        for _ in 0..3 {
            assert_eq!(grep_lines(&search(tree.as_ref(), "gamma_2", usize::MAX)), expected, "{at:?}");
        }
    }
}

#[test]
fn odd_contents_are_read_as_people_see_them() {
    let repo = TestRepo::new();
    repo.write("crlf", "one\r\ntwo\r\n").write("empty", "").write("no-end", "a\nb").write("binary", b"a\0b");
    repo.write("bom", b"\xef\xbb\xbffirst\n");
    let (japanese, _, _) =
        encoding_rs::SHIFT_JIS.encode("これは日本語のコメントです。検索できますか。\n二行目です。\n");
    repo.write("sjis", &japanese);
    repo.commit("odd");
    for at in [head(&repo), WorkspaceAt::Index, WorkspaceAt::Worktree] {
        let tree = open(&repo, at);
        let lines = |name: &str| -> Vec<String> {
            tree.read(&path(name)).unwrap().all_lines().map(|(_, line)| line.to_owned()).collect()
        };
        assert_eq!(lines("crlf"), ["one", "two"]);
        assert_eq!(lines("empty"), Vec::<String>::new());
        assert_eq!(lines("no-end"), ["a", "b"]);
        assert_eq!(lines("bom"), ["first"]);
        assert_eq!(tree.read(&path("sjis")).unwrap().charset(), "Shift_JIS");
        assert!(matches!(tree.read(&path("binary")), Err(WorkspaceError::NotText { .. })));
        assert_eq!(
            grep_lines(&search(tree.as_ref(), "検索", 9))[0],
            "sjis:1:これは日本語のコメントです。検索できますか。"
        );
        assert_eq!(grep_lines(&search(tree.as_ref(), "^first$", 9)), ["bom:1:first"]);
        assert_eq!(grep_lines(&search(tree.as_ref(), "two$", 9)), ["crlf:2:two"]);
        assert_eq!(grep_lines(&search(tree.as_ref(), "^$", 9)), Vec::<String>::new());
    }
}

#[test]
fn nothing_excluded_is_listed_read_or_found() {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "needle\n").write("vendor/b.rs", "needle\n");
    repo.commit("x");
    for at in [head(&repo), WorkspaceAt::Index, WorkspaceAt::Worktree] {
        let tree = open_filtered(&repo, at, PathFilter::new(&[], &["vendor/".to_owned()]).unwrap());
        assert_eq!(names(tree.as_ref()), ["src/a.rs"]);
        assert!(matches!(tree.read(&path("vendor/b.rs")), Err(WorkspaceError::Excluded(_))), "{at:?}");
        assert!(matches!(tree.read(&path("vendor/none")), Err(WorkspaceError::Excluded(_))), "{at:?}");
        assert_eq!(grep_lines(&search(tree.as_ref(), "needle", 9)), ["src/a.rs:1:needle"]);
    }
}

#[test]
fn a_missing_file_names_those_like_it() {
    let repo = TestRepo::new();
    repo.write("src/parser.rs", "x\n").write("src/deep/lexer.rs", "x\n");
    repo.commit("x");
    for at in [head(&repo), WorkspaceAt::Index, WorkspaceAt::Worktree] {
        let tree = open(&repo, at);
        assert!(matches!(tree.read(&path("src/lexer.rs")), Err(WorkspaceError::NotFound(_))), "{at:?}");
        let files = tree.files(&Cancel::never()).unwrap();
        assert_eq!(nearest_paths(&path("src/lexer.rs"), files.iter())[0], path("src/deep/lexer.rs"));
        assert!(matches!(tree.read(&path("src")), Err(WorkspaceError::NotText { .. })), "{at:?}");
    }
}

#[test]
fn the_index_is_read_not_the_disk() {
    let repo = TestRepo::new();
    repo.write("a", "committed\n");
    repo.commit("x");
    repo.write("a", "staged\n").write("new", "staged too\n");
    repo.git(["add", "-A"]);
    repo.write("a", "on the disk\n").write("announced", "not staged\n");
    repo.git(["add", "-N", "announced"]);
    let tree = open(&repo, WorkspaceAt::Index);
    assert_eq!(names(tree.as_ref()), ["a", "new"]);
    assert_eq!(tree.read(&path("a")).unwrap().text(), "staged\n");
    assert_eq!(open(&repo, head(&repo)).read(&path("a")).unwrap().text(), "committed\n");
    assert_eq!(open(&repo, WorkspaceAt::Worktree).read(&path("a")).unwrap().text(), "on the disk\n");
}

#[test]
fn a_conflict_is_read_once_and_told() {
    let repo = TestRepo::new();
    repo.write("a", "base\n");
    repo.commit("base");
    repo.branch("other").write("a", "theirs\n");
    repo.commit("theirs");
    repo.git(["checkout", "-q", "main"]);
    repo.write("a", "ours\n");
    repo.commit("ours");
    repo.git(["-c", "core.hooksPath=/dev/null", "merge", "-q", "--no-edit", "-X", "ours", "other"]);
    repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    // A conflicted index without a failing command.
    repo.git(["read-tree", "-m", "main~1", "HEAD", "other"]);
    let tree = open(&repo, WorkspaceAt::Index);
    assert_eq!(names(tree.as_ref()), ["a"]);
    assert_eq!(tree.read(&path("a")).unwrap().text(), "ours\n");
    assert_eq!(tree.omissions().len(), 1);
}

#[test]
fn the_disk_shows_what_git_would_show() {
    let repo = TestRepo::new();
    repo.write(".gitignore", "*.log\nbuild/\n").write("a.rs", "x\n").write("gone.rs", "x\n").write(".hidden", "x\n");
    repo.write("forced.log", "x\n");
    repo.git(["add", "-f", "forced.log"]);
    repo.commit("x");
    repo.remove("gone.rs").write("new.rs", "x\n").write("secret.log", "x\n").write("build/out", "x\n");
    repo.write("sub/deep/new.rs", "x\n").write(".ignore", "new.rs\n");
    let tree = open(&repo, WorkspaceAt::Worktree);
    assert_eq!(
        names(tree.as_ref()),
        [".gitignore", ".hidden", ".ignore", "a.rs", "forced.log", "new.rs", "sub/deep/new.rs"]
    );
    for ignored in ["secret.log", "build/out"] {
        assert!(matches!(tree.read(&path(ignored)), Err(WorkspaceError::Ignored(_))), "{ignored}");
    }
    assert!(matches!(tree.read(&path("gone.rs")), Err(WorkspaceError::NotFound(_))));
}

#[test]
fn a_repository_inside_is_not_looked_into() {
    let repo = TestRepo::new();
    repo.write("a", "x\n");
    repo.commit("x");
    repo.write("inner/secret", "needle\n");
    repo.git(["init", "-q", "inner"]);
    let tree = open(&repo, WorkspaceAt::Worktree);
    assert_eq!(names(tree.as_ref()), ["a"]);
    assert_eq!(tree.omissions().len(), 1);
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_tree_is_reachable() {
    use std::os::unix::fs::symlink;
    let repo = TestRepo::new();
    std::fs::write(repo.beside("outside"), "needle outside\n").unwrap();
    std::fs::create_dir(repo.beside("folder")).unwrap();
    std::fs::write(repo.beside("folder/f"), "needle outside\n").unwrap();
    repo.write("inside/f", "inside\n");
    for (to, link) in [
        ("../outside", "out"),
        ("../folder", "out-folder"),
        ("/proc/self", "proc"),
        ("/etc/passwd", "passwd"),
        ("loop-b", "loop-a"),
        ("loop-a", "loop-b"),
        ("inside", "in-folder"),
        (".git/config", "config"),
    ] {
        symlink(to, repo.root().join(link)).unwrap();
    }
    repo.commit("links");
    // What was a folder when it was committed is a link on the disk now.
    repo.write("swapped/f", "x\n");
    repo.commit("swapped");
    std::fs::remove_dir_all(repo.root().join("swapped")).unwrap();
    symlink("../folder", repo.root().join("swapped")).unwrap();
    let fifo = repo.root().join("fifo");
    crate::support::pipe(&fifo);
    for at in [head(&repo), WorkspaceAt::Index, WorkspaceAt::Worktree] {
        let tree = open(&repo, at);
        for (link, to) in
            [("out", "../outside"), ("passwd", "/etc/passwd"), ("loop-a", "loop-b"), ("config", ".git/config")]
        {
            assert_eq!(tree.read(&path(link)).unwrap().text(), to, "a link reads as where it points to");
        }
        for refused in ["out-folder/f", "proc/environ", "proc/self/environ", "in-folder/f", "loop-a/f", "fifo"] {
            assert!(tree.read(&path(refused)).is_err(), "{refused} at {at:?}");
        }
        assert_eq!(search(tree.as_ref(), "needle|root:", 99).lines, 0, "{at:?}");
    }
    let disk = open(&repo, WorkspaceAt::Worktree);
    assert_eq!(disk.read(&path("swapped")).unwrap().text(), "../folder");
    assert!(disk.read(&path("swapped/f")).is_err());
    assert!(!names(disk.as_ref()).contains(&"fifo".to_owned()));
}

#[test]
fn names_that_lead_out_are_left_out_of_a_hostile_tree() {
    let repo = TestRepo::new();
    repo.write("good", "needle\n");
    repo.commit("x");
    let blob = repo.git(["rev-parse", "HEAD:good"]).trim().to_owned();
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&blob[at * 2..at * 2 + 2], 16).unwrap()).collect();
    let mut tree = Vec::new();
    for name in ["..", ".git", "good"] {
        tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
        tree.extend_from_slice(&id);
    }
    let file = repo.beside("tree");
    std::fs::write(&file, tree).unwrap();
    let tree = repo.git(["hash-object", "-t", "tree", "-w", "--literally", file.to_str().unwrap()]);
    let commit = repo.git(["commit-tree", "-m", "hostile", tree.trim()]);
    repo.git(["update-ref", "HEAD", commit.trim()]);
    let tree = open(&repo, head(&repo));
    assert_eq!(names(tree.as_ref()), ["good"]);
    assert_eq!(tree.omissions().len(), 2);
}

#[test]
fn a_listing_goes_only_as_far_as_it_is_wanted() {
    let repo = large();
    let tree = open(&repo, head(&repo));
    let mut seen = Vec::new();
    let mut each = |path: &[u8], mode: FileMode| {
        seen.push((String::from_utf8_lossy(path).into_owned(), mode));
        if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    tree.visit(&Cancel::never(), &mut each).unwrap();
    assert_eq!(seen, ["d0/f0.rs", "d0/f1.rs", "d0/f10.rs"].map(|name| (name.to_owned(), FileMode::File)));
}

#[test]
fn a_stopped_run_searches_no_further() {
    let repo = large();
    let tree = open(&repo, head(&repo));
    let cancel = Cancel::never();
    cancel.interrupt();
    let pattern = LineRegex::new("alpha").unwrap();
    let query = Query { pattern: &pattern, files: None, most: 5, generated_last: false };
    assert!(matches!(tree.search(&query, &cancel), Err(WorkspaceError::Stopped(_))));
}

#[test]
fn a_bare_repository_has_revisions_and_no_disk() {
    let repo = large();
    let bare = repo.beside("bare.git");
    repo.git(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let pool = RepoPool::new(Repo::open(&bare).unwrap());
    let at = WorkspaceAt::Revision(pool.acquire().unwrap().commit("HEAD").unwrap());
    let tree = workspace::open(Some(&pool), at, DiffSide::New, &[], PathFilter::all()).unwrap();
    assert_eq!(search(tree.as_ref(), "alpha_0\\(x: u0\\)", 9).files.len(), 3);
    assert!(workspace::open(Some(&pool), WorkspaceAt::Worktree, DiffSide::New, &[], PathFilter::all()).is_err());
}

#[test]
fn what_one_thread_read_no_other_reads_again() {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "fn a() {}\n".repeat(20_000)).commit("Begin");
    let (tree, name) = (open(&repo, head(&repo)), path("src/a.rs"));
    let all_at_once = std::sync::Barrier::new(8);
    let texts: Vec<_> = std::thread::scope(|scope| {
        let reading = || {
            all_at_once.wait();
            tree.read(&name).expect("a text")
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(reading)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a text")).collect()
    });
    let first = tree.read(&name).expect("a text");
    assert!(texts.iter().all(|text| Arc::ptr_eq(text, &first)), "there is one text, however many ask for it");
    std::fs::remove_dir_all(repo.root().join(".git/objects")).expect("they are there");
    assert!(Arc::ptr_eq(&tree.read(&name).expect("it is kept"), &first));
}

#[test]
fn a_missing_object_is_told_and_hides_nothing_else() {
    let repo = TestRepo::new();
    repo.write("a", "needle\n").write("b", "needle in b\n");
    repo.commit("x");
    let blob = repo.git(["rev-parse", "HEAD:a"]).trim().to_owned();
    let object = repo.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(object).unwrap();
    let tree = open(&repo, head(&repo));
    for _ in 0..2 {
        let hits = search(tree.as_ref(), "needle", 9);
        assert_eq!(grep_lines(&hits), ["b:1:needle in b"]);
        assert_eq!((hits.unread, &hits.unread_named[0].0), (1, &path("a")));
    }
    assert!(matches!(tree.read(&path("a")), Err(WorkspaceError::Repo(_))));
}
