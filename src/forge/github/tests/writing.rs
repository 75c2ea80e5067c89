//! Tests of write requests, byte for byte.

use super::super::super::error::FaultKind;
use super::*;
use crate::domain::forge::{DeliveryVerdict, ReviewVerdict};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::forge::github::{NewComment, NewReview};

fn review(path: &[u8], lines: (u32, u32), verdict: Option<DeliveryVerdict>) -> NewReview {
    NewReview {
        commit: "d".repeat(40).parse().map(CommitId).unwrap(),
        verdict,
        body: "Body".to_owned(),
        comments: vec![NewComment {
            path: RepoPath::from_bytes(path).unwrap(),
            side: DiffSide::New,
            lines: LineRange::new(lines.0, lines.1).unwrap(),
            body: "Text".to_owned(),
        }],
    }
}

#[test]
fn the_body_of_a_review_is_what_github_documents() {
    assert_eq!(
        review("src/grüße.rs".as_bytes(), (3, 5), Some(DeliveryVerdict::RequestChanges)).json(),
        json!({
            "commit_id": "d".repeat(40), "event": "REQUEST_CHANGES", "body": "Body",
            "comments": [{ "path": "src/grüße.rs", "body": "Text", "line": 5, "side": "RIGHT", "start_line": 3, "start_side": "RIGHT" }],
        })
    );
    let mut pending = review(b"a", (4, 4), None);
    pending.comments[0].side = DiffSide::Old;
    assert_eq!(
        pending.json(),
        json!({ "commit_id": "d".repeat(40), "body": "Body", "comments": [{ "path": "a", "body": "Text", "line": 4, "side": "LEFT" }] })
    );
}

#[tokio::test]
async fn a_review_is_posted_as_it_is_shown() {
    let posted = json!({
        "id": 80, "node_id": "PRR_80", "user": { "login": "review-app[bot]", "type": "Bot" }, "body": "Body", "state": "COMMENTED",
        "html_url": "https://github.com/x", "author_association": "NONE", "submitted_at": "2026-01-01T00:00:00Z", "commit_id": "d".repeat(40),
    });
    let server = MockServer::script(vec![MockReply::ok(&posted)]);
    let review = review(b"a", (1, 2), Some(DeliveryVerdict::Comment));
    let note = server.github().create_review(&id(), &review).await.unwrap();
    assert_eq!((note.comment.number, note.verdict, note.comment.mine), (Some(80), ReviewVerdict::Commented, true));
    assert!(note.comment.author.is_some_and(|author| author.login == "review-app" && author.is_bot));
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /repos/octo-org/hello.world/pulls/7/reviews");
    assert_eq!(seen[0].body, review.json());
}

#[tokio::test]
async fn a_path_that_is_no_text_is_refused_before_anything_is_sent() {
    let server = MockServer::script(vec![MockReply::ok(&json!({}))]);
    let error = server.github().create_review(&id(), &review(b"a\xff", (1, 1), None)).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::Refused);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn comments_and_reviews_are_changed_where_they_are() {
    let posted = json!({ "id": 9, "node_id": "IC_9", "user": { "login": "me" }, "body": "new", "html_url": "h", "created_at": "c", "updated_at": "u" });
    let server = MockServer::new(move |seen, _| {
        if seen.line.starts_with("DELETE") { MockReply::text(204, "") } else { MockReply::ok(&posted) }
    });
    let github = server.github();
    assert_eq!(github.create_comment(&id(), "new").await.unwrap().number, Some(9));
    assert_eq!(github.update_comment(&id().repo, 9, "newer").await.unwrap().body, "new");
    github.delete_pending(&id(), 80).await.unwrap();
    github.dismiss(&id(), 81, "outdated").await.unwrap();
    let seen = server.seen();
    let lines: Vec<&str> = seen.iter().map(|seen| seen.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "POST /repos/octo-org/hello.world/issues/7/comments",
            "PATCH /repos/octo-org/hello.world/issues/comments/9",
            "DELETE /repos/octo-org/hello.world/pulls/7/reviews/80",
            "PUT /repos/octo-org/hello.world/pulls/7/reviews/81/dismissals",
        ]
    );
    assert_eq!(seen[1].body, json!({ "body": "newer" }));
    assert_eq!(seen[3].body, json!({ "message": "outdated", "event": "DISMISS" }));
}

#[tokio::test]
async fn an_update_is_tried_again() {
    let posted = json!({ "id": 9, "node_id": "IC_9", "user": null, "body": "new", "html_url": "h", "created_at": "c", "updated_at": "u" });
    let server = MockServer::script(vec![MockReply::text(502, ""), MockReply::ok(&posted)]);
    server.github().update_comment(&id().repo, 9, "new").await.unwrap();
    let server = MockServer::script(vec![MockReply::text(502, "")]);
    assert!(server.github().update_comment(&id().repo, 9, "new").await.unwrap_err().may_have_happened);
}

#[tokio::test]
async fn threads_are_resolved_and_opened_again() {
    let server = MockServer::new(|seen, _| {
        MockReply::ok(&match seen.operation() {
            "ResolveThread" => {
                json!({ "data": { "resolveReviewThread": { "thread": { "id": "T", "isResolved": true } } } })
            }
            // As if somebody resolved it in the same moment.
            _ => json!({ "data": { "unresolveReviewThread": { "thread": { "id": "T", "isResolved": true } } } }),
        })
    });
    let github = server.github();
    github.resolve("T").await.unwrap();
    assert_eq!(github.reopen("T").await.unwrap_err().kind, FaultKind::Refused);
    assert_eq!(server.seen()[0].body["variables"], json!({ "id": "T" }));

    let forbidden = json!({ "data": { "resolveReviewThread": null }, "errors": [{ "type": "FORBIDDEN", "path": ["resolveReviewThread"], "message": "Resource not accessible by integration" }] });
    let server = MockServer::script(vec![MockReply::ok(&forbidden)]);
    let error = server.github().resolve("T").await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (FaultKind::Permission, false), "{error}");
}
