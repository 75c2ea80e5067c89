//! Tests of the tool `review`, over a small repository and saved documents.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::mcp::fixture::{ServerFixture, tokens};
use crate::mcp::tool_selection::ToolSelection;

fn fields(answer: &McpToolResult) -> &Value {
    answer.structured.as_ref().unwrap_or_else(|| panic!("{answer:?}"))
}

fn text(answer: &McpToolResult) -> &str {
    answer.text.as_deref().unwrap_or_else(|| panic!("{answer:?}"))
}

#[test]
fn it_costs_a_client_few_tokens() {
    let cost = tokens(&tool(), false);
    assert!(cost <= 230, "{cost} tokens");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_started_and_its_outcome_is_told() {
    let fixture = ServerFixture::new(false);
    let answer = fixture.call_tool(&tool(), json!({ "at": "uncommitted", "wait_seconds": "60" })).await;
    let told = fields(&answer);
    assert_eq!(
        (&told["state"], &told["total"], &told["engine"]),
        (&json!("complete"), &json!(1), &json!("rules")),
        "{answer:?}"
    );
    assert_eq!(told["uri"], format!("review://{}", told["id"].as_str().unwrap()));
    assert_eq!(told["next"], json!({ "tool": "findings", "input": { "id": told["id"] } }));
    assert!(text(&answer).contains("cart.py:1"), "{}", text(&answer));
    assert!(text(&answer).starts_with("1 finding"), "{}", text(&answer));
    assert_eq!(answer.links.len(), 2);
    assert!(!answer.is_error);
    assert_says_its_fields(&answer);
    assert_eq!(told["repository"], fixture.folder.display().to_string());
    assert_eq!(
        (&told["findings"][0]["path"], &told["findings"][0]["lines"]),
        (&json!("cart.py"), &json!("1")),
        "{told}"
    );
    // The same review, named by the beginning of its id.
    let id = told["id"].as_str().unwrap();
    let again = fixture.call_tool(&tool(), json!({ "id": &id[..8] })).await;
    assert_eq!(fields(&again), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_files_is_no_pass() {
    let fixture = ServerFixture::new(false);
    let answer = fixture.call_tool(&tool(), json!({ "at": "staged", "wait_seconds": 60 })).await;
    assert!(answer.is_error && text(&answer).contains(EMPTY), "{answer:?}");
    assert_eq!(fields(&answer)["total"], 0, "it is kept all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_runs_is_told_joined_and_stopped() {
    let fixture = ServerFixture::silent();
    let input = json!({ "at": "uncommitted", "wait_seconds": 0 });
    let answer = fixture.call_tool(&tool(), input.clone()).await;
    let told = fields(&answer).clone();
    assert_eq!((&told["state"], &told["engine"]), (&json!("running"), &Value::Null), "{answer:?}");
    assert_eq!(told["next"]["tool"], "review");
    assert!(text(&answer).contains("is running"), "{}", text(&answer));
    let note = told["note"].as_str().unwrap();
    assert!(note.contains("ends with this session: wait for it") && note.contains("review --resume"), "{note}");
    assert!(told["progress"].is_string(), "{told}");
    assert_says_its_fields(&answer);
    // Uncommitted changes may differ the next time, so the review is not joined. A third one has to wait.
    let second = fixture.call_tool(&tool(), input.clone()).await;
    assert_ne!(fields(&second)["id"], told["id"]);
    let third = fixture.call_tool(&tool(), input).await;
    assert!(third.is_error && text(&third).contains("2 reviews are running already"), "{third:?}");
    for id in [&told["id"], &fields(&second)["id"]] {
        let stopped = fixture.call_tool(&tool(), json!({ "id": id, "cancel": true, "wait_seconds": 60 })).await;
        assert_eq!(fields(&stopped)["state"], "interrupted", "{stopped:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_ends_the_waiting_and_not_the_review() {
    let fixture = ServerFixture::silent();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    for input in [json!({ "at": "uncommitted", "wait_seconds": 600 }), json!({ "id": "last", "wait_seconds": 600 })] {
        let Value::Object(input) = input else { panic!() };
        let answer = (tool().call)(fixture.call_with(&tool(), input, cancelled.clone())).await;
        assert!(answer.is_error && text(&answer).contains("goes on"), "{answer:?}");
        let id: RunId = text(&answer).split("the review ").nth(1).unwrap()[..36].parse().unwrap();
        assert!(!fixture.service.snapshot(id).unwrap().state.is_over());
    }
    fixture.service.shut_down(Duration::from_mins(1)).await;
}

#[test]
fn no_call_waits_as_long_as_clients_give_up() {
    for (given, waits) in [(None, 20), (Some(0), 0), (Some(600), 45)] {
        assert_eq!(waiting_time(given), Duration::from_secs(waits), "{given:?}");
    }
    let offer = ToolSelection::new(&[], false).unwrap();
    let described = (tool().input)(NAME, &offer)["properties"]["wait_seconds"]["description"].take();
    assert!(described.as_str().unwrap().contains(&LONGEST_WAIT.to_string()), "{described}");
}

/// Checks that an answer's text says what its fields say: clients show their model one of the two.
fn assert_says_its_fields(answer: &McpToolResult) {
    let (told, text) = (fields(answer), text(answer));
    let says = |word: &Value| {
        let word = word.as_str().unwrap();
        assert!(text.contains(word), "{word:?} is missing in {text}");
    };
    for name in ["id", "state", "uri", "repository", "change", "progress", "reviewer", "note"] {
        told.get(name).filter(|field| field.is_string()).into_iter().for_each(says);
    }
    told["notes"].as_array().unwrap().iter().for_each(says);
    for finding in told["findings"].as_array().unwrap() {
        says(&finding["id"]);
        says(&finding["path"]);
        let title: String = finding["title"].as_str().unwrap().chars().take(100).collect();
        says(&title.into());
    }
    if let Some(next) = told.get("next") {
        says(&format!("Next: {} {}", next["tool"].as_str().unwrap(), next["input"]).into());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said() {
    let fixture = ServerFixture::new(false);
    for (input, said) in [
        (json!({ "cancel": true }), "needs the id"),
        (json!({ "id": "last", "at": "staged" }), "leave out target, at and rules_only"),
        (json!({ "id": "abc" }), "has the id \"abc\""),
        (json!({ "id": "last" }), "is kept yet"),
        (json!({ "repo": "/" }), "outside the folders"),
        (json!({ "at": "a..b..c" }), "is not a revision"),
        (json!({ "at": "main", "target": "x" }), ""),
        (json!({ "when": 1 }), "The fields are: repo, target"),
    ] {
        let answer = fixture.call_tool(&tool(), input.clone()).await;
        assert!(answer.is_error && answer.structured.is_none(), "{input}: {answer:?}");
        assert!(text(&answer).contains(said), "{input}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_told_whatever_it_was() {
    let fixture = ServerFixture::new(false);
    for (document, state) in [
        (&include_bytes!("../../../../fixtures/documents/typical.json")[..], "complete"),
        (include_bytes!("../../../../fixtures/documents/incomplete.json"), "incomplete"),
        (include_bytes!("../../../../fixtures/documents/failed.json"), "failed"),
        (include_bytes!("../../../../fixtures/documents/empty.json"), "complete"),
        (include_bytes!("../../../../fixtures/documents/hostile.json"), "incomplete"),
    ] {
        let id = fixture.save_review(document);
        let answer = fixture.call_tool(&tool(), json!({ "id": id.to_string() })).await;
        let told = fields(&answer);
        assert_eq!((told["id"].as_str(), answer.is_error), (Some(&*id.to_string()), state == "failed"), "{answer:?}");
        assert_eq!(told["state"], state, "{answer:?}");
        assert_eq!(told["reasons"].as_array().unwrap().is_empty(), state == "complete", "{answer:?}");
        assert!(text(&answer).lines().count() <= 22, "{}", text(&answer));
        assert_says_its_fields(&answer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_key_says_why_the_rules_reviewed() {
    for (model, rules_only, is_noted) in [("auto", false, true), ("auto", true, false), ("none", false, false)] {
        let fixture = ServerFixture::with_model(model, false);
        let input = json!({ "at": "uncommitted", "rules_only": rules_only, "wait_seconds": 45 });
        let answer = fixture.call_tool(&tool(), input).await;
        let note = fields(&answer).get("note").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(note.contains("No key of a model"), is_noted, "{model} {rules_only}: {answer:?}");
        assert_says_its_fields(&answer);
    }
}
