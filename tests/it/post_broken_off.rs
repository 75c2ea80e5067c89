//! A run that is broken off at any request: the next one delivers all of it exactly once, and the one after that sends nothing.

use crate::support::github::{Fake, On, Script, Trouble};
use crate::support::posting::{Desk, bad, good};

/// Findings that show in open threads of ours, by their names.
fn open(desk: &Desk) -> Vec<String> {
    let threads = desk.pull.threads().into_iter().filter(|thread| !thread.resolved);
    let named = threads.map(|thread| {
        // The file is new: its one hunk begins at its first line.
        let line = usize::try_from(thread.original_line.unwrap()).unwrap();
        let quoted = thread.diff_hunk.lines().nth(line).unwrap_or_default().to_owned();
        quoted.split('\'').nth(1).unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
    });
    let mut named: Vec<String> = named.collect();
    named.sort_unstable();
    named
}

/// A second run delivers all of it, and a third one sends nothing.
#[track_caller]
fn converges(desk: &Desk, expected: &[&str], what: &str) {
    let ran = desk.post("--request-changes-on high");
    assert_eq!(ran.code, 0, "{what}: {}", ran.stderr);
    assert_eq!(open(desk), expected, "{what}: {:#}", desk.receipt());
    assert!(desk.pull.reviews().iter().all(|review| review.state != "PENDING"), "{what}");
    let summary = desk.summary();
    assert!(summary.contains("complete=1"), "{what}: {summary}");
    let before = desk.fake.asked().len();
    desk.post("--request-changes-on high").ended(0);
    let sent = desk.fake.asked().split_off(before).into_iter();
    let sent: Vec<_> = sent
        .filter(|(method, path)| method != "GET" && !path.contains("graphql") && !path.contains("git-upload-pack"))
        .collect();
    assert!(sent.is_empty(), "{what}: {sent:?}");
    assert_eq!(
        (open(desk), desk.summary()),
        (expected.iter().map(|one| (*one).to_owned()).collect(), summary),
        "{what}"
    );
    let asking = desk.pull.reviews().iter().filter(|review| review.state == "CHANGES_REQUESTED").count();
    assert_eq!(asking > 0, !expected.is_empty(), "{what}: {:?}", desk.pull.reviews());
}

/// Number of ways in which a write fails.
const TROUBLES: usize = 4;

/// Lets each write of a run fail in turn, in every `step`-th of the ways, the ways in turn, and looks whether the next run repairs it.
fn sweep(step: usize, prepare: impl Fn(&Desk) + Sync, expected: &[&str]) {
    let in_turn = |at: usize, trouble: &Trouble| {
        for nth in (0..20).filter(|nth| (nth + at).is_multiple_of(step)) {
            if !breaks_off(nth, trouble, &prepare, expected) {
                assert!(nth > 0, "nothing was written at all");
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let troubles: [Trouble; TROUBLES] =
            [Trouble::status(502), Trouble::StatusAfter(502), Trouble::DropAfter, Trouble::status(403)];
        for (at, trouble) in troubles.into_iter().enumerate() {
            scope.spawn(move || in_turn(at, &trouble));
        }
    });
}

/// Whether there was such a write.
fn breaks_off(nth: usize, trouble: &Trouble, prepare: &impl Fn(&Desk), expected: &[&str]) -> bool {
    // Longer than anybody tries again.
    const TIMES: usize = 4;
    let files = [("a.py", format!("{}{}{}", bad("one"), bad("two"), bad("three")))];
    let desk = Desk::on(Fake::unrecorded(), "ada", &files);
    prepare(&desk);
    desk.review();
    desk.fake.change(|world| world.script.at = Some((nth, trouble.clone(), TIMES)));
    let ran = desk.post("--request-changes-on high");
    let left = desk.fake.change(|world| world.script.at.take()).map_or(0, |(_, _, left)| left);
    converges(&desk, expected, &format!("{trouble:?} at write {nth}, ended with {}: {}", ran.code, ran.stderr));
    desk.fake.finish();
    left < TIMES
}

fn first_run(step: usize) {
    sweep(step, |_| {}, &["one", "three", "two"]);
}

fn later_run(step: usize) {
    let prepare = |desk: &Desk| {
        desk.review_and_post("--request-changes-on high").ended(0);
        desk.push(&[("a.py", format!("{}{}", bad("one"), bad("two")))]);
        desk.review_and_post("--request-changes-on high").ended(0);
        // One stays, two is fixed, three is back, four is new.
        desk.push(&[("a.py", format!("{}{}{}", bad("one"), bad("three"), bad("four")))]);
    };
    sweep(step, prepare, &["four", "one", "three"]);
}

fn last_run(step: usize) {
    let prepare = |desk: &Desk| {
        desk.review_and_post("--request-changes-on high").ended(0);
        desk.push(&[("a.py", good("one"))]);
    };
    sweep(step, prepare, &[]);
}

#[test]
fn whatever_write_of_a_first_run_fails_the_next_one_repairs_it() {
    first_run(TROUBLES);
}

#[test]
fn whatever_write_of_a_later_run_fails_the_next_one_repairs_it() {
    later_run(TROUBLES);
}

#[test]
fn whatever_write_of_the_last_run_fails_the_next_one_repairs_it() {
    last_run(TROUBLES);
}

#[test]
#[ignore = "takes long; .ci/run runs it"]
fn exhaustive_whatever_write_of_any_run_fails_in_whatever_way_the_next_one_repairs_it() {
    first_run(1);
    later_run(1);
    last_run(1);
}

#[test]
fn what_was_only_begun_is_not_taken_for_said() {
    let desk = Desk::new(&[("a.py", format!("{}{}{}", bad("one"), bad("two"), bad("three")))]);
    let refused = || Trouble::unprocessable(&["Pull request review thread line must be part of the diff"]);
    desk.fake.fail_next(On::rest("POST", "/pulls/7/reviews"), refused());
    desk.fake.fail_times(9, On::rest("DELETE", "/pulls/7/reviews"), Trouble::status(502));
    let ran = desk.review_and_post("--request-changes-on high");
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    desk.fake.change(|world| world.script = Script::default());
    converges(&desk, &["one", "three", "two"], "a review that was begun and not taken back");
    desk.fake.finish();
}
