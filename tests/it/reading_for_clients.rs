//! The reading tools as a server calls them for its clients: which repository, at which revision, and what is kept between calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use review_runner::app::{Cancel, Overrides, Service};
use review_runner::tools::ToolLimits;
use serde_json::{Value, json};

use crate::support::service::{call, service, told};
use crate::support::{TestRepo, git_command};

fn quiet(repo: &TestRepo) -> Arc<Service> {
    service(repo.root(), &[], Overrides::default())
}

/// `main` has one commit, `feature` is checked out and has another one.
fn project() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "fn main() {}\n")
        .write("src/gone.rs", "fn gone() {}\n")
        .write("docs/guide.md", "main thing\n");
    repo.commit("begin");
    repo.git(["tag", "v1"]);
    repo.branch("feature").write("src/a.rs", "fn main() {\n    run();\n}\n").write("src/b.rs", "pub fn run() {}\n");
    repo.remove("src/gone.rs").commit("change");
    repo
}

#[track_caller]
fn content(service: &Service, at: Option<&str>, path: &str) -> String {
    let page = call(service, "read_file_part", at, json!({ "file_path": path })).expect("a page");
    page["content"].as_str().expect("content").to_owned()
}

#[track_caller]
fn kind(answer: Result<Value, (String, String)>) -> String {
    answer.expect_err("an error").0
}

#[test]
fn every_tool_answers_as_its_schema_says_wherever_it_looks() {
    let repo = project();
    repo.write("staged.txt", "staged needle\n");
    repo.git(["add", "staged.txt"]);
    repo.write("disk.txt", "needle on the disk\n")
        .write("long.txt", "x\n".repeat(1200))
        .write("wide.txt", "y".repeat(9000));
    repo.write("latin.txt", b"caf\xe9 au lait, d\xe9j\xe0 vu\n").write("empty.txt", "");
    let service = quiet(&repo);
    let mut answered = 0;
    for at in [
        None,
        Some("HEAD"),
        Some("v1"),
        Some("main..feature"),
        Some("main...feature"),
        Some("staged"),
        Some("uncommitted"),
    ] {
        let files = call(&service, "list_files", at, json!({})).expect("a list")["files"].clone();
        for file in files.as_array().expect("files") {
            let sides = [json!("new"), json!("old")];
            for side in sides {
                let read = call(&service, "read_file_part", at, json!({ "file_path": file, "side": side }));
                answered += usize::from(read.is_ok());
            }
            answered += usize::from(call(&service, "read_diff", at, json!({ "file_path": file })).is_ok());
        }
        for input in [
            json!({ "pattern": "needle|fn" }),
            json!({ "pattern": "x", "max_results": 3 }),
            json!({ "pattern": "(", "context_lines": 99 }),
            json!({ "pattern": "x", "skip": 9000 }),
        ] {
            call(&service, "search_in_files", at, input).expect("an answer");
        }
        call(&service, "list_files", at, json!({ "pattern": "*.none" })).expect("an answer");
    }
    assert!(answered > 50, "{answered}");
}

#[test]
fn a_place_is_named_by_revision_range_or_state() {
    let repo = project();
    repo.write("src/a.rs", "staged\n");
    repo.git(["add", "src/a.rs"]);
    repo.write("src/a.rs", "disk\n");
    let service = quiet(&repo);
    let (new, old) = ("     1\tfn main() {\n     2\t    run();\n     3\t}\n", "     1\tfn main() {}\n");
    for (at, shown) in [
        (None, new),
        (Some("HEAD"), new),
        (Some("feature"), new),
        (Some("v1"), old),
        (Some("HEAD~1"), old),
        (Some("feature..main"), old),
        (Some("main...feature"), new),
        (Some("main.."), new),
        (Some("staged"), "     1\tstaged\n"),
        (Some("uncommitted"), "     1\tdisk\n"),
    ] {
        assert_eq!(content(&service, at, "src/a.rs"), shown, "{at:?}");
    }
    let old_side =
        |at| call(&service, "read_file_part", at, json!({ "file_path": "src/a.rs", "side": "old" })).expect("a page");
    assert_eq!(old_side(None)["content"], old);
    assert_eq!(old_side(Some("uncommitted"))["content"], new);
    let diff = |at, path: &str| call(&service, "read_diff", at, json!({ "file_path": path }));
    assert_eq!(
        diff(None, "src/a.rs").expect("a diff")["content"],
        "@@ -1 +1,3 @@\n-fn main() {}\n+fn main() {\n+    run();\n+}\n"
    );
    assert_eq!(
        diff(Some("feature..main"), "src/gone.rs").expect("a diff")["content"],
        "@@ -0,0 +1 @@\n+fn gone() {}\n"
    );
    assert_eq!(
        diff(Some("staged"), "src/a.rs").expect("a diff")["content"],
        "@@ -1,3 +1 @@\n-fn main() {\n-    run();\n-}\n+staged\n"
    );
    assert_eq!(kind(diff(None, "docs/guide.md")), "file_not_found");
}

