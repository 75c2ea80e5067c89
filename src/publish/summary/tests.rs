//! Summaries of the kept documents, of huge reviews and of later ones.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::document::live_parts::live_parts;
use crate::domain::finding::Finding;
use crate::domain::forge::SummaryMark;
use crate::domain::id::ObjectId;
use crate::domain::place::DiffSide;
use crate::domain::review::ReviewOutcome;
use crate::present::escape::plain_language;
use crate::present::json;
use crate::publish::draft::tests::{finding, review};

fn typical() -> Review {
    json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap()
}

fn earlier(id: &str) -> SummaryFinding {
    SummaryFinding {
        finding: FindingId(id.to_owned()),
        severity: Severity::High,
        title: format!("Earlier {id} @octo"),
        place: "src/a.rs:7".to_owned(),
    }
}

fn commit(byte: u8) -> CommitId {
    CommitId(ObjectId::new([byte; 20]))
}

fn shown(review: &Review, parts: &SummaryParts) -> String {
    let rendered = render_summary(review, parts, &PostLimits::default(), &SecretGuard::default());
    assert_eq!(rendered.in_artefact, []);
    assert_eq!(
        render_summary(review, parts, &PostLimits::default(), &SecretGuard::default()),
        rendered,
        "the same bytes each time"
    );
    rendered.body
}

/// The first two findings stand on lines, the rest does not.
fn parts(review: &Review) -> SummaryParts {
    let ids: Vec<FindingId> = review.findings.iter().map(|finding| finding.id.clone()).collect();
    let whys = [SummaryOnlyReason::NotInDiff, SummaryOnlyReason::WholeFile, SummaryOnlyReason::BeyondLimit];
    SummaryParts {
        on_lines: ids.iter().take(2).cloned().collect(),
        beside: ids.into_iter().skip(2).zip(whys).map(|(finding, why)| SummaryOnly { finding, why }).collect(),
        ..SummaryParts::default()
    }
}

#[test]
fn a_clean_review_says_that_it_found_nothing() {
    let mut clean = typical();
    clean.findings.clear();
    let body = shown(&clean, &SummaryParts::default());
    insta::assert_snapshot!(body);
    assert!(
        body.starts_with("## Review: no findings\n\nThe built-in rules (no model) checked 5 changed files of `main")
    );
    let open = SummaryParts { still_open: vec![earlier("b0")], ..SummaryParts::default() };
    let body = shown(&clean, &open);
    assert!(body.starts_with("## Review: nothing new, 1 found earlier still open\n"), "{body}");
}

#[test]
fn of_a_review_that_nobody_vouches_for_only_the_findings_are_told() {
    let mut review = typical();
    review.reasons = vec!["By its own account it is incomplete".to_owned()];
    let untrusted = |parts: SummaryParts| SummaryParts { trust: MarkTrust::Untrusted, ..parts };
    let body = shown(&review, &untrusted(parts(&review)));
    insta::assert_snapshot!(body);
    assert!(SummaryMark::read(&body).is_none());
    assert!(!SummaryMark::read_as(&body, MarkTrust::Untrusted).unwrap().complete);
    assert!(!body.contains(&review.summary) && !body.contains("### About the change"), "{body}");
    let introduction = render_review_body(&review, &untrusted(parts(&review)), commit(9), &SecretGuard::default());
    assert!(introduction.contains("which its author controls") && RunMark::read(&introduction).is_none());
    review.findings.clear();
    review.reasons.clear();
    let body = shown(&review, &untrusted(SummaryParts::default()));
    assert!(body.contains("names nothing, which is no pass") && !body.contains("looked at."), "{body}");
}

#[test]
fn findings_stand_where_they_have_to() {
    let review = typical();
    insta::assert_snapshot!(shown(&review, &parts(&review)));
}

