//! Everything that a model and its provider can do wrong, and how the program ends then.

use serde_json::json;

use crate::support::Program;
use crate::support::model::{NO_SERVER, Session, Wire};
use crate::support::session::{Talk, Told, shop, until_late};

const ALL: &[Wire] = &Wire::ALL;
const TEXT_INPUTS: &[Wire] = &[Wire::Messages, Wire::Responses, Wire::Chat];

/// A session, the wires it runs on, and the end that is expected.
struct Case {
    session: &'static str,
    wires: &'static [Wire],
    code: i32,
    ended: &'static str,
    /// What the reasons hold.
    reason: &'static str,
    findings: usize,
}

impl Case {
    const fn new(session: &'static str, wires: &'static [Wire], code: i32, ended: &'static str) -> Self {
        Self { session, wires, code, ended, reason: "", findings: 0 }
    }

    const fn because(self, reason: &'static str) -> Self {
        Self { reason, ..self }
    }

    const fn found(self, findings: usize) -> Self {
        Self { findings, ..self }
    }

    /// Runs on all its wires at once.
    #[track_caller]
    fn hold(&self) -> Vec<Told> {
        let repo = shop();
        std::thread::scope(|scope| {
            let run = |wire| {
                let repo = &repo;
                scope.spawn(move || (wire, Talk::about(repo, self.session, wire).ends("", self.code, self.ended)))
            };
            let runs: Vec<_> = self.wires.iter().copied().map(run).collect();
            let told = runs.into_iter().map(|run| run.join().expect("a run"));
            told.map(|(wire, told)| {
                let name = format!("{} over {wire:?}", self.session);
                assert_eq!(told.titles().len(), self.findings, "{name}: {}", told.all());
                assert!(told.reasons().contains(self.reason), "{name}: {:?} is not in {}", self.reason, told.reasons());
                let outcome = match self.code {
                    0 => "complete",
                    3 | 130 => "incomplete",
                    _ => "failed",
                };
                assert_eq!(told.review["outcome"], outcome, "{name}: {}", told.all());
                assert_eq!(told.reasons() == "[]", self.code == 0, "{name}: {}", told.reasons());
                told
            })
            .collect()
        })
    }
}

#[test]
fn what_passes_is_tried_again() {
    for (session, retries) in [
        ("busy_then_well", 2),
        ("broken_servers_then_well", 3),
        ("reset_then_well", 1),
        ("half_an_answer_then_well", 1),
        ("cut_off_then_well", 1),
        ("error_inside_then_well", 1),
    ] {
        for told in Case::new(session, ALL, 0, "finished").hold() {
            let said = told.events("retry");
            assert_eq!(said.len(), retries, "{session}: {}", told.all());
            assert_eq!(said[0]["attempt"], 2);
            assert!(!said[0]["reason"].as_str().unwrap_or_default().is_empty(), "{session}: {}", told.all());
        }
    }
}

#[test]
fn a_server_that_stays_busy_ends_with_4() {
    let case = Case::new("busy_for_good", ALL, 4, "provider_fault").because("429");
    for told in case.hold() {
        assert!(told.reasons().contains("out of credit"), "{}", told.reasons());
        assert_eq!(told.events("retry").len(), 4);
    }
}

#[test]
fn what_does_not_pass_is_not_tried_again() {
    for told in Case::new("no_entry", ALL, 4, "request_refused").because("this key is not known").hold() {
        assert!(told.events("retry").is_empty(), "{}", told.all());
    }
    Case::new("garbage", ALL, 4, "provider_fault").hold();
}

#[test]
fn what_was_proven_before_a_fault_is_delivered() {
    Case::new("found_then_refused_request", ALL, 3, "request_refused").because("no longer served").found(1).hold();
}

#[test]
fn nobody_at_the_address_ends_with_4() {
    let address = NO_SERVER;
    let repo = shop();
    let run = |wire: Wire| {
        let (key, base, path) = wire.variables();
        let mut program = Program::in_folder(repo.root()).with(base, &format!("http://{address}{path}"));
        if let Some(key) = key {
            program = program.with(key, "any");
        }
        let line = format!("--target main --format json --model {}/scripted", wire.provider());
        let ran = program.words(&line).ended(4);
        assert_eq!(ran.json()["ended"], "provider_fault");
        let reasons = ran.json()["reasons"].to_string();
        assert!(reasons.contains(address), "the address is named: {reasons}");
    };
    std::thread::scope(|scope| {
        for wire in Wire::ALL {
            let run = &run;
            scope.spawn(move || run(wire));
        }
    });
}

