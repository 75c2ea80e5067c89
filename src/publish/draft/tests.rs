//! Drafts of findings in plain and in odd places.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::document::live_parts::live_parts;
use crate::domain::change::{ChangeRun, FileChange, FileMode, FileStatus, Generated, Hunk, HunkSpan};
use crate::domain::finding::{
    Anchor, AnchorMatch, Category, FindingOrigin, FindingVerification, OriginKind, Prominence, Suggestion,
};
use crate::domain::id::{CommitId, ObjectId};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::secret::Secret;
use crate::present::json;

fn draft(review: &Review, change: &ChangeSet, limits: &PostLimits, guard: &SecretGuard) -> PostDraft {
    super::draft_comments(review, change, Some(Severity::Nit), limits, guard, MarkTrust::Own, None)
}

fn span(start: u32, count: u32) -> HunkSpan {
    HunkSpan { start, count }
}

fn lines(start: u32, end: u32) -> LineRange {
    LineRange::new(start, end).unwrap()
}

/// Old lines 10-16 became new lines 10-17 (13 became 13-14); old lines 40-46 became new 41-46 (43 went).
fn file(path: &str) -> FileChange {
    let hunk = |old, new, run_old, run_new| Hunk { old, new, runs: vec![ChangeRun { old: run_old, new: run_new }] };
    FileChange {
        hunks: vec![
            hunk(span(10, 7), span(10, 8), span(13, 1), span(13, 2)),
            hunk(span(40, 7), span(41, 6), span(43, 1), span(43, 0)),
        ],
        ..FileChange::modified(RepoPath::parse(path).unwrap())
    }
}

pub(crate) fn finding(id: &str, path: &str, side: DiffSide, range: Option<(u32, u32)>) -> Finding {
    let range = range.map(|(start, end)| lines(start, end));
    let quote =
        range.map(|range| (range.start()..=range.end()).map(|n| format!("let line_{n} = 1;")).collect::<Vec<_>>());
    Finding {
        id: FindingId(id.to_owned()),
        fingerprint: FindingFingerprint(format!("{id}{id}")),
        status: crate::domain::finding::FindingStatus::New,
        title: format!("Title of {id}"),
        body: "What goes wrong.\n\nWhat to do.".to_owned(),
        severity: Severity::Medium,
        prominence: Prominence::Main,
        category: Category::Logic,
        confidence: None,
        anchors: vec![Anchor {
            path: RepoPath::parse(path).unwrap(),
            side,
            lines: range,
            quote: quote.unwrap_or_default().join("\n"),
            matched: AnchorMatch::Exact,
            masked: false,
        }],
        suggestion: None,
        verification: FindingVerification::UNCHECKED,
        origin: FindingOrigin { kind: OriginKind::Rule, name: "rust/x".to_owned() },
        guideline: None,
        carried_from: None,
        dismissed: None,
    }
}

pub(crate) fn review(findings: Vec<Finding>) -> Review {
    let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
    review.findings = findings;
    review
}

fn drafted(findings: Vec<Finding>, files: Vec<FileChange>) -> PostDraft {
    draft(&review(findings), &ChangeSet::of(files), &PostLimits::default(), &SecretGuard::default())
}

fn place(side: DiffSide, range: (u32, u32)) -> Result<(u32, u32), SummaryOnlyReason> {
    let draft = drafted(vec![finding("a", "a.rs", side, Some(range))], vec![file("a.rs")]);
    match (draft.comments.first(), draft.beside.first()) {
        (Some(one), None) => {
            assert_eq!(one.comment.side, side);
            Ok((one.comment.lines.start(), one.comment.lines.end()))
        }
        (None, Some(beside)) => Err(beside.why),
        both => panic!("{both:?}"),
    }
}

