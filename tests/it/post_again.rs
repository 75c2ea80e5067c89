//! Posting after a push: what is new, what stands, what is fixed, what came back, what comes late, and a head that moved.

use serde_json::json;

use crate::support::posting::{Desk, bad, good, many};

/// Two findings, posted.
fn posted() -> Desk {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 2}));
    desk
}

#[test]
fn after_a_push_the_new_is_posted_the_open_left_and_the_fixed_resolved() {
    let desk = posted();
    desk.push(&[("a.py", format!("{}{}{}", good("zero"), bad("one"), good("two"))), ("b.py", bad("three"))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1, "left": 1, "resolved": 1}));
    let threads = desk.pull.threads();
    let resolved: Vec<bool> = threads.iter().map(|thread| thread.resolved).collect();
    assert_eq!(resolved, [false, true, false]);
    assert!(threads[1].original_line == Some(6) && threads[2].path == "b.py");
    let before = desk.writes();
    desk.post("").ended(0);
    assert_eq!(desk.writes(), before, "the second time nothing is sent");
    desk.fake.finish();
}

#[test]
fn what_comes_back_is_reopened() {
    let desk = posted();
    desk.push(&[("a.py", bad("one"))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"left": 1, "resolved": 1}));
    desk.push(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"left": 1, "reopened": 1}));
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved));
    desk.fake.finish();
}

#[test]
fn what_somebody_else_resolved_is_not_raised_again_but_counts() {
    let desk = posted();
    let thread = format!("PRRT_{:06}", desk.pull.threads()[0].id);
    desk.pull.resolve(&thread, "ada");
    desk.push(&[("a.py", format!("{}{}", bad("one"), good("two")))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.counts(), json!({"resolved": 1, "resolved_by_others": 1}));
    assert!(desk.pull.threads()[0].resolved);
    assert_eq!(desk.pull.reviews().last().unwrap().state, "CHANGES_REQUESTED");
    desk.fake.finish();
}

#[test]
fn a_rebase_posts_nothing_twice() {
    let desk = posted();
    desk.work.git(["checkout", "-q", "main"]);
    desk.work.write("other.py", good("other")).commit("meanwhile");
    desk.pull.push_base(&desk.work, "main");
    desk.work.git(["checkout", "-q", "feature"]);
    desk.work.git(["rebase", "-q", "main"]);
    desk.work.git(["commit", "-q", "--amend", "-m", "a change, told better"]);
    desk.pull.push(&desk.work, "feature");
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"left": 2}));
    assert_eq!(desk.pull.threads().len(), 2);
    desk.fake.finish();
}

#[test]
fn what_an_earlier_review_was_not_of_is_not_late() {
    let desk = Desk::new(&[("a.py", bad("one")), ("b.md", "text\n".to_owned())]);
    desk.review_and_post("--include *.md").ended(0);
    assert!(desk.summary().contains("no findings"));
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.fake.finish();
}

#[test]
fn a_review_of_one_commit_is_none_of_the_pull_request() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.push(&[("b.md", "text\n".to_owned())]);
    desk.program.words("--commit HEAD --no-model").ended(0);
    desk.post("--pr octo/demo#7").ended(0);
    assert!(desk.summary().contains("not a pass"), "{}", desk.summary());
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.fake.finish();
}

#[test]
fn what_an_earlier_review_saw_and_did_not_raise_is_late() {
    let desk = Desk::new(&[("a.py", bad("one")), ("b.py", good("two"))]);
    // The first review does not look for it.
    desk.program.words("--pr octo/demo#7 --no-model --post --quiet --min-severity critical").ended(0);
    assert_eq!(desk.pull.threads().len(), 0);
    // As if it had hidden nothing but overlooked it.
    desk.fake.change(|world| {
        for said in world.repos.iter_mut().flat_map(|repo| &mut repo.pulls).flat_map(|pull| &mut pull.comments) {
            said.body = said.body.replace("hid=high", "hid=none");
        }
    });
    desk.push(&[("b.py", bad("two"))]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1, "late": 1}));
    assert_eq!(desk.pull.threads()[0].path, "b.py");
    let summary = desk.summary();
    assert!(summary.contains("Late") && summary.contains("high"), "{summary}");
    let before = desk.writes();
    desk.post("--request-changes-on high").ended(0);
    assert_eq!((desk.counts(), desk.writes()), (json!({"left": 1, "late": 1}), before));
    desk.fake.finish();
}

