//! The JSON of a review, for every scope: it validates, and it says what git says.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Program, TestRepo};

const DEFECT: &str = "def add(item, items=[]):\n    items.append(item)\n    return items\n";

fn schema() -> jsonschema::Validator {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/review.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema");
    jsonschema::validator_for(&serde_json::from_str(&text).expect("JSON")).expect("a schema")
}

#[track_caller]
fn valid(review: &Value) {
    let faults: Vec<String> =
        schema().iter_errors(review).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert_eq!(faults, [""; 0], "{review:#}");
}

/// `main` went on after the branch left it; the branch has two commits, the index and the disk one file more each.
fn everything() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").write("old.py", "x = 1\n").commit("begin");
    repo.branch("feature").write("one.py", DEFECT).commit("add one\n\nWith a body.");
    repo.write("two.py", DEFECT).commit("add two");
    repo.git(["checkout", "-q", "main"]);
    repo.write("main.txt", "something else\n").commit("go on");
    repo.git(["checkout", "-q", "feature"]);
    repo.write("staged.py", DEFECT);
    repo.git(["add", "staged.py"]);
    repo.write("staged.py", "x = 2\n").write("untracked.py", DEFECT);
    let program = Program::in_folder(repo.root());
    (repo, program)
}

fn files(review: &Value) -> Vec<String> {
    let files = review["change"]["files"].as_array().expect("files");
    files
        .iter()
        .map(|file| format!("{} {}", file["status"].as_str().unwrap(), file["path"].as_str().unwrap()))
        .collect()
}

fn found_in(review: &Value) -> Vec<&str> {
    let findings = review["findings"].as_array().expect("findings");
    let mut paths: Vec<&str> = findings.iter().map(|found| found["anchors"][0]["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn each_scope_says_what_was_compared() {
    let (repo, program) = everything();
    let id = |name: &str| Value::from(repo.git(["rev-parse", name]).trim());
    let fork = || id("feature~2");
    for (line, listed, found, ids) in [
        (
            "--target main",
            &["added one.py", "added two.py"][..],
            &["one.py", "two.py"][..],
            [id("main"), id("HEAD"), fork()],
        ),
        ("--target main --head feature~1", &["added one.py"], &["one.py"], [id("main"), id("feature~1"), fork()]),
        ("--target-branch feature --head main", &["added main.txt"], &[], [id("feature"), id("main"), fork()]),
        ("--commit feature", &["added two.py"], &["two.py"], [id("feature~1"), id("feature"), id("feature~1")]),
        ("--commit feature~2", &["added README", "added old.py"], &[], [Value::Null, fork(), Value::Null]),
        (
            "--range main..feature",
            &["deleted main.txt", "added one.py", "added two.py"],
            &["one.py", "two.py"],
            [id("main"), id("feature"), id("main")],
        ),
        (
            "--range main...feature",
            &["added one.py", "added two.py"],
            &["one.py", "two.py"],
            [id("main"), id("feature"), fork()],
        ),
        ("--staged", &["added staged.py"], &["staged.py"], [id("HEAD"), Value::Null, id("HEAD")]),
        (
            "--uncommitted",
            &["added staged.py", "added untracked.py"],
            &["untracked.py"],
            [id("HEAD"), Value::Null, id("HEAD")],
        ),
    ] {
        let (code, review) = program.review(line);
        assert_eq!(code, 0, "{line}");
        valid(&review);
        assert_eq!(review["outcome"], "complete", "{line}: {review:#}");
        assert_eq!(files(&review), listed, "{line}");
        assert_eq!(found_in(&review), found, "{line}");
        let change = &review["change"];
        assert_eq!([&change["base"], &change["head"], &change["merge_base"]], ids.each_ref(), "{line}");
    }
}

#[test]
fn a_patch_is_reviewed_the_same_from_a_file_and_from_a_pipe() {
    let (repo, program) = everything();
    let patch = repo.git_bytes(["diff", "main...feature"]);
    let file = repo.beside("change.patch");
    std::fs::write(&file, &patch).expect("a patch");
    let outside = TestRepo::folder_only();
    let elsewhere = Program::in_folder(outside.root());
    let from_file = elsewhere.words(&format!("--diff {} --format json", file.display())).ended(0).json();
    let from_pipe = elsewhere.fed("--diff - --format json", &patch).ended(0).json();
    let (_, from_git) = program.review("--target main");
    for review in [&from_file, &from_pipe] {
        valid(review);
        assert_eq!(files(review), files(&from_git));
        let without_ids = |review: &Value| {
            let findings = review["findings"].as_array().expect("findings").iter();
            findings.map(|found| (found["title"].clone(), found["anchors"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(without_ids(review), without_ids(&from_git));
        assert_eq!(review["outcome"], "complete");
        assert_eq!([&review["change"]["base"], &review["change"]["head"]], [&Value::Null, &Value::Null]);
    }
}

#[test]
fn commits_are_those_of_git() {
    let (repo, program) = everything();
    let (_, review) = program.review("--target main");
    let commits = review["change"]["commits"].as_array().expect("commits");
    let told: Vec<String> = commits.iter().map(|commit| commit["id"].as_str().unwrap().to_owned()).collect();
    let git = repo.git(["rev-list", "main..feature"]);
    assert_eq!(told, git.lines().collect::<Vec<_>>());
    assert_eq!([&commits[1]["subject"], &commits[1]["body"]], ["add one", "With a body."]);
    assert_eq!(commits[1]["date"], "2024-05-01T12:00:00+02:00");
}

#[test]
fn what_is_unfinished_validates_too() {
    let (repo, program) = everything();
    let id = repo.git(["rev-parse", "HEAD:two.py"]);
    let (folder, name) = id.trim().split_at(2);
    repo.write("one.py", "x\n").commit("two blobs that differ");
    repo.remove(format!(".git/objects/{folder}/{name}"));
    let (code, review) = program.review("--target main");
    assert_eq!(code, 3, "{review:#}");
    valid(&review);
}

#[test]
fn odd_names_validate_and_read_back() {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature")
        .write("a \"quoted\" name.py", DEFECT)
        .write("grüße\u{202e}.py", DEFECT.replace("items", "names"));
    #[cfg(target_os = "linux")]
    repo.write(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\n.py"), DEFECT);
    repo.commit("add odd names");
    let program = Program::in_folder(repo.root());
    let ran = program.words("--target main --format json").ended(0);
    let review = ran.json();
    valid(&review);
    assert!(review["findings"].as_array().is_some_and(|found| found.len() >= 2), "{review:#}");
    assert!(!ran.text().contains('\u{202e}'), "what turns a line around is not written raw");
    let shown = program.words("show last --format json").ended(0);
    assert_eq!(shown.stdout, ran.stdout);
}