#[test]
fn a_comment_stands_on_lines_of_one_hunk() {
    assert_eq!(place(DiffSide::New, (13, 14)), Ok((13, 14)));
    assert_eq!(place(DiffSide::New, (10, 17)), Ok((10, 17)));
    assert_eq!(place(DiffSide::Old, (13, 13)), Ok((13, 13)));
    assert_eq!(place(DiffSide::Old, (40, 46)), Ok((40, 46)));
    for beyond in [(1, 2), (9, 9), (18, 18), (20, 30), (47, 50)] {
        assert_eq!(place(DiffSide::New, beyond), Err(SummaryOnlyReason::NotInDiff), "{beyond:?}");
    }
    assert_eq!(place(DiffSide::Old, (17, 17)), Err(SummaryOnlyReason::NotInDiff));
}

#[test]
fn a_range_that_leaves_its_hunk_is_cut_where_its_telling_line_stays() {
    assert_eq!(place(DiffSide::New, (12, 30)), Ok((12, 17)));
    assert_eq!(place(DiffSide::New, (5, 14)), Err(SummaryOnlyReason::AcrossHunks), "its first telling line is outside");
    assert_eq!(
        place(DiffSide::New, (16, 30)),
        Err(SummaryOnlyReason::AcrossHunks),
        "what is left does not touch the change"
    );
    let cut = drafted(vec![finding("a", "a.rs", DiffSide::New, Some((12, 30)))], vec![file("a.rs")]);
    let body = &cut.comments[0].comment.body;
    assert!(body.contains("This is about `a.rs:12-30`, of which the diff shows a part."), "{body}");
}

#[test]
fn what_the_diff_shows_no_lines_of_stands_beside() {
    let why = |file: FileChange, path: &str, range| {
        let draft = drafted(vec![finding("a", path, DiffSide::New, range)], vec![file]);
        assert!(draft.comments.is_empty());
        draft.beside[0].why
    };
    let at = Some((13, 13));
    assert_eq!(why(file("a.rs"), "a.rs", None), SummaryOnlyReason::WholeFile);
    assert_eq!(why(file("a.rs"), "b.rs", at), SummaryOnlyReason::NotInDiff);
    assert_eq!(why(FileChange { binary: true, hunks: Vec::new(), ..file("a") }, "a", at), SummaryOnlyReason::NoLines);
    assert_eq!(
        why(FileChange { generated: Some(Generated::LockFile), ..file("a") }, "a", at),
        SummaryOnlyReason::NoLines
    );
    assert_eq!(why(FileChange { hunks: Vec::new(), ..file("a") }, "a", at), SummaryOnlyReason::NoLines);
    assert_eq!(
        why(FileChange { new_mode: Some(FileMode::Submodule), ..file("a") }, "a", at),
        SummaryOnlyReason::Submodule
    );
    for odd in ["\"\\377.rs\"", "\"a\\nb.rs\""] {
        assert_eq!(why(file(odd), odd, at), SummaryOnlyReason::OddPath);
    }
}

#[test]
fn a_renamed_file_goes_by_its_path_at_the_head() {
    let renamed = FileChange {
        old_path: Some(RepoPath::parse("old.rs").unwrap()),
        status: FileStatus::Renamed,
        ..file("new.rs")
    };
    let found = vec![
        finding("a", "old.rs", DiffSide::Old, Some((13, 13))),
        finding("b", "new.rs", DiffSide::New, Some((13, 13))),
        finding("c", "new.rs", DiffSide::Old, Some((13, 13))),
    ];
    let draft = drafted(found, vec![renamed]);
    let places: Vec<String> =
        draft.comments.iter().map(|one| format!("{} {:?}", one.comment.path, one.comment.side)).collect();
    assert_eq!(places, ["new.rs Old", "new.rs New"]);
    assert_eq!(draft.beside[0].why, SummaryOnlyReason::NotInDiff);
}

/// A finding that quotes lines 90 to 91 of a file, with the changed line 13 of `b.rs` as related.
fn quoted_outside(path: &str) -> Finding {
    let mut one = finding("a", path, DiffSide::New, Some((90, 91)));
    one.anchors.push(finding("a", "b.rs", DiffSide::New, Some((13, 13))).anchors.remove(0));
    one
}

