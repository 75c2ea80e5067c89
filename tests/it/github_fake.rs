//! The fake GitHub itself: what the tests that stand on it may believe.

use serde_json::{Value, json};

use crate::support::TestRepo;
use crate::support::github::{Fake, On, Pull, TOKEN, Trouble, demo, lines};

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

/// What a review with one comment is answered with.
fn remark(fake: &Fake, pull: &Pull, comment: &Value) -> (u16, String) {
    let review = json!({ "commit_id": pull.state().head, "event": "COMMENT", "body": "x", "comments": [comment] });
    let (status, body) = ask(fake, "POST", "/repos/octo/demo/pulls/7/reviews", &review);
    (status, body["errors"][0].as_str().unwrap_or_default().to_owned())
}

#[test]
fn comments_that_no_schema_would_refuse_are_refused() {
    let fake = Fake::unrecorded();
    let (_work, pull) = demo(&fake);
    let outside = "Pull request review thread line must be part of the diff";
    let other_hunk = "Pull request review thread start line must be part of the same hunk as the line.";
    for (comment, words) in [
        (json!({ "path": "a.txt", "line": 20, "side": "RIGHT", "body": "x" }), outside),
        (json!({ "path": "a.txt", "line": 6, "body": "x" }), outside),
        (json!({ "path": "a.txt", "line": 61, "side": "LEFT", "body": "x" }), outside),
        (
            json!({ "path": "a.txt", "start_line": 10, "start_side": "RIGHT", "line": 40, "side": "RIGHT", "body": "x" }),
            other_hunk,
        ),
        (
            json!({ "path": "a.txt", "start_line": 12, "start_side": "RIGHT", "line": 11, "side": "RIGHT", "body": "x" }),
            "must precede the end line",
        ),
        (
            json!({ "path": "a.txt", "start_line": 11, "start_side": "RIGHT", "line": 11, "side": "RIGHT", "body": "x" }),
            "must precede the end line",
        ),
        (
            json!({ "path": "a.txt", "start_side": "RIGHT", "line": 11, "side": "RIGHT", "body": "x" }),
            "start line must be given",
        ),
        (json!({ "path": "a.txt", "line": 10, "side": "MIDDLE", "body": "x" }), "side is invalid"),
        (json!({ "path": "b.txt", "line": 10, "side": "RIGHT", "body": "x" }), "Path could not be resolved"),
        (json!({ "path": "a.txt", "side": "RIGHT", "body": "x" }), "line must be given"),
        (json!({ "path": "a.txt", "line": 10, "side": "RIGHT", "body": " " }), "can't be blank"),
        (json!({ "path": "a.txt", "line": 10, "side": "RIGHT", "body": "x".repeat(65_537) }), "too long"),
    ] {
        let (status, said) = remark(&fake, &pull, &comment);
        assert!(status == 422 && said.contains(words), "{status} {said}\n{comment:.200}");
    }
    for line in [7, 10, 13, 37, 43] {
        let fits = json!({ "path": "a.txt", "line": line, "side": "RIGHT", "body": "x" });
        assert_eq!(remark(&fake, &pull, &fits).0, 200, "{line}");
    }
    fake.finish();
}

#[test]
fn reviews_that_no_schema_would_refuse_are_refused() {
    let fake = Fake::unrecorded();
    let (work, pull) = demo(&fake);
    let old = pull.state().head;
    work.git(["commit", "-q", "--amend", "-m", "forced"]);
    let head = pull.push(&work, "feature");
    let at = |commit: &str, event: &str, body: &str| json!({ "commit_id": commit, "event": event, "body": body });
    let send = |review: &Value| {
        let (status, body) = ask(&fake, "POST", "/repos/octo/demo/pulls/7/reviews", review);
        (status, body["errors"][0].as_str().unwrap_or_default().to_owned())
    };
    for (review, words) in [
        (at(&old, "COMMENT", "x"), "commitOID is not part of the pull request"),
        (at(&head, "COMMENT", ""), "Body can't be blank"),
        (at(&head, "REQUEST_CHANGES", ""), "Body can't be blank"),
        (at(&head, "COMMENT", &"x".repeat(65_537)), "too long"),
        (at(&head, "DANCE", "x"), "invalid value"),
    ] {
        let (status, said) = send(&review);
        assert!(status == 422 && said.contains(words), "{status} {said}");
    }
    pull.change(|state| state.author = Some("review-app[bot]".to_owned()));
    let (status, said) = send(&at(&head, "REQUEST_CHANGES", "x"));
    assert!(status == 422 && said.contains("your own pull request"), "{status} {said}");
    assert_eq!(send(&json!({ "commit_id": head, "body": "waits" })).0, 200);
    assert!(send(&at(&head, "COMMENT", "x")).1.contains("one pending review"));
    fake.most_comments(0);
    let one = json!({ "path": "a.txt", "line": 10, "side": "RIGHT", "body": "x" });
    assert_eq!(remark(&fake, &pull, &one).0, 502);
    fake.finish();
}