#[test]
fn the_diff_of_a_folder_is_the_list_of_what_changed_in_it() {
    let repo = project();
    repo.write("new/z.rs", "fn z() {}\n");
    repo.write("new/y.bin", b"\0\x01");
    let service = quiet(&repo);
    let diff = |at, input| call(&service, "read_diff", at, input);
    let content = |at, path: &str| diff(at, json!({ "file_path": path })).expect("a list")["content"].clone();
    let all = content(None, ".");
    assert!(all.as_str().expect("text").contains("modified +3 -1 src/a.rs\n"), "{all}");
    for spelled in ["", "./", " "] {
        assert_eq!(content(None, spelled), all, "{spelled:?}");
    }
    assert!(!content(None, "src").as_str().expect("text").contains("docs/"), "only what is below");
    let new = "added binary new/y.bin\nadded +1 -0 new/z.rs\n";
    assert_eq!(content(Some("uncommitted"), "new"), new);
    assert_eq!(
        diff(Some("uncommitted"), json!({ "file_path": "new", "start": 1 })).expect("a list")["content"],
        "added +1 -0 new/z.rs\n"
    );
    let nothing = diff(Some("staged"), json!({ "file_path": "." })).expect("an empty list");
    let head = repo.git(["rev-parse", "HEAD"]).trim()[..10].to_owned();
    let note = format!("No file is changed in HEAD..staged ({head}..index).");
    assert_eq!((&nothing["content"], &nothing["note"]), (&json!(""), &json!(note)));
    assert_eq!(kind(diff(None, json!({ "file_path": "docs" }))), "file_not_found", "nothing changed there");
}

#[test]
fn a_long_list_of_what_changed_goes_on() {
    let repo = project();
    for at in 0..700 {
        repo.write(format!("many/f{at:03}.txt"), "x\n");
    }
    let service = quiet(&repo);
    let mut input = json!({ "file_path": "many" });
    let (mut seen, mut answers) = (String::new(), 0);
    loop {
        let part = call(&service, "read_diff", Some("uncommitted"), input).expect("a list");
        seen.push_str(part["content"].as_str().expect("text"));
        answers += 1;
        let Some(next) = part.get("next") else { break };
        input = next["input"].clone();
    }
    let wanted: Vec<_> = (0..700).map(|at| format!("added +1 -0 many/f{at:03}.txt")).collect();
    assert_eq!((seen.lines().eq(wanted), answers), (true, 2));
}