#[test]
fn what_an_earlier_review_hid_is_not_late() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review_and_post("--min-severity critical").ended(0);
    assert_eq!(desk.pull.threads().len(), 0);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.fake.finish();
}

#[test]
fn what_stood_in_the_summary_alone_is_told_when_it_is_fixed() {
    let desk = Desk::new(&many(3, 20, "f"));
    desk.review_and_post("--max-comments 50").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 50, "in_summary": 10}));
    let before = (desk.writes(), desk.summary());
    desk.review_and_post("--max-comments 50").ended(0);
    assert_eq!((desk.writes(), desk.summary()), before, "another run that finds the same writes nothing");
    let most: String = (0..15).map(|n| bad(&format!("f2_{n}"))).collect();
    desk.push(&[("many/m2.py", most)]);
    desk.review_and_post("--max-comments 50").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 5, "left": 50, "resolved": 5}));
    assert!(desk.summary().contains("Fixed (5)"), "{}", desk.summary());
    let before = (desk.writes(), desk.summary());
    desk.post("--max-comments 50").ended(0);
    assert_eq!((desk.writes(), desk.summary()), before);
    desk.fake.finish();
}

#[test]
fn an_incomplete_review_resolves_nothing() {
    let desk = posted();
    desk.push(&[("a.py", good("one")), ("c.py", good("three"))]);
    desk.review();
    // As if its time had been up.
    let newest =
        desk.program.kept().into_iter().max_by_key(|folder| folder.metadata().unwrap().modified().unwrap()).unwrap();
    let file = newest.join("review.json");
    let mut review: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (review["outcome"], review["ended"]) = (json!("incomplete"), json!("deadline"));
    review["reasons"] = json!(["The time was up."]);
    std::fs::write(&file, review.to_string()).unwrap();
    desk.post("").ended(0);
    assert_eq!(desk.counts(), json!({"still_open": 2}));
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved));
    let summary = desk.summary();
    assert!(summary.contains("complete=0") && summary.contains("ncomplete"), "{summary}");
    // Then a whole one does.
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"resolved": 2}));
    desk.fake.finish();
}

#[test]
fn on_a_head_that_moved_what_stands_is_posted_where_it_stands() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review();
    let head = desk.push(&[("a.py", format!("{}{}{}", good("zero"), bad("one"), good("two")))]);
    let ran = desk.post("").ended(0);
    assert!(ran.text().contains("nothing after that was reviewed"), "{}", ran.text());
    assert_eq!(desk.counts(), json!({"posted": 1, "in_summary": 1}));
    let threads = desk.pull.threads();
    assert_eq!((threads.len(), threads[0].line, &threads[0].original_commit), (1, Some(6), &head));
    let summary = desk.summary();
    assert!(summary.contains("The head moved") && summary.contains("were not reviewed"), "{summary}");
    assert!(summary.contains("complete=0") && summary.contains("they changed after the review"), "{summary}");
    desk.fake.finish();
}

#[test]
fn a_clean_review_of_a_head_that_moved_is_not_worded_clean() {
    let desk = Desk::new(&[("a.py", good("one"))]);
    desk.review();
    desk.push(&[("a.py", bad("one"))]);
    desk.post("").ended(0);
    let summary = desk.summary();
    assert!(!summary.contains("no findings") && summary.contains("not a pass"), "{summary}");
    desk.fake.finish();
}

#[test]
fn on_a_head_that_moved_nothing_is_posted_where_that_was_asked_for() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    desk.review();
    desk.push(&[("b.py", good("two"))]);
    let ran = desk.post("--moved-head stop").ended(5);
    assert!(ran.stderr.contains("moved from") && ran.stderr.contains("reanchor"), "{}", ran.stderr);
    assert_eq!(desk.writes(), 0);
    let receipt = desk.receipt();
    assert_eq!((&receipt["whole"], &receipt["counts"]), (&json!(false), &json!({"in_artefact": 1})));
    desk.post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 1}));
    desk.fake.finish();
}

#[test]
fn a_moved_head_resolves_nothing() {
    let desk = posted();
    desk.push(&[("a.py", good("one"))]);
    desk.post("").ended(0);
    assert!(desk.pull.threads().iter().all(|thread| !thread.resolved), "{}", desk.receipt());
    desk.fake.finish();
}
