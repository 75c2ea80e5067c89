//! `--economy`: the turns of all reviews by message batches of the provider, at half the price.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::looks::session;
use crate::support::model::{BatchPlan, Options, Server, Wire};
use crate::support::{Program, Ran, TestRepo};

/// A repository with `main` and two branches of one commit each.
fn repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README", "read me\n").commit("begin");
    for name in ["a", "b"] {
        repo.git(["checkout", "-q", "-b", name, "main"]);
        repo.write(format!("{name}.py"), format!("def add_{name}():\n    return 1\n")).commit(&format!("add {name}"));
    }
    repo.git(["checkout", "-q", "main"]);
    repo
}

/// A model that says what each turn takes, and has so many of them.
fn server(name: &str, wire: Wire, turns: u32, batches: Option<BatchPlan>) -> Server {
    let usage = json!({ "input": 10_000, "cached": 0, "written": 0, "output": 1_000 });
    let finish =
        json!({ "name": "finish_review", "input": { "summary": "Read.", "no_findings_reason": "It was read." } });
    let read = json!({ "name": "list_files", "input": { "path": "." } });
    let step = |turn: u32| {
        let call = if turn + 1 == turns { &finish } else { &read };
        json!({ "when": { "turn": turn }, "say": { "calls": [call], "usage": usage }, "reuse": true })
    };
    let steps: Vec<Value> = (0..turns).map(step).collect();
    Server::start(session(name, &steps), Options { wire: Some(wire), batches, ..Options::default() })
}

fn talking(folder: &Path, server: &Server, wire: Wire) -> Program {
    let program = Program::in_folder(folder).with("REVIEW_VERIFY", "none").with("REVIEW_MAX_TOKENS", "90000000");
    let table = program.home("config/review/providers.toml");
    std::fs::create_dir_all(table.parent().expect("a folder")).expect("a settings folder");
    let model = "[[provider.model]]\nname = \"scripted\"\nprices = { input = 300, output = 1500, on = 2026-11-01 }\n";
    std::fs::write(table, format!("[[provider]]\nname = \"{}\"\n{model}", wire.provider())).expect("a table");
    program.with_all(server.environment(wire))
}

fn command(wire: Wire, words: &str) -> String {
    format!("batch --all-branches --target main --model {}/scripted --format json {words}", wire.provider())
}

/// The sources of the reviews, all of which are complete.
fn sources(index: &Value) -> Vec<&str> {
    let rows = index["reviews"].as_array().expect("rows").iter();
    rows.map(|row| {
        assert_eq!(row["outcome"], "complete", "{index}");
        row["source"].as_str().expect("a source")
    })
    .collect()
}

fn dollars(value: &Value) -> u64 {
    let dollars = value.as_f64().expect("an amount");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few dollars in cents")]
    let cents = (dollars * 100.0).round() as u64;
    cents
}

#[test]
fn every_batch_api_answers_at_half_the_price_though_some_requests_fail_and_results_are_in_no_order() {
    let repo = repository();
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat] {
        let normal = server("economy_normal", wire, 2, None);
        let index = talking(repo.root(), &normal, wire).words(&command(wire, "-q")).ended(0).json();
        assert_eq!((sources(&index), &index["economy"]), (vec!["reviewed"; 2], &Value::Null));
        assert_eq!(dollars(&index["totals"]["cost_usd"]), 4 * 450, "{index}");
        normal.finish();

        let faults = vec![(0, "expired"), (2, "errored")];
        let cheap = server("economy_cheap", wire, 2, Some(BatchPlan { faults, ..BatchPlan::default() }));
        let index = talking(repo.root(), &cheap, wire).words(&command(wire, "--economy -q")).ended(0).json();
        assert_eq!(sources(&index), vec!["reviewed"; 2]);
        let economy = &index["economy"];
        assert_eq!(
            (dollars(&economy["cost_usd"]), dollars(&economy["normal_cost_usd"])),
            (4 * 225, 4 * 450),
            "{index}"
        );
        assert_eq!((&economy["turns"], &economy["unknown_costs"]), (&json!(4), &json!(0)), "{index}");
        assert_eq!(dollars(&index["totals"]["cost_usd"]), 4 * 225, "{index}");
        let sizes = cheap.batch_sizes();
        assert_eq!(sizes.iter().sum::<usize>(), 4 + 2, "{sizes:?}");
        assert_eq!(economy["batches"], json!(sizes.len()));
        assert!(cheap.asked().iter().all(|asked| !asked.stream), "nothing came alone");
        cheap.finish();
    }
}

