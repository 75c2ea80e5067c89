//! Tests of the outcome for each finding and each thread of ours.

use std::collections::HashMap;

use proptest::prelude::*;

use super::fixtures::*;
use super::*;
use crate::domain::finding::FindingId;
use crate::domain::forge::{MarkTrust, ReviewMark, ReviewVerdict, SummaryMark, SummaryOnlyMark, Thread};
use crate::domain::place::DiffSide;
use crate::domain::run::{Engine, RunId};

#[test]
fn what_is_new_is_posted_and_what_stands_is_left() {
    let review = review(&[("aa", Severity::High), ("bb", Severity::Low)]);
    let plan = planned(&review, &threads(vec![thread(1, "bb", Severity::Low, None)]), &USUAL);
    assert_eq!(acts(&plan), [DeliveryAct::Posted, DeliveryAct::Left]);
    assert_eq!(plan.comments().len(), 1);
    assert_eq!(plan.entries[1].item.url.as_deref(), Some("https://forge.example/1"));
    assert_eq!((plan.verdict, plan.must_say), (DeliveryVerdict::Comment, false));
}

#[test]
fn the_thread_of_a_refuted_finding_is_resolved_as_refuted() {
    let mut refuted = review(&[("aa", Severity::High)]);
    refuted.findings[0].status = FindingStatus::Refuted;
    let plan = planned(&refuted, &threads(vec![thread(1, "aa", Severity::High, None)]), &USUAL);
    assert_eq!(acts(&plan), [DeliveryAct::Resolved]);
    assert_eq!(plan.entries[0].item.reason.as_deref(), Some("It was refuted."));
}

#[test]
fn a_review_that_nobody_vouches_for_takes_nothing_back() {
    let case = PlanCase { floor: Some(Severity::High), ..USUAL };
    let mut fixed = review(&[("aa", Severity::High)]);
    fixed.findings[0].status = FindingStatus::Fixed;
    // Its claims are as good as can be: it is complete, its finding is fixed, the lines of all threads are gone.
    for review in [&review(&[]), &fixed] {
        let there = |trust| PullConversation {
            reviews: vec![objection(1, true, ReviewVerdict::ChangesRequested)],
            ..threads(vec![
                thread_as(trust, 2, "aa", Severity::High, None),
                resolved(thread_as(trust, 3, "bb", Severity::High, None), "robot"),
            ])
        };
        let own = planned(review, &there(MarkTrust::Own), &case);
        assert!(
            own.entries.iter().any(|entry| matches!(entry.work, EntryWork::Resolve { .. })),
            "a review of ours may"
        );
        for conversation in [there(MarkTrust::Own), there(MarkTrust::Untrusted)] {
            let plan = planned_as(MarkTrust::Untrusted, review, &conversation, &case);
            assert!(plan.entries.iter().all(|entry| entry.work == EntryWork::Nothing), "{:?}", acts(&plan));
            assert!(!acts(&plan).contains(&DeliveryAct::Resolved));
            assert_eq!((plan.dismiss, plan.settled, plan.summary), (vec![], vec![], None));
        }
    }
    // What came back is not opened again, and what stands is left.
    let review = review(&[("aa", Severity::High), ("bb", Severity::High), ("cc", Severity::High)]);
    let conversation = threads(vec![
        thread_as(MarkTrust::Untrusted, 1, "aa", Severity::High, None),
        resolved(thread_as(MarkTrust::Untrusted, 2, "bb", Severity::High, None), "robot"),
        thread(3, "cc", Severity::High, None),
    ]);
    let plan = planned_as(MarkTrust::Untrusted, &review, &conversation, &case);
    assert_eq!(acts(&plan), [DeliveryAct::Left, DeliveryAct::ResolvedByOthers, DeliveryAct::Posted]);
    assert_eq!(plan.verdict, DeliveryVerdict::RequestChanges);
    // Nor does a review of ours see the others' threads.
    let own = planned(&review, &conversation, &case);
    assert_eq!(acts(&own), [DeliveryAct::Posted, DeliveryAct::Posted, DeliveryAct::Left]);
    assert!(own.notes.is_empty(), "{:?}", own.notes);
}