#[test]
fn a_quote_outside_of_the_diff_is_named_at_the_nearest_lines() {
    let mut one = quoted_outside("a.rs");
    let same_file = finding("a", "a.rs", DiffSide::New, Some((13, 13))).anchors.remove(0);
    let related = std::mem::replace(&mut one.anchors[1], same_file);
    one.anchors.push(related);
    let draft = drafted(vec![one.clone()], vec![file("a.rs"), file("b.rs")]);
    let DraftComment { comment, quote, .. } = &draft.comments[0];
    assert_eq!((comment.path.display_name().as_ref(), comment.lines), ("a.rs", lines(46, 46)));
    assert!(comment.body.contains("This is about `a.rs:90-91`, which the diff does not show;"), "{}", comment.body);
    assert!(comment.body.contains("See also `a.rs:13`, `b.rs:13`."), "{}", comment.body);
    assert_eq!(*quote, quote_hash(&one.anchors[1].quote), "the lines that it quotes stay when it is fixed");
    one.body.push_str("\n\nSee also:\n\n- b.rs:13: the caller");
    let listed = drafted(vec![one.clone()], vec![file("a.rs"), file("b.rs")]);
    assert!(listed.comments[0].comment.body.contains("See also `a.rs:13`."), "the text lists the other one");
    let before = finding("a", "a.rs", DiffSide::New, Some((2, 3)));
    let before = Finding { anchors: vec![before.anchors[0].clone(), one.anchors[1].clone()], ..before };
    assert_eq!(drafted(vec![before], vec![file("a.rs"), file("b.rs")]).comments[0].comment.lines, lines(10, 10));
}

#[test]
fn a_quote_outside_of_the_diff_is_named_at_the_related_place_of_another_file() {
    for path in ["calm.rs", "a.rs"] {
        is_at_the_related_place(path);
    }
}

fn is_at_the_related_place(path: &str) {
    let one = quoted_outside(path);
    let draft = drafted(vec![one.clone()], vec![file("a.rs"), file("b.rs")]);
    let DraftComment { comment, quote, .. } = &draft.comments[0];
    assert_eq!((comment.path.display_name().as_ref(), comment.lines), ("b.rs", lines(13, 13)));
    let about = format!("This is about `{path}:90-91`, which the diff does not show;");
    assert!(comment.body.contains(&about), "{}", comment.body);
    assert!(!comment.body.contains("See also"), "{}", comment.body);
    assert_eq!(*quote, quote_hash(&one.anchors[1].quote), "its thread is on that file");
}

#[test]
fn the_quoted_place_is_linked_where_the_forge_has_a_page_for_it() {
    let head = CommitId("0a1b".repeat(10).parse::<ObjectId>().unwrap());
    let links = SourceLinks::of("https://forge.example/o/r/pull/7", head, None).unwrap();
    let change = ChangeSet::of(vec![file("a.rs"), file("b.rs")]);
    let review = review(vec![quoted_outside("a b.rs")]);
    let guard = SecretGuard::default();
    let draft = super::draft_comments(
        &review,
        &change,
        Some(Severity::Nit),
        &PostLimits::default(),
        &guard,
        MarkTrust::Own,
        Some(&links),
    );
    let wanted = format!("[`a b.rs:90-91`](https://forge.example/o/r/blob/{head}/a%20b.rs#L90-L91)");
    assert!(draft.comments[0].comment.body.contains(&wanted), "{}", draft.comments[0].comment.body);
}