#[test]
fn what_is_asked_wrongly_is_told_in_a_clients_words() {
    let repo = project();
    let service = quiet(&repo);
    let read =
        |at| call(&service, "read_file_part", Some(at), json!({ "file_path": "src/a.rs" })).expect_err("an error");
    for at in ["nowhere", "HEAD:src/a.rs", "a..b", "HEAD...nowhere", "--all", "a..b..c"] {
        let (kind, message) = read(at);
        assert_eq!(kind, "invalid_input", "{at}: {message}");
        assert!(message.starts_with("`at`: "), "{message}");
    }
    assert_eq!(kind(call(&service, "no_tool", None, json!({}))), "unknown_tool");
    let (kind_of, message) =
        call(&service, "read_file_part", None, json!({ "file_path": "src/gone.rs" })).expect_err("an error");
    assert_eq!(kind_of, "file_not_found");
    assert!(message.contains("the change deletes it"), "{message}");
    repo.git(["checkout", "-q", "main"]);
    assert!(content(&service, None, "src/gone.rs").contains("gone"), "reading needs no target");
    let (kind_of, message) =
        call(&service, "read_diff", None, json!({ "file_path": "src/a.rs" })).expect_err("an error");
    assert_eq!(kind_of, "invalid_input");
    assert!(message.contains("main...HEAD") && !message.contains("--"), "{message}");
    repo.git(["checkout", "-q", "--orphan", "apart"]);
    repo.commit("apart");
    assert!(content(&service, None, "src/gone.rs").contains("gone"), "no change is collected to read a file");
    let (_, message) = call(&service, "read_diff", None, json!({ "file_path": "src/a.rs" })).expect_err("an error");
    assert!(message.contains("main..apart"), "{message}");
    let none = TestRepo::new();
    let (_, message) = call(&quiet(&none), "list_files", None, json!({})).expect_err("an error");
    assert!(message.contains("no commit yet") && !message.contains("--"), "{message}");
    let folder = TestRepo::folder_only();
    std::fs::create_dir(folder.root().join(".git")).expect("no repository");
    let (kind_of, message) = call(&quiet(&folder), "list_files", None, json!({})).expect_err("an error");
    assert_eq!(kind_of, "file_not_found", "{message}");
    assert!(message.contains("`repo`"), "{message}");
}

#[test]
fn a_moved_branch_is_seen_at_the_next_call() {
    let repo = project();
    let service = quiet(&repo);
    assert_eq!(content(&service, None, "docs/guide.md"), "     1\tmain thing\n");
    for text in ["second", "third"] {
        repo.write("docs/guide.md", format!("{text}\n")).commit(text);
        assert_eq!(content(&service, None, "docs/guide.md"), format!("     1\t{text}\n"));
        let diff = call(&service, "read_diff", None, json!({ "file_path": "docs/guide.md" })).expect("a diff");
        assert!(diff["content"].as_str().expect("content").ends_with(&format!("+{text}\n")), "{diff}");
        repo.git(["gc", "-q", "--prune=now"]);
    }
    repo.write("disk", "1\n");
    assert_eq!(content(&service, Some("uncommitted"), "disk"), "     1\t1\n");
    assert_eq!(
        kind(call(&service, "read_file_part", Some("staged"), json!({ "file_path": "disk" }))),
        "file_not_found"
    );
    repo.git(["add", "disk"]);
    repo.write("disk", "2\n");
    assert_eq!(content(&service, Some("staged"), "disk"), "     1\t1\n");
    assert_eq!(content(&service, Some("uncommitted"), "disk"), "     1\t2\n");
}

#[test]
fn a_repository_that_was_removed_or_replaced_is_noticed() {
    let repo = project();
    let service = quiet(&repo);
    assert!(content(&service, None, "docs/guide.md").contains("main thing"));
    std::fs::rename(repo.root().join(".git"), repo.beside("away")).expect("moved away");
    assert!(call(&service, "list_files", None, json!({})).is_err());
    repo.git(["init", "-q", "-b", "main", "."]);
    repo.write("docs/guide.md", "another repository\n").commit("begin");
    assert!(content(&service, None, "docs/guide.md").contains("another repository"));
    std::fs::remove_dir_all(repo.root().join(".git")).expect("removed");
    std::fs::rename(repo.beside("away"), repo.root().join(".git")).expect("moved back");
    assert!(content(&service, None, "docs/guide.md").contains("main thing"));
}

#[test]
fn the_projects_settings_hold_and_come_from_the_target() {
    let repo = TestRepo::new();
    repo.write("a.txt", "needle\n")
        .write("private/key.txt", "needle\n")
        .write(".review.toml", "exclude = [\"private/\"]\n");
    repo.commit("begin");
    repo.branch("feature").write(".review.toml", "").write("private/key.txt", "needle 2\n").commit("open it");
    let service = quiet(&repo);
    for at in [None, Some("main"), Some("main..feature"), Some("uncommitted")] {
        let hidden = at != Some("uncommitted");
        let read = call(&service, "read_file_part", at, json!({ "file_path": "private/key.txt" }));
        assert_eq!(
            read.is_err(),
            hidden,
            "{at:?}: what is not committed is compared with HEAD, which excludes nothing"
        );
        let found = call(&service, "search_in_files", at, json!({ "pattern": "needle" })).expect("an answer");
        assert_eq!(found.to_string().contains("private"), !hidden, "{at:?}");
    }
    assert_eq!(kind(call(&service, "read_diff", None, json!({ "file_path": "private/key.txt" }))), "file_not_found");
    let narrow = Overrides { exclude: vec!["*.txt".to_owned()], ..Overrides::default() };
    let narrow = crate::support::service::service(repo.root(), &[], narrow);
    assert_eq!(kind(call(&narrow, "read_file_part", None, json!({ "file_path": "a.txt" }))), "excluded");
    // Moving the target changes what holds at the next call.
    repo.git(["branch", "-f", "main", "feature"]);
    assert!(content(&service, None, "private/key.txt").contains("needle 2"));
}

