//! Collecting a change from a real repository: counts and hunks are git's, whatever the files look like.

use review_runner::domain::change::{FileMode, FileStatus, Generated};
use review_runner::domain::filter::PathFilter;

use crate::support::TestRepo;
use crate::support::change::{against_main, assert_as_git, change_of, diff_text, file, with_options};
use review_runner::git::{CollectOptions, from_patch};
use review_runner::sys::cancel::Cancel;

const RANGE: &[&str] = &["main...HEAD"];

fn numbered(lines: std::ops::Range<u32>) -> String {
    lines.flat_map(|line| ["line ".to_owned(), line.to_string(), "\n".to_owned()]).collect()
}

/// A repository with a commit on `main`, and the branch `topic` checked out.
fn branched(build: impl FnOnce(&TestRepo)) -> TestRepo {
    let repo = TestRepo::new();
    build(&repo);
    repo.commit("first");
    repo.branch("topic");
    repo
}

#[test]
fn an_edit_has_gits_counts_hunks_and_text() {
    let repo = branched(|repo| {
        repo.write("src/a.rs", numbered(1..60));
        repo.write("same.txt", "same\n");
    });
    let edited =
        numbered(1..60).replace("line 10\n", "LINE 10\nmore\n").replace("line 16\n", "").replace("line 50\n", "x\n");
    repo.write("src/a.rs", edited).write("new.txt", "one\ntwo\n");
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    let text = String::from_utf8(diff_text(&repo, &["main...HEAD", "--", "src/a.rs"])).unwrap();
    let body = &text[text.find("@@").unwrap()..];
    let plain: Vec<_> = body.lines().map(|line| line.split_inclusive(" @@").take(1).collect::<String>()).collect();
    assert_eq!(file(&change, "src/a.rs").patch.text.lines().collect::<Vec<_>>(), plain);
    assert_eq!(file(&change, "new.txt").status, FileStatus::Added);
    assert_eq!(file(&change, "src/a.rs").language, Some("rust"));
    assert!(change.omissions.is_empty());
}