#[test]
fn the_worst_come_first_and_the_rest_is_named() {
    let mut findings: Vec<Finding> =
        (0..5).map(|n| finding(&format!("f{n}"), "a.rs", DiffSide::New, Some((13, 13)))).collect();
    findings[3].severity = Severity::Critical;
    findings[4].severity = Severity::Nit;
    findings[1].status = crate::domain::finding::FindingStatus::Fixed;
    let limits = PostLimits { comments: 2, ..PostLimits::default() };
    let draft = draft(&review(findings), &ChangeSet::of(vec![file("a.rs")]), &limits, &SecretGuard::default());
    let ids: Vec<&str> = draft.comments.iter().map(|one| one.finding.0.as_str()).collect();
    assert_eq!(ids, ["f3", "f0"]);
    let beside: Vec<_> = draft.beside.iter().map(|one| (one.finding.0.as_str(), one.why)).collect();
    assert_eq!(beside, [("f2", SummaryOnlyReason::BeyondLimit), ("f4", SummaryOnlyReason::BeyondLimit)]);
}

fn suggesting(range: (u32, u32), replaced: (u32, u32), replacement: &str) -> Finding {
    let mut one = finding("a", "a.rs", DiffSide::New, Some(range));
    one.suggestion = Some(Suggestion {
        path: RepoPath::parse("a.rs").unwrap(),
        lines: lines(replaced.0, replaced.1),
        replacement: replacement.to_owned(),
    });
    one
}

fn offered(one: Finding, guard: &SecretGuard) -> ((u32, u32), String) {
    let draft = draft(&review(vec![one]), &ChangeSet::of(vec![file("a.rs")]), &PostLimits::default(), guard);
    let comment = &draft.comments[0].comment;
    let fence = comment.body.split_once("suggestion\n").map(|(before, rest)| {
        let fence = before.lines().last().unwrap();
        rest.split(&format!("{fence}\n")).next().unwrap().to_owned()
    });
    ((comment.lines.start(), comment.lines.end()), fence.unwrap_or_default())
}

#[test]
fn a_suggestion_replaces_exactly_the_lines_of_its_comment() {
    let none = SecretGuard::default();
    let line = |n: u32| format!("let line_{n} = 1;");
    assert_eq!(offered(suggesting((13, 14), (13, 14), "a\nb"), &none), ((13, 14), "a\nb\n".to_owned()));
    let trimmed = format!("{}\nnew\n{}", line(13), line(15));
    assert_eq!(offered(suggesting((13, 15), (13, 15), &trimmed), &none), ((14, 14), "new\n".to_owned()));
    let inserted = format!("{}\nnew\n{}", line(13), line(14));
    let kept = format!("{}\nnew\n", line(13));
    assert_eq!(offered(suggesting((13, 14), (13, 14), &inserted), &none), ((13, 13), kept));
    assert_eq!(offered(suggesting((13, 14), (13, 13), "x"), &none), ((13, 13), "x\n".to_owned()));
    assert_eq!(offered(suggesting((13, 13), (13, 13), "a\n````\nb"), &none).1, "a\n````\nb\n");
    let gone = draft(
        &review(vec![suggesting((13, 14), (13, 14), "")]),
        &ChangeSet::of(vec![file("a.rs")]),
        &PostLimits::default(),
        &none,
    );
    assert!(gone.comments[0].comment.body.contains("\n```suggestion\n```\n"));
}

#[test]
fn a_suggestion_that_is_not_certain_is_shown_as_a_diff() {
    let none = SecretGuard::default();
    let is_prose = |one: Finding, guard: &SecretGuard| {
        let (_, fence) = offered(one.clone(), guard);
        let body = &draft(&review(vec![one]), &ChangeSet::of(vec![file("a.rs")]), &PostLimits::default(), guard)
            .comments[0]
            .comment
            .body;
        assert!(fence.is_empty() && !body.contains("suggestion\n") && body.contains("Suggested"), "{body}");
    };
    is_prose(suggesting((13, 14), (15, 16), "x"), &none);
    is_prose(suggesting((13, 14), (14, 15), "x"), &none);
    is_prose(suggesting((13, 14), (12, 30), "x"), &none);
    is_prose(suggesting((13, 14), (12, 15), "what stands on 12 is not known"), &none);
    is_prose(suggesting((13, 13), (13, 13), "let line_13 = 1;"), &none);
    is_prose(suggesting((13, 13), (13, 13), "a\u{202e}b"), &none);
    is_prose(suggesting((13, 13), (13, 13), "key = [masked:token]"), &none);
    is_prose(
        suggesting((13, 13), (13, 13), "q8Wm2Lx7Rv4Kp9Zt3N"),
        &none.clone().with([Secret::new("q8Wm2Lx7Rv4Kp9Zt3N")]),
    );
    let mut masked = suggesting((13, 13), (13, 13), "x");
    masked.anchors[0].masked = true;
    is_prose(masked, &none);
}