#[test]
fn what_is_not_main_is_one_line_with_a_link_to_its_place() {
    let review = typical();
    let whys = [SummaryOnlyReason::NotInDiff, SummaryOnlyReason::BelowThreshold, SummaryOnlyReason::WholeFile];
    let beside = review.findings[2..].iter().zip(whys);
    let parts = SummaryParts {
        beside: beside.map(|(one, why)| SummaryOnly { finding: one.id.clone(), why }).collect(),
        links: SourceLinks::of("https://forge.example/ada/engine/pull/7", commit(9), Some(commit(8))),
        ..parts(&review)
    };
    let body = shown(&review, &parts);
    let (before, also) = body.split_once("### Also noticed\n\n").unwrap();
    let also: Vec<&str> = also.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(also.len(), 2, "{body}");
    for (line, finding) in also.iter().zip(&review.findings[3..]) {
        let anchor = &finding.anchors[0];
        let link = format!("](https://forge.example/ada/engine/blob/{}/{}", commit(9), anchor.path.display_name());
        assert!(line.contains(&link) && line.contains(&finding.id.0), "{line}");
        assert!(finding.body.is_empty() || !body.contains(&finding.body), "{body}");
    }
    assert!(before.contains(&review.findings[2].title) && before.contains("### Not on lines"), "{before}");
    assert!(!before.contains("| severity |"), "three need no table: {before}");
}

#[test]
fn many_main_findings_are_listed_in_a_table_first() {
    let ids = ["aa", "bb", "cc", "dd"];
    let mut review = review(ids.map(|id| finding(id, "src/a.rs", DiffSide::New, Some((1, 2)))).to_vec());
    review.findings[1].title = "It is a | b".to_owned();
    let body =
        shown(&review, &SummaryParts { on_lines: ids.map(|id| FindingId(id.to_owned())).to_vec(), ..parts(&review) });
    assert!(
        body.contains(
            "### Main findings\n\n| severity | place | title |\n| --- | --- | --- |\n| **medium** | `src/a.rs:1-2` |"
        ),
        "{body}"
    );
    assert!(body.contains("It is a &#124; b |") && !body.contains("### On their lines"), "{body}");
}

#[test]
fn an_incomplete_review_is_no_pass() {
    for document in [
        include_bytes!("../../../fixtures/documents/incomplete.json").as_slice(),
        include_bytes!("../../../fixtures/documents/failed.json"),
    ] {
        let review = json::parse(document).unwrap();
        assert_ne!(review.outcome, ReviewOutcome::Complete);
        let body = shown(&review, &parts(&review));
        let first = body.lines().next().unwrap();
        assert!(first.contains("incomplete") || first.contains("failed"), "{first}");
        assert!(!body.contains("no findings"), "{body}");
        assert!(SummaryMark::read(&body).is_none_or(|mark| !mark.complete));
        let text = render_review_body(&review, &parts(&review), commit(9), &SecretGuard::default());
        assert!(text.contains("incomplete") || text.contains("Nothing was reviewed"), "{text}");
        insta::assert_snapshot!(body);
    }
}

#[test]
fn a_later_review_says_what_became_of_the_earlier_ones() {
    let mut review = typical();
    let by_others = SummaryFinding { finding: review.findings[4].id.clone(), ..earlier("x") };
    let late = SummaryFinding { finding: review.findings[3].id.clone(), ..earlier("y") };
    review.provenance.engine = crate::domain::run::Engine::Model;
    review.summary = "It adds uploads.\n\n- with parts\n- and @octo".to_owned();
    let parts = SummaryParts {
        verdict: DeliveryVerdict::RequestChanges,
        on_lines: review.findings[..3].iter().map(|finding| finding.id.clone()).collect(),
        still_open: vec![earlier("b0"), earlier("b1")],
        fixed: vec![earlier("c0")],
        not_resolved: vec![earlier("d0")],
        reopened: vec![earlier("e0")],
        by_others: vec![by_others],
        late: vec![late],
        since: Some(commit(7)),
        moved: Some(commit(9)),
        notes: vec!["The token may not resolve threads <b>".to_owned()],
        ..SummaryParts::default()
    };
    let body = shown(&review, &parts);
    insta::assert_snapshot!(body);
    let mark = SummaryMark::read(&body).unwrap();
    assert_eq!((mark.run, Some(mark.head), mark.complete), (review.id, review.change.head, true));
    let text = render_review_body(&review, &parts, commit(9), &SecretGuard::default());
    insta::assert_snapshot!(text);
    let counts = [&body, &text].map(|page| page.matches("3 findings").count());
    assert_eq!(counts, [1, 0], "the number is said once on a pull request");
    assert_eq!(RunMark::read(&text), Some(RunMark { run: review.id, head: commit(9) }));
}

