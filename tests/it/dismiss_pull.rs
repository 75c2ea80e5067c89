//! A dismissed finding on a pull request: it is not raised, and a thread about it is resolved.

use serde_json::json;

use crate::support::posting::{Desk, bad};

#[test]
fn a_thread_about_a_dismissed_finding_is_resolved_and_none_is_begun() {
    let desk = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    desk.review_and_post("").ended(0);
    assert_eq!(desk.counts(), json!({"posted": 2}));
    let review = desk.program.words("show last --format json").ended(0).json();
    let finding = &review["findings"][0];
    let entry = |finding: &serde_json::Value| {
        let text = |key: &str| finding[key].as_str().expect("a text");
        format!(
            "[[dismissed]]\nid = '{}'\nfingerprint = '{}'\npath = 'a.py'\nreason = 'it is *meant* so'\n",
            text("id"),
            text("fingerprint")
        )
    };
    desk.work.git(["checkout", "-q", "main"]);
    desk.work.write(".review/dismissed.toml", entry(finding)).commit("dismiss");
    desk.pull.push_base(&desk.work, "main");
    desk.work.git(["checkout", "-q", "feature"]);
    desk.review_and_post("--request-changes-on high").ended(0);
    assert_eq!(desk.counts(), json!({"left": 1, "resolved": 1}));
    let receipt = desk.receipt().to_string();
    assert!(receipt.contains("It was dismissed: it is *meant* so."), "{receipt}");
    let resolved: Vec<bool> = desk.pull.threads().iter().map(|thread| thread.resolved).collect();
    assert_eq!(resolved, [true, false]);
    let summary = desk.summary();
    assert!(summary.contains("dismissed"), "{summary}");

    // What was never raised is not raised now, and asks for no changes.
    let new = Desk::new(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
    new.work.git(["checkout", "-q", "main"]);
    let both = format!("{}{}", entry(finding), entry(&review["findings"][1]));
    new.work.write(".review/dismissed.toml", both).commit("dismiss");
    new.pull.push_base(&new.work, "main");
    new.work.git(["checkout", "-q", "feature"]);
    new.review_and_post("--request-changes-on high").ended(0);
    assert!(new.pull.threads().is_empty(), "{:?}", new.counts());
    assert!(new.pull.reviews().iter().all(|review| review.state != "CHANGES_REQUESTED"));
    new.fake.finish();
    desk.fake.finish();
}
