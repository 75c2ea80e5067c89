//! How the program ends: every exit code, and which one counts where several hold.

use crate::support::{Program, TestRepo};

/// A finding of medium severity.
const MEDIUM: &str = "def add(item, items=[]):\n    items.append(item)\n    return items\n";
/// A finding of high severity.
const HIGH: &str = "def check(done):\n    assert (done, 'it is not done')\n";

/// A branch with one file more than `main`.
fn with_file(name: &str, text: &str) -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    repo.branch("feature").write(name, text).commit("add a file");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

/// Removes the object of a file at HEAD.
fn lose(repo: &TestRepo, path: &str) {
    let id = repo.git(["rev-parse", &format!("HEAD:{path}")]);
    let (folder, name) = id.trim().split_at(2);
    repo.remove(format!(".git/objects/{folder}/{name}"));
}

#[test]
fn findings_alone_fail_nothing() {
    let (_repo, program) = with_file("a.py", HIGH);
    let (code, review) = program.review("--target main");
    assert_eq!(code, 0);
    assert_eq!(review["outcome"], "complete");
    assert_eq!(review["summary"]["bySeverity"]["high"], 1, "{review:#}");
}

#[test]
fn a_finding_at_or_above_the_gate_ends_with_1() {
    let (_repo, program) = with_file("a.py", MEDIUM);
    program.words("--target main --fail-on medium").ended(1);
    program.words("--target main --fail-on low").ended(1);
    program.words("--target main --fail-on high").ended(0);
    program.words("--target main --fail-on none").ended(0);
}

#[test]
fn a_finding_that_is_hidden_still_fails_the_gate() {
    let (_repo, program) = with_file("a.py", MEDIUM);
    let (code, review) = program.review("--target main --min-severity high --fail-on medium");
    assert_eq!(code, 1);
    assert_eq!(review["findings"].as_array().map(Vec::len), Some(0));
    assert_eq!(review["coverage"]["below_floor"]["medium"], 1, "{review:#}");
}

#[test]
fn a_change_with_nothing_in_it_is_complete() {
    let (repo, program) = with_file("a.py", MEDIUM);
    repo.git(["checkout", "-q", "main"]);
    let ran = program.words("--target main --fail-on nit").ended(0);
    assert!(ran.text().contains("Nothing to review"), "{}", ran.text());
    assert!(ran.stderr.contains("--uncommitted"), "it says what else could be meant: {}", ran.stderr);
}

#[test]
fn what_cannot_be_understood_ends_with_2_and_one_line_of_help() {
    let (repo, program) = with_file("a.py", MEDIUM);
    let outside = TestRepo::folder_only();
    let nowhere = Program::in_folder(outside.root());
    let bad = Program::in_folder(repo.root()).with_settings("exlude = ['x']\n");
    let broken = Program::in_folder(repo.root()).with_settings("exclude = [\n");
    let format = Program::in_folder(repo.root()).with("REVIEW_FORMAT", "pdf");
    let severity = Program::in_folder(repo.root()).with("REVIEW_FAIL_ON", "huge");
    for (ran, words) in [
        (program.words("--target nowhere"), &["nowhere"][..]),
        (program.words("--target main --head nowhere"), &["nowhere"]),
        (program.words("--commit nowhere"), &["nowhere"]),
        (program.words("--range main..nowhere"), &["nowhere"]),
        (program.words("--target main --include [z-"), &["--include", "[z-"]),
        (severity.words("--target main"), &["REVIEW_FAIL_ON", "huge", "critical"]),
        (program.words("--target main --model acme/large"), &["no provider", "acme", "--no-model"]),
        (nowhere.words("--target main"), &["not inside a git repository", "-C", "--diff"]),
        (nowhere.words("-C missing --target main"), &["missing"]),
        (nowhere.words("--diff missing.patch"), &["missing.patch"]),
        (bad.words("--target main"), &["config.toml:1", "exlude", "did you mean exclude?"]),
        (broken.words("--target main"), &["config.toml:1", "not valid TOML"]),
        (format.words("--target main"), &["REVIEW_FORMAT", "pdf", "terminal, markdown, html, json"]),
    ] {
        let ran = ran.ended(2);
        assert_eq!(ran.text(), "");
        let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", ran.stderr);
        for word in words {
            assert!(errors[0].contains(word), "{word:?} is missing in {}", errors[0]);
        }
    }
}

#[test]
fn a_file_that_is_missing_makes_it_incomplete() {
    let (repo, program) = with_file("a.py", MEDIUM);
    repo.write("b.py", HIGH).write("c.py", "x = 1\n").commit("add more");
    lose(&repo, "c.py");
    let (code, review) = program.review("--target main");
    assert_eq!(code, 3, "{review:#}");
    assert_eq!(review["outcome"], "incomplete");
    assert!(review["reasons"][0].as_str().is_some_and(|why| why.contains("c.py")), "{review:#}");
    assert_eq!(review["summary"]["total"], 2, "the other files are reviewed all the same: {review:#}");
    let text = program.words("--target main").ended(3);
    assert!(text.text().contains("Incomplete: some of the change was not looked at."), "{}", text.text());
}

