//! Tests of lines that are gone, and of lines that were seen.

use super::*;
use crate::domain::change::{ChangeRun, FileChange, Hunk, HunkSpan};
use crate::domain::finding::{Category, FindingFingerprint, FindingId, Severity};
use crate::domain::forge::{Comment, FindingMark, Thread};
use crate::domain::place::LineRange;
use crate::domain::review::{CoverageState, FileCoverage};
use crate::present::json;
use crate::workspace::memory::MemoryTree;

const CODE: &str = "fn first() {\n    let total = 0;\n    total\n}\n";
const QUOTE: &str = "    let total = 0;\n    total";

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn review() -> Review {
    let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
    review.coverage.files.clear();
    review
}

fn thread(at: &str, side: DiffSide) -> Thread {
    let comment = Comment {
        node: String::new(),
        number: None,
        body: String::new(),
        author: None,
        association: String::new(),
        mine: true,
        created_at: String::new(),
        updated_at: String::new(),
        url: String::new(),
        is_minimized: false,
    };
    Thread {
        node: String::new(),
        is_resolved: false,
        resolved_by: None,
        is_outdated: false,
        can_resolve: true,
        can_unresolve: true,
        path: Some(path(at)),
        line: None,
        start_line: None,
        original_line: None,
        original_start_line: None,
        side,
        on_file: false,
        comments: vec![comment],
    }
}

fn mark(quote: (String, u32)) -> FindingMark {
    FindingMark {
        id: FindingId("a".to_owned()),
        fingerprint: FindingFingerprint("a".to_owned()),
        quote,
        severity: Severity::High,
        category: Category::Logic,
        origin: OriginKind::Rule,
    }
}

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for (at, text) in files {
        tree.insert(path(at), text);
    }
    tree
}

fn asked(side: DiffSide, quote: (String, u32), files: &[(&str, &str)], review: &Review) -> bool {
    let thread = thread("a.rs", side);
    let own = OwnThread { thread: &thread, mark: mark(quote) };
    let change = ChangeSet::of(vec![FileChange::modified(path("a.rs")), FileChange::modified(path("b.rs"))]);
    thread_status(&own, review, &change, (&tree(files), &tree(files)), &Cancel::never()) == ThreadStatus::Gone
}

#[test]
fn lines_are_gone_only_where_they_stand_nowhere_in_their_file() {
    let gone = |files: &[(&str, &str)]| asked(DiffSide::New, quote_hash(QUOTE), files, &review());
    assert!(!gone(&[("a.rs", CODE)]));
    assert!(!gone(&[("a.rs", &format!("// more\n\n{}", CODE.replace("    ", "\t")))]), "moved and indented otherwise");
    assert!(gone(&[("a.rs", "fn first() {\n    let total = 1;\n    total\n}\n"), ("b.rs", CODE)]));
    assert!(gone(&[("a.rs", "")]));
}

#[test]
fn a_file_that_was_renamed_does_not_take_its_lines_along() {
    let gone = |files: &[(&str, &str)]| asked(DiffSide::New, quote_hash(QUOTE), files, &review());
    assert!(!gone(&[("b.rs", CODE)]));
    assert!(gone(&[("b.rs", "something else\n")]));
    assert!(gone(&[]));
}

#[test]
fn a_deletion_is_gone_when_its_lines_are_back() {
    let gone = |files: &[(&str, &str)]| asked(DiffSide::Old, quote_hash(QUOTE), files, &review());
    assert!(gone(&[("a.rs", CODE)]));
    assert!(!gone(&[("a.rs", "fn first() {}\n")]));
    assert!(!gone(&[]));
}

#[test]
fn a_deletion_is_not_gone_because_its_lines_stand_a_second_time() {
    let (thread, quote) = (thread("a.rs", DiffSide::Old), quote_hash("    unlock();"));
    let own = OwnThread { thread: &thread, mark: mark(quote) };
    let mut file = FileChange::modified(path("a.rs"));
    let (old, new) = (HunkSpan { start: 1, count: 5 }, HunkSpan { start: 1, count: 4 });
    let gone = HunkSpan { start: 2, count: 1 };
    let runs = vec![ChangeRun { old: gone, new: HunkSpan { start: 1, count: 0 } }];
    file.hunks = vec![Hunk { old, new, runs }];
    let (before, after) = ("a();\n    unlock();\nb();\n    unlock();\nc();\n", "a();\nb();\n    unlock();\nc();\n");
    let asked = |change: &ChangeSet, after: &str| {
        let trees = (tree(&[("a.rs", before)]), tree(&[("a.rs", after)]));
        thread_status(&own, &review(), change, (&trees.0, &trees.1), &Cancel::never()) == ThreadStatus::Gone
    };
    assert!(!asked(&ChangeSet::of(vec![file]), after));
    assert!(asked(&ChangeSet::of(Vec::new()), before), "nothing is deleted any more");
}