#[test]
fn files_of_all_kinds_are_counted_as_git_counts_them() {
    let repo = branched(|repo| {
        repo.write("emptied", "a\nb\n").write("filled", "").write("gone", "x\ny").write("empty-gone", "");
        repo.write("open-end", "a\nb").write("closed-end", "a\nb\n").write("crlf", "a\r\nb\r\nc\r\n");
        repo.write("binary", b"\0\x01\x02").write("becomes-binary", "text\n").write("mode", "#!/bin/sh\n");
        repo.write("mini.js", "x".repeat(30_000) + "\n")
            .write("bom", "\u{feff}a\n")
            .write("late-nul", "a\n".repeat(5000));
    });
    repo.write("emptied", "").write("filled", "a\n").remove("gone").remove("empty-gone").write("empty-new", "");
    repo.write("open-end", "a\nb\n").write("closed-end", "a\nb").write("crlf", "a\r\nB\r\nc\r\n");
    repo.write("binary", b"\0\x01\x03").write("becomes-binary", b"te\0xt\n").write("new-binary", b"\0");
    repo.write("mini.js", "y".repeat(30_000) + "\n").write("bom", "a\n").write("late-nul", "a\n".repeat(5000) + "\0\n");
    make_executable(&repo, "mode");
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    assert!(file(&change, "becomes-binary").binary && file(&change, "new-binary").binary);
    assert_eq!(&*file(&change, "open-end").patch.text, "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
    assert_eq!(&*file(&change, "crlf").patch.text, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    let mode = file(&change, "mode");
    assert_eq!((mode.old_mode, mode.new_mode), (Some(FileMode::File), Some(FileMode::Executable)));
    assert_eq!((mode.status, mode.hunks.len()), (FileStatus::Modified, 0));
    // What was text is owed, whatever it is called.
    let told: Vec<_> = change.omissions.iter().map(|told| told.path.as_deref()).collect();
    assert_eq!(told, [Some("becomes-binary")], "{:?}", change.omissions);
}

#[cfg(unix)]
fn make_executable(repo: &TestRepo, path: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(repo.root().join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn changed_line_ends_stay_visible() {
    let repo = branched(|repo| {
        repo.write("a", "one\r\ntwo\r\n");
    });
    repo.write("a", "one\ntwo\r\n");
    repo.commit("second");
    let change = change_of(&repo);
    assert_eq!(&*file(&change, "a").patch.text, "@@ -1,2 +1,2 @@\n-one\r\n+one\n two\r\n");
}

#[cfg(unix)]
#[test]
fn links_and_changes_of_type_are_told() {
    use std::os::unix::fs::symlink;
    let repo = branched(|repo| {
        repo.write("file", "a\nb\nc\n").write("target", "t\n");
        symlink("target", repo.root().join("link")).unwrap();
        symlink("target", repo.root().join("becomes-file")).unwrap();
    });
    repo.remove("file").remove("link").remove("becomes-file");
    symlink("target", repo.root().join("file")).unwrap();
    symlink("/etc/passwd", repo.root().join("link")).unwrap();
    repo.write("becomes-file", "a\nb\n");
    repo.commit("second");
    let change = change_of(&repo);
    let counts = crate::support::change::counted(&change);
    assert_eq!(counts, crate::support::change::numstat(&repo, RANGE));
    assert_eq!(file(&change, "file").status, FileStatus::TypeChanged);
    assert_eq!(file(&change, "file").new_mode, Some(FileMode::Link));
    assert_eq!(file(&change, "becomes-file").status, FileStatus::TypeChanged);
    let link = file(&change, "link");
    assert_eq!(link.status, FileStatus::Modified);
    let open = "\\ No newline at end of file\n";
    assert_eq!(&*link.patch.text, format!("@@ -1 +1 @@\n-target\n{open}+/etc/passwd\n{open}"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_becomes_a_file_is_deletions_and_an_addition() {
    let repo = branched(|repo| {
        repo.write("x/a", "a\n").write("x/b", "b\n").write("x.b", "dot\n").write("y", "y\n");
    });
    std::fs::remove_dir_all(repo.root().join("x")).unwrap();
    repo.write("x", "now a file\n").remove("y").write("y/z/deep", "now a folder\n").write("x.b", "dot 2\n");
    repo.commit("second");
    assert_as_git(&repo, &change_of(&repo), RANGE);
}

#[test]
fn submodules_are_listed_with_their_commits() {
    let repo = branched(|repo| {
        repo.write("a", "a\n");
        repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))]);
        repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{},gone", "3".repeat(40))]);
        repo.git(["add", "a"]);
        repo.git(["commit", "-q", "-m", "with submodules"]);
        repo.git(["checkout", "-q", "-B", "main"]);
    });
    repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "2".repeat(40))]);
    repo.git(["update-index", "--force-remove", "gone"]);
    repo.git(["commit", "-q", "-m", "move it"]);
    repo.git(["branch", "-f", "main", "HEAD~1"]);
    let change = change_of(&repo);
    assert_eq!(crate::support::change::counted(&change), crate::support::change::numstat(&repo, RANGE));
    let sub = file(&change, "sub");
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    assert_eq!(&*sub.patch.text, format!("@@ -1 +1 @@\n-Subproject commit {one}\n+Subproject commit {two}\n"));
    assert!(sub.hunks.is_empty());
    assert_eq!(sub.new_mode, Some(FileMode::Submodule));
}

#[cfg(unix)]
#[test]
fn odd_names_are_kept() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let names: [&[u8]; 8] = [
        b"with blank",
        b"q\"uote",
        b"tab\there",
        b"new\nline",
        "gr\u{fc}\u{df}e".as_bytes(),
        b"\xff\xfe",
        b"-dash",
        b"a => b",
    ];
    let repo = branched(|repo| {
        for name in names {
            repo.write(OsStr::from_bytes(name), "a\nb\nc\n");
        }
    });
    for name in names {
        repo.write(OsStr::from_bytes(name), "a\nB\nc\n");
    }
    repo.commit("second");
    let change = change_of(&repo);
    assert_eq!(change.files.len(), names.len());
    assert_as_git(&repo, &change, RANGE);
    assert_eq!(file(&change, "\"\\377\\376\"").additions, 1);
}