#[test]
fn no_file_at_all_is_failed_and_never_green() {
    let (repo, program) = with_file("a.py", MEDIUM);
    lose(&repo, "a.py");
    let (code, review) = program.review("--target main");
    assert_eq!((code, review["outcome"].as_str()), (3, Some("failed")), "{review:#}");
    assert_eq!(review["summary"]["text"], "Nothing was checked.");
    assert_eq!(review["coverage"]["files"][0]["state"], "skipped", "the receipt says so too");
}

#[test]
fn a_deadline_that_passes_ends_with_3() {
    let (repo, program) = with_file("a.py", MEDIUM);
    for n in 0..200 {
        repo.write(format!("d/{n}.py"), format!("{MEDIUM}n = {n}\n"));
    }
    repo.commit("add many");
    let ran = program.words("--target main --timeout 1ms --fail-on critical").ended(3);
    let said = format!("{}{}", ran.text(), ran.stderr);
    assert!(said.contains("the time limit was reached (raise it with --timeout)"), "{said}");
}

#[test]
fn an_output_that_cannot_be_written_ends_with_5() {
    let (_repo, program) = with_file("a.py", MEDIUM);
    let ran = program.words("--target main --output json=no/such/folder/review.json").ended(5);
    assert!(ran.stderr.contains("no/such/folder/review.json"), "{}", ran.stderr);
    assert!(ran.text().contains("1 finding"), "the review is shown all the same: {}", ran.text());
    program.words("--target main --output json=/").ended(5);
}

#[test]
fn of_several_codes_the_first_in_the_order_counts() {
    let (repo, program) = with_file("a.py", MEDIUM);
    repo.write("b.py", "x = 1\n").commit("add more");
    let unwritable = "--target main --output json=no/such/folder/review.json";
    program.words(&format!("{unwritable} --fail-on medium")).ended(1);
    lose(&repo, "b.py");
    program.words(unwritable).ended(3);
    program.words(&format!("{unwritable} --fail-on medium")).ended(1);
    program.words(&format!("{unwritable} --fail-on medium --model acme/large")).ended(2);
}

#[cfg(target_os = "linux")]
mod interrupted {
    use std::process::{Child, Stdio};

    use rustix::process::{Pid, Signal, kill_process};

    use super::{MEDIUM, with_file};
    use crate::support::github::{Fake, On, Trouble, demo};
    use crate::support::{Program, Ran, TestRepo};

    /// Waits until the process listens for SIGINT: its bit in `SigCgt` (proc(5)).
    fn listening(child: &Child) {
        loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a living process");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("its signals").trim();
            let caught = u64::from_str_radix(caught, 16).expect("a mask");
            if caught & (1 << (Signal::INT.as_raw() - 1)) != 0 {
                return;
            }
            assert!(!status.contains("State:\tZ"), "it ended before it listened");
            std::thread::yield_now();
        }
    }

    fn interrupt(child: &Child) {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, Signal::INT).expect("a signal");
    }

    #[test]
    fn while_it_waits_for_a_patch_it_ends_with_130() {
        let outside = TestRepo::folder_only();
        let program = Program::in_folder(outside.root());
        let mut child = program.command(["--diff", "-"]).stdin(Stdio::piped()).spawn().expect("the program starts");
        let held = child.stdin.take();
        listening(&child);
        interrupt(&child);
        let ran = Ran::wait(child).ended(130);
        drop(held);
        assert_eq!(ran.text(), "");
        assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
    }

    #[test]
    fn while_it_waits_for_a_forge_it_ends_with_130() {
        for words in ["--pr octo/demo#7 --no-model", "post last --pr octo/demo#7"] {
            let fake = Fake::start();
            let (work, _pull) = demo(&fake);
            let program = Program::in_folder(work.root()).with_all(fake.env());
            program.words("--range main..feature --no-model --quiet").ended(0);
            fake.fail_next(On::graphql("PullRequest"), Trouble::Hang);
            let child = program.command(words.split(' ')).spawn().expect("the program starts");
            while fake.asked().is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            interrupt(&child);
            Ran::wait(child).ended(130);
            fake.finish();
        }
    }

    #[test]
    fn whatever_it_was_doing_it_ends_with_130_or_was_done() {
        let (repo, program) = with_file("a.py", MEDIUM);
        for n in 0..300 {
            repo.write(format!("d/{n}.py"), format!("{MEDIUM}n = {n}\n"));
        }
        repo.commit("add many");
        let args = ["--target", "main", "--fail-on", "medium", "--format", "json"];
        let child = program.command(args).spawn().expect("the program starts");
        listening(&child);
        interrupt(&child);
        let ran = Ran::wait(child);
        // On a busy machine it may have been done before the signal came.
        assert!(matches!(ran.code, 130 | 1), "{}: {}", ran.code, ran.stderr);
        if !ran.stdout.is_empty() {
            let review = ran.json();
            let (complete, unreasoned) = (review["outcome"] == "complete", review["reasons"] == serde_json::json!([]));
            assert_eq!(complete, unreasoned, "{review:#}");
            assert_eq!(program.words("show --format json").stdout, ran.stdout, "what was found is kept");
        }
    }
}