#[test]
fn a_reworded_finding_on_the_same_lines_is_the_same_finding() {
    let review = review(&[("aa", Severity::High)]);
    let there = |line| threads(vec![thread(1, "zz", Severity::High, line)]);
    assert_eq!(acts(&planned(&review, &there(Some(10)), &USUAL)), [DeliveryAct::Left]);
    for elsewhere in [there(Some(11)), there(None)] {
        assert_eq!(acts(&planned(&review, &elsewhere, &USUAL)), [DeliveryAct::Posted, DeliveryAct::Resolved]);
    }
    let mut other = there(Some(10));
    other.threads[0].side = DiffSide::Old;
    assert_eq!(acts(&planned(&review, &other, &USUAL)), [DeliveryAct::Posted, DeliveryAct::Resolved]);
}

#[test]
fn of_equal_findings_each_keeps_the_nearest_thread() {
    let review = review(&[("aa", Severity::High), ("aa", Severity::High)]);
    let plan = planned(
        &review,
        &threads(vec![thread(1, "aa", Severity::High, Some(21)), thread(2, "aa", Severity::High, Some(9))]),
        &USUAL,
    );
    assert_eq!(plan.entries[0].item.url.as_deref(), Some("https://forge.example/2"));
    assert_eq!(plan.entries[1].item.url.as_deref(), Some("https://forge.example/1"));
}

#[test]
fn what_came_back_is_reopened_unless_somebody_else_settled_it() {
    let review = review(&[("aa", Severity::High)]);
    let of = |thread| planned(&review, &threads(vec![thread]), &PlanCase { floor: Some(Severity::High), ..USUAL });
    let ours = of(resolved(thread(1, "aa", Severity::High, None), "Robot"));
    assert_eq!(acts(&ours), [DeliveryAct::Reopened]);
    assert!(matches!(&ours.entries[0].work, EntryWork::Reopen { thread, anew: Some(_) } if thread == "thread1"));
    let theirs = of(resolved(thread(1, "aa", Severity::High, None), "ada"));
    assert_eq!((acts(&theirs), theirs.verdict), (vec![DeliveryAct::ResolvedByOthers], DeliveryVerdict::RequestChanges));
    let mut locked = resolved(thread(1, "aa", Severity::High, None), "robot");
    locked.can_unresolve = false;
    assert_eq!(acts(&of(locked)), [DeliveryAct::PostedAgain]);
}

#[test]
fn a_resolved_thread_is_history_where_an_open_one_is_about_the_same() {
    let review = review(&[("aa", Severity::High)]);
    let both =
        vec![resolved(thread(1, "aa", Severity::High, Some(10)), "ada"), thread(2, "aa", Severity::High, Some(99))];
    assert_eq!(acts(&planned(&review, &threads(both), &USUAL)), [DeliveryAct::Left]);
}

#[test]
fn only_a_complete_review_of_this_head_resolves_anything() {
    let there = threads(vec![thread(1, "aa", Severity::High, None)]);
    let mut none = review(&[]);
    assert_eq!(acts(&planned(&none, &there, &USUAL)), [DeliveryAct::Resolved]);
    let moved = PlanCase { has_moved: true, ..USUAL };
    assert_eq!(acts(&planned(&none, &there, &moved)), [DeliveryAct::StillOpen]);
    let stands = PlanCase { still: ThreadStatus::Stands("it does".to_owned()), ..USUAL };
    assert_eq!(acts(&planned(&none, &there, &stands)), [DeliveryAct::StillOpen]);
    for outcome in [ReviewOutcome::Incomplete, ReviewOutcome::Failed] {
        none.outcome = outcome;
        assert_eq!(acts(&planned(&none, &there, &USUAL)), [DeliveryAct::StillOpen]);
    }
}

