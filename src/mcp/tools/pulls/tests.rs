//! Tests of the descriptions of the tools about pull requests, and of inputs that name nothing. Their results are tested against a fake
//! forge.

use super::*;
use crate::mcp::fixture::{ServerFixture, tokens};
use crate::mcp::tool_selection::ToolSelection;

#[test]
fn they_are_offered_together_or_by_name_and_never_unasked() {
    let names = |words: &[&str]| -> Vec<&'static str> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        ToolSelection::new(&words, false).unwrap().tools().iter().map(|tool| tool.name).collect()
    };
    let all: Vec<&str> = rows().map(|tool| tool.name).collect();
    assert_eq!(all, ["pr_summary", "pr_list", "pr_get", "pr_changes", "pr_list_prs", "pr_resolve"]);
    assert_eq!(names(&["pr"]), all);
    assert_eq!(names(&["default", "pr"]), [names(&[]), all.clone()].concat());
    assert_eq!(names(&["pr", "-pr_resolve"]), all[..5]);
    assert_eq!(names(&["pr_list"]), ["pr_list"]);
    assert!(!names(&[]).iter().any(|name| all.contains(name)));
}

#[test]
fn who_may_read_pull_requests_follows_from_what_is_offered() {
    let serves = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let offer = ToolSelection::new(&words, false).unwrap();
        (offer.serves_pulls(false), offer.serves_pulls(true))
    };
    assert_eq!(serves(&[]), (true, false), "the one client that starts the server; not whoever connects");
    assert_eq!(serves(&["default", "pr"]), (true, true));
    assert_eq!(serves(&["default", "pr_list"]), (true, true));
    assert_eq!(serves(&["all"]), (true, true));
    assert_eq!(serves(&["-pr"]), (false, false));
    assert_eq!(serves(&["default", "-review"]), (true, false));
}

#[test]
fn they_say_that_they_only_read_and_cost_little() {
    for tool in rows() {
        for allow_write in [false, true] {
            let offer = ToolSelection::new(&[GROUP.to_owned()], allow_write).unwrap();
            let settles = allow_write && tool.name == "pr_resolve";
            assert_eq!(
                (tool.hints)(&offer),
                if settles { ToolHints::Settles } else { ToolHints::Asks },
                "{}",
                tool.name
            );
        }
        assert!(tokens(&tool, true) <= 340, "{} costs {}", tool.name, tokens(&tool, true));
        let schema = (tool.input)(tool.name, &ToolSelection::new(&[], false).unwrap());
        assert_eq!(schema["additionalProperties"], false, "{schema}");
        let first: Vec<&String> = schema["properties"].as_object().unwrap().keys().take(2).collect();
        assert_eq!(first, ["owner", "repo"], "{schema}");
    }
}

#[tokio::test]
async fn what_names_nothing_is_told_as_programs_read_it() {
    let fixture = ServerFixture::new(false);
    for (name, input, kind, word) in [
        ("pr_summary", json!({}), "invalid_input", "which pull request"),
        ("pr_summary", json!({ "pr": 0 }), "invalid_input", "`pr`"),
        ("pr_summary", json!({ "pr": 12.5 }), "invalid_input", "`pr`"),
        ("pr_summary", json!({ "pr": [1] }), "invalid_input", "`pr`"),
        ("pr_summary", json!({ "pr": 7, "owner": "a" }), "invalid_input", "`owner` needs `repo`"),
        ("pr_summary", json!({ "pr": 7, "owner": "a b", "repo": "c" }), "invalid_input", "names no repository"),
        ("pr_summary", json!({ "pr": "a/b#7", "owner": "c" }), "invalid_input", "another repository"),
        ("pr_summary", json!({ "pr": "a/b#7", "repo": "c/d" }), "invalid_input", "another repository"),
        ("pr_summary", json!({ "pr": "https://example.com/a/b/pull/7" }), "invalid_input", "example.com"),
        ("pr_summary", json!({ "pr": 7 }), "invalid_input", "`owner` and `repo` are left out"),
        ("pr_summary", json!({ "pr": 7, "x": 1 }), "invalid_input", "The fields are: owner, repo, pr"),
        ("pr_list", json!({ "pr": 7, "filter": { "severity": "bad" } }), "invalid_input", "CRIT, MAJOR"),
        ("pr_list", json!({ "pr": 7, "filter": { "x": 1 } }), "invalid_input", "filter"),
        ("pr_get", json!({ "pr": 7 }), "invalid_input", "id"),
        ("pr_list_prs", json!({ "pr": 7 }), "invalid_input", "The fields are: owner, repo, state"),
        ("pr_list_prs", json!({ "owner": "a", "repo": "b", "state": "done" }), "invalid_input", "OPEN, CLOSED"),
        ("pr_resolve", json!({ "pr": "a/b#7", "threadId": "x" }), "read_only", "may not change"),
        ("pr_summary", json!({ "pr": "a/b#7" }), "auth", ""),
    ] {
        let tool = rows().find(|tool| tool.name == name).unwrap();
        let answer = fixture.call_tool(&tool, input.clone()).await;
        let told: Value = serde_json::from_str(answer.text.as_deref().unwrap()).unwrap();
        let error = &told["error"];
        assert!(answer.is_error && told["success"] == false, "{name} {input}: {told}");
        assert_eq!(error["kind"], kind, "{name} {input}: {told}");
        assert!(error["message"].as_str().unwrap().contains(word), "{name} {input}: {told}");
        assert!(error["retryable"].is_boolean() && error.get("correlation_id").is_some(), "{told}");
        assert!(!error["user_action"].as_str().unwrap().is_empty(), "{told}");
    }
}
