//! `--events`: what a program reads while a review goes on.

use std::process::Stdio;

use serde_json::Value;

use crate::support::github::{On, Trouble};
use crate::support::posting::{Desk, bad};
use crate::support::{Program, Ran, TestRepo};

/// A branch with a finding of medium severity.
fn branch() -> (TestRepo, Program) {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    let text = "def add(item, items=[]):\n    items.append(item)\n    return items\n";
    repo.branch("feature").write("a.py", text).commit("add a file");
    let program = Program::in_folder(repo.root());
    (repo, program)
}

fn lines(ran: &Ran) -> Vec<Value> {
    let fault = |error| panic!("{error}\n{}\n{}", ran.text(), ran.stderr);
    let lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap_or_else(fault)).collect();
    let numbers = lines.iter().map(|line| line["seq"].as_u64().expect("a number"));
    let dropped = |line: &Value| line["dropped"].as_u64().unwrap_or(0);
    let expected = lines.iter().scan(0, |before, line| {
        *before += dropped(line) + 1;
        Some(*before)
    });
    assert!(numbers.eq(expected), "{}", ran.text());
    lines
}

#[test]
fn a_stream_tells_the_stages_and_ends_with_the_review() {
    let (_repo, program) = branch();
    let file = program.home("review.json");
    let line = format!("--target main --verbose --events --fail-on medium --output json={}", file.display());
    let ran = program.words(&line).ended(1);
    let lines = lines(&ran);
    let stages: Vec<&str> =
        lines.iter().filter_map(|line| line["stage"].as_str().filter(|_| line["event"] == "stage")).collect();
    assert_eq!(stages, ["collect", "review", "deliver"]);
    let last = lines.last().expect("a line");
    assert_eq!((&last["event"], &last["exit_code"]), (&"review".into(), &1.into()));
    let written: Value = serde_json::from_slice(&std::fs::read(&file).expect("the file")).expect("a document");
    assert_eq!(last["review"], written, "it is the same document");
    assert!(ran.stderr.contains("review: collecting the change"), "people are told as ever: {}", ran.stderr);
    let quiet = program.words("--target main --events --quiet").ended(0);
    assert_eq!((quiet.stderr.as_str(), quiet.text().lines().count() > 3), ("", true));
}

#[test]
fn an_error_ends_the_stream_and_is_told_as_ever() {
    let (_repo, program) = branch();
    for (line, words) in [("--target nowhere", "nowhere"), ("--target main --model acme/x", "no provider")] {
        let ran = program.words(&format!("{line} --events")).ended(2);
        let lines = lines(&ran);
        let last = lines.last().expect("a line");
        assert_eq!((&last["event"], &last["exit_code"]), (&"error".into(), &2.into()));
        assert!(last["message"].as_str().is_some_and(|message| message.contains(words)), "{last}");
        assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
    }
}

#[test]
fn a_stream_has_no_other_format() {
    let (repo, program) = branch();
    let ran = program.words("--target main --events --format json").ended(2);
    assert_eq!(ran.text(), "");
    let set = Program::in_folder(repo.root()).with("REVIEW_FORMAT", "markdown");
    assert_eq!(lines(&set.words("--target main --events").ended(0)).last().expect("a line")["event"], "review");
}

#[test]
fn what_was_posted_is_told_before_the_end() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    let told = lines(&desk.review_and_post("--events").ended(0));
    let [.., delivery, last] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&delivery["event"], &last["event"]), (&"delivery".into(), &"review".into()));
    assert_eq!(delivery["delivery"], desk.receipt(), "it is the same receipt");
    assert_eq!(delivery["delivery"]["counts"]["posted"], 1);
    assert!(told.iter().any(|line| line["event"] == "stage" && line["stage"] == "post"), "{told:?}");
    // What failed is in it as well.
    desk.push(&[("a.py", bad("two"))]);
    desk.fake.fail_always(On::rest("POST", "/reviews"), Trouble::status(502));
    let told = lines(&desk.review_and_post("--events").ended(5));
    let [.., delivery, _] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&delivery["event"], &delivery["delivery"]["whole"]), (&"delivery".into(), &false.into()), "{delivery}");
    // Where nothing is posted, nothing is told of it.
    let desk = Desk::new(&[("a.py", bad("one"))]);
    let told = lines(&desk.program.words("--pr octo/demo#7 --no-model --events").ended(0));
    assert!(told.iter().all(|line| line["event"] != "delivery"));
}

#[test]
fn what_could_not_be_written_is_in_the_stream() {
    let (_repo, program) = branch();
    let ran = program.words("--target main --events --output json=no/such/folder/review.json").ended(5);
    let lines = lines(&ran);
    let told = |line: &Value| line["event"] == "notice" && line["text"].to_string().contains("no/such/folder");
    assert!(lines.iter().any(told), "{}", ran.text());
    assert_eq!(lines.last().expect("a line")["exit_code"], 5);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let (_repo, program) = branch();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let child = program.command(["--target", "main", "--events"]).stdout(Stdio::from(writer)).spawn().expect("a start");
    let ran = Ran::wait(child).ended(0);
    assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_the_stream_ends_with_5() {
    let (_repo, program) = branch();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
    let child = program.command(["--target", "main", "--events"]).stdout(Stdio::from(full)).spawn().expect("a start");
    let ran = Ran::wait(child).ended(5);
    assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
}
