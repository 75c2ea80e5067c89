//! Sessions with a second look: a model that reports, and what is said of each finding. Main functions: [`session`], [`verdict`].

use serde_json::{Value, json};

use super::model::Session;

/// High, of `src/cart.py`.
pub const DISCOUNT: &str = "A discount is ten times too large";
/// Critical, of `src/stock.py`.
pub const STOCK: &str = "The last items cannot be reserved";
/// Medium, of `src/cart.py`.
pub const GUARD: &str = "Negative discounts are let through";

/// How a finding of the shop is reported, with confidence 8.
pub fn report(title: &str) -> Value {
    let (severity, file, quote) = match title {
        DISCOUNT => ("high", "src/cart.py", "    rate = percent / 10"),
        STOCK => ("critical", "src/stock.py", "    if stock[name] <= count:"),
        _ => ("medium", "src/cart.py", "    return amount * rate"),
    };
    json!({ "name": "report_finding", "input": {
        "title": title, "body": "It goes wrong.", "severity": severity, "category": "logic", "file_path": file, "quote": quote, "confidence": 8 } })
}

/// The steps of a model that reports these in one turn and finishes in the next.
pub fn reporting(titles: &[&str]) -> Vec<Value> {
    let calls: Vec<Value> = titles.iter().map(|title| report(title)).collect();
    let when = |turn: u32| json!({ "turn": turn, "tools_include": ["report_finding", "finish_review"] });
    vec![
        json!({ "when": when(0), "say": { "calls": calls } }),
        json!({ "when": when(1), "say": { "calls": [{ "name": "finish_review", "input": { "summary": "Some defects." } }] } }),
    ]
}

/// A step of the second look at a finding.
pub fn look(title: &str, turn: u32, say: Value) -> Value {
    let when = json!({ "turn": turn, "tools_include": ["give_verdict"], "tools_exclude": ["report_finding", "finish_review"], "user_contains": [title] });
    let mut step = json!({ "when": when });
    step["say"] = say;
    step
}

/// The same with a call.
pub fn verdict(title: &str, turn: u32, word: &str, confidence: u32, rationale: &str) -> Value {
    look(title, turn, json!({ "calls": [given(word, confidence, rationale)] }))
}

/// A call of the tool for verdicts.
pub fn given(word: &str, confidence: u32, rationale: &str) -> Value {
    json!({ "name": "give_verdict", "input": {
        "questions": [{ "question": "Is it so?", "answer": "It is." }],
        "verdict": word, "confidence": confidence, "rationale": rationale } })
}

/// A session of these steps.
pub fn session(name: &str, steps: &[Value]) -> Session {
    let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
    Session::parse(name, &lines.join("\n"))
}
