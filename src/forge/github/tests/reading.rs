//! Lists to their last page, and what nodes become.

use super::super::super::error::FaultKind;
use super::*;
use crate::domain::forge::{PullState, ReviewVerdict};
use crate::domain::place::DiffSide;
use crate::forge::github::{Marks, PullFilter};

fn pull_node() -> Value {
    json!({
        "id": "PR_7", "number": 7, "url": "https://github.com/octo-org/hello.world/pull/7", "title": "Title", "body": "Body",
        "state": "OPEN", "isDraft": true, "author": { "__typename": "Bot", "login": "dependabot" }, "authorAssociation": "NONE",
        "headRefName": "topic", "baseRefName": "main", "headRefOid": "a".repeat(40), "baseRefOid": "b".repeat(40),
        "headRepository": null, "baseRepository": { "nameWithOwner": "Octo-Org/Hello.World" }, "mergeable": "UNKNOWN",
        "reviewDecision": null, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00Z",
        "additions": 3, "deletions": 1, "changedFiles": 2,
    })
}

#[tokio::test]
async fn a_pull_request_is_read() {
    let data = json!({ "data": { "repository": { "pullRequest": pull_node() } } });
    let server = MockServer::script(vec![MockReply::ok(&data)]);
    let pull = server.github().pull(&id()).await.unwrap();
    assert_eq!(pull.id.to_string(), "Octo-Org/Hello.World#7");
    assert_eq!((pull.state, pull.is_draft, pull.head.to_string()), (PullState::Open, true, "a".repeat(40)));
    assert!(pull.author.is_some_and(|author| author.is_bot && author.login == "dependabot"));
    assert_eq!(pull.head_repo, None);
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /graphql");
    assert_eq!(seen[0].body["variables"], json!({ "owner": "octo-org", "name": "hello.world", "number": 7 }));
}

#[tokio::test]
async fn what_is_not_there_is_said_so() {
    let nothing = json!({ "data": { "repository": null }, "errors": [{ "type": "NOT_FOUND", "path": ["repository"], "message": "Could not resolve to a Repository" }] });
    let bare = json!({ "data": null, "errors": [{ "type": "NOT_FOUND", "path": null, "message": null }] });
    for body in [nothing, bare, json!({ "data": { "repository": { "pullRequest": null } } })] {
        let server = MockServer::script(vec![MockReply::ok(&body)]);
        let error = server.github().pull(&id()).await.unwrap_err();
        assert_eq!(error.kind, FaultKind::NotFound);
        assert!(error.message.starts_with("Resource not found"), "{error}");
    }
}

#[tokio::test]
async fn a_partial_answer_is_a_failure_unless_nothing_is_lost() {
    let partial = |field: &str, kind: &str| {
        let path = json!(["repository", "pullRequest", field]);
        json!({ "data": { "repository": { "pullRequest": pull_node() } }, "errors": [{ "type": kind, "path": path, "message": "no" }] })
    };
    for (field, kind, outcome) in [
        ("headRepository", "FORBIDDEN", None),
        ("headRepository", "NOT_FOUND", None),
        ("title", "FORBIDDEN", Some(FaultKind::Permission)),
        ("headRepository", "INSUFFICIENT_SCOPES", Some(FaultKind::Permission)),
        ("body", "ODD", Some(FaultKind::Refused)),
    ] {
        let server = MockServer::script(vec![MockReply::ok(&partial(field, kind))]);
        assert_eq!(server.github().pull(&id()).await.err().map(|error| error.kind), outcome, "{field} {kind}");
    }
}

