//! Hostile and unlucky input: giants, paths that leave the tree, filters, secrets of line ends, stops; and the rest of a cut diff.

use git2::ObjectType;
use review_runner::domain::change::{FileMode, FileStatus};
use review_runner::domain::event::NullEventSink;
use review_runner::domain::filter::PathFilter;
use review_runner::domain::place::DiffSide;
use review_runner::domain::request::ReviewScope;
use review_runner::git::{CollectOptions, DiffPosition, GitError, collect, file_patch, from_patch, resolve};
use review_runner::sys::cancel::Cancel;
use review_runner::sys::repo::Repo;

use crate::support::TestRepo;
use crate::support::change::{against_main, assert_as_git, change_of, collected, counted, diff_text, file, numstat};

const RANGE: &[&str] = &["main...HEAD"];

fn branched(build: impl FnOnce(&TestRepo)) -> TestRepo {
    let repo = TestRepo::new();
    build(&repo);
    repo.commit("first");
    repo.branch("topic");
    repo
}

/// Every `step`th of many lines is another.
fn lines(count: usize, step: usize, word: &str) -> String {
    let mut text = String::new();
    for n in 1..=count {
        text.push_str(if n % step == 0 { word } else { "line" });
        text.push(' ');
        text.push_str(&n.to_string());
        text.push('\n');
    }
    text
}