#[test]
fn lines_that_the_quote_does_not_hold_are_read_from_the_diff() {
    let mut with_patch = file("a.rs");
    with_patch.patch.text = Arc::from(
        "@@ -10,7 +10,8 @@\n a10\n a11\n a12\n-b13\n+a13\n+a14\n a15\n a16\n a17\n@@ -40,7 +41,6 @@\n a\n b\n c\n-d\n e\n f\n g\n",
    );
    let one = suggesting((13, 14), (12, 15), "a12\nx\na15");
    let draft =
        draft(&review(vec![one]), &ChangeSet::of(vec![with_patch]), &PostLimits::default(), &SecretGuard::default());
    let comment = &draft.comments[0].comment;
    assert_eq!(comment.lines, lines(13, 14));
    assert!(comment.body.contains("```suggestion\nx\n```"), "{}", comment.body);
}

#[test]
fn findings_below_the_severity_of_comments_stand_in_the_summary() {
    let of = |id: &str, severity| Finding { severity, ..finding(id, "a.rs", DiffSide::New, Some((13, 13))) };
    let review = review(vec![of("a", Severity::High), of("b", Severity::Medium), of("c", Severity::Low)]);
    let change = ChangeSet::of(vec![file("a.rs")]);
    for (least, comments) in
        [(Some(Severity::High), 1), (Some(Severity::Medium), 2), (Some(Severity::Nit), 3), (None, 0)]
    {
        let guard = SecretGuard::default();
        let draft =
            super::draft_comments(&review, &change, least, &PostLimits::default(), &guard, MarkTrust::Own, None);
        assert_eq!((draft.comments.len(), draft.beside.len()), (comments, 3 - comments), "{least:?}");
        assert!(draft.beside.iter().all(|one| one.why == SummaryOnlyReason::BelowThreshold), "{least:?}");
    }
}

#[test]
fn a_comment_in_full() {
    let mut one = suggesting((13, 14), (13, 14), "let line_13 = 2;\nlet line_14 = 1;");
    one.title = "Use `x` for #12, not <b>@octo</b>".to_owned();
    one.body = "See ![x](http://evil.example).\n\n```suggestion\nrm\n```\n\n# Big".to_owned();
    one.anchors.push(finding("b", "b.rs", DiffSide::Old, Some((3, 3))).anchors.remove(0));
    one.confidence = crate::domain::finding::Confidence::new(8);
    one.verification = FindingVerification {
        state: crate::domain::finding::VerificationState::Confirmed,
        by: Some("a model".to_owned()),
        rationale: Some("It is so.".to_owned()),
        corrections: Vec::new(),
    };
    let draft = drafted(vec![one], vec![file("a.rs"), file("b.rs")]);
    insta::assert_snapshot!(draft.comments[0].comment.body);
    assert_eq!(
        draft.comments[0].comment.body.matches("erifi").count(),
        2,
        "in the mark, and to whom the reason is due"
    );
    let mark = FindingMark::read(&draft.comments[0].comment.body).unwrap();
    assert_eq!((mark.id.0.as_str(), mark.quote), ("a", draft.comments[0].quote.clone()));
}