#[test]
fn a_request_whose_result_is_missing_is_sent_again() {
    let repo = repository();
    let server = server(
        "economy_lost",
        Wire::Messages,
        1,
        Some(BatchPlan { faults: vec![(1, "lost")], ..BatchPlan::default() }),
    );
    let index =
        talking(repo.root(), &server, Wire::Messages).words(&command(Wire::Messages, "--economy -q")).ended(0).json();
    assert_eq!(sources(&index), vec!["reviewed"; 2]);
    assert_eq!(server.batch_sizes().iter().sum::<usize>(), 3);
    server.finish();
}

#[test]
fn a_provider_without_batches_answers_turn_by_turn_and_is_named_once() {
    let repo = repository();
    for (wire, plan, words) in [
        (
            Wire::Messages,
            Some(BatchPlan { is_missing: true, ..BatchPlan::default() }),
            "anthropic has no message batches",
        ),
        (Wire::Gemini, None, "gemini/scripted has no message batches"),
    ] {
        let server = server("economy_none", wire, 2, plan);
        let ran = talking(repo.root(), &server, wire).words(&command(wire, "--economy")).ended(0);
        let index = ran.json();
        assert_eq!(sources(&index), vec!["reviewed"; 2]);
        assert_eq!(
            (&index["economy"]["turns"], dollars(&index["totals"]["cost_usd"])),
            (&json!(0), 4 * 450),
            "{index}"
        );
        assert_eq!(ran.stderr.matches(words).count(), 1, "{}", ran.stderr);
        server.finish();
    }
}

#[test]
fn a_worker_sends_its_turns_in_batches_and_says_what_that_saved() {
    let repo = repository();
    let server = server("economy_worker", Wire::Messages, 1, Some(BatchPlan::default()));
    let program = talking(repo.root(), &server, Wire::Messages);
    program.words("queue add --all-branches --target main").ended(0);
    let ran = program.words("worker --economy --until-empty --model anthropic/scripted").ended(0);
    assert!(ran.stderr.contains("of message batches cost $4.50 instead of $9.00"), "{}", ran.stderr);
    assert_eq!(server.batch_sizes().iter().sum::<usize>(), 2);
    server.finish();
}

#[test]
fn a_batch_that_was_submitted_before_the_program_was_killed_is_not_paid_again() {
    let repo = repository();
    let server = server("economy_killed", Wire::Messages, 1, Some(BatchPlan::default()));
    server.hold_batches(true);
    let program = talking(repo.root(), &server, Wire::Messages);
    let line = command(Wire::Messages, "--economy --resume -q");
    let mut child = program.command(line.split_whitespace()).spawn().expect("the program starts");
    let folder = program.home("state/review/message_batches");
    let recorded = || {
        let files = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        // A record that is being written has another name.
        let files = files.filter(|file| file.file_name().to_string_lossy().ends_with(".json"));
        let records = files.filter_map(|file| serde_json::from_slice::<Value>(&std::fs::read(file.path()).ok()?).ok());
        records.filter_map(|record| Some(record["items"].as_array()?.len())).sum::<usize>()
    };
    while recorded() < 2 {
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("it is killed");
    Ran::wait(child);
    server.hold_batches(false);
    let index = program.words(&line).ended(0).json();
    assert_eq!(sources(&index), vec!["resumed"; 2]);
    assert_eq!(server.batch_sizes().iter().sum::<usize>(), 2, "each request was submitted once");
    assert_eq!((&index["economy"]["turns"], &index["economy"]["batches"]), (&json!(2), &json!(0)), "{index}");
    assert_eq!(recorded(), 0, "nothing is left to be picked up");
    server.finish();
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_batches_at_the_provider() {
    let repo = repository();
    let server = server("economy_interrupted", Wire::Messages, 1, Some(BatchPlan::default()));
    server.hold_batches(true);
    let program = talking(repo.root(), &server, Wire::Messages);
    let line = command(Wire::Messages, "--economy");
    let child = program.command(line.split_whitespace()).spawn().expect("the program starts");
    server.wait_for_batched(2);
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("an id");
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    Ran::wait(child).ended(130);
    assert_eq!(server.canceled_batches().len(), server.batch_sizes().len());
    server.finish();
}
