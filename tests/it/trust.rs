//! Who may say how a change is reviewed: the user, the target's tip, and never the change itself.

use serde_json::Value;

use crate::support::{Program, Ran, TestRepo};

/// A medium and a high finding.
const DEFECTS: &str = "def add(item, items=[]):\n    assert (item, 'nothing')\n    return items\n";

/// `main` with settings; a branch that adds two files with defects and perhaps settings of its own.
fn project(on_main: Option<&str>, on_head: Option<&str>) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n");
    if let Some(text) = on_main {
        repo.write(".review.toml", text);
    }
    repo.commit("begin");
    repo.branch("feature").write("app/a.py", DEFECTS).write("gen/b.py", DEFECTS);
    if let Some(text) = on_head {
        repo.write(".review.toml", text);
    }
    repo.commit("change");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// Where there are findings, `path severity`, sorted.
fn found(review: &Value) -> Vec<String> {
    let findings = review["findings"].as_array().expect("findings").iter();
    let mut found: Vec<String> = findings
        .map(|found| {
            format!("{} {}", found["anchors"][0]["path"].as_str().unwrap(), found["severity"].as_str().unwrap())
        })
        .collect();
    found.sort();
    found
}

const ALL: [&str; 4] = ["app/a.py high", "app/a.py medium", "gen/b.py high", "gen/b.py medium"];

#[test]
fn without_settings_everything_is_shown() {
    let (_repo, program) = project(None, None);
    assert_eq!(found(&program.review("--target main").1), ALL);
}

#[test]
fn the_target_may_narrow() {
    let (repo, program) = project(Some("exclude = ['gen/**']\nmin_severity = 'high'\n"), None);
    for line in ["--target main", "--range main..feature", "--range main...feature"] {
        let (code, review) = program.review(line);
        assert_eq!((code, found(&review)), (0, vec!["app/a.py high".to_owned()]), "{line}");
    }
    // What is not committed follows HEAD, which has the target's file.
    repo.write("app/c.py", DEFECTS).write("gen/c.py", DEFECTS);
    let (_, review) = program.review("--uncommitted");
    assert_eq!(found(&review), ["app/c.py high"]);
    repo.git(["add", "-A"]);
    assert_eq!(found(&program.review("--staged").1), ["app/c.py high"]);
}

#[test]
fn the_tip_of_the_target_counts_and_not_where_the_branch_left_it() {
    let (repo, program) = project(Some("exclude = ['app/**', 'gen/**']\n"), None);
    repo.git(["checkout", "-q", "main"]);
    repo.write(".review.toml", "exclude = ['gen/**']\n").commit("look again");
    repo.git(["checkout", "-q", "feature"]);
    assert_eq!(found(&program.review("--target main").1), ["app/a.py high", "app/a.py medium"]);
}

#[test]
fn the_change_may_not_narrow_its_own_review() {
    let hiding = "exclude = ['**']\nmin_severity = 'critical'\n[rules]\noff = ['python']\n";
    let (repo, program) = project(None, Some(hiding));
    for line in ["--target main", "--range main..feature", "--commit feature"] {
        assert_eq!(found(&program.review(line).1), ALL, "{line}");
    }
    // Not by the disk and not by the index either.
    repo.git(["checkout", "-q", "-b", "other", "main"]);
    repo.write(".review.toml", hiding).write("app/c.py", DEFECTS).git(["add", "-A"]);
    assert_eq!(found(&program.review("--staged").1), ["app/c.py high", "app/c.py medium"]);
    assert_eq!(found(&program.review("--uncommitted").1), ["app/c.py high", "app/c.py medium"]);
    // Only where somebody asked for the disk's.
    let (_, review) = program.review("--uncommitted --settings worktree");
    assert_eq!(found(&review), [""; 0]);
}

#[test]
fn a_change_of_the_settings_is_told() {
    let told = |review: &Value| {
        let notes = review["coverage"]["notes"].as_array().expect("notes").iter();
        notes.filter_map(Value::as_str).filter(|note| note.contains("review settings")).count()
    };
    let (repo, program) = project(None, Some("exclude = ['x']\n"));
    for line in ["--target main", "--range main..feature", "--commit feature", "--target main --exclude *.toml"] {
        assert_eq!(told(&program.review(line).1), 1, "{line}");
    }
    assert!(program.words("--target main").text().contains("review settings"));
    assert!(program.words("--target main --format markdown").text().contains("review settings"));

    repo.git(["checkout", "-q", "-b", "other", "main"]);
    repo.write(".review/rules/mine.yml", "id: x\n");
    assert_eq!(told(&program.review("--uncommitted").1), 1);
    repo.commit("rules");
    assert_eq!(told(&program.review("--target main").1), 1);

    let (_repo, program) = project(Some("exclude = ['x']\n"), None);
    assert_eq!(told(&program.review("--target main").1), 0, "nothing changed them");
}