#[test]
fn what_may_not_be_resolved_is_not_called_resolved() {
    let mut there = threads(vec![thread(1, "aa", Severity::High, None)]);
    there.threads[0].can_resolve = false;
    let plan = planned(&review(&[]), &there, &USUAL);
    assert_eq!((acts(&plan), &plan.entries[0].work), (vec![DeliveryAct::ResolveRefused], &EntryWork::Nothing));
    assert_eq!(plan.entries[0].item.title, "[high] It leaks");
}

#[test]
fn a_dismissed_finding_asks_for_nothing_more() {
    let mut review = review(&[("aa", Severity::Critical), ("bb", Severity::Critical)]);
    for finding in &mut review.findings {
        finding.status = FindingStatus::Dismissed;
    }
    let there = threads(vec![thread(1, "aa", Severity::Critical, None)]);
    let plan = planned(&review, &there, &PlanCase { floor: Some(Severity::Nit), ..USUAL });
    assert_eq!(acts(&plan), [DeliveryAct::Resolved, DeliveryAct::InArtefact]);
    assert_eq!(plan.verdict, DeliveryVerdict::Comment);
}

#[test]
fn late_findings_are_not_raised_and_block_nothing_but_let_no_objection_go() {
    let review = review(&[("aa", Severity::Critical)]);
    let mut there = PullConversation::default();
    let late = PlanCase { late: true, floor: Some(Severity::High), ..USUAL };
    let plan = planned(&review, &there, &late);
    assert_eq!(
        (acts(&plan), plan.verdict, plan.comments().len()),
        (vec![DeliveryAct::Late], DeliveryVerdict::Comment, 0)
    );
    there.reviews.push(objection(9, true, ReviewVerdict::ChangesRequested));
    assert_eq!(planned(&review, &there, &late).dismiss, Vec::<u64>::new());
    // A thread shows that it was raised before: then it is not late.
    let raised = threads(vec![thread(1, "aa", Severity::Critical, None)]);
    assert_eq!(acts(&planned(&review, &raised, &late)), [DeliveryAct::Left]);
}

#[test]
fn an_open_blocker_stays_in_the_verdict() {
    let case = PlanCase { floor: Some(Severity::High), still: ThreadStatus::Stands("yes".to_owned()), ..USUAL };
    let mut there = threads(vec![thread(1, "aa", Severity::High, None)]);
    let plan = planned(&review(&[]), &there, &case);
    assert_eq!((plan.verdict, plan.must_say), (DeliveryVerdict::RequestChanges, true));
    there.reviews.push(objection(9, true, ReviewVerdict::ChangesRequested));
    let again = planned(&review(&[]), &there, &case);
    assert_eq!((again.verdict, again.must_say), (DeliveryVerdict::RequestChanges, false), "it says so already");
    let own = planned(&review(&[]), &there, &PlanCase { author: "ROBOT", ..case });
    assert_eq!((own.verdict, own.must_say, own.notes.len()), (DeliveryVerdict::Comment, false, 1));
}

#[test]
fn an_objection_goes_when_nothing_is_left_of_it() {
    let objecting = |note| PullConversation { reviews: vec![note], ..PullConversation::default() };
    let ours = objecting(objection(9, true, ReviewVerdict::ChangesRequested));
    let high = PlanCase { floor: Some(Severity::High), ..USUAL };
    assert_eq!(planned(&review(&[]), &ours, &high).dismiss, vec![9]);
    assert_eq!(planned(&review(&[("aa", Severity::Low)]), &ours, &high).dismiss, vec![9]);
    assert_eq!(
        planned(&review(&[("aa", Severity::Low)]), &ours, &USUAL).dismiss,
        Vec::<u64>::new(),
        "nothing says what it was about"
    );
    assert_eq!(planned(&review(&[]), &ours, &USUAL).dismiss, vec![9]);
    let mut incomplete = review(&[]);
    incomplete.outcome = ReviewOutcome::Incomplete;
    assert_eq!(planned(&incomplete, &ours, &high).dismiss, Vec::<u64>::new());
    let mut by_hand = objection(9, true, ReviewVerdict::ChangesRequested);
    by_hand.comment.body = "I do not like it".to_owned();
    for other in
        [by_hand, objection(9, false, ReviewVerdict::ChangesRequested), objection(9, true, ReviewVerdict::Dismissed)]
    {
        assert_eq!(planned(&review(&[]), &objecting(other), &high).dismiss, Vec::<u64>::new());
    }
}

