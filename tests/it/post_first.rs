//! Posting for the first time and for the second: what stands on the pull request, and what is never sent.

use serde_json::{Value, json};

use crate::support::Program;
use crate::support::posting::{Desk, bad, good, many};

#[test]
fn a_review_is_posted_as_one_review_with_its_comments_and_one_summary() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two"))), ("b.py", good("three"))]);
    let ran = desk.review_and_post("--verbose").ended(0);
    assert!(ran.stderr.contains("octo/demo#7: 2 posted"), "{}", ran.stderr);
    let place = |words: &str| ran.stderr.find(words).unwrap_or_else(|| panic!("{words}: {}", ran.stderr));
    assert!(place("writing the outputs") < place("at work on the pull request"));
    assert!(place("at work on the pull request") < place("posting the review "));
    assert!(place("(2 findings at ") < place("octo/demo#7: 2 posted"));
    let reviews = desk.pull.reviews();
    assert_eq!((reviews.len(), reviews[0].state.as_str()), (1, "COMMENTED"));
    assert!(reviews[0].said.body.contains("<!-- review:run v=1 "), "{}", reviews[0].said.body);
    let threads = desk.pull.threads();
    let places: Vec<(String, Option<u64>)> = threads.iter().map(|thread| (thread.path.clone(), thread.line)).collect();
    assert_eq!(places, [("a.py".to_owned(), Some(2)), ("a.py".to_owned(), Some(6))]);
    assert!(threads[0].comments[0].body.contains("<!-- review:finding v=1 "));
    let summary = desk.summary();
    assert!(summary.contains("complete=1") && summary.contains("2 findings"), "{summary}");

    let receipt = desk.receipt();
    assert_eq!(
        (&receipt["schema"], &receipt["whole"], &receipt["verdict"]),
        (&json!("delivery/1"), &json!(true), &json!("comment"))
    );
    assert_eq!(receipt["counts"], json!({"posted": 2}));
    assert_eq!(receipt["summary"]["act"], "created");
    assert!(receipt["items"][0]["url"].as_str().is_some_and(|url| url.contains("/pull/7")), "{receipt:#}");
    desk.fake.finish();
}

#[test]
fn posting_again_sends_nothing() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("").ended(0);
    let before = desk.writes();
    let ran = desk.post("").ended(0);
    assert!(ran.text().contains("1 left as they are"), "{}", ran.text());
    // Another review of the same head finds the same.
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"left": 1}));
    assert_eq!((desk.pull.reviews().len(), desk.pull.threads().len()), (1, 1));
    let updates = desk.fake.asked().iter().filter(|(method, _)| method == "PATCH").count();
    assert_eq!(desk.writes() - before, updates, "only the summary names the new run");
    desk.fake.finish();
}

#[test]
fn a_clean_review_says_so() {
    let desk = Desk::new(&[("a.py", good("one"))]);
    desk.review_and_post("").ended(0);
    assert_eq!((desk.pull.reviews().len(), desk.pull.threads().len()), (0, 0));
    let summary = desk.summary();
    assert!(summary.contains("no findings"), "{summary}");
    assert_eq!(desk.receipt()["counts"], json!({}));
    desk.fake.finish();
}

#[test]
fn the_verdict_is_what_was_asked_for_and_never_approves() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.pull.reviews()[0].state, "CHANGES_REQUESTED");
    assert_eq!(desk.receipt()["verdict"], "request_changes");
    // It is said once.
    desk.post("--request-changes-on high").ended(0);
    assert_eq!(desk.pull.reviews().len(), 1);
    // Fixed: the objection goes.
    desk.push(&[("a.py", good("one"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.pull.reviews()[0].state, "DISMISSED");
    assert!(desk.pull.reviews().iter().all(|review| review.state != "APPROVED"));
    desk.fake.finish();
}

#[test]
fn nobody_requests_changes_of_himself() {
    let desk = Desk::on(crate::support::github::Fake::start(), "review-app[bot]", &[("a.py", bad("one"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.pull.reviews()[0].state, "COMMENTED");
    assert!(desk.receipt()["notes"].to_string().contains("same account"), "{}", desk.receipt());
    desk.fake.finish();
}

#[test]
fn a_dry_run_prints_what_is_then_really_sent() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review();
    let dry = desk.post("--dry-run").ended(0).json();
    assert_eq!(desk.writes(), 0);
    assert!(desk.pull.comments().is_empty());
    assert_eq!(dry["schema"], "delivery-plan/1");
    desk.post("").ended(0);
    let review = &dry["requests"][0];
    assert_eq!((&review["method"], &review["path"]), (&json!("POST"), &json!("/repos/octo/demo/pulls/7/reviews")));
    assert_eq!(review["body"]["body"], desk.pull.reviews()[0].said.body);
    let bodies: Vec<Value> = desk.pull.threads().iter().map(|thread| json!(thread.comments[0].body)).collect();
    let planned: Vec<Value> =
        review["body"]["comments"].as_array().unwrap().iter().map(|one| one["body"].clone()).collect();
    assert_eq!(planned, bodies);
    assert_eq!(dry["requests"][1]["body"]["body"], json!(desk.summary()));
    assert_eq!(dry["requests"].as_array().map(Vec::len), Some(2));
    let acts = |value: &Value| -> Vec<Value> {
        value["items"].as_array().unwrap().iter().map(|item| item["act"].clone()).collect()
    };
    assert_eq!(acts(&dry), acts(&desk.receipt()));
    desk.fake.finish();
}

#[test]
fn a_dry_run_is_json_and_nothing_else() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    let dry = desk.review_and_post("--dry-run --format json").ended(0).json();
    assert_eq!(dry["schema"], "delivery-plan/1");
    let refused = desk.review_and_post("--dry-run --format markdown").ended(2);
    assert!(refused.stderr.contains("\"markdown\"") && refused.stderr.contains("json"), "{}", refused.stderr);
    assert_eq!((refused.text(), desk.writes()), ("", 0));
    desk.fake.finish();
}

#[test]
fn more_findings_than_comments_stand_in_the_summary() {
    let desk = Desk::new(&many(4, 15, "f"));
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 10, "in_summary": 50}));
    assert_eq!(desk.pull.threads().len(), 10);
    let before = desk.writes();
    desk.post("").ended(0);
    assert_eq!(desk.counts(), json!({"left": 10, "in_summary": 50}));
    assert_eq!(desk.writes(), before);
    let (main, also) =
        desk.summary().split_once("### Also noticed").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(main.contains("| severity | place | title |"), "{main}");
    let link = format!("/octo/demo/blob/{}/many/m", desk.work.git(["rev-parse", "HEAD"]).trim());
    assert_eq!(
        also.lines().filter(|line| line.starts_with("- **high**") && line.contains(&link)).count(),
        50,
        "{also}"
    );
    desk.fake.finish();
}

