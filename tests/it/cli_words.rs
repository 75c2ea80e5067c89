//! The command line guesses right: words without flags, suggestions, completion, and the settings and saved runs of a repository.

use crate::support::{Program, Ran, TestRepo};

const HIGH: &str = "def check(done):\n    assert (done, 'it is not done')\n";

/// `main` with two commits, and `topic` with a file in each of two folders.
fn repository() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.write("README", "read me again\n").commit("go on");
    repo.branch("topic").write("src/a.py", HIGH).commit("add a");
    repo.write("lib/b.py", HIGH).commit("add b");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// The paths of the reviewed files.
fn paths(program: &Program, line: &str) -> Vec<String> {
    let review = program.words(&format!("--format json {line}")).ended(0).json();
    let files = review["change"]["files"].as_array().expect("files");
    files.iter().map(|file| file["path"].as_str().expect("a path").to_owned()).collect()
}

fn refused(program: &Program, line: &str) -> String {
    let Ran { stderr, .. } = program.words(line).ended(2);
    assert!(stderr.lines().any(|line| line.starts_with("error: ")), "{line}: {stderr}");
    stderr
}

#[test]
fn a_revision_a_range_and_paths_need_no_flag() {
    let (repo, program) = repository();
    let both = ["lib/b.py", "src/a.py"];
    assert_eq!(paths(&program, "main"), both);
    assert_eq!(paths(&program, "main topic"), both);
    assert_eq!(paths(&program, "main...topic"), both);
    assert_eq!(paths(&program, "HEAD~1..HEAD"), ["lib/b.py"]);
    assert_eq!(paths(&program, "HEAD~1.."), ["lib/b.py"]);
    assert_eq!(paths(&program, "main src/"), ["src/a.py"]);
    assert_eq!(paths(&program, "main src lib"), both);
    assert_eq!(paths(&program, "src/a.py"), ["src/a.py"]);
    assert_eq!(paths(&program, "main -- lib"), ["lib/b.py"]);
    assert_eq!(paths(&program, "topic"), both, "the branch that is checked out");
    assert_eq!(paths(&program, "HEAD~1 --base main"), ["src/a.py"], "the head beside a target");
    // On the branch that others go into, another branch is what is reviewed.
    repo.git(["checkout", "-q", "main"]);
    assert_eq!(paths(&program, "topic"), both);
    assert_eq!(paths(&program, "main topic"), both);
    assert!(program.words("topic").ended(0).stderr.contains("reviewing topic"));
}

#[test]
fn a_revision_is_preferred_to_a_path_of_its_name() {
    let (repo, program) = repository();
    repo.git(["branch", "lib", "main"]);
    let ran = program.words("lib").ended(0);
    assert!(ran.stderr.contains("read as the revision (review -- lib reviews the path)"), "{}", ran.stderr);
    assert_eq!(paths(&program, "main -- lib"), ["lib/b.py"]);
    // Folders are named from where the user is.
    let inside = program.command(["main", "b.py", "--format", "json"]).current_dir(repo.root().join("lib")).output();
    let said = String::from_utf8(inside.expect("it runs").stdout).expect("text");
    assert!(said.contains("lib/b.py") && !said.contains("\"path\": \"src/a.py\""), "{said}");
}

#[test]
fn a_word_that_is_nothing_gets_a_suggestion() {
    let (_repo, program) = repository();
    assert!(refused(&program, "mian").contains("did you mean main?"));
    assert!(refused(&program, "--target mian").contains("did you mean main?"));
    assert!(refused(&program, "rlues").contains("`review rules`"));
    assert!(refused(&program, "explain go/x").contains("`review rules explain`"));
    assert!(refused(&program, "scr/").contains("did you mean src"));
    let nothing = refused(&program, "zzzzzzzz");
    assert!(!nothing.contains("did you mean") && nothing.contains("review -h"), "{nothing}");
    assert!(refused(&program, "main --staged").contains("--staged"));
    assert!(refused(&program, "main topic HEAD").contains("one revision too many"));
    assert!(refused(&program, "main ../../elsewhere").contains("elsewhere"));
    assert!(refused(&program, "main src --include lib").contains("--include"));
}