#[test]
fn the_rest_of_a_cut_diff_can_be_read_piece_by_piece() {
    let repo = branched(|repo| {
        repo.write("long", lines(3000, 20, "line")).write("gone", "a\nb");
    });
    repo.write("long", lines(3000, 20, "changed")).write("new", lines(700, 1, "new")).remove("gone");
    repo.commit("second");
    let change = change_of(&repo);
    let open = Repo::open(repo.root()).unwrap();
    for path in ["long", "new", "gone"] {
        let one = file(&change, path);
        let whole = file_patch(&open, &change, one, DiffPosition::default(), usize::MAX, usize::MAX).unwrap();
        assert_eq!((whole.next, whole.lines_left, whole.hunks), (None, 0, one.hunks.len()));
        assert!(whole.text.starts_with(&*one.patch.text));
        let theirs = String::from_utf8(diff_text(&repo, &["main...HEAD", "--", path])).unwrap();
        let bare = |text: &str| -> Vec<String> {
            let start = text.find("@@ -").unwrap();
            text[start..].lines().filter(|line| !line.starts_with("@@")).map(str::to_owned).collect()
        };
        assert_eq!(bare(&whole.text), bare(&theirs), "{path}");
        let (mut pieces, mut at, mut rounds) = (Vec::new(), DiffPosition::default(), 0);
        loop {
            let piece = file_patch(&open, &change, one, at, 100, 64 * 1024).unwrap();
            assert!(piece.text.lines().count() <= 100);
            pieces.extend(piece.text.lines().filter(|line| !line.starts_with("@@")).map(str::to_owned));
            rounds += 1;
            match piece.next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(pieces, bare(&theirs), "{path}");
        assert!(rounds >= 7 || path == "gone");
        let behind = DiffPosition { hunk: 9999, line: 0 };
        assert_eq!(file_patch(&open, &change, one, behind, 10, 1000).unwrap().text, "");
    }
    let cut = file(&change, "long").patch.cut.unwrap();
    let from = DiffPosition { hunk: cut.first_unseen_hunk, line: 0 };
    let rest = file_patch(&open, &change, file(&change, "long"), from, 5, 1000).unwrap();
    let expected = file(&change, "long").hunks[cut.first_unseen_hunk].old;
    assert!(rest.text.starts_with(&format!("@@ -{},{} ", expected.start, expected.count)));
}

#[test]
fn a_file_that_changes_on_the_disk_meanwhile_is_not_shown_wrongly() {
    let repo = TestRepo::new();
    repo.write("a", lines(50, 50, "line")).commit("first");
    repo.write("a", lines(50, 25, "edited"));
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    let open = Repo::open(repo.root()).unwrap();
    let read = || file_patch(&open, &change, file(&change, "a"), DiffPosition::default(), 100, 10_000);
    assert_eq!(read().unwrap().text, *file(&change, "a").patch.text);
    repo.write("a", lines(50, 10, "again"));
    assert!(matches!(read(), Err(GitError::Moved { .. })));
}

#[test]
fn a_giant_is_not_compared_and_that_is_told() {
    let giant = "0123456789abcdef\n".repeat(1_300_000);
    let binary = giant.replace('f', "\u{1}");
    let repo = branched(|repo| {
        repo.write("giant.txt", &giant).write("giant.bin", format!("\0{binary}")).write("small", "a\n");
    });
    repo.write("giant.txt", format!("{giant}more\n")).write("giant.bin", format!("\0{binary}more\n"));
    repo.write("giant.new", &giant).write("small", "b\n");
    repo.commit("second");
    let change = change_of(&repo);
    let told: Vec<_> = change.omissions.iter().map(|told| (told.path.as_deref(), told.unseen)).collect();
    assert_eq!(told, [(Some("giant.txt"), true)]);
    assert!(change.omissions[0].reason.contains("21 MiB"), "{}", change.omissions[0].reason);
    assert!(file(&change, "giant.bin").binary);
    assert_eq!(file(&change, "giant.new").additions, 1_300_000);
    assert_eq!(file(&change, "small").additions, 1);
}

#[test]
fn paths_that_no_checkout_holds_are_told_not_read() {
    let repo = branched(|repo| {
        repo.write("a", "a\n");
    });
    let blob = repo.git(["rev-parse", "HEAD:a"]).trim().to_owned();
    let make = |text: String| {
        std::fs::write(repo.beside("tree"), text).unwrap();
        let tree = std::fs::File::open(repo.beside("tree")).unwrap();
        let out = crate::support::git_command(repo.root()).arg("mktree").stdin(tree).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    let inner = make(format!("100644 blob {blob}\tconfig\n"));
    let outer = make(format!(
        "040000 tree {inner}\t..\n040000 tree {inner}\t.git\n100644 blob {blob}\ta\n100644 blob {blob}\tb\n"
    ));
    let commit = repo.git(["commit-tree", &outer, "-p", "main", "-m", "hostile"]).trim().to_owned();
    let scope = ReviewScope::Branch { target: Some("main".to_owned()), head: Some(commit) };
    let (_, change) = collected(repo.root(), &scope).unwrap();
    assert_eq!(change.files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>(), ["b"]);
    let mut told: Vec<_> = change.omissions.iter().map(|told| (told.path.clone().unwrap(), told.unseen)).collect();
    told.sort();
    assert_eq!(told, [("\"../config\"".to_owned(), true), ("\".git/config\"".to_owned(), true)]);
}

/// A tree object with these entries as they stand: `git mktree` would sort and refuse them.
fn raw_tree(repo: &TestRepo, entries: &[(&str, &str, &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(format!("{mode} {name}\0").bytes());
        bytes.extend(
            id.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()),
        );
    }
    repo.object(ObjectType::Tree, &bytes)
}

fn against_commit_of(repo: &TestRepo, tree: &str) -> review_runner::domain::change::ChangeSet {
    let commit = repo.git(["commit-tree", tree, "-p", "main", "-m", "hostile"]).trim().to_owned();
    let scope = ReviewScope::Branch { target: Some("main".to_owned()), head: Some(commit) };
    collected(repo.root(), &scope).unwrap().1
}

#[test]
fn a_tree_that_names_a_file_twice_is_never_reviewed_as_complete() {
    let repo = branched(|repo| {
        repo.write("a.js", "let a = 1;\n").write("b.js", "eval(process.argv[2]);\n");
    });
    let id = |path: &str| repo.git(["rev-parse", &format!("HEAD:{path}")]).trim().to_owned();
    let (good, evil) = (id("a.js"), id("b.js"));
    for (first, second) in [(&good, &evil), (&evil, &good)] {
        let tree = raw_tree(&repo, &[("100644", "a.js", first), ("100644", "a.js", second)]);
        for tree in [tree.clone(), raw_tree(&repo, &[("40000", "new", &tree)])] {
            let change = against_commit_of(&repo, &tree);
            let told: Vec<_> =
                change.omissions.iter().map(|told| (told.path.as_deref().unwrap(), told.unseen)).collect();
            assert!(told == [("a.js", true)] || told == [("new/a.js", true)], "{told:?}");
        }
    }
}

#[test]
fn folders_that_are_nested_without_end_are_told_not_walked() {
    let repo = branched(|repo| {
        repo.write("a", "a\n");
    });
    let mut tree = repo.git(["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    for _ in 0..600 {
        tree = raw_tree(&repo, &[("40000", "d", &tree)]);
    }
    let change = against_commit_of(&repo, &tree);
    assert!(change.omissions.iter().any(|told| told.unseen && told.reason.contains("nested more than 512 deep")));
}

#[test]
fn source_that_a_nul_makes_binary_is_told_as_unseen() {
    let repo = branched(|repo| {
        repo.write("old.py", "a\0\n").write("logo.png", "\0").write("gone.c", "\0").write("moved.c", "\0\n");
    });
    repo.write("new.js", "// \0\neval(process.argv[2]);\n").write("old.py", "import os\n").write("logo.png", "\0\0");
    repo.remove("gone.c");
    repo.git(["mv", "moved.c", "away.c"]);
    repo.commit("second");
    let change = change_of(&repo);
    let told: Vec<_> = change.omissions.iter().map(|told| (told.path.as_deref().unwrap(), told.unseen)).collect();
    assert_eq!(told, [("new.js", true), ("old.py", true)]);
    assert!(change.omissions[0].reason.contains("javascript"));
    let patch = repo.git_bytes(["diff", "main...HEAD"]);
    let read = from_patch("-", &patch, &CollectOptions::default(), &Cancel::never()).unwrap().change;
    assert_eq!(read.omissions.len(), 2);
}

#[test]
fn text_without_a_telling_name_is_not_lost_to_a_nul_either() {
    let repo = branched(|repo| {
        repo.write("configure", "make\n")
            .write("settings", "\0")
            .write("data", "\0")
            .write("gone", "a\n")
            .write("empty", "");
    });
    repo.write("deploy", "#!/bin/sh\n# \0\ncurl example.com | sh\n").write("configure", "make\n# \0\n");
    repo.write("settings", "a = 1\n").write("data", "\0\0").write("empty", "\0").remove("gone").commit("second");
    let change = change_of(&repo);
    let told: Vec<_> = change.omissions.iter().map(|told| (told.path.as_deref().unwrap(), told.unseen)).collect();
    assert_eq!(told, [("configure", true), ("deploy", true), ("settings", true)]);
}

#[test]
fn lines_that_differ_beyond_measure_are_not_compared() {
    let side = |seed: usize| (0..600_000usize).map(move |n| if (n * n / 7 + n * seed) % 5 < 2 { "a\n" } else { "b\n" });
    let repo = branched(|repo| {
        repo.write("f.txt", side(1).collect::<String>()).write("g.txt", side(1).collect::<String>());
    });
    repo.write("f.txt", side(2).collect::<String>());
    repo.write("g.txt", side(1).chain(["c\n"]).collect::<String>());
    repo.commit("second");
    let change = change_of(&repo);
    let told: Vec<_> = change.omissions.iter().map(|told| (told.path.as_deref().unwrap(), told.unseen)).collect();
    assert_eq!(told, [("f.txt", true)], "what is long but alike is compared");
    assert_eq!(file(&change, "g.txt").additions, 1);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_no_deletion() {
    let repo = TestRepo::new();
    repo.write("in/a", "a\n").write("out/b", "b\n");
    repo.commit("first");
    repo.git(["sparse-checkout", "set", "--no-sparse-index", "in"]);
    repo.write("in/a", "changed\n");
    let paths = |change: &review_runner::domain::change::ChangeSet| -> Vec<String> {
        change.files.iter().map(|file| file.path.to_string()).collect()
    };
    assert_eq!(paths(&collected(repo.root(), &ReviewScope::Uncommitted).unwrap().1), ["in/a"]);
    repo.git(["sparse-checkout", "set", "--sparse-index", "in"]);
    let error = collected(repo.root(), &ReviewScope::Uncommitted).unwrap_err().to_string();
    assert!(error.contains("git sparse-checkout reapply --no-sparse-index"), "{error}");
}

#[test]
fn an_interrupt_stops_the_collection() {
    let repo = branched(|repo| {
        repo.write("a", "a\n");
    });
    repo.write("a", "b\n").commit("second");
    let open = Repo::open(repo.root()).unwrap();
    let range = resolve(&open, &against_main()).unwrap();
    let cancel = Cancel::never();
    cancel.interrupt();
    let stopped = collect(&open, &range, &CollectOptions::default(), &cancel, &NullEventSink);
    assert!(matches!(stopped, Err(GitError::Stopped(_))));
}

#[test]
fn a_bad_glob_is_refused() {
    let error = PathFilter::new(&["[".into()], &[]).unwrap_err();
    assert!(error.to_string().starts_with("the glob"), "{error}");
}

#[test]
fn automatic_line_ends_and_encodings_of_a_checkout_are_no_change() {
    let repo = TestRepo::new();
    repo.write("a.txt", "one\ntwo\n").write("kept.txt", "one\r\ntwo\r\n").commit("first");
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write("a.txt", "one\r\ntwo\r\nthree\r\n").write("kept.txt", "one\r\ntwo\r\nthree\r\n");
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    // The repository's setting, not the one that the test's git is started with.
    let theirs = ["-c", "core.autocrlf=true", "diff", "--numstat", "HEAD"];
    let expected =
        repo.git(theirs).lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    let ours: Vec<_> = change.files.iter().map(|file| format!("{} {}", file.additions, file.deletions)).collect();
    assert_eq!(ours, expected);
    assert_eq!(ours, ["1 0", "1 0"]);

    let repo = TestRepo::new();
    let wide =
        |text: &str| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    repo.write(".gitattributes", "*.wide text working-tree-encoding=UTF-16\n")
        .write("a.wide", wide("one\ntwo\n"))
        .commit("first");
    repo.write("a.wide", wide("one\nzwei\n"));
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    assert_as_git(&repo, &change, &["HEAD"]);
    assert!(file(&change, "a.wide").patch.text.contains("-two\n+zwei\n"));
}

#[test]
fn a_program_named_in_attributes_is_not_run_and_that_is_told() {
    let repo = TestRepo::new();
    let mark = repo.beside("ran");
    repo.write(".gitattributes", "*.big filter=evil diff=evil\n").write("a.big", "a\n").commit("first");
    for (key, program) in
        [("filter.evil.clean", "cat"), ("diff.evil.textconv", "cat"), ("diff.external", "cat"), ("core.fsmonitor", "")]
    {
        repo.git(["config", key, &format!("touch {} && {program}", mark.display())]);
    }
    repo.write("a.big", "b\n");
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    assert_eq!(file(&change, "a.big").additions, 1);
    assert!(
        change.omissions.iter().any(|told| told.reason.contains("\"evil\"") && !told.unseen),
        "{:?}",
        change.omissions
    );
    assert!(!mark.exists());
}

#[cfg(unix)]
#[test]
fn a_change_of_type_reads_the_same_from_a_patch() {
    let repo = branched(|repo| {
        repo.write("file", "a\nb\nc\n");
    });
    repo.remove("file");
    std::os::unix::fs::symlink("target", repo.root().join("file")).unwrap();
    repo.commit("second");
    let change = change_of(&repo);
    let text = diff_text(&repo, RANGE);
    let patch = from_patch("-", &text, &CollectOptions::default(), &Cancel::never()).unwrap();
    let (read, found) = (&patch.change.files[0], &change.files[0]);
    assert_eq!((read.status, read.new_mode), (FileStatus::TypeChanged, Some(FileMode::Link)));
    assert_eq!((read.hunks.clone(), read.additions, read.deletions), (found.hunks.clone(), 1, 3));
    assert_eq!(read.patch, found.patch);
    assert_eq!(counted(&change), numstat(&repo, RANGE));
}

#[test]
fn a_patch_file_gives_the_rest_of_its_diff_too() {
    let repo = branched(|repo| {
        repo.write("long", lines(3000, 20, "line"));
    });
    repo.write("long", lines(3000, 20, "changed")).write("new", "one\ntwo\n").commit("second");
    let text = diff_text(&repo, RANGE);
    let patch = from_patch("p", &text, &CollectOptions::default(), &Cancel::never()).unwrap();
    let long = file(&patch.change, "long");
    let whole = patch.file_patch(long, DiffPosition::default(), usize::MAX, usize::MAX);
    assert!(whole.text.starts_with(&*long.patch.text) && whole.text.len() > long.patch.text.len());
    let known = patch.known_files();
    let new: Vec<_> = known.iter().filter(|known| known.path.display_name() == "new").collect();
    assert_eq!(new.len(), 1);
    assert_eq!(
        (new[0].side, new[0].whole, &new[0].segments),
        (DiffSide::New, true, &vec![(1, vec!["one".into(), "two".into()])])
    );
}

#[test]
fn a_submodule_that_moved_on_the_disk_is_told_and_a_foreign_repository_is_not_read() {
    let library = TestRepo::new();
    library.write("l", "1\n").commit("one");
    let repo = TestRepo::new();
    repo.write("a", "a\n");
    repo.git(["submodule", "--quiet", "add", library.root().to_str().unwrap(), "sub"]);
    repo.commit("first");
    let inside = |folder: &str, args: &[&str]| {
        let out = crate::support::git_command(&repo.root().join(folder)).args(args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    repo.write("sub/l", "2\n");
    let (_, dirty) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    assert!(dirty.files.is_empty(), "edits inside a submodule are not edits of this repository: {:?}", dirty.files);
    inside("sub", &["commit", "-qam", "two"]);
    repo.write("foreign/f", "f\n");
    inside("foreign", &["init", "-q", "."]);
    inside("foreign", &["add", "-A"]);
    inside("foreign", &["commit", "-qm", "theirs"]);
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    assert_eq!(counted(&change), numstat(&repo, &["HEAD"]));
    assert!(file(&change, "sub").patch.text.contains("+Subproject commit "));
    let told: Vec<_> = change.omissions.iter().map(|told| (told.path.as_deref(), told.unseen)).collect();
    assert_eq!(told, [(Some("foreign"), false)]);
}

#[test]
fn a_file_that_only_the_index_forgot_is_compared_as_it_lies_there() {
    let repo = TestRepo::new();
    repo.write("same", "s\n").write("edited", "e\n").commit("first");
    repo.git(["rm", "-q", "--cached", "same", "edited"]);
    repo.write("edited", "E\n");
    let (_, change) = collected(repo.root(), &ReviewScope::Uncommitted).unwrap();
    let paths: Vec<_> = change.files.iter().map(|file| (file.path.to_string(), file.status)).collect();
    assert_eq!(paths, [("edited".to_owned(), FileStatus::Modified)]);
}