/// Repositories beside each other in one folder; the server is started in the first.
fn several() -> (TestRepo, PathBuf) {
    let repo = project();
    let other = repo.beside("other");
    init(&other, "other\n");
    (repo, other)
}

fn init(folder: &Path, text: &str) {
    std::fs::create_dir_all(folder).expect("a folder");
    let git =
        |args: &[&str]| assert!(git_command(folder).args(args).output().expect("git").status.success(), "{args:?}");
    git(&["init", "-q", "-b", "main", "."]);
    std::fs::write(folder.join("name.txt"), text).expect("a file");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "begin"]);
}

fn name_in(service: &Service, repo: &str) -> Result<Value, (String, String)> {
    let input = json!({ "file_path": "name.txt" });
    let name = "read_file_part";
    told(name, &service.call_tool(name, Some(repo), None, input, &Cancel::never())).map(|page| page["content"].clone())
}

#[test]
fn repositories_below_a_root_are_read_and_no_others() {
    let (repo, other) = several();
    let named = other.display().to_string();
    let (kind_of, message) = name_in(&quiet(&repo), &named).expect_err("outside");
    assert_eq!(kind_of, "refused_path");
    assert!(message.contains("--root"), "{message}");
    let wide = service(repo.root(), std::slice::from_ref(&other), Overrides::default());
    for name in [named.clone(), "../other".to_owned(), format!("file://{named}"), format!("{named}/.git")] {
        assert_eq!(name_in(&wide, &name).expect("a page"), "     1\tother\n", "{name}");
    }
    for name in ["..", "/etc", "/nowhere/at/all", "file:///etc", "file:///nowhere"] {
        assert_eq!(name_in(&wide, name).expect_err("outside").0, "refused_path", "{name}");
    }
    for name in ["https://example.invalid/x", "file://host/project"] {
        assert_eq!(name_in(&wide, name).expect_err("no folder").0, "invalid_input", "{name}");
    }
    assert_eq!(name_in(&wide, "nowhere").expect_err("nothing").0, "file_not_found");
    // One inside the other, and no commit of the one is known in the other.
    init(&repo.root().join("inner"), "inner\n");
    assert_eq!(name_in(&wide, "inner").expect("a page"), "     1\tinner\n");
    let head = repo.git(["rev-parse", "HEAD"]);
    let at = wide.call_tool("list_files", Some(&named), Some(head.trim()), json!({}), &Cancel::never());
    assert!(at.is_error, "{}", at.text);
}

#[test]
fn a_repository_that_begins_above_a_root_is_not_read_through_it() {
    let (repo, other) = several();
    std::fs::create_dir(other.join("below")).expect("a folder");
    let narrow = service(repo.root(), &[other.join("below")], Overrides::default());
    let named = other.join("below").display().to_string();
    assert_eq!(name_in(&narrow, &named).expect_err("outside").0, "refused_path");
    // Whoever starts a server below the top of a repository means all of it.
    let there = service(&other.join("below"), &[], Overrides::default());
    assert_eq!(name_in(&there, "..").expect("a page"), "     1\tother\n");
}

