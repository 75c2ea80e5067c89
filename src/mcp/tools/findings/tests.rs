//! Tests of the tool `findings`, over saved documents.

use serde_json::json;

use super::*;
use crate::mcp::fixture::{ServerFixture, tokens};

const TYPICAL: &[u8] = include_bytes!("../../../../fixtures/documents/typical.json");

fn fields(answer: &McpToolResult) -> &Value {
    answer.structured.as_ref().unwrap_or_else(|| panic!("{answer:?}"))
}

fn said(answer: &McpToolResult) -> &str {
    assert!(answer.is_error && answer.structured.is_none(), "{answer:?}");
    answer.text.as_deref().unwrap_or_default()
}

#[test]
fn it_costs_a_client_few_tokens() {
    let (read, write) = (tokens(&tool(), false), tokens(&tool(), true));
    assert!(read <= 180 && write <= 200, "{read} and {write} tokens");
}

#[test]
fn dismissing_is_offered_only_where_it_is_done() {
    let fields = |allow_write| {
        let schema = (tool().input)(NAME, &ToolSelection::new(&[], allow_write).unwrap());
        schema["properties"].as_object().unwrap().contains_key("dismiss")
    };
    assert_eq!((fields(false), fields(true)), (false, true));
}

#[tokio::test]
async fn findings_are_listed_worst_first_and_in_parts() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let all = fixture.call_tool(&tool(), json!({})).await;
    let listed = fields(&all)["findings"].as_array().unwrap().clone();
    assert_eq!(
        (fields(&all)["total"].as_u64(), fields(&all)["id"].as_str()),
        (Some(listed.len() as u64), Some(&*id.to_string()))
    );
    assert!(listed.len() >= 3, "{listed:?}");
    let mut paged = Vec::new();
    let mut next = json!({ "limit": 1 });
    loop {
        let part = fixture.call_tool(&tool(), next).await;
        paged.extend(fields(&part)["findings"].as_array().unwrap().clone());
        let Some(call) = fields(&part).get("next") else { break };
        assert_eq!(call["tool"], NAME);
        next = call["input"].clone();
    }
    assert_eq!(paged, listed);
    insta::assert_json_snapshot!(fields(&all));
}