#[test]
fn a_huge_review_stays_in_its_limit_and_names_what_has_no_room() {
    let findings: Vec<Finding> = (0..900)
        .map(|n| {
            let mut one =
                finding(&format!("{n:012x}"), &format!("src/module_{n}/file.rs"), DiffSide::New, Some((1, 2)));
            one.title = format!("{n} {}", "words ".repeat(20));
            one.severity = Severity::ALL[n / 180];
            one
        })
        .collect();
    let review = review(findings);
    let rendered = render_summary(&review, &SummaryParts::default(), &PostLimits::default(), &SecretGuard::default());
    assert!(length(&rendered.body) <= 65_536 && rendered.body.len() > 50_000);
    assert!(rendered.body.starts_with("## Review: 900 findings (180 critical, 180 high,"));
    let told = format!("**{} findings have no room here**", rendered.in_artefact.len());
    assert_eq!(SummaryMark::read(&rendered.body).unwrap().made.unwrap().untold, rendered.in_artefact.len());
    assert!(rendered.in_artefact.len() > 100 && rendered.body.contains(&told), "{told}");
    let kept: HashSet<_> = rendered.in_artefact.iter().collect();
    assert!(review.findings.iter().all(|one| kept.contains(&one.id) != rendered.body.contains(&one.id.0)));
    assert!(review.findings.iter().skip_while(|one| !kept.contains(&one.id)).all(|one| kept.contains(&one.id)));
    assert!(SummaryMark::read(&rendered.body).is_some());
}

#[test]
fn hundreds_of_findings_are_no_wall() {
    let one = |n: usize| {
        let mut one = finding(&format!("{n:012x}"), "src/a.rs", DiffSide::New, Some((1, 2)));
        one.severity = Severity::ALL[n / 128];
        one
    };
    let review = review((0..640).map(one).collect());
    let ids: Vec<FindingId> = review.findings.iter().map(|one| one.id.clone()).collect();
    let beyond = |id: &FindingId| SummaryOnly { finding: id.clone(), why: SummaryOnlyReason::BeyondLimit };
    let kept: Vec<SummaryOnlyMark> = review.findings[50..].iter().filter_map(SummaryOnlyMark::of).collect();
    let parts = SummaryParts {
        on_lines: ids[..50].to_vec(),
        beside: ids[50..].iter().map(beyond).collect(),
        kept: kept.clone(),
        ..SummaryParts::default()
    };
    let rendered = render_summary(&review, &parts, &PostLimits::default(), &SecretGuard::default());
    let (shown, marks) = rendered.body.split_once("<!-- ").unwrap();
    assert!(shown.contains("50 findings with a comment on the lines: 50 critical.") && shown.len() < 20_000, "{shown}");
    assert_eq!((shown.matches("id `").count(), rendered.in_artefact.len()), (100, 490));
    assert!(ids[50..].iter().all(|id| shown.contains(&id.0) != rendered.in_artefact.contains(id)));
    assert!(marks.len() < 26_300 && length(&rendered.body) <= 65_536);
    let read = SummaryOnlyMark::read_all(&rendered.body);
    assert_eq!(read[..], kept[..read.len()]);
    assert!(read.len() > 90, "{}", read.len());
    let untold = SummaryMark::read(&rendered.body).unwrap().made.unwrap().untold;
    assert_eq!(untold, 590 - read.len());
}

#[test]
fn what_may_be_a_secret_stands_in_no_mark() {
    let mut one = finding("aa", "AKIAZ7QWERTY3UIOPA2X.txt", DiffSide::New, Some((1, 2)));
    one.title = "It is AKIAZ7QWERTY3UIOPA2X".to_owned();
    let mut other = one.clone();
    (other.id, other.anchors[0].path) =
        (FindingId("bb".to_owned()), crate::domain::path::RepoPath::parse("a.txt").unwrap());
    let kept = [&other, &one].into_iter().filter_map(SummaryOnlyMark::of).collect();
    let body = shown(&review(vec![one, other]), &SummaryParts { kept, ..SummaryParts::default() });
    assert!(!body.contains("AKIAZ7"), "{body}");
    // The path of the one came masked, so its mark can be written.
    assert_eq!(SummaryOnlyMark::read_all(&body).len(), 2);
    assert_eq!(SummaryMark::read(&body).unwrap().made.unwrap().untold, 0);
}