#[test]
fn neither_a_link_nor_a_git_file_leads_to_another_repository() {
    let (repo, other) = several();
    let service = quiet(&repo);
    std::os::unix::fs::symlink(&other, repo.root().join("link")).expect("a link");
    assert_eq!(name_in(&service, "link").expect_err("outside").0, "refused_path");
    let trap = repo.root().join("trap");
    std::fs::create_dir(&trap).expect("a folder");
    std::fs::write(trap.join(".git"), format!("gitdir: {}\n", other.join(".git").display())).expect("a file");
    assert_eq!(name_in(&service, "trap").expect_err("outside").0, "refused_path");
    std::fs::remove_file(trap.join(".git")).expect("removed");
    std::os::unix::fs::symlink(other.join(".git"), trap.join(".git")).expect("a link");
    assert_eq!(name_in(&service, "trap").expect_err("outside").0, "refused_path");
    // Started there, it is as little meant: an archive may have brought the link.
    let started = crate::support::service::service(&trap, &[], Overrides::default());
    assert_eq!(name_in(&started, ".").expect_err("outside").0, "refused_path");
    // A repository whose files are said to lie elsewhere.
    let claims = repo.root().join("claims");
    init(&claims, "claims\n");
    assert!(git_command(&claims).args(["config", "core.worktree"]).arg(&other).output().expect("git").status.success());
    assert_eq!(name_in(&service, "claims").expect_err("outside").0, "refused_path");
    // Started there, that folder is still none that was named.
    let started = crate::support::service::service(&claims, &[], Overrides::default());
    assert_eq!(name_in(&started, &other.display().to_string()).expect_err("outside").0, "refused_path");
    assert!(!started.roots().contains(&other.canonicalize().expect("a path")));
}

#[test]
fn a_linked_worktree_is_read_where_it_stands_and_a_bare_repository_too() {
    let (repo, other) = several();
    let service = quiet(&repo);
    let git =
        |args: &[&str]| assert!(git_command(&other).args(args).output().expect("git").status.success(), "{args:?}");
    let linked = repo.root().join("linked");
    git(&["worktree", "add", "-q", "--detach", &linked.display().to_string()]);
    assert_eq!(name_in(&service, "linked").expect("a page"), "     1\tother\n");
    // The `.git` file of a worktree that stands elsewhere: the other end names that place, not this one.
    let away = repo.beside("away");
    git(&["worktree", "add", "-q", "--detach", &away.display().to_string()]);
    std::fs::create_dir(repo.root().join("copy")).expect("a folder");
    std::fs::copy(away.join(".git"), repo.root().join("copy/.git")).expect("a copy");
    assert_eq!(name_in(&service, "copy").expect_err("outside").0, "refused_path");
    let bare = repo.root().join("bare.git").display().to_string();
    git(&["clone", "-q", "--bare", ".", &bare]);
    assert_eq!(name_in(&service, "bare.git").expect("a page"), "     1\tother\n");
    let uncommitted =
        service.call_tool("list_files", Some("bare.git"), Some("uncommitted"), json!({}), &Cancel::never());
    assert!(uncommitted.is_error && uncommitted.text.contains("invalid_input"), "{}", uncommitted.text);
}