#[tokio::test]
async fn findings_are_narrowed_by_severity_and_path() {
    let fixture = ServerFixture::new(false);
    fixture.save_review(TYPICAL);
    let found = async |input: Value| -> Vec<(String, String)> {
        let answer = fixture.call_tool(&tool(), input).await;
        let found = fields(&answer)["findings"].as_array().unwrap().iter();
        let word = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        found.map(|one| (word(one, "severity"), word(one, "path"))).collect()
    };
    let pair = |severity: &str, path: &str| (severity.to_owned(), path.to_owned());
    let high = [pair("critical", "src/config.py"), pair("high", "src/storage/client.rs")];
    assert_eq!(found(json!({ "severity": "HIGH" })).await, high);
    let web = [pair("low", "web/app.ts"), pair("nit", "web/app.ts")];
    for path in ["web/app.ts", "./web/app.ts", "web/", "web", "*.ts", "web/**"] {
        assert_eq!(found(json!({ "path": path })).await, web, "{path}");
    }
    assert_eq!(found(json!({ "path": "web", "severity": "high" })).await, []);
    let none = fixture.call_tool(&tool(), json!({ "path": "web", "severity": "high" })).await;
    let all = fixture.call_tool(&tool(), json!({})).await;
    assert!(fields(&all).get("note").is_none(), "{all:?}");
    let note = format!("{} of the review's findings are not asked for", fields(&all)["total"]);
    assert!(fields(&none)["note"].as_str().unwrap().starts_with(&note), "no finding is no pass: {none:?}");
    assert!(said(&fixture.call_tool(&tool(), json!({ "severity": "blocker" })).await).contains("critical, high"));
    assert!(said(&fixture.call_tool(&tool(), json!({ "path": "a[" })).await).contains("glob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn older_findings_do_not_pass_for_those_of_a_review_that_runs() {
    let fixture = ServerFixture::silent();
    let old = fixture.save_review(TYPICAL);
    let start = crate::app::StartReview { at: Some("uncommitted".to_owned()), ..Default::default() };
    let running = fixture.service.start_review(&start).unwrap().id;
    let latest = fixture.call_tool(&tool(), json!({})).await;
    let note = fields(&latest)["note"].as_str().unwrap();
    assert!(note.contains(&format!("{running} is still running")), "{note}");
    let named = fixture.call_tool(&tool(), json!({ "id": old.to_string() })).await;
    assert!(fields(&named).get("note").is_none(), "{named:?}");
    fixture.service.shut_down(std::time::Duration::from_secs(30)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_review_is_named_while_it_runs() {
    let fixture = ServerFixture::silent();
    let start = crate::app::StartReview { at: Some("uncommitted".to_owned()), ..Default::default() };
    let running = fixture.service.start_review(&start).unwrap().id;
    let answer = fixture.call_tool(&tool(), json!({})).await;
    assert!(said(&answer).contains(&format!("the review {running} is still running")), "{answer:?}");
    assert!(said(&answer).contains("wait for it with the tool review"), "{answer:?}");
    fixture.service.shut_down(std::time::Duration::from_secs(30)).await;
}

#[tokio::test]
async fn a_page_ends_where_clients_cut_and_the_next_one_goes_on_there() {
    let fixture = ServerFixture::new(false);
    let mut review: Value = serde_json::from_slice(TYPICAL).unwrap();
    let one = review["findings"][0].clone();
    let many = (0..90).map(|number| {
        let mut finding = one.clone();
        finding["id"] = format!("{number:012x}").into();
        finding["title"] = format!("{} {number}", "A title of two hundred characters. ".repeat(6)).into();
        finding
    });
    review["findings"] = many.collect();
    fixture.save_review(review.to_string().as_bytes());
    let (mut input, mut ids, mut pages) = (json!({ "limit": 100 }), Vec::new(), 0);
    loop {
        let answer = fixture.call_tool(&tool(), input).await;
        let page = fields(&answer);
        ids.extend(page["findings"].as_array().unwrap().iter().map(|line| line["id"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(next) = page.get("next") else { break };
        input = next["input"].clone();
    }
    let expected: Vec<String> = (0..90).map(|number| format!("{number:012x}")).collect();
    assert!(pages > 1, "one page");
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn one_is_shown_whole() {
    let fixture = ServerFixture::new(false);
    fixture.save_review(TYPICAL);
    let review: Value = serde_json::from_slice(TYPICAL).unwrap();
    for finding in review["findings"].as_array().unwrap() {
        let answer = fixture.call_tool(&tool(), json!({ "finding": finding["id"] })).await;
        let shown = &fields(&answer)["finding"];
        assert_eq!(shown["body"], finding["body"]);
        assert_eq!(shown["anchors"], finding["anchors"]);
        assert_eq!(shown.get("diff").is_some(), !finding["suggestion"].is_null(), "{shown:#}");
        assert_eq!(answer.links[0].uri, fields(&answer)["uri"].as_str().unwrap());
    }
    let none = fixture.call_tool(&tool(), json!({ "finding": "0" })).await;
    assert!(said(&none).contains("has no finding \"0\": it has "), "{none:?}");
}

#[tokio::test]
async fn one_is_named_by_the_beginning_of_its_id() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let whole = fixture.service.review(id).unwrap().findings[0].id.to_string();
    let answer = fixture.call_tool(&tool(), json!({ "finding": whole[..6] })).await;
    assert_eq!(fields(&answer)["finding"]["id"], *whole, "{answer:?}");
    assert!(
        said(&fixture.call_tool(&tool(), json!({ "finding": "" , "dismiss": "x" })).await).contains("needs the id")
    );
}

#[tokio::test]
async fn a_dismissed_finding_asks_for_nothing_any_more() {
    let fixture = ServerFixture::new(true);
    let id = fixture.save_review(TYPICAL);
    let before = fixture.service.review(id).unwrap();
    let worst = before.findings[0].id.to_string();
    let mut listener = fixture.service.notifier().subscribe();
    let dismissal = json!({ "finding": worst, "dismiss": "it is\nmeant so" });
    let answer = fixture.call_tool(&tool(), dismissal.clone()).await;
    assert_eq!(fields(&answer)["finding"]["status"], "dismissed", "{answer:?}");
    assert_eq!(listener.try_recv().map(|(_, changed)| changed), Ok(crate::app::ChangeNotice::Review(id)));
    let after = fixture.service.review(id).unwrap();
    assert_eq!(after.unresolved().count() + 1, before.unresolved().count());
    assert_eq!(after.coverage.dismissed, before.coverage.dismissed + 1);
    assert!(
        after.coverage.notes.contains(&format!("The finding {worst} was dismissed: it is meant so")),
        "{:?}",
        after.coverage.notes
    );
    assert!(said(&fixture.call_tool(&tool(), dismissal).await).contains("dismissed already"));
    for (input, why) in [
        (json!({ "dismiss": "because" }), "needs the id of a finding"),
        (json!({ "finding": "0", "dismiss": "because" }), "has no finding"),
        (json!({ "finding": before.findings[1].id.to_string(), "dismiss": { "reason": " " } }), "1 to 500"),
    ] {
        let answer = fixture.call_tool(&tool(), input).await;
        assert!(said(&answer).contains(why), "{answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_only_reads_says_how_to_start_one_that_writes() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review(TYPICAL);
    let finding = fixture.service.review(id).unwrap().findings[0].id.to_string();
    let answer = fixture.call_tool(&tool(), json!({ "finding": finding, "dismiss": "because" })).await;
    assert!(said(&answer).contains("--allow-write"), "{answer:?}");
    assert_eq!(fixture.service.review(id).unwrap().coverage.dismissed, 0);
}

#[tokio::test]
async fn reviews_of_other_repositories_are_not_shown() {
    let fixture = ServerFixture::new(false);
    let id = fixture.save_review_of(TYPICAL, std::path::Path::new("/"), "2026-01-01T00:00:00.000Z");
    for given in [id.to_string(), id.to_string()[..8].to_owned()] {
        let answer = fixture.call_tool(&tool(), json!({ "id": given })).await;
        assert!(said(&answer).contains("no review of the repositories this server may look in"), "{answer:?}");
    }
    assert!(said(&fixture.call_tool(&tool(), json!({})).await).contains("is kept yet"));
}