#[test]
fn other_charsets_are_decoded() {
    let word = |text: &str| encoding_rs::SHIFT_JIS.encode(text).0.into_owned();
    let (before, after) = ("これは日本語です。\n検索できます。\n", "これは日本語です。\n検索できません。\n");
    let repo = branched(|repo| {
        repo.write("ja.txt", word(before)).write("latin.txt", b"caf\xe9 au lait, d\xe9j\xe0 vu\n");
    });
    repo.write("ja.txt", word(after)).write("latin.txt", b"caf\xe9 au lait, d\xe9j\xe0 lu\n");
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    assert!(file(&change, "ja.txt").patch.text.contains("+検索できません。\n"));
    assert!(file(&change, "latin.txt").patch.text.contains("+café au lait, déjà lu\n"));
}

#[test]
fn a_long_diff_is_cut_on_a_line_and_says_what_is_missing() {
    let repo = branched(|repo| {
        repo.write("long", numbered(1..3000));
    });
    let edited: String =
        (1..3000).map(|n| if n % 20 == 0 { format!("changed {n}\n") } else { format!("line {n}\n") }).collect();
    repo.write("long", edited);
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    let long = file(&change, "long");
    let cut = long.patch.cut.unwrap();
    assert!(long.patch.text.chars().count() <= 10_000 && long.patch.text.chars().count() > 9_900);
    assert!(long.patch.text.ends_with('\n'));
    let all: u32 =
        long.hunks.iter().map(|hunk| hunk.old.count + hunk.runs.iter().map(|run| run.new.count).sum::<u32>()).sum();
    let shown = long.patch.text.lines().filter(|line| !line.starts_with("@@")).count();
    assert_eq!(cut.lines as usize + shown, all as usize);
    let headers = long.patch.text.lines().filter(|line| line.starts_with("@@")).count();
    assert!(cut.first_unseen_hunk == headers || cut.first_unseen_hunk + 1 == headers);
}

#[test]
fn a_minified_line_is_shortened_and_counted() {
    let repo = branched(|repo| {
        repo.write("app.js", "var a=1;\n");
    });
    repo.write("app.js", format!("var a={};\n", "é".repeat(5000)));
    repo.commit("second");
    let change = change_of(&repo);
    let app = file(&change, "app.js");
    assert_eq!(app.patch.cut.unwrap().shortened_lines, 1);
    assert_eq!(app.patch.cut.unwrap().lines, 0);
    assert!(app.patch.text.contains("[line shortened: it has 5007 characters]"), "{}", app.patch.text);
    assert!(app.patch.text.chars().count() < 2_200);
}

#[test]
fn a_moved_file_is_one_file() {
    let repo = branched(|repo| {
        repo.write("old/name.rs", numbered(1..100))
            .write("old/pure.rs", numbered(200..300))
            .write("old/other.rs", "fn main() {}\n");
    });
    for (from, to) in
        [("old/name.rs", "new/name.rs"), ("old/pure.rs", "new/clean.rs"), ("old/other.rs", "gone/unlike.rs")]
    {
        std::fs::create_dir_all(repo.root().join(to).parent().unwrap()).unwrap();
        std::fs::rename(repo.root().join(from), repo.root().join(to)).unwrap();
    }
    repo.write("new/name.rs", numbered(1..100).replace("line 50\n", "line fifty\n"))
        .write("gone/unlike.rs", "x\ny\nz\n");
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    let moved = file(&change, "new/name.rs");
    assert_eq!(moved.status, FileStatus::Renamed);
    assert_eq!(moved.old_path.as_ref().unwrap().display_name(), "old/name.rs");
    assert_eq!((moved.additions, moved.deletions), (1, 1));
    assert!(file(&change, "new/clean.rs").hunks.is_empty());
    assert_eq!(file(&change, "gone/unlike.rs").status, FileStatus::Added);
}

#[test]
fn too_many_moves_are_bounded_and_said() {
    let repo = branched(|repo| {
        for n in 0..1100 {
            repo.write(format!("a/{n}.txt"), format!("{n} first\n{n} second\n{n} third\n"));
        }
    });
    for n in 0..1100 {
        repo.remove(format!("a/{n}.txt"));
        repo.write(format!("b/x{n}.txt"), format!("{n} first\n{n} second\n{n} fourth\n"));
    }
    repo.commit("second");
    let change = change_of(&repo);
    assert_eq!(change.files.len(), 2200);
    assert!(change.omissions.iter().any(|omission| omission.reason.contains("too many pairs") && !omission.unseen));
}

