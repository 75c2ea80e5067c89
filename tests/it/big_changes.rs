//! Changes that are too large for one conversation: every file is reviewed or named, whatever happens to some of the parts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told};

/// So small that a change of a few hundred files is split.
const WINDOW: &str = "[ollama]\ncontext_window = 48000\n";

/// A change of so many small files in folders of ten.
fn many(files: usize) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Many.\n").commit("Begin");
    repo.branch("feature");
    for n in 0..files {
        let line = |line| format!("value_{n}_{line} = {n} * {line}  # a line that has no meaning\n");
        repo.write(format!("src/part{}/file{n}.py", n / 10), (0..20).map(line).collect::<String>());
    }
    repo.commit("Add many files");
    repo
}

fn step(when: &Value, say: &Value) -> String {
    json!({ "when": when, "say": say, "reuse": true }).to_string()
}

fn finish(summary: &str) -> Value {
    json!({ "calls": [{ "name": "finish_review", "input": { "summary": summary } }] })
}

fn report(n: usize, title: &str) -> Value {
    json!({ "name": "report_finding", "input": {
        "title": title, "body": "It goes wrong.", "severity": "medium", "category": "logic",
        "file_path": format!("src/part{}/file{n}.py", n / 10),
        "quote": format!("value_{n}_3 = {n} * 3  # a line that has no meaning"), "start_line": 4 } })
}

/// The events about parts with a state.
fn units<'a>(told: &'a Told, state: &'a str) -> impl Iterator<Item = &'a Value> {
    told.events.iter().filter(move |event| event["event"] == "unit" && event["state"] == state)
}

/// The states of files with their reasons.
fn files(told: &Told) -> Vec<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let files = told.review["coverage"]["files"].as_array().expect("files");
    files.iter().map(|file| (word(&file["path"]), word(&file["state"]), word(&file["reason"]))).collect()
}

fn scripted(repo: &TestRepo, name: &str, steps: &[String]) -> Talk {
    Talk::scripted(repo, Session::parse(name, &steps.join("\n")), Wire::Ollama).with_settings(WINDOW)
}

#[test]
fn three_hundred_files_are_reviewed_in_parts_and_the_review_is_complete() {
    let repo = many(300);
    let found = json!({ "calls": [report(17, "Seventeen is wrong"), report(211, "The other is wrong")] });
    let steps = [
        step(&json!({ "turn": 0, "user_contains": ["=== src/part1/file17.py"] }), &found),
        step(&json!({ "turn": 0, "user_lacks": ["=== src/part1/file17.py"] }), &finish("It adds values.")),
        step(&json!({ "turn": 1 }), &finish("It adds values.")),
    ];
    let talk = scripted(&repo, "big_complete", &steps);
    let told = talk.run("");
    let verdict = talk.server.verdict();
    assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    assert_eq!((told.code, &told.review["outcome"]), (0, &json!("complete")), "{}", told.all());
    assert!(files(&told).iter().all(|(_, state, _)| state == "reviewed"), "{:?}", files(&told));
    let (begun, done) = (units(&told, "begun").count(), units(&told, "done").count());
    assert!(begun > 2 && begun == done, "{begun} {done}");
    let of: u64 = units(&told, "begun").map(|unit| unit["files"].as_u64().expect("a number")).sum();
    assert_eq!(of, 300);
    let titles: BTreeSet<String> = told.titles().into_iter().map(str::to_owned).collect();
    assert_eq!(titles.len(), 2, "a finding about another part counts: {titles:?}");
    let plans: Vec<String> = talk.journals();
    assert_eq!(plans[0].matches("\"kind\":\"plan\"").count(), 1);
}
