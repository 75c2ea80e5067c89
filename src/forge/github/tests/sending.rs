//! Tries, limits, redirects, deadlines, sizes, secrets.

use std::time::{Duration, Instant};

use super::super::super::error::FaultKind;
use super::*;
use crate::forge::github::NewReview;

fn review() -> NewReview {
    NewReview {
        commit: "a".repeat(40).parse().map(crate::domain::id::CommitId).unwrap(),
        verdict: None,
        body: "x".to_owned(),
        comments: vec![],
    }
}

fn no_files() -> MockReply {
    MockReply::ok(&json!([]))
}

#[tokio::test]
async fn a_request_says_who_asks_and_for_which_version() {
    let server = MockServer::script(vec![no_files()]);
    server.github().files(&id()).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].line, "GET /repos/octo-org/hello.world/pulls/7/files?per_page=100&page=1");
    assert_eq!(seen[0].header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(seen[0].header("accept"), Some("application/vnd.github+json"));
    assert_eq!(seen[0].header("x-github-api-version"), Some("2022-11-28"));
    let agents: Vec<_> = seen[0].headers.iter().filter(|(name, _)| name == "user-agent").collect();
    assert_eq!(agents.len(), 1);
    assert!(agents[0].1.starts_with("review/"), "{agents:?}");
}