#[test]
fn what_only_a_user_may_set_is_refused_of_the_target() {
    for (line, word) in [
        ("model = 'acme/large'", "model"),
        ("provider = 'acme'", "provider"),
        ("base_url = 'https://example.invalid'", "base_url"),
        ("format = 'json'", "format"),
        ("fail_on = 'none'", "fail_on"),
        ("timeout = '30h'", "timeout"),
        ("max_commits = 1000", "max_commits"),
        ("command = 'touch x'", "command"),
        ("exlude = ['x']", "exlude"),
    ] {
        let (_repo, program) = project(Some(&format!("# ours\n{line}\n")), None);
        let ran = program.words("--target main").ended(2);
        assert_eq!(ran.text(), "");
        let errors: Vec<&str> = ran.stderr.lines().filter(|said| said.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", ran.stderr);
        assert!(errors[0].contains(word) && errors[0].contains(".review.toml at "), "{}", errors[0]);
        assert!(errors[0].contains(":2: ") || errors[0].contains("above your own"), "{}", errors[0]);
    }
}

#[test]
fn a_budget_of_the_target_may_be_lower_and_the_user_may_raise_his_own() {
    let (repo, program) = project(Some("timeout = '19m'\n"), None);
    program.words("--target main").ended(0);
    let shown = program.words("config --target main").ended(0);
    assert!(shown.text().contains("timeout             19m       .review.toml at "), "{}", shown.text());
    let careful = Program::in_folder(repo.root()).with_settings("timeout = '5m'\n");
    careful.words("--target main").ended(2);
    careful.words("--target main --timeout 30m").ended(0);
}

#[test]
fn include_of_the_target_cannot_bring_in_what_the_user_left_out() {
    let (_repo, program) = project(Some("include = ['gen/**']\n"), None);
    assert_eq!(found(&program.review("--target main --include app/**").1), [""; 0]);
    assert_eq!(found(&program.review("--target main --include *.py").1), ["gen/b.py high", "gen/b.py medium"]);
}

#[test]
fn variables_with_a_meaning_count_and_others_are_listed() {
    let (repo, _) = project(None, None);
    let program = |name: &str, value: &str| Program::in_folder(repo.root()).with(name, value);
    let (_, review) = program("REVIEW_EXCLUDE", "gen/**,docs/**").review("--target main");
    assert_eq!(found(&review), ["app/a.py high", "app/a.py medium"]);
    let (_, review) = program("REVIEW_MIN_SEVERITY", "high").review("--target main");
    assert_eq!(found(&review), ["app/a.py high", "gen/b.py high"]);
    program("REVIEW_FAIL_ON", "high").words("--target main").ended(1);
    program("REVIEW_FAIL_ON", "high").words("--target main --fail-on none").ended(0);
    program("REVIEW_FAIL_ON", "").words("--target main").ended(0);
    let ran = program("REVIEW_MIN_SEVERITY", "huge").words("--target main").ended(2);
    assert!(ran.stderr.contains("REVIEW_MIN_SEVERITY: min_severity cannot be \"huge\""), "{}", ran.stderr);

    let odd = program("REVIEW_SECRET_TOKEN", "hunter2-hunter2");
    let shown = odd.words("config").ended(0);
    assert!(shown.text().contains("REVIEW_SECRET_TOKEN means nothing and is ignored"), "{}", shown.text());
    assert!(!shown.text().contains("hunter2"), "values are not shown: they may be secret");
    odd.words("--target main").ended(0);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused_rather_than_passed_over() {
    let (_repo, program) = project(None, None);
    let value: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"hi\xffgh");
    let child = program.command(["--target", "main"]).env("REVIEW_FAIL_ON", value).spawn().expect("it starts");
    let ran = Ran::wait(child).ended(2);
    assert!(ran.stderr.contains("REVIEW_FAIL_ON"), "{}", ran.stderr);
}

#[test]
fn a_patch_follows_nobodys_repository() {
    let (repo, program) = project(Some("exclude = ['**']\n"), None);
    let patch = repo.git_bytes(["diff", "main...feature"]);
    let review = program.fed("--diff - --format json", &patch).ended(0).json();
    assert_eq!(found(&review), ALL);
}
