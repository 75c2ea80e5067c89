//! Changes that are too large for one conversation: every file is reviewed or named, whatever happens to some of the parts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told, many};

/// So small that a change of a few hundred files is split.
const WINDOW: &str = "[ollama]\ncontext_window = 48000\n";

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

/// The look at how the parts go together.
const ACROSS: &str = "Look at how the parts of a change go together";
const PART: &str = "Review one part of a change";

fn across(turn: usize, say: &Value) -> String {
    step(&json!({ "turn": turn, "user_contains": [ACROSS] }), say)
}

fn part(number: &str, turn: usize, say: &Value) -> String {
    step(&json!({ "turn": turn, "user_contains": [format!("{PART}: part {number} of ")] }), say)
}

/// What every part but some says in a turn.
fn other_parts(but: &[&str], turn: usize, say: &Value) -> String {
    let lacks: Vec<String> = but.iter().map(|number| format!("{PART}: part {number} of ")).collect();
    step(&json!({ "turn": turn, "user_contains": [PART], "user_lacks": lacks }), say)
}

/// The journal of the only run.
fn journal(talk: &Talk) -> Vec<Value> {
    let journal = talk.journals().pop().expect("a journal");
    journal.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[track_caller]
fn ended(talk: &Talk, more: &str, code: i32, ended: &str) -> Told {
    let told = talk.run(more);
    let verdict = talk.server.verdict();
    assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    assert_eq!((told.code, told.ended()), (code, ended), "{}", told.all());
    told
}

#[test]
fn three_hundred_files_are_reviewed_in_parts_and_the_review_is_complete() {
    let repo = many(300);
    let found = json!({ "calls": [report(17, "Seventeen is wrong"), report(211, "The other is wrong")] });
    let elsewhere = json!({ "calls": [report(17, "Seventeen is wrong")] });
    let steps = [
        step(&json!({ "turn": 0, "user_contains": ["=== src/part1/file17.py"] }), &found),
        step(&json!({ "turn": 0, "user_contains": ["=== src/part21/file211.py"] }), &elsewhere),
        step(
            &json!({ "turn": 0, "user_contains": [PART], "user_lacks": ["=== src/part1/file17.py", "=== src/part21/file211.py"] }),
            &finish("It adds values."),
        ),
        step(&json!({ "turn": 1, "user_contains": [PART] }), &finish("It adds values.")),
        across(0, &finish("All parts add values alike.")),
    ];
    let talk = scripted(&repo, "big_complete", &steps);
    let told = ended(&talk, "", 0, "finished");
    assert_eq!(told.review["outcome"], "complete", "{}", told.all());
    assert!(files(&told).iter().all(|(_, state, _)| state == "reviewed"), "{:?}", files(&told));
    let (begun, done) = (units(&told, "begun").count(), units(&told, "done").count());
    assert!(begun > 2 && begun == done, "{begun} {done}");
    let of: u64 = units(&told, "begun").map(|unit| unit["files"].as_u64().expect("a number")).sum();
    assert_eq!(of, 300);
    let titles: BTreeSet<&str> = told.titles().into_iter().collect();
    assert_eq!(
        (told.titles().len(), titles),
        (2, BTreeSet::from(["Seventeen is wrong", "The other is wrong"])),
        "what two parts report is one finding, and one may report what is in another"
    );
    let summary = told.review["summary"]["text"].as_str().expect("a text");
    assert!(summary.starts_with("All parts add values alike.\n\n**Part 1** ("), "{summary}");

    let entries = journal(&talk);
    let plans: Vec<&Value> = entries.iter().filter(|entry| entry["record"]["kind"] == "plan").collect();
    let planned = plans[0]["record"]["units"].as_array().expect("units");
    assert_eq!((plans.len(), planned.len()), (1, begun));
    let all: BTreeSet<&str> =
        planned.iter().flat_map(|unit| unit.as_array().expect("paths")).filter_map(Value::as_str).collect();
    assert_eq!(all.len(), 300);
    let ends = entries.iter().filter(|entry| entry["record"]["kind"] == "end");
    assert_eq!(ends.count(), begun + 1, "one for each part and one for the look across them");
}

#[test]
fn the_first_request_leaves_before_the_rules_ran_on_the_other_parts_whose_leads_are_given_all_the_same() {
    let repo = many(300);
    let conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
    repo.write("src/part20/file205.py", conflict).write("src/part0/file0.py", conflict).commit("Merge");
    let refuted = |path: &str, lead: &str| {
        let shown = json!({ "turn": 0, "user_contains": [format!("=== {path}"), "general/conflict-marker"] });
        let refute = json!({ "name": "refute_lead", "input": { "id": lead, "reason": "It is meant." } });
        step(&shown, &json!({ "calls": [refute] }))
    };
    let lacks = ["general/conflict-marker"];
    let steps = [
        refuted("src/part0/file0.py", "L1"),
        refuted("src/part20/file205.py", "L2"),
        step(&json!({ "turn": 0, "user_contains": [PART], "user_lacks": lacks }), &finish("It adds values.")),
        step(&json!({ "turn": 1, "user_contains": [PART] }), &finish("It adds values.")),
        across(0, &finish("All parts add values alike.")),
    ];
    let talk = scripted(&repo, "big_leads", &steps);
    let told = ended(&talk, "", 0, "finished");
    let leads = &told.review["coverage"]["leads"];
    assert_eq!((&leads["given"], &leads["refuted"]), (&json!(2), &json!(2)), "{}", told.all());

    let entries = journal(&talk);
    let first = |is: &dyn Fn(&Value) -> bool| entries.iter().position(is).expect("an entry");
    let rules = |scope: &str| first(&|entry| entry["record"]["kind"] == "rules" && entry["record"]["scope"] == scope);
    let request = first(&|entry| entry["record"]["kind"] == "request");
    assert!(rules("first_part") < request && request < rules("other_parts"));
}

#[test]
fn a_change_that_fits_is_one_conversation_as_ever() {
    let repo = many(5);
    let talk =
        scripted(&repo, "big_small", &[step(&json!({ "user_contains": ["Review this change."] }), &finish("Well."))]);
    let told = ended(&talk, "", 0, "finished");
    assert_eq!(units(&told, "begun").count(), 0);
    let entries = journal(&talk);
    assert!(entries.iter().all(|entry| entry["unit"] == 0), "{entries:?}");
    assert_eq!(told.review["summary"]["text"], "Well.");
}

#[test]
fn with_a_small_budget_every_file_is_reviewed_or_named() {
    let repo = many(300);
    let steps = [other_parts(&[], 0, &finish("It adds values.")), across(0, &finish("All is alike."))];
    let talk = scripted(&repo, "big_budget", &steps);
    let told = ended(&talk, "--max-tokens 160000", 3, "token_limit");
    assert_eq!(told.review["outcome"], "incomplete");
    let files = files(&told);
    assert_eq!(files.len(), 300);
    let reviewed = files.iter().filter(|(_, state, _)| state == "reviewed").count();
    let skipped = files.iter().filter(|(_, state, reason)| {
        state == "skipped" && reason.contains("was not begun: the limit of 160000 input tokens")
    });
    assert_eq!(reviewed + skipped.count(), 300, "{files:?}");
    assert!(reviewed > 20, "{reviewed}");
    let spent = told.review["provenance"]["usage"]["input_tokens"].as_u64().expect("a number");
    assert!(spent <= 160_000, "{spent}");
    assert!(told.reasons().contains("were not begun"), "{}", told.reasons());
    let limits = told.review["coverage"]["limits_hit"].as_array().expect("limits");
    assert_eq!(limits.len(), 1, "{limits:?}");
}

#[test]
fn a_part_that_the_provider_fails_for_good_loses_nothing_of_the_others() {
    let repo = many(300);
    let failed = json!({ "fault": { "status": { "code": 400, "message": "this is not for me" } } });
    let found = json!({ "calls": [report(211, "It is wrong")] });
    let with = json!({ "user_contains": ["=== src/part21/file211.py"] });
    let steps = [
        step(&json!({ "turn": 0, "user_contains": with["user_contains"] }), &found),
        part("2", 0, &failed),
        step(
            &json!({ "turn": 0, "user_contains": [PART], "user_lacks": [format!("{PART}: part 2 of"), "=== src/part21/file211.py"] }),
            &finish("Well."),
        ),
        step(&json!({ "turn": 1, "user_contains": [PART] }), &finish("Well.")),
        across(0, &finish("All is alike.")),
    ];
    let talk = scripted(&repo, "big_fault", &steps);
    let told = ended(&talk, "", 3, "request_refused");
    assert_eq!(told.titles(), ["It is wrong"], "{}", told.all());
    let files = files(&told);
    let skipped: Vec<_> = files.iter().filter(|(_, state, _)| state != "reviewed").collect();
    let broken: u64 = units(&told, "broken_off").map(|unit| unit["files"].as_u64().expect("a number")).sum();
    assert_eq!(skipped.len() as u64, broken, "{skipped:?}");
    assert!(skipped.iter().all(|(_, state, reason)| state == "skipped" && reason.contains("part 2 of")), "{skipped:?}");
    assert!(
        told.reasons().contains("part 2 of") && told.reasons().contains("this is not for me"),
        "{}",
        told.reasons()
    );
}

#[test]
fn a_provider_that_fails_every_part_is_not_asked_about_all_of_them() {
    let repo = many(300);
    let failed = json!({ "fault": { "status": { "code": 401, "message": "no such key" } } });
    let talk = scripted(&repo, "big_down", &[step(&json!({}), &failed)]);
    let told = ended(&talk, "", 4, "request_refused");
    assert_eq!(told.review["outcome"], "failed");
    assert!(talk.server.raw().len() <= 5, "{}", talk.server.raw().len());
    assert!(
        files(&told).iter().all(|(_, state, reason)| state == "skipped" && !reason.is_empty()),
        "{:?}",
        files(&told)
    );
}

#[test]
fn a_part_that_stops_early_is_truncated_and_the_others_go_on() {
    let repo = many(300);
    let silent = json!({ "text": "I am done." });
    let steps = [
        part("1", 0, &silent),
        part("1", 1, &silent),
        part("1", 2, &silent),
        other_parts(&["1"], 0, &finish("Well.")),
        across(0, &finish("All is alike.")),
    ];
    let talk = scripted(&repo, "big_unfinished", &steps);
    let told = ended(&talk, "", 3, "unfinished");
    let files = files(&told);
    let odd: Vec<_> = files.iter().filter(|(_, state, _)| state != "reviewed").collect();
    assert!(
        !odd.is_empty()
            && odd.iter().all(|(_, _, reason)| reason.contains("part 1 of") || reason.contains("never shown")),
        "{odd:?}"
    );
    let (broken, done) = (units(&told, "broken_off").count(), units(&told, "done").count());
    assert!(broken == 1 && done > 2, "{broken} {done}");
}

#[test]
fn a_limit_of_turns_is_for_each_part() {
    let repo = many(300);
    let read = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "README.md" } }] });
    let steps = [
        step(&json!({ "turn": 0, "user_contains": [PART] }), &read),
        step(&json!({ "turn": 1, "user_contains": [PART] }), &finish("Well.")),
        across(0, &finish("All is alike.")),
    ];
    let talk = scripted(&repo, "big_turns", &steps);
    let told = ended(&talk, "--max-turns 3", 0, "finished");
    let turns = told.review["provenance"]["turns"].as_u64().expect("a number");
    assert_eq!(turns, 2 * units(&told, "done").count() as u64 + 1);
}

