//! The client of GitHub against the fake one: what it reads, what it writes, and what it does when that goes wrong.

use std::collections::BTreeSet;

use review_runner::domain::forge::{DeliveryVerdict, PullState, ReviewVerdict};
use review_runner::domain::id::CommitId;
use review_runner::domain::path::RepoPath;
use review_runner::domain::place::{DiffSide, LineRange};
use review_runner::forge::{FaultKind, Marks, NewComment, NewReview, PullFilter};

use crate::support::TestRepo;
use crate::support::github::{Fake, Pull, demo};

/// Runs something to its end.
pub(crate) fn run<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(what)
}

pub(crate) fn comment(lines: (u32, u32), side: DiffSide, body: &str) -> NewComment {
    let path = RepoPath::from_bytes(b"a.txt").unwrap();
    NewComment { path, side, lines: LineRange::new(lines.0, lines.1).unwrap(), body: body.to_owned() }
}

pub(crate) fn review(pull: &Pull, verdict: Option<DeliveryVerdict>, comments: Vec<NewComment>) -> NewReview {
    let commit = CommitId(pull.state().head.parse().unwrap());
    NewReview { commit, verdict, body: "What was found.".to_owned(), comments }
}

#[test]
fn a_pull_request_is_read_as_it_is() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    fake.associate("ada", "MEMBER");
    let read = run(fake.client().pull(&pull.id())).unwrap();
    let state = pull.state();
    assert_eq!(
        (read.title.as_str(), read.body.as_str(), read.state),
        ("Change two lines", "Because.", PullState::Open)
    );
    assert_eq!((read.head.to_string(), read.base.to_string()), (state.head, state.base));
    assert_eq!((read.head_ref.as_str(), read.base_ref.as_str()), ("feature", "main"));
    assert_eq!((read.author.unwrap().login.as_str(), read.association.as_str()), ("ada", "MEMBER"));
    assert_eq!((read.additions, read.deletions, read.changed_files), (2, 2, 1));
    assert_eq!(read.url, pull.url());
    let viewer = run(fake.client().viewer()).unwrap();
    assert_eq!((viewer.login.as_str(), viewer.is_bot), ("review-app", true));
    fake.finish();
}

#[test]
fn no_page_of_a_conversation_is_missed() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let mut threads = Vec::new();
    for n in 0..130_u64 {
        let author = if n % 3 == 0 { "review-app[bot]" } else { "coderabbitai[bot]" };
        threads.push(pull.thread(author, "a.txt", 7 + n % 7, &format!("remark {n}")));
    }
    for (thread, answers) in [(0, 249), (64, 99), (129, 100)] {
        for n in 0..answers {
            pull.reply(&threads[thread], "eve", &format!("answer {n}"));
        }
    }
    for n in 0..150 {
        pull.comment(if n == 3 { "review-app[bot]" } else { "bob" }, &format!("comment {n}"));
    }
    let read = run(fake.client().conversation(&pull.id())).unwrap();
    assert_eq!(read.threads.iter().map(|thread| thread.node.clone()).collect::<Vec<_>>(), threads);
    let lengths = [0, 64, 129].map(|at: usize| read.threads[at].comments.len());
    assert_eq!(lengths, [250, 100, 101]);
    let texts: Vec<_> = read.threads[0].comments.iter().skip(1).map(|one| one.body.clone()).collect();
    assert_eq!(texts, (0..249).map(|n| format!("answer {n}")).collect::<Vec<_>>());
    let nodes: BTreeSet<_> = read.threads.iter().flat_map(|thread| &thread.comments).map(|one| &one.node).collect();
    assert_eq!(nodes.len(), 130 + 249 + 99 + 100, "each comment once");
    assert_eq!(read.threads.iter().filter(|thread| thread.comments[0].mine).count(), 44);
    assert_eq!(
        read.threads[1].comments[0].author.as_ref().map(|one| (one.login.as_str(), one.is_bot)),
        Some(("coderabbitai", true))
    );
    assert_eq!((read.reviews.len(), read.comments.len()), (130, 150));
    assert_eq!(
        read.comments.iter().filter(|one| one.mine).map(|one| one.body.as_str()).collect::<Vec<_>>(),
        ["comment 3"]
    );
    fake.finish();
}

