//! Seen lines against a plain model of them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::domain::change::{ChangeRun, Generated, HunkSpan, PatchCut};
use crate::domain::place::WorkspaceAt;
use crate::tools::HunkPart;

fn path(path: &str) -> RepoPath {
    RepoPath::parse(path).unwrap()
}

fn file(name: &str, hunks: Vec<Hunk>) -> FileChange {
    FileChange { hunks, ..FileChange::modified(path(name)) }
}

fn change(files: Vec<FileChange>) -> Arc<ChangeSet> {
    Arc::new(ChangeSet {
        repository: "r".to_owned(),
        target: "main".to_owned(),
        head_name: "HEAD".to_owned(),
        old_at: WorkspaceAt::Empty,
        new_at: WorkspaceAt::Empty,
        ..ChangeSet::of(files)
    })
}

fn span(before: u32, count: u32) -> HunkSpan {
    HunkSpan { start: if count == 0 { before } else { before + 1 }, count }
}

/// Hunks of runs `(context, removed, added)`, three lines of context around each and ten unchanged lines between hunks.
fn hunks(shape: &[Vec<(u32, u32, u32)>]) -> Vec<Hunk> {
    let (mut old, mut new) = (0, 0);
    let mut all = Vec::new();
    for runs in shape {
        (old, new) = (old + 10, new + 10);
        let (old_start, new_start) = (old, new);
        (old, new) = (old + 3, new + 3);
        let mut made = Vec::new();
        for (context, removed, added) in runs {
            (old, new) = (old + context, new + context);
            made.push(ChangeRun { old: span(old, *removed), new: span(new, *added) });
            (old, new) = (old + removed, new + added);
        }
        (old, new) = (old + 3, new + 3);
        all.push(Hunk { old: span(old_start, old - old_start), new: span(new_start, new - new_start), runs: made });
    }
    all
}

fn read(name: &str, side: DiffSide, first: u32, last: u32) -> ShownLines {
    let lines = LineRange::new(first, last).ok();
    ShownLines { path: path(name), side, lines, hunk: None, cut: Vec::new() }
}

fn diff(name: &str, hunk: usize, from: usize, to: Option<usize>) -> ShownLines {
    let hunk = Some(HunkPart { hunk, from, to });
    ShownLines { path: path(name), side: DiffSide::New, lines: LineRange::new(1, 9).ok(), hunk, cut: Vec::new() }
}

fn told(seen: &CoverageTracker) -> Vec<(String, String)> {
    let (files, _) = seen.coverage();
    files.into_iter().map(|file| (file.state.as_str().to_owned(), file.reason.unwrap_or_default())).collect()
}

fn pair(state: &str, reason: &str) -> (String, String) {
    (state.to_owned(), reason.to_owned())
}