#[tokio::test]
async fn graphql_that_ran_out_of_time_is_asked_again() {
    let failed = json!({ "data": null, "errors": [{ "message": "Something went wrong while executing your query. Please include `AB:12` when reporting this issue." }] });
    let data = json!({ "data": { "repository": { "pullRequest": pull_node() } } });
    let server = MockServer::script(vec![MockReply::ok(&failed), MockReply::ok(&data)]);
    server.github().pull(&id()).await.unwrap();
    let server = MockServer::script(vec![MockReply::ok(&failed)]);
    assert_eq!(server.github().pull(&id()).await.unwrap_err().kind, FaultKind::Network);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn all_pages_of_threads_and_of_their_comments_are_read() {
    let server = MockServer::new(|seen, _| {
        let after = seen.body["variables"]["after"].as_str();
        let body = match (seen.operation(), after) {
            ("ReviewThreads", None) => {
                page("reviewThreads", &json!([thread("T1", &json!([comment(1), comment(2)]), Some("c1"))]), Some("t1"))
            }
            ("ReviewThreads", Some("t1")) => {
                page("reviewThreads", &json!([null, thread("T2", &json!([comment(9)]), None)]), None)
            }
            ("ThreadComments", Some("c1")) => {
                let info = json!({ "hasNextPage": true, "endCursor": "c2" });
                json!({ "data": { "node": { "comments": { "nodes": [comment(3)], "pageInfo": info } } } })
            }
            ("ThreadComments", Some("c2")) => {
                let info = json!({ "hasNextPage": false, "endCursor": null });
                json!({ "data": { "node": { "comments": { "nodes": [comment(4)], "pageInfo": info } } } })
            }
            other => panic!("{other:?}"),
        };
        MockReply::ok(&body)
    });
    let threads = server.github().threads(&id()).await.unwrap();
    let numbers: Vec<Vec<u64>> =
        threads.iter().map(|thread| thread.comments.iter().filter_map(|comment| comment.number).collect()).collect();
    assert_eq!(numbers, [vec![1, 2, 3, 4], vec![9]]);
    let first = &threads[0];
    assert_eq!((first.line, first.start_line, first.side, first.on_file), (Some(12), Some(10), DiffSide::New, false));
    assert!(first.can_resolve && !first.can_unresolve && !first.is_resolved);
}

#[tokio::test]
async fn a_cursor_that_does_not_move_is_an_error() {
    let server = MockServer::script(vec![MockReply::ok(&page("comments", &json!([]), Some("same")))]);
    let error = server.github().comments(&id()).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::Parse, "{error}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_list_without_end_is_an_error_and_not_cut() {
    let server =
        MockServer::new(|_, nth| MockReply::ok(&page("comments", &json!([comment(1)]), Some(&format!("c{nth}")))));
    let error = server.github().comments(&id()).await.unwrap_err();
    assert_eq!(error.kind, FaultKind::Refused, "{error}");
    assert_eq!(server.seen().len(), 200);
}

#[tokio::test]
async fn a_conversation_has_its_three_parts() {
    let server = MockServer::new(|seen, _| {
        let mut review = comment(5);
        review["state"] = json!("CHANGES_REQUESTED");
        review["viewerDidAuthor"] = json!(true);
        review["author"] = json!(null);
        review["commit"] = json!({ "oid": "c".repeat(40) });
        MockReply::ok(&match seen.operation() {
            "ReviewThreads" => page("reviewThreads", &json!([thread("T", &json!([comment(1)]), None)]), None),
            "Reviews" => page("reviews", &json!([review]), None),
            "Comments" => page("comments", &json!([comment(3_000_000_000)]), None),
            other => panic!("{other}"),
        })
    });
    let all = server.github().conversation(&id()).await.unwrap();
    assert_eq!((all.threads.len(), all.reviews.len(), all.comments.len()), (1, 1, 1));
    let review = &all.reviews[0];
    assert_eq!((review.verdict, review.comment.mine), (ReviewVerdict::ChangesRequested, true));
    assert_eq!(
        (review.comment.author.clone(), review.commit.map(|commit| commit.to_string())),
        (None, Some("c".repeat(40)))
    );
    assert_eq!(all.comments[0].number, Some(3_000_000_000));
}

#[tokio::test]
async fn one_thread_is_found_by_its_id_or_not_at_all() {
    let mut node = thread("T", &json!([comment(1)]), None);
    node["__typename"] = json!("PullRequestReviewThread");
    let server = MockServer::script(vec![
        MockReply::ok(&json!({ "data": { "node": node } })),
        MockReply::ok(&json!({ "data": { "node": { "__typename": "Issue" } } })),
    ]);
    let github = server.github();
    assert_eq!(github.thread("T").await.unwrap().node, "T");
    assert_eq!(github.thread("I").await.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test]
async fn an_odd_path_is_no_path() {
    let mut node = thread("T", &json!([comment(1)]), None);
    node["path"] = json!("../etc/passwd");
    node["diffSide"] = json!("LEFT");
    node["subjectType"] = json!("FILE");
    node["line"] = json!(null);
    let server = MockServer::script(vec![MockReply::ok(&page("reviewThreads", &json!([node]), None))]);
    let thread = server.github().threads(&id()).await.unwrap().remove(0);
    assert_eq!((thread.path, thread.side, thread.on_file, thread.line), (None, DiffSide::Old, true, None));
}

#[tokio::test]
async fn files_are_read_to_the_end_of_the_list() {
    let entries = |count: usize| {
        json!(
            (0..count)
                .map(|n| json!({ "filename": format!("f{n}"), "status": "added", "additions": 1, "deletions": 0 }))
                .collect::<Vec<_>>()
        )
    };
    let server = MockServer::new(move |seen, _| {
        let last = seen.line.ends_with("page=4");
        let link = if last { "<https://x>; rel=\"first\"" } else { "<https://x>; rel=\"next\"" };
        MockReply::ok(&entries(if last { 20 } else { 100 })).header("link", link)
    });
    let (files, is_cut) = server.github().files(&id()).await.unwrap();
    assert_eq!((files.len(), is_cut), (320, false));

    let server = MockServer::new(move |_, _| MockReply::ok(&entries(100)).header("link", "<https://x>; rel=\"next\""));
    let (files, is_cut) = server.github().files(&id()).await.unwrap();
    assert_eq!((files.len(), is_cut), (3000, true));
}

#[tokio::test]
async fn pull_requests_are_listed_with_their_counts() {
    let mut node = pull_node();
    node["reviewThreads"] = json!({ "totalCount": 120, "nodes": [{ "isResolved": true }, { "isResolved": false }] });
    node["comments"] = json!({ "totalCount": 4 });
    let list = json!({ "totalCount": 31, "pageInfo": { "hasNextPage": true, "endCursor": "x" }, "nodes": [node] });
    let server =
        MockServer::script(vec![MockReply::ok(&json!({ "data": { "repository": { "pullRequests": list } } }))]);
    let page = server.github().pulls(&id().repo, PullFilter { state: Some(PullState::Open), limit: 1 }).await.unwrap();
    assert_eq!((page.total, page.pulls.len()), (31, 1));
    assert_eq!((page.pulls[0].threads, page.pulls[0].unresolved, page.pulls[0].comments), (120, 1, 4));
    assert_eq!(server.seen()[0].body["variables"]["states"], json!(["OPEN"]));
}

#[tokio::test]
async fn a_list_of_pull_requests_is_read_page_by_page() {
    let server = MockServer::new(|seen, _| {
        let after = seen.body["variables"]["after"].as_str().map_or(0, |text| text.parse::<usize>().unwrap());
        let count = if after < 200 { seen.body["variables"]["first"].as_u64().unwrap() } else { 30 };
        let mut node = pull_node();
        node["reviewThreads"] = json!({ "totalCount": 0, "nodes": [] });
        node["comments"] = json!({ "totalCount": 0 });
        let next = (after + 100).to_string();
        let info = json!({ "hasNextPage": after < 200, "endCursor": next });
        let nodes = vec![node; usize::try_from(count).unwrap()];
        let list = json!({ "totalCount": 230, "pageInfo": info, "nodes": nodes });
        MockReply::ok(&json!({ "data": { "repository": { "pullRequests": list } } }))
    });
    for (limit, listed) in [(10_000, 230), (150, 150), (7, 7)] {
        let page = server.github().pulls(&id().repo, PullFilter { state: None, limit }).await.unwrap();
        assert_eq!((page.total, page.pulls.len()), (230, listed));
    }
}

#[tokio::test]
async fn a_look_that_finds_nothing_new_costs_only_tags() {
    let server = MockServer::new(|seen, nth| {
        if seen.line.starts_with("POST") {
            let resolved = nth > 9;
            let list = json!([{ "isResolved": resolved }]);
            return MockReply::ok(&page("reviewThreads", &list, None));
        }
        match seen.header("if-none-match") {
            Some("\"t\"") => MockReply::text(304, ""),
            _ => MockReply::ok(&json!([])).header("etag", "\"t\""),
        }
    });
    let github = server.github();
    let (changed, marks) = github.poll_changes(&id(), Marks::default()).await.unwrap();
    assert!(changed);
    let (changed, marks) = github.poll_changes(&id(), marks).await.unwrap();
    assert!(!changed);
    assert!(server.seen()[5..9].iter().all(|seen| seen.header("if-none-match") == Some("\"t\"")));
    let (changed, _) = github.poll_changes(&id(), marks).await.unwrap();
    assert!(changed, "a thread was resolved");
}