#[test]
fn a_thread_is_found_by_its_id_alone() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let node = pull.thread_on("eve", "a.txt", "LEFT", (9, 10), "Why was it changed?");
    for n in 0..120 {
        pull.reply(&node, "bob", &format!("answer {n}"));
    }
    pull.resolve(&node, "eve");
    let github = fake.client();
    let thread = run(github.thread(&node)).unwrap();
    assert_eq!(
        (thread.comments.len(), thread.side, thread.is_resolved, thread.can_unresolve),
        (121, DiffSide::Old, true, true)
    );
    assert_eq!((thread.start_line, thread.line), (Some(9), Some(10)));
    for unknown in ["PRRT_999999", "nonsense"] {
        assert_eq!(run(github.thread(unknown)).unwrap_err().kind, FaultKind::NotFound, "{unknown}");
    }
    let other = pull.comment("eve", "not a thread");
    assert_eq!(run(github.thread(&format!("IC_{other:06}"))).unwrap_err().kind, FaultKind::NotFound);
    fake.finish();
}

#[test]
fn files_are_read_page_by_page_to_where_the_forge_stops() {
    let fake = Fake::start();
    let work = TestRepo::new();
    work.write("old.txt", "one\ntwo\nthree\nfour\nfive\n").commit("base");
    work.branch("feature").git(["mv", "old.txt", "new.txt"]);
    for n in 0..350 {
        work.write(format!("many/{n:04} ü.txt"), format!("{n}\n"));
    }
    work.commit("many");
    let pull = fake.pull("octo", "demo", 8).open(&work, "main", "feature");
    let (files, cut) = run(fake.client().files(&pull.id())).unwrap();
    assert_eq!((files.len(), cut), (351, false));
    let renamed = files.iter().find(|file| file.old_path.is_some()).unwrap();
    assert_eq!((renamed.path.as_bytes(), renamed.status.as_str()), (&b"new.txt"[..], "renamed"));
    assert_eq!(files.iter().map(|file| file.path.clone()).collect::<BTreeSet<_>>().len(), 351);
    pull.change(|state| {
        let one = state.diff[0].clone();
        state.diff = (0..3100)
            .map(|n| {
                let mut file = one.clone();
                file.path = format!("{n}");
                file
            })
            .collect();
    });
    let (files, cut) = run(fake.client().files(&pull.id())).unwrap();
    assert_eq!((files.len(), cut), (3000, true));
    fake.finish();
}

#[test]
fn pull_requests_are_listed_newest_first() {
    let fake = Fake::start();
    let (work, first) = demo(&fake);
    first.change(|state| state.state = "MERGED".to_owned());
    for number in 8..=12 {
        let pull = fake.pull("octo", "demo", number).title(&format!("number {number}")).open(&work, "main", "feature");
        if number == 9 {
            pull.change(|state| state.state = "CLOSED".to_owned());
        }
        if number == 12 {
            let node = pull.thread("eve", "a.txt", 10, "Hm.");
            pull.resolve(&node, "eve");
            pull.thread("eve", "a.txt", 10, "Hm!");
            pull.comment("eve", "Hm?");
        }
    }
    let github = fake.client();
    let list = |state, limit| {
        let page = run(github.pulls(&first.id().repo, PullFilter { state, limit })).unwrap();
        (page.pulls.iter().map(|one| one.pull.id.number.value()).collect::<Vec<_>>(), page.total)
    };
    assert_eq!(list(None, 100), (vec![12, 11, 10, 9, 8, 7], 6));
    assert_eq!(list(Some(PullState::Open), 2), (vec![12, 11], 4));
    assert_eq!(list(Some(PullState::Merged), 10), (vec![7], 1));
    assert_eq!(list(Some(PullState::Closed), 10), (vec![9], 1));
    let newest = run(github.pulls(&first.id().repo, PullFilter { state: None, limit: 1 })).unwrap().pulls.remove(0);
    assert_eq!((newest.threads, newest.unresolved, newest.comments), (2, 1, 1));
    fake.finish();
}