#[test]
fn after_a_push_threads_are_where_their_lines_are() {
    let fake = Fake::unrecorded();
    let (work, pull) = demo(&fake);
    let early = pull.thread("eve", "a.txt", 10, "stays");
    let late = pull.thread_on("eve", "a.txt", "RIGHT", (39, 41), "moves");
    let left = pull.thread_on("eve", "a.txt", "LEFT", (40, 40), "is about what was");
    let place = |node: &str| {
        let thread = pull.threads().into_iter().find(|one| format!("PRRT_{:06}", one.id) == node).unwrap();
        (thread.start_line, thread.line, thread.outdated)
    };
    // Two lines more above the second place.
    let text = lines(&[10, 40]).replace("line 20\n", "line 20\nnew\nnew\n");
    work.write("a.txt", &text).commit("more");
    pull.push(&work, "feature");
    assert_eq!((place(&early), place(&late)), ((None, Some(10), false), (Some(41), Some(43), false)));
    assert_eq!(place(&left), (None, Some(40), false));
    // The line itself changes; the other is no part of the diff any more.
    work.write("a.txt", text.replace("changed 10\n", "changed again\n").replace("changed 40\n", "line 40\n"))
        .commit("repaired");
    pull.push(&work, "feature");
    assert_eq!((place(&early), place(&late)), ((None, None, true), (None, None, true)));
    assert_eq!(place(&left), (None, None, true));
    work.git(["reset", "-q", "--hard", "HEAD~2"]);
    pull.push(&work, "feature");
    assert_eq!((place(&early), place(&late)), ((None, Some(10), false), (Some(39), Some(41), false)));
    fake.finish();
}

#[test]
fn what_no_client_should_send_is_a_fault() {
    let fake = Fake::unrecorded();
    demo(&fake);
    let faults = |words: &str| {
        let wrong = fake.take_wrong();
        assert!(wrong.len() == 1 && wrong[0].contains(words), "{words}: {wrong:?}");
    };
    ask(&fake, "GET", "/repos/octo/demo/pulls/7/nothing", &Value::Null);
    faults("there is no route");
    graphql(&fake, "query Q { repository(owner: \"octo\", name: \"demo\") { nothing } }", &json!({}));
    faults("knows no field nothing of Repository");
    graphql(&fake, "query Q($a: Int!) { viewer { login } }", &json!({}));
    faults("$a was not given");
    graphql(&fake, "query Q { viewer { login }", &json!({}));
    faults("cannot be read");
    let deep = "query Q { repository(owner: \"octo\", name: \"demo\") { pullRequests(first: 100) { nodes { reviewThreads(first: 100) \
                { nodes { comments(first: 100) { nodes { id } } } } } } } }";
    graphql(&fake, deep, &json!({}));
    faults("1010100 nodes");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    ask(&fake, "POST", "/repos/octo/demo/issues/7/comments", &json!({ "body": "x" }));
                }
            });
        }
    });
    let wrong = fake.take_wrong();
    assert!(wrong.iter().any(|one| one.contains("another write was under way")), "{wrong:?}");
    fake.fail_next(On::any().with("never"), Trouble::Drop);
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fake.finish())).unwrap_err();
    assert!(told.downcast_ref::<String>().unwrap().contains("a fault never came"));
}

#[test]
fn git_fetches_from_it() {
    let fake = Fake::unrecorded();
    let (work, pull) = demo(&fake);
    let head = pull.state().head;
    let other = TestRepo::new();
    let address = format!("{}/octo/demo.git", fake.url());
    other.git(["fetch", "-q", "--depth=1", "--filter=blob:none", &address, "refs/pull/7/head:refs/heads/seven"]);
    assert_eq!(other.git(["rev-parse", "seven"]).trim(), head);
    let secret = review_runner::domain::secret::Secret::new(TOKEN);
    let signed = |secret: &review_runner::domain::secret::Secret| {
        let login = review_runner::forge::Login::Token(secret.clone());
        let client = fake.client_as(login, &review_runner::sys::cancel::Cancel::never());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let told = runtime.block_on(client.git_secret()).unwrap().unwrap();
        format!("http.extraHeader=Authorization: {}", told.reveal())
    };
    fake.make_private("octo", "demo");
    let fetch = |other: &TestRepo, with: &[&str], what: &str| {
        let args: Vec<&str> = with.iter().copied().chain(["fetch", "-q", &address, what]).collect();
        let mut command = crate::support::git_command(other.root());
        command.env("GIT_TERMINAL_PROMPT", "0").args(args).output().unwrap().status.success()
    };
    assert!(!fetch(&TestRepo::new(), &[], "main"), "nobody may read it");
    assert!(fetch(&TestRepo::new(), &["-c", &signed(&secret)], "main"));
    let wrong = review_runner::domain::secret::Secret::new("ghp_wrong000000000000000000000000000000");
    assert!(!fetch(&TestRepo::new(), &["-c", &signed(&wrong)], "main"));
    // A replaced commit can be had by its id until the forge forgets it.
    work.git(["commit", "-q", "--amend", "-m", "forced"]);
    let new = pull.push(&work, "feature");
    assert!(fetch(&TestRepo::new(), &["-c", &signed(&secret)], &head));
    pull.hide_commit(&head);
    assert!(!fetch(&TestRepo::new(), &["-c", &signed(&secret)], &head));
    assert!(fetch(&TestRepo::new(), &["-c", &signed(&secret)], &new));
    fake.finish();
}
