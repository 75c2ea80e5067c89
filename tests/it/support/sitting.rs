//! Runs of several sittings: broken off, taken up again, told again. Main functions: [`killed`], [`resumed`].

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Ran;
use super::model::Session;
use super::session::{Talk, Told, file};

/// The steps of a session of `fixtures/sessions`.
pub fn steps(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file(name)).expect("a session");
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//"));
    lines.map(|line| serde_json::from_str(line).expect("a step")).collect()
}

/// A session of these steps.
pub fn session(name: &str, steps: &[Value]) -> Session {
    let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
    Session::parse(name, &lines.join("\n"))
}

/// The same step, to which nobody answers.
pub fn hanging(step: &Value) -> Value {
    json!({ "when": step["when"], "say": { "fault": "hang" } })
}

/// These steps, before one of which the model falls silent once.
pub fn hanging_at(mut steps: Vec<Value>, at: usize) -> Vec<Value> {
    steps.insert(at, hanging(&steps[at]));
    steps
}

/// Runs the program until so many requests came, and kills it where it stands.
pub fn killed(talk: &Talk, more: &str, requests: usize) -> Ran {
    let words = talk.words(more);
    let mut child = talk.program.command(words.split_whitespace()).spawn().expect("the program starts");
    talk.server.wait_for(requests);
    child.kill().expect("it is killed");
    Ran::wait(child)
}

/// Takes the newest run up again.
#[track_caller]
pub fn resumed(talk: &Talk, more: &str, code: i32) -> Told {
    let told = Told::read(&talk.program.words(&format!("--resume last --events {more}")));
    assert_eq!(told.code, code, "{}", told.all());
    told
}

/// What it says where it refuses to.
#[track_caller]
pub fn refused(talk: &Talk, more: &str) -> String {
    let ran = talk.program.words(&format!("--resume last {more}")).ended(2);
    assert_eq!(ran.text(), "", "nothing is given out");
    let said: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(said.len(), 1, "{}", ran.stderr);
    ran.stderr
}

/// The folder of the one run that is kept.
#[track_caller]
pub fn folder(talk: &Talk) -> PathBuf {
    let mut kept = talk.program.kept();
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept.remove(0)
}

/// What may differ between two runs of the same session.
pub fn bare(told: &Told) -> Value {
    let mut review = told.review.clone();
    for field in ["/id", "/provenance/started_at", "/provenance/took_ms"] {
        *review.pointer_mut(field).unwrap_or_else(|| panic!("{field} is missing: {}", told.all())) = Value::Null;
    }
    // A server's cache knows a request that comes again, and the receipt tells of the sittings.
    review["provenance"]["usage"]["cache_read_tokens"] = Value::Null;
    review["provenance"]["usage"]["cache_write_tokens"] = Value::Null;
    review["coverage"]["notes"] = Value::Null;
    review
}