#[test]
fn the_look_across_parts_reports_what_no_part_shows_alone() {
    let repo = TestRepo::new();
    let shared = "def load_values(path):\n    return open(path).read()\n";
    repo.write("README.md", "Many.\n").write("src/a/shared.py", shared).commit("Begin");
    repo.branch("feature").write("src/a/shared.py", "def load_numbers(path):\n    return open(path).read()\n");
    // So many callers that they do not fit the part of what they call.
    for n in 0..30 {
        let line = |line| format!("value_{n}_{line} = load_values({line})  # a line that has no meaning\n");
        repo.write(format!("web/z/user{n}.py"), (0..120).map(line).collect::<String>());
    }
    repo.commit("Rename a function in one of two places");
    let found = json!({ "calls": [{ "name": "report_finding", "input": {
        "title": "A caller still uses the old name", "body": "It is gone.", "severity": "medium", "category": "side_effects",
        "file_path": "src/a/shared.py", "quote": "def load_numbers(path):", "start_line": 1 } }] });
    let names = ["takes away load_values; used in part", "web/z/user"];
    let steps = [
        other_parts(&[], 0, &finish("Well.")),
        step(&json!({ "turn": 0, "user_contains": [ACROSS, names[0], names[1], "its reviewer said:"] }), &found),
        across(1, &finish("A name was changed in one of two places.")),
    ];
    let talk = scripted(&repo, "big_across", &steps);
    let told = talk.run("");
    let linked = told.events.iter().filter(|event| event["event"] == "unit").count();
    assert!(linked > 2, "{}", told.all());
    let verdict = talk.server.verdict();
    assert!(verdict.is_empty(), "{}\n{}", verdict.join("\n- "), told.all());
    assert_eq!((told.code, told.titles()), (0, vec!["A caller still uses the old name"]), "{}", told.all());
}