#[test]
fn comments_are_for_findings_at_or_above_a_severity_and_those_posted_stay() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.push(&[("b.py", bad("two"))]);
    desk.review_and_post("--comment-on critical").ended(0);
    assert_eq!(desk.counts(), json!({"left": 1, "in_summary": 1}));
    let summary = desk.summary();
    assert!(summary.contains("### On their lines") && summary.contains("### Also noticed"), "{summary}");
    let before = desk.writes();
    desk.post("--comment-on critical").ended(0);
    assert_eq!(desk.writes(), before);
    assert!(desk.post("--comment-on huge").ended(2).stderr.contains("critical"));
    assert!(desk.post("--max-comments 51").ended(2).stderr.contains("0 to 50"));
    desk.fake.finish();
}

#[test]
fn a_summary_beyond_what_a_forge_takes_leaves_the_rest_to_the_kept_review() {
    let desk = Desk::new(&many(45, 20, "a_function_with_a_rather_long_name_number_"));
    desk.review_and_post("").ended(0);
    let counts = desk.counts();
    assert!(counts["in_artefact"].as_u64().is_some_and(|count| count > 0), "{counts}");
    let all: u64 = counts.as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(all, 900);
    assert!(desk.summary().chars().count() <= 65_536);
    desk.fake.finish();
}

#[test]
fn posting_needs_a_pull_request_and_is_asked_for_by_flags() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.program.words("--target main --no-model --post").ended(2);
    desk.program.words("--pr octo/demo#7 --no-model --dry-run").ended(2);
    desk.program.words("--target main --no-model --quiet").ended(0);
    let ran = desk.post("").ended(2);
    assert!(ran.stderr.contains("--pr NUMBER"), "{}", ran.stderr);
    assert!(desk.post("--request-changes-on huge").ended(2).stderr.contains("critical"));
    assert_eq!(desk.writes(), 0);
    // The commit is the head: it may be said which pull request that is.
    desk.post("--pr octo/demo#7").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.work.git(["checkout", "-q", "main"]);
    desk.work.write("c.py", bad("other")).commit("another");
    desk.program.words("--commit HEAD --no-model --quiet").ended(0);
    assert!(desk.post("--pr octo/demo#7").ended(2).stderr.contains("does not have the commit"));
    desk.fake.finish();
}

/// A token from another program stands in no variable.
#[cfg(unix)]
#[test]
fn a_token_that_gh_told_is_posted_nowhere() {
    use std::os::unix::fs::PermissionsExt as _;
    const TOKEN: &str = "opensesame-of-gh";
    let mut desk = Desk::new(&[("a.py", bad("one"))]);
    desk.fake.change(|world| world.token = TOKEN.to_owned());
    let folder = desk.work.beside("programs");
    std::fs::create_dir(&folder).unwrap();
    let gh = folder.join("gh");
    std::fs::write(&gh, format!("#!/bin/sh\necho {TOKEN}\n")).unwrap();
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let known = desk.fake.env().into_iter().filter(|(name, _)| *name != "GITHUB_TOKEN");
    desk.program = Program::in_folder(desk.work.root()).with_all(known.chain([("PATH", path)]));
    desk.review();
    let kept = desk.program.kept().remove(0).join("review.json");
    let mut review: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    for field in ["title", "body"] {
        review["findings"][0][field] = format!("It tells {TOKEN} to all").into();
    }
    std::fs::write(&kept, review.to_string()).unwrap();
    desk.post("").ended(0);
    let said = desk.pull.threads()[0].comments[0].body.clone();
    assert!(said.contains(r"It tells \[masked:") && !said.contains(TOKEN), "{said}");
    assert!(desk.pull.reviews().iter().all(|review| !review.said.body.contains(TOKEN)));
    assert!(!desk.summary().contains(TOKEN));
    desk.fake.finish();
}