#[test]
fn generated_files_come_last_and_collapsed_and_the_target_decides() {
    let repo = branched(|repo| {
        repo.write(
            ".gitattributes",
            "gen/** linguist-generated\n*.sum -linguist-generated\n[attr]made linguist-generated\n*.made made\n",
        );
        repo.write("third/.gitattributes", "* linguist-vendored=true\n");
        for path in ["gen/a.c", "third/b.c", "zz.c", "Cargo.lock", "go.sum", "x.made", "lib/vendor/v.c", "sneaky.c"] {
            repo.write(path, "a\n");
        }
    });
    for path in ["gen/a.c", "third/b.c", "zz.c", "Cargo.lock", "go.sum", "x.made", "lib/vendor/v.c", "sneaky.c"] {
        repo.write(path, "b\n");
    }
    repo.write(".gitattributes", "sneaky.c linguist-generated\n");
    repo.commit("second");
    let change = change_of(&repo);
    assert_as_git(&repo, &change, RANGE);
    let marks: Vec<_> = change.files.iter().map(|file| (file.path.to_string(), file.generated)).collect();
    let expected = [
        (".gitattributes", None),
        ("go.sum", None),
        ("sneaky.c", None),
        ("zz.c", None),
        ("Cargo.lock", Some(Generated::LockFile)),
        ("gen/a.c", Some(Generated::Attribute)),
        ("lib/vendor/v.c", Some(Generated::Name)),
        ("third/b.c", Some(Generated::Vendored)),
        ("x.made", Some(Generated::Attribute)),
    ];
    assert_eq!(marks, expected.map(|(path, mark)| (path.to_owned(), mark)));
    assert_eq!(&*file(&change, "gen/a.c").patch.text, "");
    assert_eq!(file(&change, "gen/a.c").additions, 1);
}

#[test]
fn excluded_files_are_left_out_and_told() {
    let repo = branched(|repo| {
        repo.write("src/a.rs", "a\n").write("docs/b.md", "b\n").write("src/gen/c.rs", "c\n");
    });
    repo.write("src/a.rs", "A\n").write("docs/b.md", "B\n").write("src/gen/c.rs", "C\n");
    repo.commit("second");
    let options = CollectOptions {
        filter: PathFilter::new(&["src".into()], &["gen".into()]).unwrap(),
        ..CollectOptions::default()
    };
    let (_, change) = with_options(repo.root(), &against_main(), &options).unwrap();
    assert_eq!(change.files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>(), ["src/a.rs"]);
    let told: Vec<_> = change.omissions.iter().map(|omission| (omission.path.as_deref(), omission.unseen)).collect();
    assert_eq!(told, [(Some("docs/b.md"), false), (Some("src/gen/c.rs"), false)]);
}

#[test]
fn the_same_change_read_from_a_patch_has_the_same_hunks() {
    let repo = branched(|repo| {
        repo.write("a b", numbered(1..80))
            .write("gone", "x\ny\n")
            .write("gr\u{fc}n", "a\n")
            .write("mv", numbered(1..30))
            .write("bin", b"\0a")
            .write("mini.svg", "<p>\n");
    });
    repo.write("mini.svg", ["x", "y", "z"].map(|fill| fill.repeat(60_000) + "\n").concat());
    repo.write("a b", numbered(1..80).replace("line 7\n", "").replace("line 60\n", "line 60\nmore\n")).remove("gone");
    repo.write("gr\u{fc}n", "b")
        .write("new", "1\n2\n")
        .write("bin", b"\0b")
        .remove("mv")
        .write("moved", numbered(1..30) + "end\n");
    repo.commit("second");
    let change = change_of(&repo);
    for extra in [&[][..], &["--no-prefix"], &["-c", "core.quotePath=false"]] {
        let text = match extra {
            ["--no-prefix"] => repo.git_bytes(["diff", "-M", "--no-prefix", "main...HEAD"]),
            _ => diff_text(&repo, RANGE),
        };
        let patch = from_patch("-", &text, &CollectOptions::default(), &Cancel::never()).unwrap();
        assert_eq!(patch.change.files.len(), change.files.len());
        for (read, found) in patch.change.files.iter().zip(&change.files) {
            assert_eq!((&read.path, &read.old_path, read.status), (&found.path, &found.old_path, found.status));
            assert_eq!((&read.hunks, read.binary), (&found.hunks, found.binary), "{}", read.path);
            assert_eq!((read.additions, read.deletions), (found.additions, found.deletions));
            assert_eq!(read.patch, found.patch, "{}", read.path);
        }
    }
}
