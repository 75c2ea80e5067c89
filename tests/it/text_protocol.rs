//! Models that cannot call tools, or whose calls never arrive: the same review, in the text protocol.

use crate::support::model::Wire;
use crate::support::session::{Talk, Told, shop};

/// Runs a session on every wire.
#[track_caller]
fn on_all(session: &str, name: &str, code: i32, ended: &str) -> Vec<Told> {
    let repo = shop();
    std::thread::scope(|scope| {
        let run = |wire| {
            let repo = &repo;
            scope.spawn(move || Talk::named(repo, session, name, wire).ends("", code, ended))
        };
        let runs: Vec<_> = Wire::ALL.into_iter().map(run).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    })
}

fn notes(told: &Told) -> String {
    told.review["coverage"]["notes"].to_string()
}

#[test]
fn a_model_whose_server_takes_no_tools_reviews_in_the_text() {
    for told in on_all("text_without_tools", "text_without_tools", 0, "finished") {
        assert_eq!(told.titles(), ["A discount is ten times too large"], "{}", told.all());
        let body = told.review["findings"][0]["body"].as_str().unwrap_or_default();
        assert_eq!(body, "5 percent take half of the amount.\n\nDivide by 100.");
        assert_eq!(told.review["summary"]["text"], "One defect.\n\nThe rest is well.");
        assert!(told.review.to_string().contains("called its tools in the text"), "{}", notes(&told));
    }
}

#[test]
fn calls_that_leak_twice_are_written_in_the_text_from_then_on() {
    for told in on_all("leaked_then_text", "leaked_then_text", 0, "finished") {
        assert_eq!(told.titles().len(), 1, "{}", told.all());
        assert!(!told.review.to_string().contains("leaked words"), "{}", told.all());
    }
}

#[test]
fn a_call_without_its_end_is_told_and_results_that_are_made_up_count_for_nothing() {
    for told in on_all("text_without_end", "text_without_end", 0, "finished") {
        assert_eq!(told.titles().len(), 1, "{}", told.all());
        assert!(!told.review.to_string().contains("Made up"), "{}", told.all());
        assert_eq!(told.review["coverage"]["withheld"].as_array().map_or(0, Vec::len), 0, "{}", told.all());
    }
}

#[test]
fn calls_that_cannot_be_read_are_written_in_the_text_from_then_on() {
    let repo = shop();
    // Gemini and Ollama have no way to say something else than an object.
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat] {
        let told = Talk::about(&repo, "malformed_then_text", wire).ends("", 0, "finished");
        assert_eq!(told.titles().len(), 1, "{}", told.all());
    }
}

#[test]
fn a_refusal_in_its_own_words_is_no_review() {
    for told in on_all("declined_twice", "declined_twice", 4, "refused") {
        assert_eq!(told.review["outcome"], "failed");
        assert!(told.reasons().contains("will not"), "{}", told.reasons());
    }
}