#[test]
fn a_pull_request_is_a_number_or_its_page() {
    let (repo, program) = repository();
    // Without a remote, nothing is asked of anybody.
    for word in ["12", "#12"] {
        let stderr = program.words(word).ended(2).stderr;
        assert!(!stderr.contains("is no command"), "{stderr}");
    }
    let stderr = refused(&program, "https://gitlab.com/o/r/-/merge_requests/3");
    assert!(stderr.contains("only those of GitHub are supported"), "{stderr}");
    assert!(refused(&program, "--pr https://gitlab.com/o/r/-/merge_requests/3").contains("only those of GitHub"));
    repo.git(["branch", "12", "main"]);
    assert_eq!(paths(&program, "12"), ["lib/b.py", "src/a.py"], "a branch of that name comes first");
}

#[test]
fn no_hint_names_what_is_not_there() {
    let repo = TestRepo::new();
    repo.write("a", "a\n").commit("begin");
    let program = Program::in_folder(repo.root());
    let one = program.words("").ended(2).stderr;
    assert!(one.contains("--commit HEAD") && !one.contains("main~1"), "{one}");
    program.words("--commit HEAD").ended(0);
    let first = refused(&program, "--target main~1");
    assert!(first.contains("main is the first commit: it has no parent") && !first.contains("git fetch"), "{first}");
    repo.write("a", "b\n").commit("go on");
    assert!(program.words("").ended(2).stderr.contains("--target main~1"));
    for line in ["--range HEAD~15..HEAD", "HEAD~15..HEAD", "HEAD~15"] {
        let short = refused(&program, line);
        assert!(short.contains("the history of HEAD has only 2 commits"), "{line}: {short}");
    }
    // There is no remote to fetch from.
    assert!(!refused(&program, "--target quux").contains("git fetch"));
}

#[test]
fn a_wrong_flag_is_answered_by_meaning_or_not_at_all() {
    let (_repo, program) = repository();
    for (flag, meant) in [
        ("--plain", "--color never"),
        ("--no-color", "--color never"),
        ("--from", "--target"),
        ("--since", "--target"),
        ("--json", "--format json"),
        ("--stagged", "--staged"),
    ] {
        let said = refused(&program, flag);
        assert!(said.contains(&format!("'{meant}'")), "{flag}: {said}");
    }
    let said = refused(&program, "--xyzzy");
    assert!(!said.contains("similar") && !said.contains("tip"), "{said}");
}

#[test]
fn an_output_may_name_its_format_by_its_extension() {
    let (repo, program) = repository();
    program.words("main -o out.json -q").ended(0);
    let text = std::fs::read_to_string(repo.root().join("out.json")).expect("the file");
    assert!(text.contains("\"findings\""));
    assert!(refused(&program, "main -o json=a,sarif=b").contains("repeat the flag"));
    let missing = program.words("main -o json=/nonexistent/review.json").ended(5).stderr;
    assert!(missing.contains("/nonexistent/review.json") && !missing.contains(".review-"), "{missing}");
}

#[test]
fn colour_is_forced_by_the_usual_variables() {
    let (_repo, program) = repository();
    let colored = |name: &str, value: &str| {
        let mut command = program.command(["main"]);
        let ran = command.env(name, value).output().expect("it runs");
        ran.stdout.contains(&0x1b)
    };
    assert!(colored("FORCE_COLOR", "1") && colored("CLICOLOR_FORCE", "1"));
    assert!(!colored("FORCE_COLOR", "0") && !colored("TERM", "xterm"));
}