#[test]
fn of_what_is_fixed_only_the_newest_are_named() {
    let parts =
        SummaryParts { fixed: (0..25).map(|n| earlier(&format!("f{n}x"))).collect(), ..SummaryParts::default() };
    let body = shown(&typical(), &parts);
    assert!(body.contains("Fixed (25):") && body.contains("- and 15 fixed before"), "{body}");
    assert!(body.contains("f9x") && !body.contains("f10x"));
}

#[test]
fn where_only_the_head_moved_nothing_was_lost() {
    let mut moved = typical();
    moved.outcome = ReviewOutcome::Incomplete;
    moved.reasons = vec!["The commits after 0707070707 were not reviewed.".to_owned()];
    let body = shown(&moved, &SummaryParts { moved: Some(commit(9)), ..parts(&moved) });
    assert!(body.contains("Why: newer commits were not reviewed.") && !body.contains("was lost"), "{body}");
    moved.reasons.push("The time was up.".to_owned());
    let body = shown(&moved, &SummaryParts { moved: Some(commit(9)), ..parts(&moved) });
    assert!(!body.contains("Why: newer"), "{body}");
}

#[test]
fn a_hostile_review_changes_nothing_but_words() {
    let review = json::parse(include_bytes!("../../../fixtures/documents/hostile.json")).unwrap();
    let body = shown(&review, &parts(&review));
    insta::assert_snapshot!(body);
    let live: Vec<String> = live_parts(&body).into_iter().filter(|part| !is_ours(part)).collect();
    assert_eq!(live, Vec::<String>::new());
}

/// Headings, the table, the mark, and fences that are only coloured, such as small diffs.
fn is_ours(part: &str) -> bool {
    part.starts_with("Start(Heading")
        || part.starts_with("Start(Table")
        || part.contains("HtmlBlock")
        || part.contains("review:summary")
        || part.strip_prefix("fence ").is_some_and(|name| plain_language(name) == name)
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_too_long(
        texts in proptest::collection::vec("[a-c`@#\\[\\]<>\n ~*😀]{0,400}", 0..30),
        on_lines in 0..10usize,
        characters in 2000..9000usize,
        old in 0..40usize,
    ) {
        let findings: Vec<Finding> = texts.iter().enumerate().map(|(n, text)| {
            let mut one = finding(&format!("{n:012x}"), "src/a.rs", DiffSide::New, Some((1, 2)));
            one.body.clone_from(text);
            one.title.clone_from(text);
            one.severity = Severity::ALL[n % 5];
            one
        }).collect();
        let mut review = review(findings);
        review.summary = texts.concat();
        review.reasons.clone_from(&texts);
        review.coverage.notes.clone_from(&texts);
        review.outcome = if old % 2 == 0 { ReviewOutcome::Incomplete } else { ReviewOutcome::Complete };
        let parts = SummaryParts {
            on_lines: review.findings.iter().take(on_lines).map(|one| one.id.clone()).collect(),
            beside: review.findings.iter().skip(on_lines).step_by(2)
                .map(|one| SummaryOnly { finding: one.id.clone(), why: SummaryOnlyReason::BeyondLimit }).collect(),
            still_open: (0..old).map(|n| earlier(&format!("old{n}"))).collect(),
            notes: texts.clone(),
            ..SummaryParts::default()
        };
        let rendered = render_summary(&review, &parts, &PostLimits { comments: 50, characters }, &SecretGuard::default());
        prop_assert!(length(&rendered.body) <= characters, "{} > {}", length(&rendered.body), characters);
        prop_assert!(SummaryMark::read(&rendered.body).is_some(), "{}", rendered.body);
        let kept: HashSet<_> = rendered.in_artefact.iter().collect();
        for one in review.findings.iter().skip(on_lines) {
            prop_assert!(kept.contains(&one.id) != rendered.body.contains(&one.id.0), "{} in\n{}", one.id, rendered.body);
        }
        let tables = live_parts(&rendered.body).iter().filter(|part| part.starts_with("Start(Table(")).count();
        prop_assert!(tables <= 1, "{}", rendered.body);
        prop_assert!(live_parts(&rendered.body).iter().all(|part| is_ours(part)), "{:?}\n{}", live_parts(&rendered.body), rendered.body);
    }
}
