//! `--allow-build`: a model runs the project's own tests to prove a suspicion, where the user allows it and nowhere else.

#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::build::strictest;
use crate::support::looks::{DISCOUNT, given, look, report, session};
use crate::support::model::{Session, Wire};
use crate::support::session::{Talk, Told, shop};
use review_runner::sys::process::SandboxLevel;

/// The tools that the repository declares: one that looks, and one that changes files.
const DECLARED: &str = r#"
[[tool]]
name = "prove"
description = "Prove"
command = ["sh", "prove.sh"]
parsers = ["generic"]
mutates = false

[[tool]]
name = "change"
command = ["sh", "prove.sh"]
mutates = true
"#;

/// A failing test: it names its argument, and tries to change the code.
const PROVE: &str = "echo \"src/cart.py:14: error: $1 is ten times too large\"\necho x > changed.txt\nexit 1\n";

/// The shop with these tools, as its target has them.
fn repository() -> TestRepo {
    let repo = shop();
    repo.write(".review/build.toml", DECLARED).write("prove.sh", PROVE).write(".gitignore", "changed.txt\n");
    repo.commit("Declare tools");
    repo
}

/// A talk with trusted tools.
fn talk(repo: &TestRepo, name: &str, steps: &[Value]) -> Talk {
    // What a run is called differs, so the requests of these sessions are not recorded.
    let session: Session = session(name, steps);
    let talk = Talk::in_passing(repo, session, Wire::Messages);
    talk.program.words("trust").ended(0);
    talk
}

fn step(turn: u32, when: &Value, calls: &Value) -> Value {
    let mut step = json!({ "when": when, "say": { "calls": calls } });
    step["when"]["turn"] = turn.into();
    step
}

fn build(input: &Value) -> Value {
    json!({ "name": "build", "input": input })
}

fn exec(tool: &str) -> Value {
    build(&json!({ "action": "exec", "tool": tool, "args": ["the discount"] }))
}

fn finish() -> Value {
    json!({ "name": "finish_review", "input": { "summary": "One defect." } })
}

/// A model that lists the tools, runs two, and reports with its proof.
fn proving() -> Vec<Value> {
    let mut proven = report(DISCOUNT);
    proven["input"]["build_run"] = "THE_RUN".into();
    let offered = json!({ "tools_include": ["build", "report_finding"] });
    let results = json!({ "last_results": [
        { "name": "build", "contains": ["1 tool may run here", "prove: Prove"] },
        { "name": "build", "contains": ["prove failed, run ", "src/cart.py:14: error: the discount is ten times"] },
        { "name": "build", "contains": ["changes files"] },
        { "name": "build", "contains": ["cargo.test may not run here"] },
        { "name": "build", "contains": ["is no folder of the repository"] },
    ] });
    let outside = build(&json!({ "action": "exec", "tool": "prove", "cwd": "src/absent" }));
    vec![
        step(
            0,
            &offered,
            &json!([build(&json!({ "action": "list" })), exec("prove"), exec("change"), exec("cargo.test"), outside]),
        ),
        step(1, &results, &json!([proven])),
        step(2, &json!({}), &json!([finish()])),
    ]
}

const ALLOWED: &str = "--allow-build=prove,change";

fn body(told: &Told) -> String {
    told.review["findings"][0]["body"].as_str().expect("a body").to_owned()
}

#[test]
fn a_finding_shows_the_run_that_proves_it_and_a_replay_runs_nothing() {
    let repo = repository();
    if strictest() != SandboxLevel::Strict {
        // What a model runs is held by a sandbox or not run at all.
        let refused = json!({ "last_results": [{ "name": "build", "contains": ["prove was not run"] }] });
        let steps = [step(0, &json!({}), &json!([exec("prove")])), step(1, &refused, &json!([finish()]))];
        talk(&repo, "prove_refused", &steps).ends(ALLOWED, 0, "finished");
        return;
    }
    let talk = talk(&repo, "prove", &proving());
    let told = talk.run(ALLOWED);
    assert_eq!(talk.server.verdict(), [""; 0], "{}", told.all());
    let body = body(&told);
    let run =
        body.split("`review build log ").nth(1).and_then(|rest| rest.split('`').next()).expect("a run").to_owned();
    let block = "```text\nsrc/cart.py:14: error: the discount is ten times too large\n```";
    assert!(body.contains("`prove` failed here") && body.ends_with(block), "{body}");
    let notes = told.review["coverage"]["notes"].to_string();
    assert!(notes.contains("The model ran prove (failed)"), "{notes}");
    talk.program.run(["build", "log", &run]).ended(0);
    // Recorded results are all that a replay has.
    let logs = || std::fs::read_dir(talk.program.home("state/review/builds")).expect("runs").count();
    let before = logs();
    talk.program.words("replay last").ended(0);
    assert_eq!(logs(), before, "nothing was run");
}

#[test]
fn nothing_is_offered_that_the_user_did_not_allow() {
    let repo = repository();
    let steps = [
        step(0, &json!({ "tools_exclude": ["build"] }), &json!([exec("prove")])),
        step(1, &json!({ "last_results": [{ "name": "build", "contains": ["unknown_tool"] }] }), &json!([finish()])),
    ];
    let talk = talk(&repo, "build_not_allowed", &steps);
    let told = talk.run("");
    assert_eq!(talk.server.verdict(), [""; 0], "{}", told.all());
    let unknown = talk.program.words(&talk.words("--allow-build=absent.tool"));
    assert!(unknown.code == 2 && unknown.stderr.contains("Unknown tool: absent.tool"), "{}", unknown.stderr);
    let patch = repo.root().join("x.patch");
    std::fs::write(&patch, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").expect("a patch");
    let patched = talk.program.words("--diff x.patch --model anthropic/scripted --allow-build");
    assert!(patched.code == 2 && patched.stderr.contains("needs a commit"), "{}", patched.stderr);
}

#[test]
fn a_run_that_never_was_is_no_proof() {
    let mut invented = report(DISCOUNT);
    invented["input"]["build_run"] = "0b9a9c4e-0000-4000-8000-000000000000".into();
    let steps = [
        step(0, &json!({}), &json!([invented])),
        step(
            1,
            &json!({ "last_results": [{ "name": "report_finding", "contains": ["`build_run` was dropped"] }] }),
            &json!([finish()]),
        ),
    ];
    let repo = repository();
    let talk = talk(&repo, "invented_run", &steps);
    let told = talk.run(ALLOWED);
    assert_eq!(talk.server.verdict(), [""; 0], "{}", told.all());
    assert!(!body(&told).contains("build log"));
}

#[test]
fn a_verification_may_run_them_too() {
    if strictest() != SandboxLevel::Strict {
        return;
    }
    let repo = repository();
    let mut steps =
        vec![step(0, &json!({ "tools_include": ["report_finding"] }), &json!([report(DISCOUNT), finish()]))];
    steps.push(look(DISCOUNT, 0, json!({ "calls": [exec("prove")] })));
    let mut verdict =
        look(DISCOUNT, 1, json!({ "calls": [given("confirmed", 9, "The test fails: see `src/cart.py:14`.")] }));
    verdict["when"]["last_results"] = json!([{ "name": "build", "contains": ["prove failed"] }]);
    steps.push(verdict);
    let talk = talk(&repo, "verified_by_run", &steps);
    let told = talk.run(&format!("{ALLOWED} --verify auto"));
    assert_eq!(talk.server.verdict(), [""; 0], "{}", told.all());
    assert_eq!(told.review["findings"][0]["verification"]["state"], "confirmed", "{}", told.all());
}