#[test]
fn saved_reviews_are_listed_for_therepository() {
    let (repo, program) = repository();
    program.words("main").ended(0);
    let other = TestRepo::new();
    other.write("x", "x\n").commit("begin");
    let elsewhere = |line: &str| {
        let ran = program.command(line.split(' ')).current_dir(other.root()).output().expect("it runs");
        String::from_utf8(ran.stdout).expect("text")
    };
    assert!(elsewhere("list").contains("no reviews are saved yet for this repository"));
    assert!(elsewhere("list --all").contains("main → topic"));
    let name = repo.root().file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    assert!(elsewhere(&format!("list --repo {name}")).contains("main → topic"));
    let root = repo.root().to_str().expect("a path").to_owned();
    assert!(elsewhere(&format!("list -C {root}")).contains("main → topic"));
    assert!(elsewhere(&format!("show -C {root} -f json")).contains("\"findings\""));
    let all: serde_json::Value = serde_json::from_str(&elsewhere("list --all -n 1 -f json")).expect("JSON");
    assert_eq!((all["schema"].as_str(), all["runs"].as_array().map(Vec::len)), (Some("review-runs/1"), Some(1)));
    assert_eq!(all["runs"][0]["findings"]["high"], 2, "{all:#}");
}

#[test]
fn a_setting_is_set_for_the_user_or_the_project() {
    let (repo, program) = repository();
    program.words("config set max_turns 7").ended(0);
    let path = program.words("config path").ended(0).text().trim_end().to_owned();
    assert_eq!(std::fs::read_to_string(path).expect("the file"), "max_turns = 7\n");
    assert!(program.words("config").ended(0).text().contains("max_turns"));
    assert!(refused(&program, "config set modle x").contains("did you mean model?"));
    assert!(refused(&program, "config set model openai --project").contains("a repository may not set"));
    program.words("config set exclude vendor/** --project").ended(0);
    assert_eq!(std::fs::read_to_string(repo.root().join(".review.toml")).expect("it"), "exclude = [\"vendor/**\"]\n");
    let said = program.words("main").ended(0).stderr;
    assert!(said.contains(".review.toml on disk is not used"), "{said}");
    let mut editing = program.command(["config", "edit"]);
    assert!(editing.env("EDITOR", "true").output().expect("it runs").status.success());
}

#[test]
fn suggestions_are_applied_together() {
    let (repo, program) = repository();
    repo.write("src/c.py", "def same(a):\n    return a is 'x'\n").commit("add c");
    program.words("main").ended(0);
    let ran = program.words("apply --all --check").ended(0);
    let shown = ran.text().contains("+    return a == 'x'") || ran.stderr.contains("no open finding");
    assert!(shown, "{}{}", ran.text(), ran.stderr);
    let asked = program.words("apply --interactive");
    assert!(asked.stderr.contains("on a terminal") || asked.stderr.contains("no open finding"), "{}", asked.stderr);
}

#[test]
fn shells_complete_names_of_the_repository() {
    let (_repo, program) = repository();
    program.words("main").ended(0);
    let complete = |words: &[&str]| {
        let all = ["--", "review"].iter().chain(words);
        let mut command = program.command(all);
        command.env("_REVIEW_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_SPACE", "false").env("_CLAP_COMPLETE_COMP_TYPE", "9");
        let ran = command.output().expect("it runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("text")
    };
    assert!(complete(&["--target", "to"]).contains("topic"));
    assert!(complete(&["--fail-on", ""]).contains("critical"));
    assert!(complete(&["rules", "explain", "python/is-with"]).contains("python/is-with-literal"));
    assert!(complete(&["show", ""]).contains("last"));
    assert!(complete(&["--model", "anth"]).contains("anthropic"));
    assert!(complete(&["li"]).contains("list"));
    let id = program.words("list -f json").ended(0).json()["runs"][0]["id"].as_str().expect("an id").to_owned();
    assert!(complete(&["show", &id[..2]]).contains(&id));
    assert!(!complete(&["dismiss", ""]).is_empty());
}

#[test]
fn manual_pages_are_written() {
    let (repo, program) = repository();
    program.words("man pages").ended(0);
    let page = std::fs::read_to_string(repo.root().join("pages/review-list.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("limit"), "{page}");
    assert!(repo.root().join("pages/review.1").exists());
}
