//! Tests of the tool `review`, over a small repository and saved documents.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::mcp::fixture::{ServerFixture, tokens};

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
async fn whoever_started_a_review_and_is_gone_stops_it_and_a_listener_does_not() {
    let fixture = ServerFixture::silent();
    let begun = fixture.call_tool(&tool(), json!({ "at": "uncommitted", "wait_seconds": 0 })).await;
    let id: RunId = fields(&begun)["id"].as_str().unwrap().parse().unwrap();
    let Value::Object(listening) = json!({ "id": id.to_string(), "wait_seconds": 60 }) else { panic!() };
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let answer = (tool().call)(fixture.call_with(&tool(), listening, cancelled.clone())).await;
    assert!(answer.is_error && text(&answer).contains("the review goes on"), "{answer:?}");
    assert!(!fixture.service.snapshot(id).unwrap().state.is_over());
    let Value::Object(starting) = json!({ "at": "uncommitted", "wait_seconds": 60 }) else { panic!() };
    let answer = (tool().call)(fixture.call_with(&tool(), starting, cancelled)).await;
    assert!(text(&answer).contains("is being stopped"), "{answer:?}");
    let own: RunId = text(&answer).rsplit_once('(').unwrap().1.trim_end_matches(')').parse().unwrap();
    let snapshot = fixture.service.wait_review(own, Duration::from_mins(1), |_| {}).await.unwrap();
    assert!(snapshot.state.is_over(), "{snapshot:?}");
    assert!(!fixture.service.snapshot(id).unwrap().state.is_over());
    fixture.service.shut_down(Duration::from_mins(1)).await;
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
        assert!(text(&answer).lines().count() <= 20, "{}", text(&answer));
    }
}