#[test]
fn a_look_across_parts_that_breaks_off_is_said_and_takes_nothing_away() {
    let repo = many(300);
    let failed = json!({ "fault": { "status": { "code": 400, "message": "not this" } } });
    let talk = scripted(&repo, "big_across_fault", &[other_parts(&[], 0, &finish("Well.")), across(0, &failed)]);
    let told = ended(&talk, "", 0, "finished");
    assert_eq!(told.review["outcome"], "complete");
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("the look at how the parts go together did not come to its end"), "{notes}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_three_parts_are_under_way_keeps_what_is_proven_and_names_the_rest() {
    use crate::support::Ran;
    use rustix::process::{Pid, Signal, kill_process};

    let repo = many(300);
    let found = json!({ "calls": [report(17, "Seventeen is wrong")] });
    let hang = json!({ "fault": "hang" });
    let steps = [
        step(&json!({ "turn": 0, "user_contains": [PART] }), &found),
        step(&json!({ "turn": 1, "user_contains": [PART] }), &hang),
    ];
    let talk = scripted(&repo, "big_interrupt", &steps);
    let child = talk.program.command(talk.words("").split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(6);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is sent");
    let told = Told::read(&Ran::wait(child));
    assert_eq!((told.code, told.ended()), (130, "interrupted"), "{}", told.all());
    assert_eq!(told.titles(), ["Seventeen is wrong"], "{}", told.all());
    let files = files(&told);
    assert_eq!(files.len(), 300);
    assert!(files.iter().all(|(_, state, reason)| state != "reviewed" && !reason.is_empty()), "{files:?}");
    assert_eq!(units(&told, "begun").count(), 3);
    talk.server.finish();
}
