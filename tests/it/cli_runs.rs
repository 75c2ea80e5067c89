//! Kept runs: `review list`, `review show`, `review prune`, and who may read them.

use std::time::{Duration, SystemTime};

use crate::support::{Program, TestRepo};

fn branch() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write("a.py", "def add(item, items=[]):\n    return items\n").commit("add a file");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

#[test]
fn a_kept_run_shows_the_same_bytes_again() {
    let (_repo, program) = branch();
    let made = program.words("--target main --format json").ended(0);
    assert_eq!(program.words("show last --format json").ended(0).stdout, made.stdout);
    let id = made.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(program.words(&format!("show {id} --format json")).ended(0).stdout, made.stdout);
    assert_eq!(program.words(&format!("show {} --format json", &id[..8])).ended(0).stdout, made.stdout);
    let folder = program.home("state/review/runs").join(&id);
    assert_eq!(std::fs::read(folder.join("review.json")).expect("it is kept"), made.stdout);
    let markdown = program.words("show --format markdown").ended(0);
    assert_eq!(std::fs::read(folder.join("review.md")).expect("it is kept"), markdown.stdout);
    assert!(program.words("show").ended(0).text().contains("a.py:1"));
}

#[test]
fn a_saved_run_opens_as_a_page_where_there_is_a_desktop() {
    use std::os::unix::fs::PermissionsExt as _;

    let (_repo, program) = branch();
    program.words("--target main").ended(0);
    let printed = program.words("open --print").ended(0);
    let file = std::path::PathBuf::from(printed.text().trim_end());
    assert_eq!(std::fs::metadata(&file).expect("the page").permissions().mode() & 0o777, 0o600);
    let page = std::fs::read_to_string(&file).expect("the page");
    assert_eq!(page.as_bytes(), program.words("show --format html").ended(0).stdout);
    assert!(page.contains("data-n=\"          1\">+def add(item, items=[]):"), "the whole diff is there: {page}");

    // No shell reads the path: what the opener gets is one word.
    let tools = tempfile::tempdir().expect("a folder");
    let opener = tools.path().join(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    std::fs::write(&opener, "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" >\"${0%/*}/opened\"\n").expect("the opener");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).expect("it may run");
    let opened = |variables: &[(&str, &str)]| {
        let mut command = program.command(["open"]);
        let path = format!("{}:/usr/bin:/bin", tools.path().display());
        let ran = command.env("PATH", path).envs(variables.iter().copied()).output().expect("it runs");
        assert!(ran.status.success());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(ran.stdout), text(ran.stderr), std::fs::read_to_string(tools.path().join("opened")).ok())
    };
    let path = printed.text().to_owned();
    let (shown, said, called) = opened(&[("DISPLAY", ":9"), ("SSH_CONNECTION", "a b c d")]);
    assert!(shown == path && said.contains("SSH") && called.is_none(), "{shown} {said} {called:?}");
    if cfg!(target_os = "linux") {
        let (shown, said, called) = opened(&[]);
        assert!(shown == path && said.contains("no display") && called.is_none(), "{shown} {said} {called:?}");
    }
    let (shown, said, called) = opened(&[("DISPLAY", ":9")]);
    assert_eq!((shown.as_str(), said.as_str(), called), ("", "", Some(format!("1\n{path}"))));
}

#[test]
fn the_newest_run_is_the_last() {
    let (_repo, program) = branch();
    program.words("--target main").ended(0);
    let second = program.words("--commit HEAD~1 --format json").ended(0);
    assert_eq!(program.words("show last --format json").ended(0).stdout, second.stdout);
    let list = program.words("list").ended(0);
    let rows: Vec<&str> = list.text().lines().collect();
    assert_eq!(rows.len(), 3, "a heading and two runs: {}", list.text());
    assert!(rows[2].contains("main → feature") && rows[2].contains("1 (1 medium)"), "{}", list.text());
    assert_eq!(list.stderr, "");
}

#[test]
fn the_last_run_of_a_repository_is_found_from_another_worktree_of_it() {
    let (repo, program) = branch();
    let made = program.words("--target main --format json").ended(0);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let linked = elsewhere.path().join("linked");
    repo.git(["worktree", "add", "-q", "--detach", linked.to_str().expect("a path")]);
    let shown = program.command(["show", "last", "--format", "json"]).current_dir(&linked).output().expect("it runs");
    assert_eq!(shown.stdout, made.stdout);
}

#[test]
fn an_incomplete_run_is_kept_as_such() {
    let (repo, program) = branch();
    repo.write("b.py", "x = 1\n").commit("add another");
    let id = repo.git(["rev-parse", "HEAD:b.py"]);
    let (folder, name) = id.trim().split_at(2);
    repo.remove(format!(".git/objects/{folder}/{name}"));
    program.words("--target main").ended(3);
    assert!(program.words("list").ended(0).text().contains("incomplete"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_repo, program) = branch();
    program.words("--target main").ended(0);
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    let runs = program.kept();
    assert_eq!(runs.len(), 1);
    assert_eq!(mode(&program.home("state/review")), 0o700);
    assert_eq!(mode(&program.home("state/review/runs")), 0o700);
    assert_eq!(mode(&runs[0]), 0o700);
    let files: Vec<_> = std::fs::read_dir(&runs[0]).expect("a run").map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 7, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_run_that_cannot_be_kept_is_said_and_changes_no_exit_code() {
    let (_repo, program) = branch();
    std::fs::write(program.home("state"), "a file where a folder should be").expect("a file");
    let ran = program.words("--target main").ended(0);
    assert!(ran.text().contains("1 finding"), "{}", ran.text());
    assert!(ran.stderr.contains("could not be kept"), "{}", ran.stderr);
}

#[test]
fn old_runs_go_and_young_ones_stay() {
    let (_repo, program) = branch();
    program.words("--target main").ended(0);
    let old = program.kept().remove(0);
    let long_ago = SystemTime::now() - Duration::from_hours(40 * 24);
    std::fs::File::open(&old).and_then(|folder| folder.set_modified(long_ago)).expect("an old folder");
    let young = {
        let keeping = program.command(["--target", "main"]).env("REVIEW_KEEP_RUNS", "60d").output().expect("it runs");
        assert!(keeping.status.success());
        program.kept().into_iter().find(|run| *run != old).expect("a second run")
    };
    let said = program.words("prune").ended(0);
    assert_eq!(said.stderr, "review: removed 1 run\n");
    assert_eq!(program.kept(), [young]);
}

#[test]
fn a_damaged_run_is_listed_and_said() {
    let (_repo, program) = branch();
    program.words("--target main").ended(0);
    let run = program.kept().remove(0);
    std::fs::write(run.join("review.json"), "{").expect("a damaged file");
    let ran = program.words("show").ended(2);
    assert!(ran.stderr.contains("damaged") && ran.stderr.contains("review list"), "{}", ran.stderr);
    std::fs::write(run.join("run.json"), "{").expect("a damaged file");
    assert!(program.words("list").ended(0).text().contains("damaged"));
    assert!(program.words("show").ended(2).stderr.contains("no review of "));
}