#[test]
fn marks_of_other_accounts_mean_nothing() {
    let mut forged = thread(1, "aa", Severity::High, Some(10));
    forged.comments[0].mine = false;
    // An answer of ours in a thread of theirs does not make it ours.
    forged.comments.push(comment(2, forged.comments[0].body.clone(), true));
    let mut there = threads(vec![forged]);
    let mark =
        SummaryMark { run: RunId::random(), head: commit(), merge_base: commit(), complete: true, made: None }.write();
    there.comments.push(comment(3, mark.clone(), false));
    let plan = planned(&review(&[("aa", Severity::High)]), &there, &USUAL);
    assert_eq!((acts(&plan), &plan.summary, plan.notes.len()), (vec![DeliveryAct::Posted], &None, 2));
    there.comments.extend([comment(4, mark.clone(), true), comment(5, mark, true)]);
    let plan = planned(&review(&[]), &there, &USUAL);
    assert_eq!(plan.summary.and_then(|there| there.number), Some(5));
    assert!(plan.notes.iter().any(|note| note.contains("2 summaries")));
}

#[test]
fn only_reviews_that_a_run_of_ours_began_are_taken_back() {
    let mut there = PullConversation::default();
    let mut by_hand = objection(3, true, ReviewVerdict::Pending);
    by_hand.comment.body = "draft".to_owned();
    there.reviews =
        vec![objection(1, true, ReviewVerdict::Pending), objection(2, true, ReviewVerdict::Commented), by_hand];
    assert_eq!(planned(&review(&[]), &there, &USUAL).discard, [1]);
}

#[test]
fn a_review_of_nothing_says_nothing_on_lines() {
    let mut failed = review(&[("aa", Severity::High)]);
    failed.outcome = ReviewOutcome::Failed;
    let plan = planned(&failed, &PullConversation::default(), &USUAL);
    assert_eq!((acts(&plan), plan.comments().len()), (vec![DeliveryAct::InSummary], 0));
}

/// A summary of ours that keeps findings of these names.
fn summary_with(kept: &[(&str, Severity, bool)], untold: usize) -> Comment {
    let made = ReviewMark { engine: Engine::Rules, hid: None, untold };
    let mark =
        SummaryMark { run: RunId::random(), head: commit(), merge_base: commit(), complete: true, made: Some(made) };
    let line = |(name, severity, is_fixed): &(&str, Severity, bool)| {
        let finding = review(&[(name, *severity)]).findings.remove(0);
        let kept = SummaryOnlyMark {
            is_fixed: *is_fixed,
            title: format!("It is {name}"),
            ..SummaryOnlyMark::of(&finding).unwrap()
        };
        kept.write().unwrap()
    };
    let lines: Vec<String> = kept.iter().map(line).collect();
    comment(50, format!("words\n\n{}\n{}", lines.join("\n"), mark.write()), true)
}

fn told(summary: Comment) -> PullConversation {
    PullConversation { comments: vec![summary], ..PullConversation::default() }
}

#[test]
fn a_blocker_that_stood_only_in_the_summary_is_not_forgotten() {
    let mut there = told(summary_with(&[("aa", Severity::High, false)], 0));
    there.reviews.push(objection(9, true, ReviewVerdict::ChangesRequested));
    let high = PlanCase { floor: Some(Severity::High), ..USUAL };
    let stands = PlanCase { still: ThreadStatus::Stands("yes".to_owned()), ..high };
    let plan = planned(&review(&[]), &there, &stands);
    assert_eq!((acts(&plan), plan.verdict), (vec![DeliveryAct::StillOpen], DeliveryVerdict::RequestChanges));
    assert_eq!((plan.dismiss.len(), plan.entries[0].item.title.as_str()), (0, "It is aa"));
    assert!(plan.entries[0].kept.is_some() && plan.entries[0].place == "src/a.rs:10");
    let mut incomplete = review(&[]);
    incomplete.outcome = ReviewOutcome::Incomplete;
    assert_eq!(acts(&planned(&incomplete, &there, &high)), [DeliveryAct::StillOpen]);

    let gone = planned(&review(&[]), &there, &PlanCase { floor: Some(Severity::High), ..USUAL });
    assert_eq!((acts(&gone), &gone.entries[0].work), (vec![DeliveryAct::Resolved], &EntryWork::Nothing));
    assert_eq!(gone.dismiss, [9]);
    there.comments[0].mine = false;
    assert_eq!(planned(&review(&[]), &there, &stands).entries, []);
}

