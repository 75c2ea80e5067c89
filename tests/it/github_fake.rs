//! The fake GitHub itself: what the tests that stand on it may believe.

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::github::{Fake, TOKEN, demo};

/// A request by hand: its status and its body.
fn ask(fake: &Fake, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(fake.url().trim_start_matches("http://")).await.unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nuser-agent: test\r\nx-github-api-version: 2022-11-28\r\nauthorization: Bearer {TOKEN}\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    })
}

fn graphql(fake: &Fake, query: &str, variables: &Value) -> Value {
    let (status, body) = ask(fake, "POST", "/graphql", &json!({ "query": query, "variables": variables }));
    assert_eq!(status, 200, "{body}");
    body
}

#[test]
fn a_review_is_seen_in_both_views() {
    let fake = Fake::unrecorded();
    let (_work, pull) = demo(&fake);
    let head = pull.state().head;
    let review = json!({
        "commit_id": head, "event": "COMMENT", "body": "Two remarks.",
        "comments": [{ "path": "a.txt", "line": 10, "side": "RIGHT", "body": "One." },
                     { "path": "a.txt", "start_line": 39, "start_side": "RIGHT", "line": 41, "side": "RIGHT", "body": "Two." }],
    });
    let (status, body) = ask(&fake, "POST", "/repos/octo/demo/pulls/7/reviews", &review);
    assert_eq!((status, body["state"].as_str()), (200, Some("COMMENTED")), "{body}");
    let (_, comments) = ask(&fake, "GET", "/repos/octo/demo/pulls/7/comments", &Value::Null);
    assert_eq!(comments.as_array().unwrap().len(), 2);
    let query = "query($o: String!, $n: Int!) { repository(owner: $o, name: \"demo\") { pullRequest(number: $n) { title headRefOid \
                 reviewThreads(first: 1) { totalCount pageInfo { hasNextPage endCursor } nodes { id line startLine isOutdated ...T } } } } } \
                 fragment T on PullRequestReviewThread { comments(first: 10) { nodes { body author { login __typename } } } }";
    let answer = graphql(&fake, query, &json!({ "o": "octo", "n": 7 }));
    let found = &answer["data"]["repository"]["pullRequest"];
    assert_eq!(found["headRefOid"], head, "{answer}");
    assert_eq!(found["reviewThreads"]["totalCount"], 2);
    assert_eq!(found["reviewThreads"]["pageInfo"]["hasNextPage"], true);
    let thread = &found["reviewThreads"]["nodes"][0];
    assert_eq!(thread["comments"]["nodes"][0]["author"], json!({ "login": "review-app", "__typename": "Bot" }));
    fake.finish();
}

#[test]
fn git_fetches_from_it() {
    let fake = Fake::unrecorded();
    let (_work, pull) = demo(&fake);
    let other = TestRepo::new();
    let address = format!("{}/octo/demo.git", fake.url());
    other.git(["fetch", "-q", "--depth=1", "--filter=blob:none", &address, "refs/pull/7/head:refs/heads/seven"]);
    assert_eq!(other.git(["rev-parse", "seven"]).trim(), pull.state().head);
    assert!(!fake.git_asked().is_empty());
}