#[test]
fn a_file_that_nobody_saw_may_hold_what_was_renamed() {
    let mut review = review();
    let thread = thread("old.rs", DiffSide::New);
    let own = OwnThread { thread: &thread, mark: mark(quote_hash(QUOTE)) };
    let mut file = FileChange::modified(path("b.rs"));
    (file.status, file.old_path) = (FileStatus::Renamed, Some(path("old.rs")));
    let change = ChangeSet::of(vec![file]);
    let new = tree(&[("b.rs", "let total = 0; // more\n")]);
    for (state, expected) in [(CoverageState::Reviewed, true), (CoverageState::Skipped, false)] {
        review.coverage.files = vec![FileCoverage { path: path("b.rs"), state, reason: None }];
        let asked = thread_status(&own, &review, &change, (&tree(&[]), &new), &Cancel::never());
        assert_eq!(asked == ThreadStatus::Gone, expected, "{state:?}");
    }
}

#[test]
fn who_could_not_have_found_it_shows_nothing() {
    let thread = thread("a.rs", DiffSide::New);
    let gone = |review: &Review, origin| {
        let own = OwnThread { thread: &thread, mark: FindingMark { origin, ..mark(quote_hash(QUOTE)) } };
        let change = ChangeSet::of(vec![FileChange::modified(path("a.rs"))]);
        let trees = tree(&[("a.rs", "x\n")]);
        thread_status(&own, review, &change, (&trees, &trees), &Cancel::never()) == ThreadStatus::Gone
    };
    let mut review = review();
    for (engine, origin, expected) in [
        (Engine::Rules, OriginKind::Rule, true),
        (Engine::Rules, OriginKind::Model, false),
        (Engine::Model, OriginKind::Model, true),
    ] {
        review.provenance.engine = engine;
        assert_eq!(gone(&review, origin), expected, "{engine:?} {origin:?}");
    }
    for (hidden, expected) in [(Severity::Low, true), (Severity::High, false), (Severity::Critical, false)] {
        review.coverage.below_floor = [(hidden, 1)].into();
        assert_eq!(gone(&review, OriginKind::Model), expected, "{hidden}");
    }
}

#[test]
fn nothing_is_gone_in_a_file_that_was_not_wholly_seen() {
    for (state, expected) in
        [(CoverageState::Reviewed, true), (CoverageState::Truncated, false), (CoverageState::Skipped, false)]
    {
        let mut review = review();
        review.coverage.files.push(FileCoverage { path: path("a.rs"), state, reason: None });
        assert_eq!(asked(DiffSide::New, quote_hash(QUOTE), &[("a.rs", "x\n")], &review), expected, "{state:?}");
    }
}

#[test]
fn odd_marks_resolve_nothing_and_take_no_time() {
    for lines in [0, u32::MAX] {
        let gone = asked(DiffSide::New, (quote_hash(QUOTE).0, lines), &[("a.rs", CODE)], &review());
        assert_eq!(gone, lines != 0, "a file cannot hold so many lines");
    }
    let many = "same line\n".repeat(60_000);
    assert!(!asked(DiffSide::New, (quote_hash("x").0, 30_000), &[("a.rs", &many)], &review()));
}

#[test]
fn what_an_earlier_review_saw_is_what_stood_there_as_it_stands_now() {
    let mut finding = review().findings[0].clone();
    finding.anchors.truncate(1);
    finding.anchors[0] = Anchor {
        path: path("a.rs"),
        side: DiffSide::New,
        lines: LineRange::new(9, 10).ok(),
        quote: QUOTE.to_owned(),
        ..finding.anchors[0].clone()
    };
    assert!(saw_finding(&finding, &tree(&[("a.rs", CODE)])));
    assert!(
        !saw_finding(&finding, &tree(&[("a.rs", &CODE.replace("    ", "\t"))])),
        "another indentation is another line"
    );
    assert!(!saw_finding(&finding, &tree(&[("a.rs", "fn first() {}\n")])));
    assert!(!saw_finding(&finding, &tree(&[])));
    // It also rests on a line that is new.
    let mut second = finding.anchors[0].clone();
    (second.path, second.quote, second.lines) = (path("b.rs"), "changed_line();".to_owned(), LineRange::new(1, 1).ok());
    finding.anchors.push(second);
    assert!(!saw_finding(&finding, &tree(&[("a.rs", CODE), ("b.rs", "old_line();\n")])));
    assert!(saw_finding(&finding, &tree(&[("a.rs", CODE), ("b.rs", "changed_line();\n")])));
    finding.anchors.truncate(1);
    finding.anchors[0].side = DiffSide::Old;
    assert!(!saw_finding(&finding, &tree(&[("a.rs", CODE)])), "it was not deleted yet");
    assert!(saw_finding(&finding, &tree(&[("a.rs", "fn first() {}\n")])));
    finding.anchors[0].lines = None;
    assert!(!saw_finding(&finding, &tree(&[])));
}

#[test]
fn a_whole_file_without_a_thread_is_gone_where_rules_no_longer_find_it() {
    let mut bare = thread("a.rs", DiffSide::New);
    let asked = |thread: &Thread, origin| {
        let own = OwnThread { thread, mark: FindingMark { origin, ..mark(quote_hash("")) } };
        let change = ChangeSet::of(vec![FileChange::modified(path("a.rs"))]);
        let mut review = review();
        review.provenance.engine = Engine::Model;
        thread_status(&own, &review, &change, (&tree(&[]), &tree(&[])), &Cancel::never()) == ThreadStatus::Gone
    };
    assert!(!asked(&bare, OriginKind::Rule), "somebody can resolve its thread");
    bare.comments.clear();
    assert!(asked(&bare, OriginKind::Rule) && !asked(&bare, OriginKind::Model));
}
