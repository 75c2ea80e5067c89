//! Which review `review post last` means.

use crate::support::TestRepo;
use crate::support::posting::{Desk, bad};

#[test]
fn the_last_review_is_that_of_the_repository_one_stands_in() {
    let desk = Desk::new(&[("a.py", bad("one"))]);
    let address = format!("{}/octo/demo.git", desk.fake.url());
    desk.work.git(["remote", "add", "origin", &address]);
    desk.review();
    let other = TestRepo::new();
    other.write("README", "read me\n").commit("begin");
    other.branch("feature").write("a.py", bad("two")).commit("add a file");
    let there = format!("-C {}", other.root().display());

    let refused = desk.program.words(&format!("post last {there}")).ended(2);
    assert!(refused.stderr.contains("no review of the repository"), "{}", refused.stderr);
    assert!(refused.stderr.contains("octo/demo#7"), "it says what the newest is: {}", refused.stderr);

    desk.program.words(&format!("{there} --target main --no-model --quiet")).ended(0);
    let refused = desk.program.words(&format!("post last {there}")).ended(2);
    assert!(refused.stderr.contains("is not of a pull request"), "{}", refused.stderr);
    assert_eq!(desk.writes(), 0);
    let dry = desk.program.words("post last --dry-run").ended(0);
    assert!(dry.stderr.contains("octo/demo#7; nothing is sent"), "{}", dry.stderr);

    // Outside of a repository it is the newest of all.
    let outside = desk.work.beside("elsewhere");
    std::fs::create_dir(&outside).expect("a folder");
    let from_outside = format!("post last -C {}", outside.display());
    desk.program.words(&from_outside).ended(2);
    desk.review();
    let ran = desk.program.words(&from_outside).ended(0);
    assert!(ran.stderr.contains("posting the review ") && ran.stderr.contains(" on octo/demo#7"), "{}", ran.stderr);
    assert_eq!(desk.pull.reviews().len(), 1);

    let list = desk.program.words("list --all").ended(0);
    let rows: Vec<&str> = list.text().lines().collect();
    assert_eq!(rows.iter().filter(|row| row.contains("main → feature (#7)")).count(), 2, "{rows:?}");
    assert!(rows.iter().any(|row| row.contains("main → feature ") && !row.contains('#')), "{rows:?}");
    desk.fake.finish();
}
