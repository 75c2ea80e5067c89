//! Tests of line maps, relocated quotes and matched findings.

use super::*;
use crate::domain::finding::AnchorMatch;
use crate::domain::finding::{
    FindingFingerprint, FindingId, FindingOrigin, FindingStatus, FindingVerification, Prominence, Severity,
};
use proptest::prelude::*;

fn range(start: u32, end: u32) -> LineRange {
    LineRange::new(start, end).unwrap()
}

fn run(old: (u32, u32), new: (u32, u32)) -> ChangeRun {
    ChangeRun { old: HunkSpan { start: old.0, count: old.1 }, new: HunkSpan { start: new.0, count: new.1 } }
}

fn text(text: &str) -> FileText {
    FileText::new(text, "UTF-8")
}

fn finding(path: &str, line: u32, fingerprint: &str, title: &str, rule: &str) -> Finding {
    Finding {
        id: FindingId(String::new()),
        fingerprint: FindingFingerprint(fingerprint.to_owned()),
        status: FindingStatus::New,
        carried_from: None,
        dismissed: None,
        title: title.to_owned(),
        body: String::new(),
        severity: Severity::Low,
        prominence: Prominence::Also,
        category: Category::Logic,
        confidence: None,
        anchors: vec![Anchor {
            path: RepoPath::parse(path).unwrap(),
            side: DiffSide::New,
            lines: Some(LineRange::line(line)),
            quote: String::new(),
            matched: AnchorMatch::Exact,
            masked: false,
        }],
        suggestion: None,
        verification: FindingVerification::UNCHECKED,
        origin: FindingOrigin {
            kind: if rule.is_empty() { OriginKind::Model } else { OriginKind::Rule },
            name: rule.to_owned(),
        },
        guideline: None,
    }
}

fn matched(earlier: &[Finding], now: &[Finding]) -> Vec<Option<usize>> {
    let earlier: Vec<_> = earlier.iter().map(PriorFinding::of).collect();
    let now: Vec<_> = now.iter().map(PriorFinding::of).collect();
    match_findings(&earlier, &now, |a, b| a == b)
}

#[test]
fn lines_are_followed_past_what_came_and_went_above() {
    // Two lines were added before line 1, line 5 became three, line 9 was removed.
    let map = LineMap::new(vec![run((0, 0), (1, 2)), run((5, 1), (7, 3)), run((9, 1), (12, 0))]);
    assert_eq!(map.forward(range(1, 4)), MappedLines::Same(range(3, 6)));
    assert_eq!(map.forward(range(5, 5)), MappedLines::Changed(Some(range(7, 9))));
    assert_eq!(map.forward(range(4, 6)), MappedLines::Changed(Some(range(6, 10))));
    assert_eq!(map.forward(range(6, 8)), MappedLines::Same(range(10, 12)));
    assert_eq!(map.forward(range(9, 9)), MappedLines::Changed(None));
    assert_eq!(map.forward(range(10, 11)), MappedLines::Same(range(13, 14)));
    assert!(map.existed_before(range(3, 6)) && !map.existed_before(range(2, 3)) && !map.existed_before(range(8, 8)));
    let between = LineMap::new(vec![run((3, 0), (4, 1))]);
    assert_eq!(between.forward(range(3, 4)), MappedLines::Changed(Some(range(3, 5))), "something came between them");
    assert_eq!(between.forward(range(4, 5)), MappedLines::Same(range(5, 6)));
    assert_eq!(between.forward(range(2, 3)), MappedLines::Same(range(2, 3)));
}

#[test]
fn of_equal_lines_those_that_were_meant_are_found() {
    // Ten lines were added above; the quote is there twice, at both times.
    let old = "x = 1\nbad_thing(x)\ny = 2\nbad_thing(x)\nz = 3\n";
    let new = format!("{}{old}", "n\n".repeat(10));
    let map = LineMap::new(vec![run((0, 0), (1, 10))]);
    let there = find_again("bad_thing(x)", range(4, 4), &text(&new), Some(&map), |_| true);
    assert_eq!(there, QuoteMatch::At(range(14, 14)));
    // Without the old text the nearest free place is used.
    assert_eq!(find_again("bad_thing(x)", range(12, 12), &text(&new), None, |_| true), QuoteMatch::At(range(12, 12)));
    assert_eq!(
        find_again("bad_thing(x)", range(12, 12), &text(&new), None, |place| place.start() > 12),
        QuoteMatch::At(range(14, 14))
    );
}

#[test]
fn a_fixed_place_is_not_taken_for_an_equal_one_that_was_there_before() {
    let new = text("x = 1\ngood()\ny = 2\nbad()\nz = 3\n");
    let map = LineMap::new(vec![run((2, 1), (2, 1))]);
    assert_eq!(find_again("bad()", range(2, 2), &new, Some(&map), |_| true), QuoteMatch::Gone(Some(range(2, 2))));
    // Lines that were moved within the file still exist.
    let moved = text("x = 1\ny = 2\nbad_thing()\nz = 3\n");
    let map = LineMap::new(vec![run((2, 1), (1, 0)), run((3, 0), (3, 1))]);
    assert_eq!(find_again("bad_thing()", range(2, 2), &moved, Some(&map), |_| true), QuoteMatch::At(range(3, 3)));
}