#[test]
fn silence_ends_with_the_deadline() {
    let repo = shop();
    // The model falls silent for good, so the limit is met whenever it is; it only has to be long enough that the model was asked before.
    let silent = |session: &str, requests: usize, wire: Wire| {
        let (talk, told) = until_late(&["2s", "10s", "1m"], requests, || Talk::about(&repo, session, wire), "");
        let verdict = talk.server.verdict();
        assert!(verdict.is_empty(), "{wire:?}: {verdict:?}\n{}", told.all());
        assert_eq!((told.code, told.ended()), (3, "deadline"), "{wire:?}: {}", told.all());
        assert!(told.reasons().contains("time limit"), "{}", told.reasons());
        assert_ne!(told.review["outcome"], "complete", "{}", told.all());
        told
    };
    std::thread::scope(|scope| {
        for wire in Wire::ALL {
            let silent = &silent;
            scope.spawn(move || silent("hang", 1, wire));
            scope.spawn(move || assert_eq!(silent("found_then_stall", 2, wire).titles().len(), 1, "{wire:?}"));
        }
    });
}

#[test]
fn an_empty_answer_is_met_once() {
    Case::new("empty_then_well", ALL, 0, "finished").hold();
    Case::new("empty_twice", ALL, 4, "empty_answer").hold();
}

#[test]
fn a_refusal_is_an_end_of_its_own() {
    // One wire has no word for it.
    let wires = &[Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini];
    Case::new("refusal", wires, 4, "refused").hold();
    Case::new("filter", wires, 4, "refused").hold();
    Case::new("found_then_refusal", wires, 3, "refused").found(1).hold();
}

#[test]
fn a_refusal_takes_back_the_calls_before_it() {
    let repo = shop();
    let session = r#"{"say": {"calls": [{"name": "finish_review", "input": {"summary": "Fine."}}], "stop": "filter"}}"#;
    let session = Session::parse("refusal_with_end", session);
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini] {
        Talk::scripted(&repo, session.clone(), wire).ends("", 4, "refused");
    }
}

#[test]
fn no_report_is_lost_because_it_stands_behind_many_calls() {
    let repo = shop();
    let mut calls = vec![json!({ "name": "list_files", "input": {} }); 70];
    let report = json!({ "title": "A discount is ten times too large", "body": "5 percent take half of the amount.",
        "severity": "high", "category": "logic", "file_path": "src/cart.py", "quote": "    rate = percent / 10" });
    calls.push(json!({ "name": "report_finding", "input": report }));
    let end = json!([{ "name": "finish_review", "input": { "summary": "One defect." } }]);
    let steps = [
        json!({ "when": { "turn": 0 }, "say": { "calls": calls } }),
        json!({ "when": { "turn": 1 }, "say": { "calls": end } }),
    ];
    let session = Session::parse("many_calls", &steps.map(|step| step.to_string()).join("\n"));
    let told = Talk::scripted(&repo, session, Wire::Chat).ends("", 0, "finished");
    assert_eq!(told.titles().len(), 1, "{}", told.all());
    assert_eq!(told.review["coverage"]["tool_errors"], 6, "{}", told.all());
}

#[test]
fn markup_that_leaks_is_never_shown() {
    Case::new("leaked_then_well", ALL, 0, "finished").hold();
    for told in Case::new("leaked_twice", ALL, 4, "leaked_markup").hold() {
        assert!(!told.review.to_string().contains("leaked words"), "{}", told.all());
    }
}

#[test]
fn an_answer_that_was_cut_is_met_again_and_again_but_not_for_ever() {
    Case::new("cut_answer_then_well", ALL, 0, "finished").hold();
    Case::new("cut_call_then_well", TEXT_INPUTS, 0, "finished").found(1).hold();
    Case::new("cut_answers", ALL, 4, "output_limit").hold();
}

#[test]
fn malformed_arguments_are_told_and_can_be_corrected() {
    let wires = &[Wire::Messages, Wire::Responses, Wire::Chat, Wire::Ollama];
    Case::new("malformed_call_is_dropped", &[Wire::Gemini], 0, "finished").hold();
    for told in Case::new("malformed_then_well", wires, 0, "finished").found(1).hold() {
        assert_eq!(told.review["coverage"]["tool_errors"], 1, "{}", told.all());
        assert_eq!(told.review["coverage"]["withheld"].as_array().map(Vec::len), Some(0), "{}", told.all());
    }
}

#[test]
fn a_tool_that_does_not_exist_is_an_error_for_the_model() {
    for told in Case::new("unknown_tool", ALL, 0, "finished").hold() {
        assert_eq!(told.review["coverage"]["tool_errors"], 1, "{}", told.all());
    }
}

#[test]
fn an_end_without_finish_review_is_met_once() {
    Case::new("no_end_then_well", ALL, 0, "finished").hold();
    Case::new("no_end", ALL, 4, "unfinished").hold();
    Case::new("found_without_end", ALL, 3, "unfinished").found(1).hold();
}