#[test]
fn fifty_calls_at_once_are_all_answered() {
    let repo = TestRepo::new();
    for file in 0..200 {
        repo.write(format!("d{}/f{file}.txt", file % 9), format!("needle {file}\n").repeat(20));
    }
    repo.commit("begin");
    repo.branch("feature").write("d0/f0.txt", "changed\n").commit("change");
    let service = quiet(&repo);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let outcomes = runtime.block_on(async {
        let calls: Vec<_> = (0..50)
            .map(|n| {
                let (name, input) = match n % 4 {
                    0 => ("search_in_files", json!({ "pattern": format!("needle {n}\\b") })),
                    1 => ("read_diff", json!({ "file_path": "d0/f0.txt" })),
                    2 => ("list_files", json!({})),
                    _ => ("read_file_part", json!({ "file_path": format!("d{}/f{n}.txt", n % 9) })),
                };
                let call = Arc::clone(&service).call_tool_in_turn(
                    name.to_owned(),
                    None,
                    None,
                    input,
                    ToolLimits::default(),
                    Cancel::never(),
                );
                (name, tokio::spawn(call))
            })
            .collect();
        let mut outcomes = Vec::new();
        for (name, call) in calls {
            outcomes.push((name, call.await.expect("it ends")));
        }
        outcomes
    });
    for (name, outcome) in &outcomes {
        assert!(told(name, outcome).is_ok(), "{}", outcome.text);
    }
    let diffs: Vec<_> =
        outcomes.iter().filter(|(name, _)| *name == "read_diff").map(|(_, outcome)| &outcome.text).collect();
    assert!(diffs.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_cancelled_call_says_so() {
    let repo = project();
    let service = quiet(&repo);
    let cancel = Cancel::never();
    cancel.interrupt();
    for (name, input) in [("list_files", json!({})), ("read_diff", json!({ "file_path": "src/a.rs" }))] {
        let outcome = service.call_tool(name, None, None, input, &cancel);
        assert!(outcome.is_error && outcome.text.contains("the call was cancelled"), "{}", outcome.text);
    }
    assert!(content(&service, None, "src/a.rs").contains("run()"), "the next call is not");
}

/// What a call that fails says.
#[track_caller]
fn message(answer: Result<Value, (String, String)>) -> String {
    answer.expect_err("an error").1
}

#[test]
fn what_is_only_on_the_disk_or_in_the_index_is_not_passed_over() {
    let repo = project();
    repo.write(".gitignore", "*.log\n").commit("ignore");
    repo.write("scratch.py", "x\n").write("new/deep/a.py", "x\n").write("build.log", "x\n").write("src/a.rs", "work\n");
    repo.write("staged.py", "x\n").write("gone.py", "x\n");
    repo.git(["add", "staged.py", "gone.py"]);
    repo.remove("gone.py");
    repo.write("nested/inner.py", "x\n");
    assert!(git_command(&repo.root().join("nested")).args(["init", "-q"]).status().expect("git").success());
    let outside = repo.beside("outside");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::fs::write(outside.join("secret.py"), "x").expect("a file");
    std::os::unix::fs::symlink(&outside, repo.root().join("out")).expect("a link");
    let service = quiet(&repo);
    let read = |at, path: &str| call(&service, "read_file_part", at, json!({ "file_path": path }));
    let diff = |at, path: &str| call(&service, "read_diff", at, json!({ "file_path": path }));
    let on_disk = "not at HEAD; it is on the disk: `at: \"uncommitted\"`";
    for at in [None, Some("HEAD"), Some("feature"), Some("main...feature")] {
        for path in ["scratch.py", "staged.py", "new/deep/a.py"] {
            assert_eq!(message(read(at, path)), format!("{path} is {on_disk}"), "{at:?}");
            assert!(read(Some("uncommitted"), path).is_ok());
        }
    }
    assert_eq!(message(read(None, "gone.py")), "gone.py is not at HEAD; it is in the index: `at: \"staged\"`");
    assert!(read(Some("staged"), "gone.py").is_ok());
    // Elsewhere than at HEAD, ignored, of another repository, behind a link, nowhere, git's own.
    for (at, path) in [
        (Some("main"), "scratch.py"),
        (Some("HEAD~1"), "scratch.py"),
        (Some("feature..main"), "scratch.py"),
        (None, "build.log"),
        (None, "nested/inner.py"),
        (None, "out/secret.py"),
        (None, "scratch.pyc"),
        (None, "scratch.p*"),
        (None, ".git/config"),
    ] {
        let told = message(read(at, path));
        assert!(!told.contains("uncommitted") && !told.contains("staged"), "{at:?} {path}: {told}");
    }
    assert_eq!(message(call(&service, "list_files", None, json!({ "directory": "new" }))), format!("new is {on_disk}"));
    let renamed = message(read(None, "src/gone.rs"));
    assert!(renamed.ends_with("the change deletes it: read it with side \"old\""), "{renamed}");

    repo.write("docs/guide.md", "edited\n");
    let told = message(diff(None, "docs/guide.md"));
    assert!(told.starts_with("docs/guide.md is not changed in main...feature ("), "{told}");
    assert!(told.ends_with("; it has uncommitted changes: `at: \"uncommitted\"`"), "{told}");
    assert!(message(diff(None, "new")).ends_with("`at: \"uncommitted\"`"));
    assert!(!message(diff(Some("main~0...HEAD~1"), "docs/guide.md")).contains("uncommitted"));
    let nothing = diff(Some("HEAD..HEAD"), ".").expect("an empty list");
    let note = nothing["note"].as_str().expect("a note");
    assert!(note.contains("There are uncommitted changes: `at: \"uncommitted\"`"), "{note}");
}

#[test]
fn what_the_settings_leave_out_is_no_uncommitted_work() {
    let repo = project();
    repo.git(["checkout", "-q", "main"]);
    repo.write(".review.toml", "exclude = [\"hidden\"]\n").commit("settings");
    repo.write("hidden/a.py", "x\n").write("shown/a.py", "x\n");
    repo.git(["branch", "-q", "topic"]);
    repo.git(["checkout", "-q", "topic"]);
    let service = quiet(&repo);
    let diff = |path: &str| message(call(&service, "read_diff", None, json!({ "file_path": path })));
    assert!(diff("shown/a.py").contains("uncommitted"), "{}", diff("shown/a.py"));
    assert!(!diff("hidden/a.py").contains("uncommitted"), "{}", diff("hidden/a.py"));
}

#[test]
fn a_diff_says_which_change_it_is_of() {
    let repo = project();
    let short = |name: &str| repo.git(["rev-parse", name]).trim()[..10].to_owned();
    let ends = format!("({}..{})", short("main"), short("feature"));
    repo.write("src/a.rs", "disk\n");
    let service = quiet(&repo);
    let change = |at: &str, path: &str| {
        call(&service, "read_diff", Some(at), json!({ "file_path": path })).expect("a diff")["change"].clone()
    };
    // The second commits of the first two are the same: what was kept of one does not tell for the other.
    for (at, told) in [
        ("main...feature", format!("main...feature {ends}")),
        ("main..feature", format!("main..feature {ends}")),
        ("v1..HEAD", format!("v1..HEAD {ends}")),
        ("feature", format!("main...feature {ends}")),
        ("feature..main", format!("feature..main ({}..{})", short("feature"), short("main"))),
        ("uncommitted", format!("HEAD..uncommitted ({}..disk)", short("HEAD"))),
    ] {
        for path in ["src/a.rs", "src"] {
            assert_eq!(change(at, path), json!(told), "{at}");
        }
    }
    let told = message(call(&service, "read_diff", Some("v1..feature"), json!({ "file_path": "none.rs" })));
    assert!(told.starts_with(&format!("none.rs is not changed in v1..feature {ends}; ")), "{told}");
}

#[test]
fn a_path_of_the_machine_below_the_checkout_is_taken_from_its_root() {
    let repo = project();
    let service = quiet(&repo);
    let root = repo.root().canonicalize().expect("a folder");
    let whole = |path: &str| format!("{}/{path}", root.display());
    let note = "The path was taken as src/a.rs, from the repository root.";
    let over = format!("{}/../{}/src//a.rs", root.display(), root.file_name().expect("a name").display());
    for path in [whole("src/a.rs"), whole("./docs/../src/a.rs"), over] {
        for (name, at) in [("read_file_part", None), ("read_diff", Some("main...feature"))] {
            let page = call(&service, name, at, json!({ "file_path": path })).expect("a page");
            assert_eq!((&page["file_path"], &page["note"]), (&json!("src/a.rs"), &json!(note)), "{path}");
        }
    }
    let old = json!({ "file_path": whole("src/a.rs"), "side": "old" });
    assert_eq!(call(&service, "read_file_part", None, old).expect("a page")["content"], "     1\tfn main() {}\n");
    let listed = |input| call(&service, "list_files", None, input).expect("a list")["files"].clone();
    assert_eq!(listed(json!({ "directory": whole("src/") })), json!(["src/a.rs", "src/b.rs"]));
    assert_eq!(listed(json!({ "directory": whole("") })), listed(json!({})));
    assert_eq!(listed(json!({ "pattern": whole("src/b*") })), json!(["src/b.rs"]));
    let found = |glob: String| {
        let input = json!({ "pattern": "fn|main", "file_pattern": glob });
        call(&service, "search_in_files", None, input).expect("an answer")["matches"].as_array().expect("matches").len()
    };
    assert_eq!((found(whole("docs")), found(whole("**/*.rs")), found(whole(""))), (1, 2, 3));
    for path in ["/etc/passwd", "/src/a.rs", &whole("../other/a.rs"), &format!("{}2/a.rs", root.display())] {
        let (kind, told) = call(&service, "read_file_part", None, json!({ "file_path": path })).expect_err("refused");
        assert!(kind == "refused_path" && told.contains("write it from the repository root"), "{path}: {kind} {told}");
    }
    assert_eq!(
        kind(call(&service, "read_file_part", None, json!({ "file_path": whole(".git/config") }))),
        "refused_path"
    );
    assert_eq!(kind(call(&service, "read_file_part", None, json!({ "file_path": whole("") }))), "not_text");
}