#[test]
fn what_stood_in_the_summary_and_is_found_again_is_as_any_other_and_never_late() {
    let there = told(summary_with(&[("aa", Severity::High, false), ("bb", Severity::High, true)], 0));
    let late = PlanCase { late: true, ..USUAL };
    let plan = planned(&review(&[("aa", Severity::High)]), &there, &late);
    assert_eq!(acts(&plan), [DeliveryAct::Posted]);
    assert_eq!(plan.settled.len(), 1, "the fixed one is told again");
    let reworded = planned(&review(&[("zz", Severity::High)]), &there, &late);
    assert_eq!(acts(&reworded), [DeliveryAct::Posted]);
    let back =
        planned(&review(&[("bb", Severity::High)]), &told(summary_with(&[("bb", Severity::High, true)], 0)), &late);
    assert_eq!((acts(&back), back.settled.len()), (vec![DeliveryAct::Posted], 0));
    // A run that was broken off may have begun its thread.
    let mut both = there;
    both.threads.push(thread(1, "aa", Severity::High, None));
    assert_eq!(acts(&planned(&review(&[("aa", Severity::High)]), &both, &late)), [DeliveryAct::Left]);
    let stands = PlanCase { still: ThreadStatus::Stands("yes".to_owned()), ..USUAL };
    assert_eq!(acts(&planned(&review(&[]), &both, &stands)), [DeliveryAct::StillOpen]);
}

#[test]
fn an_objection_stays_where_a_summary_could_not_name_all() {
    let mut there = told(summary_with(&[], 3));
    there.reviews.push(objection(9, true, ReviewVerdict::ChangesRequested));
    let plan = planned(&review(&[]), &there, &PlanCase { floor: Some(Severity::High), ..USUAL });
    assert_eq!((plan.dismiss.len(), plan.notes.len()), (0, 1));
}

#[test]
fn a_finding_that_gets_no_comment_any_more_keeps_its_thread() {
    let minor = review(&[("aa", Severity::Low), ("bb", Severity::Low)]);
    let there = threads(vec![thread(1, "aa", Severity::Low, None)]);
    let below = PlanCase { beside: Some(SummaryOnlyReason::BelowThreshold), ..USUAL };
    assert_eq!(acts(&planned(&minor, &there, &below)), [DeliveryAct::Left, DeliveryAct::InSummary]);
    let late = PlanCase { late: true, ..below };
    assert_eq!(acts(&planned(&minor, &there, &late)), [DeliveryAct::Left, DeliveryAct::Late]);
}

#[test]
fn only_new_comments_count_against_the_limit_and_the_worst_come_first() {
    let names: Vec<String> = (0..60).map(|n| format!("f{n:02}")).collect();
    let severity = |n: usize| if n == 59 { Severity::Critical } else { Severity::Low };
    let all: Vec<(&str, Severity)> = names.iter().enumerate().map(|(n, name)| (name.as_str(), severity(n))).collect();
    let first = planned(&review(&all), &PullConversation::default(), &USUAL);
    assert_eq!(first.comments().len(), 50);
    assert_eq!(first.for_finding(&FindingId("f59".to_owned())).unwrap().item.act, DeliveryAct::Posted);
    assert_eq!(first.for_finding(&FindingId("f58".to_owned())).unwrap().beside, Some(SummaryOnlyReason::BeyondLimit));

    let standing = (0..49).map(|n| thread(n as u64 + 1, &names[n], Severity::Low, None)).collect();
    let mut there = threads(standing);
    assert_eq!(planned(&review(&all), &there, &USUAL).comments().len(), 11, "what stands takes no place");
    let mut same = review(&all);
    let mut change = crate::domain::change::ChangeSet::clone(&same.change);
    change.head = Some(commit());
    same.change = std::sync::Arc::new(change);
    there.comments.push(summary_with(&[], 0));
    assert_eq!(planned(&same, &there, &USUAL).comments().len(), 1, "the same head never gets more");
}