#[test]
fn a_comment_that_is_too_long_is_cut_and_says_so() {
    let mut one = finding("a", "a.rs", DiffSide::New, Some((13, 13)));
    one.body = "A paragraph of it.\n\n".repeat(8000);
    one.title = "x".repeat(9000);
    let draft = drafted(vec![one.clone()], vec![file("a.rs")]);
    let body = &draft.comments[0].comment.body;
    assert!(crate::publish::markdown::length(body) <= 65_536 && body.len() > 60_000);
    assert!(body.contains("_(cut; `review show 0"), "{}", &body[60_000..]);
    assert!(FindingMark::read(body).is_some());
    one.suggestion = suggesting((13, 13), (13, 13), &"y\n".repeat(40_000)).suggestion;
    let draft = drafted(vec![one], vec![file("a.rs")]);
    let body = &draft.comments[0].comment.body;
    assert!(crate::publish::markdown::length(body) <= 65_536 && !body.contains("suggestion\n"));
}

#[test]
fn a_secret_that_only_the_parts_together_hold_is_not_told() {
    let mut one = finding("a", "a.rs", DiffSide::New, Some((13, 13)));
    one.title = "it begins q8Wm2Lx7Rv".to_owned();
    one.body = "4Kp9Zt3Nb and ends".to_owned();
    let guard = SecretGuard::default().with([Secret::new("q8Wm2Lx7Rv4Kp9Zt3Nb")]);
    let draft = draft(&review(vec![one]), &ChangeSet::of(vec![file("a.rs")]), &PostLimits::default(), &guard);
    let body = &draft.comments[0].comment.body;
    assert!(!body.contains("4Kp9") && body.contains("withheld"), "{body}");
    assert!(FindingMark::read(body).is_some());
}

proptest! {
    #[test]
    fn no_finding_is_dropped_no_body_is_too_long_and_each_place_is_in_a_hunk(
        places in proptest::collection::vec((0..3usize, any::<bool>(), 1..60u32, 0..30u32, any::<bool>(), "[a-c`@#\\[\\]<>\n ~*]{0,300}"), 0..20),
        comments in 0..12usize,
        characters in 600..1500usize,
    ) {
        let findings: Vec<Finding> = places.iter().enumerate().map(|(n, (path, old, start, more, whole, text))| {
            let side = if *old { DiffSide::Old } else { DiffSide::New };
            let range = (!whole).then_some((*start, start + more));
            let mut one = finding(&format!("{n:012x}"), ["a.rs", "b.rs", "gone.rs"][*path], side, range);
            one.body.clone_from(text);
            one.severity = Severity::ALL[n % 5];
            if n % 2 == 0 {
                one.suggestion = Some(Suggestion { path: one.anchors[0].path.clone(), lines: lines(*start, start + more), replacement: text.clone() });
            }
            one
        }).collect();
        let change = ChangeSet::of(vec![file("a.rs"), file("b.rs")]);
        let draft = draft(&review(findings.clone()), &change, &PostLimits { comments, characters }, &SecretGuard::default());
        let named: HashSet<_> =
            draft.comments.iter().map(|one| &one.finding).chain(draft.beside.iter().map(|one| &one.finding)).collect();
        prop_assert_eq!(named.len(), findings.len());
        prop_assert_eq!(draft.comments.len() + draft.beside.len(), findings.len());
        prop_assert!(draft.comments.len() <= comments);
        for one in &draft.comments {
            prop_assert!(crate::publish::markdown::length(&one.comment.body) <= characters);
            prop_assert!(FindingMark::read(&one.comment.body).is_some(), "{}", one.comment.body);
            let hunks = &change.files[0].hunks;
            let within = hunks.iter().any(|hunk| {
                let range = super::inline_position::span(hunk, one.comment.side).range().unwrap();
                range.start() <= one.comment.lines.start() && one.comment.lines.end() <= range.end()
            });
            prop_assert!(within);
            let allowed = |part: &String| part.starts_with("fence ") || part.contains("review:finding");
            prop_assert!(live_parts(&one.comment.body).iter().all(|part| allowed(part) || part.contains("HtmlBlock")), "{}", one.comment.body);
        }
    }
}