#[tokio::test]
async fn a_read_is_tried_three_times() {
    let server = MockServer::script(vec![MockReply::text(502, "<html>"), MockReply::breaking(), no_files()]);
    server.github().files(&id()).await.unwrap();
    assert_eq!(server.seen().len(), 3);

    let server = MockServer::script(vec![MockReply::text(503, "<html>")]);
    let error = server.github().files(&id()).await.unwrap_err();
    assert_eq!((error.kind, error.status, error.may_have_happened), (FaultKind::Network, Some(503), false));
    assert!(!error.message.contains('<'), "{error}");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn what_may_have_been_created_is_not_created_again() {
    for reply in [MockReply::text(502, ""), MockReply::breaking(), MockReply::ok(&json!({ "unknown": true }))] {
        let server = MockServer::script(vec![reply]);
        let error = server.github().create_review(&id(), &review()).await.unwrap_err();
        assert!(error.may_have_happened, "{error}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn what_a_limit_refused_is_created_later() {
    let limit = MockReply::new(403, &json!({ "message": "You have exceeded a secondary rate limit." }))
        .header("retry-after", "1");
    let posted = json!({ "id": 5, "node_id": "PRR_5", "user": null, "body": "x", "state": "PENDING", "html_url": "h" });
    let server = MockServer::script(vec![limit, MockReply::ok(&posted)]);
    assert_eq!(server.github().create_review(&id(), &review()).await.unwrap().comment.number, Some(5));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn nothing_happened_where_no_connection_came_about() {
    // The system gives this port to nobody who asks for any.
    let server = MockServer { address: "http://127.0.0.1:1".to_owned(), seen: Arc::default() };
    let error = server.github().create_review(&id(), &review()).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (FaultKind::Network, false), "{error}");
}

#[tokio::test]
async fn a_limit_that_ends_after_the_deadline_is_told_at_once() {
    let limit = || {
        MockReply::new(403, &json!({ "message": "API rate limit exceeded" }))
            .header("x-ratelimit-remaining", "0")
            .header("x-ratelimit-reset", "99999999999")
    };
    let server = MockServer::script(vec![limit()]);
    let github = server.github();
    let error = github.files(&id()).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::RateLimit);
    assert!(error.retry_after.is_some() && error.action.contains("60 minutes"), "{error}");
    let again = github.clone().files(&id()).await.unwrap_err();
    assert_eq!(again.kind, FaultKind::RateLimit);
    assert_eq!(server.seen().len(), 1, "a clone knows of the limit and does not ask");
}

#[tokio::test]
async fn graphql_limits_are_waited_for_too() {
    let limited = json!({ "errors": [{ "type": "RATE_LIMITED", "message": "API rate limit exceeded" }] });
    let viewer = json!({ "data": { "viewer": { "__typename": "User", "login": "me" } } });
    let server = MockServer::script(vec![MockReply::ok(&limited).header("retry-after", "1"), MockReply::ok(&viewer)]);
    assert_eq!(server.github().viewer().await.unwrap().login, "me");
}

#[tokio::test]
async fn a_renamed_repository_is_found() {
    let server = MockServer::new(|seen, _| {
        if seen.line.contains("/repositories/") {
            no_files()
        } else {
            MockReply::text(301, "").header("location", "/repositories/1/pulls/7/files?page=1")
        }
    });
    server.github().files(&id()).await.unwrap();
    assert_eq!(server.lines()[1], "GET /repositories/1/pulls/7/files?page=1");
    assert!(server.seen()[1].header("authorization").is_some());
}

#[tokio::test]
async fn no_other_server_gets_the_token() {
    let other = MockServer::script(vec![no_files()]);
    for status in [301, 302, 307, 308] {
        let location = format!("{}/repos/octo-org/hello.world/pulls/7/files", other.address);
        let server = MockServer::script(vec![MockReply::text(status, "").header("location", &location)]);
        let error = server.github().files(&id()).await.unwrap_err();
        assert_eq!(error.kind, FaultKind::Refused, "{error}");
        assert!(error.message.contains(other.address.trim_start_matches("http://")), "{error}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn what_is_created_in_a_renamed_repository_is_created_once() {
    let posted =
        json!({ "id": 5, "node_id": "n", "user": null, "html_url": "h", "created_at": "c", "updated_at": "u" });
    let server = MockServer::new(move |seen, _| {
        if seen.line.contains("/repositories/") {
            MockReply::new(201, &posted)
        } else {
            MockReply::text(307, "").header("location", "/repositories/1/issues/7/comments")
        }
    });
    server.github().create_comment(&id(), "x").await.unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[1].line.as_str(), &seen[1].body["body"]), ("POST /repositories/1/issues/7/comments", &json!("x")));

    let server = MockServer::script(vec![MockReply::text(301, "").header("location", "/elsewhere")]);
    let error = server.github().create_comment(&id(), "x").await.unwrap_err();
    assert_eq!((error.kind, server.seen().len()), (FaultKind::Refused, 1), "{error}");
}

#[tokio::test]
async fn redirects_end() {
    let server = MockServer::script(vec![MockReply::text(302, "").header("location", "/again")]);
    assert_eq!(server.github().files(&id()).await.unwrap_err().kind, FaultKind::Parse);
    assert!(server.seen().len() < 10);
}

#[tokio::test]
async fn a_silent_server_is_waited_for_until_the_deadline() {
    let server = MockServer::script(vec![MockReply::hanging()]);
    let began = Instant::now();
    let github = server.github().within(&Cancel::after(Duration::from_millis(200)));
    let error = github.create_comment(&id(), "x").await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (FaultKind::Stopped, true));
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn an_endless_answer_is_refused() {
    let server = MockServer::script(vec![MockReply::text(200, &" ".repeat((64 << 20) + 1))]);
    let error = server.github().files(&id()).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::Parse, "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_failing_server_is_left_alone() {
    let server = MockServer::script(vec![MockReply::text(500, "")]);
    let github = server.github();
    for _ in 0..5 {
        assert_eq!(github.create_comment(&id(), "x").await.unwrap_err().kind, FaultKind::Network);
    }
    let error = github.clone().files(&id()).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::CircuitOpen);
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn refusals_have_a_kind_and_say_what_to_do() {
    let said = |message: &str| json!({ "message": message });
    let invalid = json!({ "message": "Unprocessable Entity", "errors": ["Line could not be resolved", { "resource": "R", "code": "custom", "message": "no such side" }, { "resource": "R", "field": "f", "code": "invalid" }] });
    for (reply, kind, words) in [
        (
            MockReply::new(401, &said("Bad credentials")),
            FaultKind::Auth,
            "Authentication failed: Bad credentials; GITHUB_TOKEN holds",
        ),
        (
            MockReply::new(403, &said("Resource not accessible by personal access token"))
                .header("x-accepted-github-permissions", "pull_requests=write"),
            FaultKind::Permission,
            "permission pull_requests=write",
        ),
        (
            MockReply::new(403, &said("Must have admin rights"))
                .header("x-oauth-scopes", "read:org")
                .header("x-accepted-oauth-scopes", "repo"),
            FaultKind::Permission,
            "one of the scopes repo; it has read:org",
        ),
        (
            MockReply::new(403, &said("Resource protected by organization SAML enforcement."))
                .header("x-github-sso", "required; url=https://github.com/orgs/o/sso"),
            FaultKind::Permission,
            "authorise the token of GITHUB_TOKEN for the organisation (single sign-on) at https://github.com/orgs/o/sso",
        ),
        (
            MockReply::new(404, &said("Not Found")),
            FaultKind::NotFound,
            "Resource not found: Not Found; see whether its name is right",
        ),
        (
            MockReply::new(422, &invalid),
            FaultKind::Refused,
            "Unprocessable Entity; Line could not be resolved; no such side; R f invalid",
        ),
        (MockReply::new(409, &said("Conflict")), FaultKind::Refused, "Conflict"),
    ] {
        let status = reply.status;
        let server = MockServer::script(vec![reply.header("x-github-request-id", "AB:12")]);
        let error = server.github().create_comment(&id(), "x").await.unwrap_err();
        assert_eq!((error.kind, error.status, error.may_have_happened), (kind, Some(status), false), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.request_id.as_deref(), Some("AB:12"));
    }
}

#[tokio::test]
async fn the_words_of_a_server_are_made_harmless() {
    let words = format!(
        "\u{1b}[31m{TOKEN} ghp_{}\nnext\u{202e} {}",
        "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx",
        "long ".repeat(200)
    );
    let server = MockServer::script(vec![MockReply::new(404, &json!({ "message": words }))]);
    let error = server.github().files(&id()).await.unwrap_err();
    assert!(!error.message.contains(TOKEN) && !error.message.contains("wWPw5k4a"), "{error}");
    assert!(!error.message.contains(['\u{1b}', '\n', '\u{202e}']), "{error}");
    assert!(error.message.chars().count() < 340, "{error}");
}

#[test]
fn nothing_shows_the_token() {
    let server = MockServer::script(vec![no_files()]);
    let options = server.options(Login::Token(Secret::new(TOKEN)));
    let github = server.github();
    assert!(!format!("{options:?} {github:?}").contains(TOKEN));
}