#[test]
fn a_review_is_created_with_all_of_its_comments() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let comments = vec![
        comment((10, 10), DiffSide::New, "one line"),
        comment((38, 41), DiffSide::New, "several"),
        comment((10, 10), DiffSide::Old, "what was there"),
    ];
    let asked = review(&pull, Some(DeliveryVerdict::RequestChanges), comments);
    let note = run(fake.client().create_review(&pull.id(), &asked)).unwrap();
    assert_eq!((note.verdict, note.comment.mine), (ReviewVerdict::ChangesRequested, true));
    let state = pull.state();
    assert_eq!((state.reviews.len(), state.threads.len()), (1, 3));
    assert_eq!(note.comment.number, Some(state.reviews[0].said.id));
    let places: Vec<_> = state.threads.iter().map(|one| (one.start_line, one.line, one.side.as_str())).collect();
    assert_eq!(places, [(None, Some(10), "RIGHT"), (Some(38), Some(41), "RIGHT"), (None, Some(10), "LEFT")]);
    let seen = run(fake.client().conversation(&pull.id())).unwrap();
    assert_eq!(
        seen.threads.iter().map(|one| one.comments[0].body.as_str()).collect::<Vec<_>>(),
        ["one line", "several", "what was there"]
    );
    run(fake.client().dismiss(&pull.id(), note.comment.number.unwrap(), "It was repaired.")).unwrap();
    assert_eq!(pull.reviews()[0].state, "DISMISSED");
    fake.finish();
}

#[test]
fn a_pending_review_is_taken_back_with_its_comments() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    let asked = review(&pull, None, vec![comment((10, 10), DiffSide::New, "not yet")]);
    let note = run(github.create_review(&pull.id(), &asked)).unwrap();
    assert_eq!(note.verdict, ReviewVerdict::Pending);
    let again = run(fake.client().create_review(&pull.id(), &asked)).unwrap_err();
    assert_eq!((again.kind, again.status, again.may_have_happened), (FaultKind::Refused, Some(422), false));
    assert!(again.message.contains("one pending review"), "{again}");
    run(github.delete_pending(&pull.id(), note.comment.number.unwrap())).unwrap();
    assert_eq!((pull.reviews().len(), pull.threads().len()), (0, 0));
    fake.finish();
}

#[test]
fn a_comment_is_written_and_rewritten() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let github = fake.client();
    let text = "Summary with \u{1f980}, \"quotes\" and\nlines.";
    let posted = run(github.create_comment(&pull.id(), text)).unwrap();
    assert_eq!((posted.body.as_str(), posted.mine), (text, true));
    let number = posted.number.unwrap();
    run(github.update_comment(&pull.id().repo, number, "Another.")).unwrap();
    assert_eq!(pull.comments().iter().map(|one| one.body.as_str()).collect::<Vec<_>>(), ["Another."]);
    let long = run(github.update_comment(&pull.id().repo, number, &"x".repeat(65_537))).unwrap_err();
    assert_eq!((long.kind, long.status), (FaultKind::Refused, Some(422)));
    fake.finish();
}

#[test]
fn threads_are_resolved_and_reopened_where_the_token_may() {
    let fake = Fake::start();
    let (_work, pull) = demo(&fake);
    let node = pull.thread("eve", "a.txt", 10, "Hm.");
    let github = fake.client();
    run(github.resolve(&node)).unwrap();
    assert_eq!(pull.threads()[0].resolved_by.as_deref(), Some("review-app[bot]"));
    run(github.reopen(&node)).unwrap();
    assert!(!pull.threads()[0].resolved);
    fake.rights(|rights| rights.resolve = false);
    let refused = run(github.resolve(&node)).unwrap_err();
    assert_eq!(refused.kind, FaultKind::Permission, "{refused}");
    assert!(!run(github.thread(&node)).unwrap().can_resolve);
    assert_eq!(run(github.resolve("PRRT_999999")).unwrap_err().kind, FaultKind::NotFound);
    fake.finish();
}

#[test]
fn what_changed_is_noticed_and_what_did_not_costs_nothing() {
    let fake = Fake::start();
    let (work, pull) = demo(&fake);
    let node = pull.thread("eve", "a.txt", 10, "Hm.");
    let github = fake.client();
    let mut marks = Marks::default();
    let mut changed = |what: &str, wanted: bool| {
        let (is, next) = run(github.poll_changes(&pull.id(), marks.clone())).unwrap();
        marks = next;
        assert_eq!(is, wanted, "{what}");
    };
    changed("the first look", true);
    let before = fake.asked().len();
    changed("nothing", false);
    let again: Vec<u16> = fake.answered()[before..].iter().filter(|one| one.0 == "GET").map(|one| one.2).collect();
    assert_eq!(again, [304; 4]);
    pull.comment("eve", "A word.");
    changed("a comment", true);
    pull.reply(&node, "bob", "An answer.");
    changed("an answer", true);
    pull.resolve(&node, "bob");
    changed("a thread resolved", true);
    pull.review("bob", "APPROVED", "Well.");
    changed("a review", true);
    work.write("b.txt", "more\n").commit("more");
    pull.push(&work, "feature");
    changed("a push", true);
    changed("nothing again", false);
    fake.finish();
}
