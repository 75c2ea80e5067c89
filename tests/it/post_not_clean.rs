//! What must not look clean, and no thread that is resolved although nothing shows that it is fixed.

use serde_json::json;

use crate::support::posting::{Desk, bad, good, many};

#[test]
fn a_review_of_a_part_is_no_review_of_the_pull_request() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    desk.push(&[("a.py", bad("one").replace("is not done", "is still not done"))]);
    desk.push(&[("b.py", good("two"))]);
    // Only the last commit.
    desk.program.words("--commit HEAD --no-model --quiet").ended(0);
    desk.post("--pr octo/demo#7 --request-changes-on high").ended(0);
    let summary = desk.summary();
    assert!(summary.contains("complete=0") && !summary.contains("no findings"), "{summary}");
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved), "{}", desk.receipt());
    assert_eq!(desk.pull.reviews()[0].state, "CHANGES_REQUESTED", "{}", desk.receipt());
    desk.fake.finish();
}

#[test]
fn another_base_is_another_change() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.work.git(["branch", "stack"]);
    desk.push(&[("b.py", good("two"))]);
    // The base is the lower part of a stack, then main.
    let main = desk.pull.state().base;
    desk.pull.push_base(&desk.work, "stack");
    desk.review();
    desk.pull.push_base(&desk.work, &main);
    let ran = desk.post("");
    let summary = desk.summary();
    assert!(summary.contains("complete=0") && !summary.contains("no findings"), "{} {summary}", ran.text());
    desk.fake.finish();
}

#[test]
fn what_is_below_the_floor_is_not_gone() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    desk.push(&[("a.py", bad("one").replace("is not done", "is still not done"))]);
    desk.review_and_post("--request-changes-on high --min-severity critical").ended(0);
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved), "{}", desk.receipt());
    assert_eq!(desk.pull.reviews()[0].state, "CHANGES_REQUESTED", "{}", desk.receipt());
    desk.fake.finish();
}

#[test]
fn what_is_not_raised_is_not_worded_clean() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("").ended(0);
    let thread = format!("PRRT_{:06}", desk.pull.threads()[0].id);
    desk.pull.resolve(&thread, "ada");
    desk.push(&[("b.py", good("two"))]);
    desk.review_and_post("").ended(0);
    let summary = desk.summary();
    assert!(!summary.contains("no findings"), "{summary}");
    desk.fake.finish();
}

#[test]
fn of_two_that_are_alike_the_one_that_is_fixed_is_resolved() {
    let one = "def f(done):\n    assert (done, 'x')\n\n\n";
    let desk = Desk::new(&[("a.py", format!("{one}{}{one}", good("between").repeat(5)))]);
    desk.review_and_post("").ended(0);
    desk.push(&[("a.py", format!("{}{}{one}", good("f"), good("between").repeat(5)))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.pull.threads().iter().map(|thread| thread.resolved).collect::<Vec<_>>(), [true, false]);
    desk.fake.finish();
}

#[test]
fn what_had_no_room_on_lines_gets_it_when_others_are_fixed() {
    let desk = Desk::new(&many(4, 15, "f"));
    desk.review_and_post("--max-comments 50 --request-changes-on high").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 50, "in_summary": 10}));
    desk.push(&[("many/m0.py", good("fixed"))]);
    desk.review_and_post("--max-comments 50").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 10, "left": 35, "resolved": 15}));
    desk.fake.finish();
}

#[test]
fn a_dry_run_of_a_later_review_prints_what_is_then_really_sent() {
    let desk = Desk::new(&[("a.py", format!("{}{}{}", bad("one"), bad("two"), bad("three")))]);
    desk.review_and_post("").ended(0);
    desk.push(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review_and_post("").ended(0);
    desk.push(&[("a.py", format!("{}{}{}", bad("one"), bad("three"), bad("four")))]);
    desk.review();
    let dry = desk.post("--dry-run").ended(0).json();
    let named: Vec<&str> = dry["requests"].as_array().unwrap().iter().map(named).collect();
    assert_eq!(named, ["unresolveReviewThread", "POST", "resolveReviewThread", "PATCH"]);
    desk.post("").ended(0);
    assert_eq!(dry["requests"][3]["body"]["body"], json!(desk.summary()));
    assert_eq!(dry["requests"][1]["body"]["body"], json!(desk.pull.reviews().last().unwrap().said.body));
    assert_eq!(dry["requests"][1]["body"]["comments"].as_array().map(Vec::len), Some(1));
    assert_eq!(desk.counts(), json!({"posted": 1, "reopened": 1, "left": 1, "resolved": 1}));
    desk.fake.finish();
}

fn named(request: &serde_json::Value) -> &str {
    request["graphql"].as_str().or(request["method"].as_str()).unwrap()
}

#[test]
fn an_objection_does_not_go_because_a_review_hides_what_is_that_bad() {
    let desk = Desk::new(&many(4, 15, "f"));
    desk.review_and_post("--max-comments 50 --request-changes-on high").ended(0);
    // What had no room on lines has no thread that would speak for it.
    for thread in desk.pull.threads() {
        desk.pull.resolve(&format!("PRRT_{:06}", thread.id), "ada");
    }
    desk.review_and_post("--max-comments 50 --request-changes-on high --min-severity critical").ended(0);
    assert_eq!(desk.pull.reviews()[0].state, "CHANGES_REQUESTED", "{}", desk.receipt());
    desk.fake.finish();
}