/// A thread as any run may have left it.
fn any_thread() -> impl Strategy<Value = Thread> {
    (0..6usize, any::<u64>(), proptest::option::of(0..60u32), 0..4u8, any::<bool>(), any::<bool>()).prop_map(
        |(name, number, line, state, mine, may)| {
            let name = ["aa", "bb", "cc", "dd", "ee", "ff"][name];
            let mut thread = thread(number, name, Severity::High, line);
            thread = match state {
                0 => resolved(thread, "robot"),
                1 => resolved(thread, "ada"),
                _ => thread,
            };
            thread.comments[0].mine = mine;
            (thread.can_resolve, thread.can_unresolve) = (may, may);
            thread
        },
    )
}

proptest! {
    #[test]
    fn every_finding_and_every_open_thread_of_ours_is_told_once(
        mut there in proptest::collection::vec(any_thread(), 0..12),
        names in proptest::collection::vec(0..4usize, 0..8),
        late in any::<bool>(), moved in any::<bool>(), gone in any::<bool>(), outcome in 0..3usize
    ) {
        for (number, thread) in there.iter_mut().enumerate() {
            thread.node = format!("t{number}");
            thread.comments[0].url = format!("u{number}");
        }
        let names: Vec<(&str, Severity)> = names.iter().map(|at| (["aa", "bb", "cc", "dd"][*at], Severity::Medium)).collect();
        let mut review = review(&names);
        for (at, finding) in review.findings.iter_mut().enumerate() {
            finding.id = FindingId(format!("f{at}"));
        }
        review.outcome = [ReviewOutcome::Complete, ReviewOutcome::Incomplete, ReviewOutcome::Failed][outcome];
        let still = if gone { ThreadStatus::Gone } else { ThreadStatus::Stands("yes".to_owned()) };
        let case = PlanCase { late, has_moved: moved, still, ..USUAL };
        let there = threads(there);
        let plan = planned(&review, &there, &case);

        let found: Vec<&str> = plan.entries.iter().filter(|entry| entry.is_found).map(|entry| entry.item.finding.0.as_str()).collect();
        let wanted: Vec<&str> = review.findings.iter().map(|finding| finding.id.0.as_str()).collect();
        prop_assert_eq!(found, wanted);

        let mut told: HashMap<&str, usize> = HashMap::new();
        for url in plan.entries.iter().filter_map(|entry| entry.item.url.as_deref()) {
            *told.entry(url).or_default() += 1;
        }
        for thread in &there.threads {
            let count = told.get(thread.comments[0].url.as_str()).copied().unwrap_or_default();
            if !thread.comments[0].mine {
                prop_assert_eq!(count, 0);
            } else if thread.is_resolved {
                prop_assert!(count <= 1);
            } else {
                prop_assert_eq!(count, 1);
            }
        }
        // Nothing is sent about a thread that is not ours, and nothing is resolved that was not shown to be gone.
        for entry in &plan.entries {
            match &entry.work {
                EntryWork::Resolve { thread } | EntryWork::Reopen { thread, .. } => {
                    let of = there.threads.iter().find(|one| one.node == *thread).unwrap();
                    prop_assert!(of.comments[0].mine);
                    prop_assert_eq!(matches!(entry.work, EntryWork::Reopen { .. }), of.is_resolved);
                    let shown = outcome == 0 && !moved && gone;
                    prop_assert!(of.is_resolved || shown);
                }
                EntryWork::Comment(_) | EntryWork::Nothing => {}
            }
        }
    }
}