#[test]
fn a_brace_without_the_old_text_is_not_known() {
    let there = text("a {\n}\nb {\n}\n");
    assert_eq!(find_again("}", range(9, 9), &there, None, |_| true), QuoteMatch::Unknown);
    assert_eq!(find_again("gone()", range(2, 2), &there, None, |_| true), QuoteMatch::Gone(None));
}

#[test]
fn two_snippets_in_two_files_keep_to_their_files() {
    let earlier = [finding("a", 4, "f", "t", "r"), finding("b", 9, "f", "t", "r")];
    // The one in `a` is fixed, the one in `b` was moved.
    assert_eq!(matched(&earlier, &[finding("b", 4, "f", "t", "r")]), [Some(1)]);
    let both = [finding("b", 4, "f", "t", "r"), finding("a", 9, "f", "t", "r")];
    assert_eq!(matched(&earlier, &both), [Some(1), Some(0)]);
}

#[test]
fn a_moved_file_is_found_by_what_it_says() {
    let earlier = [finding("a", 4, "f", "t", "r"), finding("a", 9, "f", "t", "r")];
    let now = [finding("lib/b", 12, "f", "t", "r"), finding("lib/b", 6, "f", "t", "r")];
    assert_eq!(matched(&earlier, &now), [Some(1), Some(0)]);
}

#[test]
fn what_is_worded_otherwise_is_found_by_its_place() {
    let earlier = [finding("a", 4, "f", "One", ""), finding("a", 4, "g", "Two", "")];
    assert_eq!(matched(&earlier, &[finding("a", 4, "new", "Two", "")]), [Some(1)]);
    assert_eq!(matched(&earlier, &[finding("a", 4, "new", "Three", "")]), [Some(0)], "by its kind");
    assert_eq!(matched(&earlier, &[finding("a", 5, "new", "Two", "")]), [None]);
    let by_rule = [finding("a", 4, "f", "One", "rule/one")];
    assert_eq!(matched(&by_rule, &[finding("a", 4, "new", "Other", "rule/two")]), [None]);
    assert_eq!(matched(&by_rule, &[finding("a", 4, "new", "Other", "")]), [Some(0)], "a model confirms a rule");
}

#[test]
fn what_is_over_comes_back_only_in_its_own_file() {
    let earlier = [finding("a", 4, "f", "t", "r")];
    let over: Vec<_> = earlier.iter().map(|finding| PriorFinding::of(finding).ended()).collect();
    let at = |finding: &Finding| match_findings(&over, &[PriorFinding::of(finding)], |a, b| a == b);
    assert_eq!(at(&finding("a", 90, "f", "t", "r")), [Some(0)]);
    assert_eq!(at(&finding("b", 4, "f", "t", "r")), [None]);
    assert_eq!(at(&finding("a", 4, "g", "t", "r")), [None], "another defect in its stead");
}

#[test]
fn thousands_of_equal_findings_are_matched_in_order() {
    let many = |shift: u32| -> Vec<Finding> { (1..4000).map(|n| finding("a", n + shift, "f", "t", "r")).collect() };
    let found = matched(&many(0), &many(10_000));
    assert!(found.iter().enumerate().all(|(at, was)| *was == Some(at)));
    let more: Vec<_> = many(5).into_iter().chain([finding("a", 90_000, "f", "t", "r")]).collect();
    assert_eq!(matched(&many(0), &more).iter().flatten().count(), 3999);
}

/// Numbered lines, some removed and some added.
fn edited() -> impl Strategy<Value = (Vec<u32>, Vec<ChangeRun>)> {
    proptest::collection::vec((0..4u32, 0..3u32, 0..3u32), 1..12).prop_map(|steps| {
        let (mut lines, mut runs, mut old, mut new) = (Vec::new(), Vec::new(), 0u32, 0u32);
        for (kept, gone, come) in steps {
            for _ in 0..kept {
                old += 1;
                new += 1;
                lines.push(old);
            }
            if gone + come > 0 && (kept > 0 || runs.is_empty()) {
                let span =
                    |before: u32, count: u32| HunkSpan { start: if count == 0 { before } else { before + 1 }, count };
                runs.push(ChangeRun { old: span(old, gone), new: span(new, come) });
                old += gone;
                new += come;
                lines.extend(std::iter::repeat_n(0, come as usize));
            }
        }
        (lines, runs)
    })
}

proptest! {
    #[test]
    fn a_line_that_stands_is_where_the_map_says((lines, runs) in edited()) {
        let map = LineMap::new(runs);
        for (at, was) in lines.iter().enumerate().filter(|(_, was)| **was > 0) {
            let is = u32::try_from(at).unwrap() + 1;
            prop_assert_eq!(map.forward(LineRange::line(*was)), MappedLines::Same(LineRange::line(is)));
            prop_assert!(map.existed_before(LineRange::line(is)));
        }
    }

    #[test]
    fn nothing_is_given_twice(
        was in proptest::collection::vec((0..3u32, 1..6u32, 0..3u32), 0..12),
        is in proptest::collection::vec((0..3u32, 1..6u32, 0..3u32), 0..12),
    ) {
        let make = |all: Vec<(u32, u32, u32)>| -> Vec<Finding> {
            all.into_iter().map(|(path, line, print)| finding(&format!("p{path}"), line, &format!("f{print}"), "t", "")).collect()
        };
        let found = matched(&make(was), &make(is));
        let given: Vec<_> = found.iter().flatten().collect();
        let unique: std::collections::HashSet<_> = given.iter().collect();
        prop_assert_eq!(unique.len(), given.len());
    }
}
