//! Models with small windows: what still works, and how it ends where nothing does.

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told, shop};

/// A change of about nine thousand tokens.
fn ten_files() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("README.md", "Many.\n").commit("Begin");
    repo.branch("feature");
    for n in 0..10 {
        let line = |line| format!("value_{line} = {n} * {line}  # a line that has no meaning\n");
        repo.write(format!("src/part{n}.py"), (0..60).map(line).collect::<String>());
    }
    repo.commit("Add ten files");
    repo
}

/// Reads a file first where it may, and then ends.
fn told(repo: &TestRepo, window: u32, more: &str) -> (i32, Told) {
    let end = json!({ "calls": [{ "name": "finish_review", "input": { "summary": "All is well." } }] });
    let read = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "README.md" } }] });
    let steps = [
        json!({ "reuse": true, "when": { "turn": 0 }, "say": read }),
        json!({ "reuse": true, "when": { "turn": 1 }, "say": end }),
        json!({ "reuse": true, "when": { "turn": 2 }, "say": end }),
    ];
    // Its requests are saved under its name, so tests that run at once need names of their own.
    let test = std::thread::current().name().unwrap_or("window").replace("::", "_");
    let name = format!("{test}_{window}_{}", more.replace([' ', '-'], ""));
    let session = Session::parse(&name, &steps.map(|step| step.to_string()).join("\n"));
    let settings = format!("[ollama]\ncontext_window = {window}\n");
    let talk = Talk::scripted(repo, session, Wire::Ollama).with_settings(&settings);
    let told = talk.run(more);
    for raw in talk.server.raw() {
        let body: Value = serde_json::from_slice(&raw.body).expect("JSON");
        let most = body["options"]["num_predict"].as_u64().expect("a limit");
        // Two bytes a token is more than any tokenizer needs for English and code.
        assert!(raw.body.len() as u64 / 4 + most < u64::from(window), "{window}: {} + {most}", raw.body.len() / 4);
    }
    talk.server.finish();
    (told.code, told)
}

#[test]
fn an_ordinary_change_is_reviewed_with_an_ordinary_local_window() {
    for (repo, window) in [(shop(), 16_000), (shop(), 32_000), (ten_files(), 32_000)] {
        let (code, told) = told(&repo, window, "");
        assert_eq!((code, told.ended()), (0, "finished"), "{window}: {}", told.all());
        assert_eq!(told.review["provenance"]["turns"], 2);
        assert_eq!(told.review["coverage"]["tool_errors"], 0, "there is room to read: {}", told.all());
    }
}

#[test]
fn a_large_file_can_be_read_in_parts_in_a_small_window() {
    let repo = shop();
    let line = |line| format!("value_{line} = {line}  # a line that has no meaning\n");
    repo.write("src/large.py", (0..4_000).map(line).collect::<String>()).commit("Add a large file");
    repo.git(["branch", "-f", "main", "HEAD"]);
    repo.write("src/stock.py", "def reserve():\n    return 1\n").commit("Simplify");
    let read = json!({ "calls": [{ "name": "read_file_part", "input": { "file_path": "src/large.py" } }] });
    let end = json!({ "calls": [{ "name": "finish_review", "input": { "summary": "All is well." } }] });
    let shown = json!([{ "name": "read_file_part", "contains": ["value_9 = 9"], "is_error": false }]);
    let steps = [
        json!({ "when": { "turn": 0 }, "say": read }),
        json!({ "when": { "turn": 1, "last_results": shown }, "say": end }),
    ];
    let session = Session::parse("large_file", &steps.map(|step| step.to_string()).join("\n"));
    let settings = "[ollama]\ncontext_window = 32000\n";
    Talk::scripted(&repo, session, Wire::Ollama).with_settings(settings).ends("", 0, "finished");
}

#[test]
fn what_does_not_fit_a_small_window_is_named() {
    let (code, told) = told(&ten_files(), 8_000, "");
    assert_eq!((code, &told.review["outcome"] == "complete"), (3, false), "{}", told.all());
    assert!(told.reasons().contains("src/part"), "{}", told.reasons());
}

#[test]
fn what_does_not_fit_a_small_window_at_once_is_reviewed_in_parts() {
    let (code, told) = told(&ten_files(), 16_000, "");
    assert_eq!((code, told.ended()), (0, "finished"), "{}", told.all());
    assert_eq!((told.events("unit").len(), told.events("second_look").len()), (10, 0), "five parts begin and end");
}

#[test]
fn a_window_that_cannot_hold_the_prompts_is_an_error_with_advice() {
    let repo = shop();
    let program = crate::support::Program::in_folder(repo.root()).with_settings("[ollama]\ncontext_window = 4000\n");
    let ran = program.words("--target main --model ollama/x").ended(2);
    assert!(ran.stderr.contains("use a model with a larger window"), "{}", ran.stderr);
}

#[test]
fn limits_that_leave_one_turn_are_said() {
    for (more, ended) in [("--max-tokens 9000", "token_limit"), ("--max-turns 1", "turn_limit")] {
        let (code, told) = told(&shop(), 200_000, more);
        assert_eq!((code, told.ended()), (3, ended), "{more}: {}", told.all());
        assert_eq!(told.review["coverage"]["limits_hit"].as_array().map(Vec::len), Some(1), "{}", told.all());
    }
    assert_eq!(json!(told(&shop(), 200_000, "--timeout 5m").1.ended()), "finished");
}
