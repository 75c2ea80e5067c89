//! What goes wrong while posting: nothing is lost, nothing is posted twice, and nothing is claimed that did not happen.

use serde_json::json;

use crate::support::github::{Fake, On, Trouble};
use crate::support::posting::{Desk, bad, good, many};

const REVIEWS: &str = "/pulls/7/reviews";

#[test]
fn one_comment_that_is_refused_does_not_take_the_others_along() {
    let desk = Desk::new(&[("a.py", (0..5).map(|at| bad(&format!("f{at}"))).collect())]);
    let refused = || Trouble::unprocessable(&["Pull request review thread line must be part of the diff"]);
    // All reviews that have the third comment.
    desk.fake.fail_always(On::rest("POST", REVIEWS).with("\"line\":10,"), refused());
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 4, "in_summary": 1}));
    assert_eq!((desk.pull.threads().len(), desk.pull.reviews().len()), (4, 1), "what was tried was taken back");
    let receipt = desk.receipt();
    let item = receipt["items"].as_array().unwrap().iter().find(|item| item["act"] == "in_summary").unwrap();
    assert!(item["reason"].as_str().unwrap().contains("must be part of the diff"), "{item}");
    assert!(desk.summary().contains("the forge refused the comment"));
    desk.fake.finish();
}

#[test]
fn a_review_that_is_refused_whatever_it_holds_is_a_failure_and_the_next_run_repairs_it() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.fake.fail_next(On::rest("POST", REVIEWS), Trouble::status(403));
    let ran = desk.review_and_post("");
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert_eq!(desk.counts(), json!({"in_summary": 2}));
    let summary = desk.summary();
    assert!(summary.contains("complete=0") && summary.contains("could not be posted"), "{summary}");
    desk.post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 2}));
    assert!(desk.summary().contains("complete=1"));
    desk.fake.finish();
}

#[test]
fn who_may_not_resolve_says_so() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review_and_post("").ended(0);
    desk.push(&[("a.py", good("one"))]);
    desk.fake.fail_next(
        On::graphql("resolveReviewThread"),
        Trouble::graphql("FORBIDDEN", "Resource not accessible by integration"),
    );
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"resolve_refused": 2}));
    assert!(desk.receipt()["notes"].to_string().contains("could not be resolved"));
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved));
    assert!(desk.summary().contains("could not be resolved"));
    // Where the forge says so beforehand, it is not asked.
    desk.fake.rights(|rights| rights.resolve = false);
    desk.post("").ended(0);
    assert_eq!(desk.counts(), json!({"resolve_refused": 2}));
    desk.fake.finish();
}

#[test]
fn a_review_whose_answer_was_lost_is_not_posted_twice() {
    for lost in [Trouble::StatusAfter(502), Trouble::DropAfter] {
        let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
        desk.fake.fail_next(On::rest("POST", REVIEWS), lost.clone());
        desk.fake.fail_next(On::rest("POST", "/issues/7/comments"), lost);
        desk.review_and_post("").ended(0);
        assert_eq!((desk.pull.reviews().len(), desk.pull.threads().len()), (1, 2));
        desk.summary();
        assert_eq!(desk.counts(), json!({"posted": 2}));
        desk.fake.finish();
    }
}

#[test]
fn a_review_that_did_not_arrive_is_sent_again() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.fake.fail_next(On::rest("POST", REVIEWS), Trouble::status(502));
    desk.review_and_post("").ended(0);
    assert_eq!((desk.pull.reviews().len(), desk.counts()), (1, json!({"posted": 1})));
    desk.fake.finish();
}

#[test]
fn the_secondary_limit_is_waited_for() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.fake.secondary_limit(0, 1, 1);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.fake.finish();
}

#[test]
fn a_deadline_that_ends_in_a_limit_leaves_a_receipt() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review();
    desk.fake.secondary_limit(0, usize::MAX, 3600);
    let ran = desk.post("--timeout 1m").ended(5);
    assert!(ran.stderr.contains("limit"), "{}", ran.stderr);
    let receipt = desk.receipt();
    assert_eq!((&receipt["whole"], &receipt["counts"]), (&json!(false), &json!({"in_artefact": 1})));
    assert_eq!(receipt["summary"]["act"], "failed");
    drop(desk.fake.take_wrong());
}

#[test]
fn marks_that_others_copy_change_nothing() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("").ended(0);
    let (ours, summary) = (desk.pull.threads()[0].comments[0].body.clone(), desk.summary());
    let other = Desk::new(&[("a.py", bad("one"))]);
    let thread = other.pull.thread("mallory", "a.py", 2, &ours);
    other.pull.comment("mallory", &summary);
    other.review_and_post("").ended(0);
    assert_eq!(other.counts(), json!({"posted": 1}));
    assert_eq!((other.pull.threads().len(), other.pull.comments().len()), (2, 2));
    assert_eq!(other.receipt()["notes"].as_array().map(Vec::len), Some(2), "{}", other.receipt());
    // Neither does it get resolved when its lines are gone.
    other.push(&[("a.py", good("one"))]);
    other.review_and_post("").ended(0);
    assert_eq!(other.counts(), json!({"resolved": 1}));
    let theirs = other.pull.threads().into_iter().find(|one| format!("PRRT_{:06}", one.id) == thread).unwrap();
    assert!(!theirs.resolved);
    desk.fake.finish();
    other.fake.finish();
}

#[test]
fn a_forge_that_cannot_be_asked_ends_with_5_and_keeps_the_review() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review();
    desk.fake.change(|world| world.token = "another".to_owned());
    let ran = desk.post("").ended(5);
    assert!(ran.stderr.contains("Authentication failed"), "{}", ran.stderr);
    assert_eq!(desk.receipt()["whole"], false);
    drop(desk.fake.take_wrong());
}

#[test]
fn a_head_that_moves_while_it_is_posted_is_looked_at_again() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    let gone = || Trouble::unprocessable(&["commitOID is not part of the pull request"]);
    desk.fake.fail_next(On::rest("POST", REVIEWS), gone());
    desk.review_and_post("").ended(0);
    assert_eq!((desk.counts(), desk.pull.reviews().len()), (json!({"posted": 1}), 1));
    desk.push(&[("b.py", bad("two"))]);
    desk.fake.fail_times(2, On::rest("POST", REVIEWS), gone());
    assert_eq!(desk.review_and_post("").code, 5);
    assert_eq!(desk.pull.reviews().len(), 1);
    desk.fake.finish();
}

#[test]
fn a_review_that_somebody_has_begun_by_hand_is_not_touched() {
    let desk = Desk::on(Fake::start(), "bob", &[("a.py", bad("one"))]);
    desk.pull.review("review-app[bot]", "PENDING", "my thoughts so far");
    let ran = desk.review_and_post("");
    assert_eq!(ran.code, 5);
    assert!(ran.stderr.contains("has begun a review"), "{}", ran.stderr);
    assert_eq!(desk.pull.reviews().len(), 1);
    assert_eq!(desk.counts(), json!({"in_summary": 1}));
    desk.fake.finish();
}

#[test]
fn more_than_three_hundred_files_are_no_trouble() {
    let mut files = many(310, 0, "");
    for (_, text) in &mut files {
        *text = good("nothing");
    }
    files.push(("z.py", bad("one")));
    let desk = Desk::new(&files);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    assert_eq!(desk.pull.threads()[0].path, "z.py");
    desk.fake.finish();
}