#[test]
fn a_part_covers_its_own_files_and_remembers_no_others() {
    let one = hunks(&[vec![(0, 1, 1)]]);
    let whole = CoverageTracker::new(change(["a", "b", "c"].map(|name| file(name, one.clone())).to_vec()));
    let mut part = whole.of_files(BTreeSet::from([1]));
    let unseen =
        |part: &CoverageTracker| part.unseen_hunks().map(|unseen| unseen.file.path.clone()).collect::<Vec<_>>();
    assert_eq!(unseen(&part), [path("b")]);
    for name in ["b", "c"] {
        part.record_shown_lines(&diff(name, 0, 0, None));
    }
    assert!(unseen(&part).is_empty());
    let states = |of: &CoverageTracker| of.coverage().0.iter().map(|covered| covered.state).collect::<Vec<_>>();
    assert_eq!(states(&part), [CoverageState::Skipped, CoverageState::Reviewed, CoverageState::Skipped]);
    assert!(part.coverage_of(3).is_none());
    // The change itself is not copied with what was seen of it.
    assert_eq!(part.clone().files.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert!(Arc::ptr_eq(&part.clone().places, &whole.places));
}

#[test]
fn what_was_never_shown_is_skipped_and_parts_are_named() {
    let shape = vec![vec![(0, 1, 1)]; 7];
    let mut seen = CoverageTracker::new(change(vec![file("a", hunks(&shape)), file("b", hunks(&shape[..1]))]));
    seen.record_shown_diff(&ShownDiff { path: path("a"), hunks: 2, lines: 0 });
    assert_eq!(
        told(&seen),
        [pair("truncated", "hunks 3–7 of 7 were not seen whole"), pair("skipped", "never shown to the model")]
    );
    assert_eq!(seen.coverage().1.len(), 1, "a skipped file is a reason by itself");
    seen.record_shown_lines(&diff("a", 3, 0, None));
    seen.record_shown_lines(&diff("a", 4, 0, None));
    assert_eq!(told(&seen)[0].1, "hunks 3, 6–7 of 7 were not seen whole");
    let runs: Vec<String> = seen.unseen_hunks().map(|unseen| format!("{:?}", unseen.hunks)).collect();
    assert_eq!(runs, ["[2..3, 5..7]", "[0..1]"]);
    for hunk in [2, 5, 6] {
        seen.record_shown_lines(&diff("a", hunk, 0, None));
    }
    assert_eq!(told(&seen)[0], pair("reviewed", ""));
}

#[test]
fn a_hunk_that_was_shown_in_part_is_not_seen_until_all_parts_were() {
    // Three lines of context, four removed, two added, three of context.
    let mut seen = CoverageTracker::new(change(vec![file("a", hunks(&[vec![(0, 4, 2)]]))]));
    seen.record_shown_lines(&diff("a", 0, 0, Some(5)));
    assert_eq!(told(&seen), [pair("truncated", "hunk 1 of 1 was not seen whole")]);
    seen.record_shown_lines(&diff("a", 0, 6, None));
    assert_eq!(seen.unseen_hunks().count(), 1, "one removed line is missing");
    seen.record_shown_lines(&diff("a", 0, 5, Some(6)));
    assert_eq!(told(&seen), [pair("reviewed", "")]);
}

#[test]
fn what_the_first_message_began_is_seen_when_the_rest_was_read_on() {
    let mut seen = CoverageTracker::new(change(vec![file("a", hunks(&[vec![(0, 1, 1)], vec![(0, 4, 2)]]))]));
    seen.record_shown_diff(&ShownDiff { path: path("a"), hunks: 1, lines: 5 });
    assert_eq!(told(&seen), [pair("truncated", "hunk 2 of 2 was not seen whole")]);
    seen.record_shown_lines(&diff("a", 1, 5, None));
    assert_eq!(told(&seen), [pair("reviewed", "")]);
}

#[test]
fn reading_the_new_side_is_not_enough_where_lines_were_removed() {
    let mut seen = CoverageTracker::new(change(vec![file("a", hunks(&[vec![(0, 2, 2)]]))]));
    seen.record_shown_lines(&read("a", DiffSide::New, 1, 400));
    assert_eq!(seen.unseen_hunks().count(), 1);
    seen.record_shown_lines(&read("a", DiffSide::Old, 14, 15));
    assert_eq!(seen.unseen_hunks().count(), 0);
}

#[test]
fn each_side_goes_by_its_own_name() {
    let mut renamed = file("new", hunks(&[vec![(0, 1, 1)]]));
    renamed.old_path = Some(path("old"));
    let mut seen = CoverageTracker::new(change(vec![renamed]));
    seen.record_shown_lines(&read("new", DiffSide::Old, 1, 99));
    seen.record_shown_lines(&read("old", DiffSide::New, 1, 99));
    assert_eq!(told(&seen), [pair("skipped", "never shown to the model")]);
    seen.record_shown_lines(&read("new", DiffSide::New, 1, 99));
    seen.record_shown_lines(&read("old", DiffSide::Old, 1, 99));
    assert_eq!(told(&seen), [pair("reviewed", "")]);
}

#[test]
fn files_without_lines_say_why_and_moves_are_seen() {
    let mut lock = file("Cargo.lock", hunks(&[vec![(0, 1, 1)]]));
    lock.generated = Some(Generated::LockFile);
    let mut binary = file("a.png", Vec::new());
    binary.binary = true;
    let moved = file("moved", Vec::new());
    let seen = CoverageTracker::new(change(vec![lock, binary, moved]));
    assert_eq!(told(&seen), [pair("skipped", "lock file"), pair("skipped", "binary"), pair("reviewed", "")]);
    assert!(seen.unseen_hunks().next().is_none() && seen.coverage().1.is_empty());
}

#[test]
fn what_is_hidden_behind_the_end_of_a_long_line_was_not_seen() {
    let mut long = file("a", hunks(&[vec![(0, 1, 3)]]));
    let text = "@@ -11,7 +11,9 @@\n a\n b\n c\n-old\n+one\n+two … [line shortened: it has 900 characters]\n+three\n";
    long.patch.text = text.into();
    long.patch.cut = Some(PatchCut { first_unseen_hunk: 1, lines: 0, shortened_lines: 1 });
    let mut seen = CoverageTracker::new(change(vec![long]));
    seen.record_shown_diff(&ShownDiff { path: path("a"), hunks: 1, lines: 0 });
    let reason = "hunk 1 of 1 was not seen whole; 1 over-long line was shown cut";
    assert_eq!(told(&seen), [pair("truncated", reason)]);
    assert_eq!(seen.coverage().1.len(), 1);
    assert_eq!(seen.unseen_hunks().next().unwrap().cut, [(DiffSide::New, 15)]);

    // Shown cut once more, by another tool and as a part of the hunk: still not its end.
    seen.record_shown_lines(&ShownLines { cut: vec![15], ..read("a", DiffSide::New, 14, 16) });
    seen.record_shown_lines(&ShownLines { cut: vec![5], ..diff("a", 0, 4, None) });
    assert_eq!(told(&seen), [pair("truncated", reason)]);
    seen.record_shown_lines(&read("a", DiffSide::New, 15, 15));
    assert_eq!(told(&seen), [pair("reviewed", "")]);
    assert!(seen.unseen_hunks().next().is_none());
}

#[test]
fn a_long_line_of_the_context_is_nobodys_debt() {
    let mut long = file("a", hunks(&[vec![(0, 0, 1)]]));
    let text = "@@ -11,6 +11,7 @@\n a … [line shortened: it has 900 characters]\n b\n c\n+new\n";
    long.patch.text = text.into();
    long.patch.cut = Some(PatchCut { first_unseen_hunk: 1, lines: 0, shortened_lines: 1 });
    let mut seen = CoverageTracker::new(change(vec![long]));
    seen.record_shown_diff(&ShownDiff { path: path("a"), hunks: 1, lines: 0 });
    assert_eq!(told(&seen), [pair("reviewed", "")]);
}

#[test]
fn ten_thousand_files_are_looked_at_once_each() {
    let shape = vec![vec![(0, 1, 1)]; 3];
    let files: Vec<_> = (0..10_000).map(|at| file(&format!("f{at}"), hunks(&shape))).collect();
    let mut seen = CoverageTracker::new(change(files));
    for at in 0..10_000 {
        seen.record_shown_diff(&ShownDiff { path: path(&format!("f{at}")), hunks: 2, lines: 0 });
        seen.record_shown_lines(&diff(&format!("f{at}"), 2, 0, None));
    }
    assert_eq!(seen.unseen_hunks().count(), 0);
}

/// A step of a model that reads.
#[derive(Debug, Clone)]
enum ReadingStep {
    Shown(usize),
    Read(DiffSide, u32, u32),
    Diff(usize, usize, Option<usize>),
}

fn step() -> impl Strategy<Value = ReadingStep> {
    prop_oneof![
        (0..4usize).prop_map(ReadingStep::Shown),
        (any::<bool>(), 1..90u32, 0..30u32).prop_map(|(old, first, more)| ReadingStep::Read(
            if old { DiffSide::Old } else { DiffSide::New },
            first,
            first + more
        )),
        (0..5usize, 0..14usize, proptest::option::of(0..20usize))
            .prop_map(|(hunk, from, to)| ReadingStep::Diff(hunk, from, to)),
    ]
}

/// The text of a hunk, line by line: which side's changed line it is, if it is one.
fn text_of(hunk: &Hunk) -> Vec<Option<(DiffSide, u32)>> {
    let mut lines = Vec::new();
    let mut number = hunk.new.start;
    for run in &hunk.runs {
        let first = if run.new.count == 0 { run.new.start + 1 } else { run.new.start };
        lines.extend((number..first).map(|_| None));
        lines.extend((0..run.old.count).map(|at| Some((DiffSide::Old, run.old.start + at))));
        lines.extend((0..run.new.count).map(|at| Some((DiffSide::New, run.new.start + at))));
        number = first + run.new.count;
    }
    lines.extend((number..hunk.new.start + hunk.new.count).map(|_| None));
    lines
}

proptest! {
    #[test]
    fn part_of_a_hunks_text_shows_the_changed_lines_that_stand_there(
        runs in proptest::collection::vec((1..4u32, 0..4u32, 1..4u32), 1..4), from in 0..20usize, count in 0..12usize
    ) {
        let hunk = hunks(&[runs]).remove(0);
        let expected: Vec<(DiffSide, u32)> = text_of(&hunk).into_iter().skip(from).take(count).flatten().collect();
        let parts = within(&hunk, from as u64, (from + count) as u64);
        let got: Vec<(DiffSide, u32)> =
            parts.into_iter().flat_map(|(side, lines)| (lines.start()..=lines.end()).map(move |line| (side, line))).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn a_hunk_is_seen_when_every_changed_line_of_it_was(
        shape in proptest::collection::vec(proptest::collection::vec((0..4u32, 0..4u32, 1..4u32), 1..3), 1..4),
        pure_deletion in any::<bool>(),
        steps in proptest::collection::vec(step(), 0..12)
    ) {
        let mut shape = shape;
        if pure_deletion {
            shape[0] = vec![(1, 3, 0)];
        }
        let made = hunks(&shape);
        let mut seen = CoverageTracker::new(change(vec![file("a", made.clone())]));
        let mut known: BTreeSet<(DiffSide, u32)> = BTreeSet::new();
        for step in steps {
            match step {
                ReadingStep::Shown(count) => {
                    seen.record_shown_diff(&ShownDiff { path: path("a"), hunks: count, lines: 0 });
                    known.extend(made.iter().take(count).flat_map(|hunk| text_of(hunk).into_iter().flatten()));
                }
                ReadingStep::Read(side, first, last) => {
                    seen.record_shown_lines(&read("a", side, first, last));
                    known.extend((first..=last).map(|line| (side, line)));
                }
                ReadingStep::Diff(hunk, from, to) => {
                    seen.record_shown_lines(&diff("a", hunk, from, to));
                    if let Some(hunk) = made.get(hunk) {
                        let text = text_of(hunk);
                        let to = to.unwrap_or(text.len()).min(text.len());
                        known.extend(text.iter().take(to).skip(from).copied().flatten());
                    }
                }
            }
        }
        let missing = |hunk: &Hunk| text_of(hunk).into_iter().flatten().any(|line| !known.contains(&line));
        let expected: Vec<usize> = made.iter().enumerate().filter(|(_, hunk)| missing(hunk)).map(|(at, _)| at).collect();
        let got: Vec<usize> = seen.unseen_hunks().flat_map(|unseen| unseen.hunks.into_iter().flatten()).collect();
        prop_assert_eq!(&got, &expected);
        let (files, holes) = seen.coverage();
        prop_assert_eq!(files[0].state == CoverageState::Reviewed, expected.is_empty());
        prop_assert_eq!(holes.is_empty(), files[0].state != CoverageState::Truncated);
    }
}
