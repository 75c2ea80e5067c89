//! The plan of all actions on a pull request, computed before anything is sent. Main function: [`plan_post`]; main type: [`PostPlan`].
//!
//! It is given what a review found and what stands on the pull request, and says for each finding and for each open thread of ours what becomes of
//! it. Reading trees (`still`, `moved`) and sending (`carry`) are elsewhere.

mod entry;
mod existing;
mod kept_summary;
mod limit;
mod threads;

use crate::domain::finding::{Finding, FindingStatus, Severity};
use crate::domain::forge::{
    Actor, Comment, DeliveryAct, DeliveryItem, DeliveryVerdict, MarkTrust, PullConversation, PullRequest, SummaryMark,
};
use crate::domain::place::LineRange;
use crate::domain::review::{Review, ReviewOutcome};
use crate::forge::NewComment;

use super::draft::SummaryOnlyReason;
use super::verdict::{VerdictGrounds, decide_verdict};
pub use entry::{EntryWork, PlanEntry};
pub use existing::existing_summary;
use existing::{finding_title, first_url, forged_note, format_place, pending_reviews};
use kept_summary::KeptSummary;
use limit::keep_within;
pub use threads::{OwnThread, collect_own_threads};
use threads::{ThreadMatchKey, matches, resolved_by_us};

/// The placement of a finding on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InlinePlace {
    /// As a comment on its lines.
    Here(NewComment),
    /// Not on lines of the diff, and why.
    Beside(SummaryOnlyReason),
}

/// The status of the code that an earlier thread is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadStatus {
    /// The lines are gone, and this review saw where they were.
    Gone,
    /// They are there, or nothing shows that they are not: one sentence.
    Stands(String),
}

/// The input of a plan. Only the texts of the comments in it were written by a model.
pub struct PlanInput<'a> {
    /// The trust in the review: an untrusted one may add something new but take nothing back.
    pub trust: MarkTrust,
    /// The review.
    pub review: &'a Review,
    /// For each of its findings, in its order, where it can stand.
    pub inline: Vec<InlinePlace>,
    /// The pull request as it is now.
    pub pull: &'a PullRequest,
    /// Its conversation.
    pub conversation: &'a PullConversation,
    /// Our account.
    pub viewer: &'a Actor,
    /// From which severity on changes are requested.
    pub floor: Option<Severity>,
    /// `true` if the head is another than the one that was reviewed.
    pub has_moved: bool,
    /// The status of the code that each thread of ours is about.
    pub still: &'a dyn Fn(&OwnThread<'_>) -> ThreadStatus,
    /// The maximum number of new comments.
    pub most: usize,
    /// `true` if a finding is about lines that an earlier, complete review saw as they are.
    pub is_late: &'a dyn Fn(&Finding) -> bool,
}

/// The plan of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostPlan {
    /// The trust in it.
    pub trust: MarkTrust,
    /// Each finding, then each open thread of ours that no finding is about.
    pub entries: Vec<PlanEntry>,
    /// The verdict of the review.
    pub verdict: DeliveryVerdict,
    /// `true` if a review has to be sent even without a comment.
    pub must_say: bool,
    /// Reviews of ours that were begun and never handed in, by number.
    pub discard: Vec<u64>,
    /// Reviews of ours whose objection no longer holds, by number.
    pub dismiss: Vec<u64>,
    /// Threads of ours that were settled before and that no finding is about, as entries with nothing to do.
    pub settled: Vec<PlanEntry>,
    /// The summary that stands there.
    pub summary: Option<Comment>,
    /// Notes for the user: one sentence each.
    pub notes: Vec<String>,
    /// `true` if the review was of every file that the pull request changes; the others are no late findings afterwards.
    pub is_of_all: bool,
}

/// Works out what is to be done. Pure but for what the two questions in `at` read.
pub fn plan_post(at: &PlanInput<'_>) -> PostPlan {
    let (ours, forged) = collect_own_threads(at.conversation, at.trust);
    let places: Vec<Option<ThreadMatchKey<'_>>> = at.review.findings.iter().map(spot).collect();
    let spots: Vec<ThreadMatchKey<'_>> = places.iter().flatten().cloned().collect();
    let (summary, mut notes) = existing_summary(at.conversation, at.trust);
    let before = summary.as_ref().and_then(|there| SummaryMark::read_as(&there.body, at.trust));
    let found = matches(&ours, &spots);
    let kept = KeptSummary::read(summary.as_ref(), &ours, &spots, &found);
    let mut matched = found.iter().copied().enumerate();
    let mut taken = vec![false; ours.len()];
    let mut grounds = VerdictGrounds {
        floor: at.floor,
        is_whole: at.trust == MarkTrust::Own
            && at.review.outcome == ReviewOutcome::Complete
            && !at.has_moved
            && !hides_blockers(at)
            && before.as_ref().and_then(|mark| mark.made).is_none_or(|made| made.untold == 0),
        is_own_pull: at.pull.author.as_ref().is_some_and(|author| is_same(author, at.viewer)),
        ..VerdictGrounds::default()
    };

    let mut entries = Vec::new();
    for ((finding, inline), place) in at.review.findings.iter().zip(&at.inline).zip(&places) {
        let (spot, thread) = place.as_ref().and_then(|_| matched.next()).unzip();
        let (thread, was_raised) = (thread.flatten(), spot.is_some_and(|spot| kept.was_in_summary(spot)));
        if let Some(index) = thread {
            taken[index] = true;
        }
        let entry = of_finding(at, finding, inline, thread.map(|index| &ours[index]), was_raised);
        match entry.item.act {
            DeliveryAct::Late => grounds.late.push(finding.severity),
            _ if finding.status.is_resolved() => {}
            _ => grounds.blocking.push(finding.severity),
        }
        entries.push(entry);
    }
    let mut settled = Vec::new();
    // What was said anew elsewhere is not fixed because its first thread was resolved.
    let is_back =
        |own: &OwnThread<'_>| spots.iter().any(|spot| !spot.is_over && *spot.fingerprint == own.mark.fingerprint);
    for (own, _) in ours.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        if own.thread.is_resolved {
            if at.trust == MarkTrust::Own && resolved_by_us(own, at.viewer) && !is_back(own) {
                settled.push(thread_entry(own, DeliveryAct::Resolved, None, EntryWork::Nothing));
            }
            continue;
        }
        let entry = of_thread(at, own);
        if entry.item.act == DeliveryAct::StillOpen {
            grounds.blocking.push(own.mark.severity);
        }
        entries.push(entry);
    }

    for (own, mark) in kept.remaining(&spots) {
        let entry = kept_summary::plan_entry(at, &own, mark);
        match entry.item.act {
            DeliveryAct::Resolved if mark.is_fixed => settled.push(entry),
            act => {
                if act == DeliveryAct::StillOpen {
                    grounds.blocking.push(mark.finding.severity);
                }
                entries.push(entry);
            }
        }
    }
    keep_within(at, before.as_ref(), &mut entries);

    let judged = decide_verdict(&grounds, at.conversation, at.trust);
    notes.extend(forged_note(forged));
    notes.extend(judged.notes);
    PostPlan {
        trust: at.trust,
        entries,
        verdict: judged.verdict,
        must_say: judged.must_say,
        discard: pending_reviews(at.conversation),
        dismiss: judged.dismiss,
        settled,
        summary,
        notes,
        is_of_all: true,
    }
}

/// Checks whether the review may have found what changes are requested for, and hid it.
fn hides_blockers(at: &PlanInput<'_>) -> bool {
    at.review.coverage.below_floor.keys().any(|hidden| at.floor.is_none_or(|floor| *hidden <= floor))
}

/// Checks whether two accounts are the same, as far as names tell; forges ignore case.
fn is_same(a: &Actor, b: &Actor) -> bool {
    a.login.eq_ignore_ascii_case(&b.login) && a.is_bot == b.is_bot
}

fn spot(finding: &Finding) -> Option<ThreadMatchKey<'_>> {
    let anchor = finding.anchors.first()?;
    Some(ThreadMatchKey {
        fingerprint: &finding.fingerprint,
        category: finding.category,
        path: &anchor.path,
        side: anchor.side,
        lines: anchor.lines,
        is_over: finding.status.is_over(),
    })
}

/// Plans a finding; `was_raised` in a summary, where no thread is about it.
fn of_finding(
    at: &PlanInput<'_>,
    finding: &Finding,
    inline: &InlinePlace,
    own: Option<&OwnThread<'_>>,
    was_raised: bool,
) -> PlanEntry {
    let entry = |act, reason: Option<String>, work| PlanEntry {
        item: DeliveryItem {
            finding: finding.id.clone(),
            severity: finding.severity,
            title: finding.title.clone(),
            act,
            reason,
            url: own.and_then(first_url),
        },
        work,
        is_found: true,
        beside: None,
        kept: None,
        age: 0,
        place: format_place(finding.anchors.first().map(|anchor| (&anchor.path, anchor.lines.map(LineRange::start)))),
    };
    let beside = |why: SummaryOnlyReason, reason: String| {
        let beside = entry(DeliveryAct::InSummary, Some(reason), EntryWork::Nothing);
        PlanEntry { beside: Some(why), ..beside }
    };
    let late = || {
        let why = "An earlier, complete review saw these lines as they are and did not raise it.".to_owned();
        entry(DeliveryAct::Late, Some(why), EntryWork::Nothing)
    };
    if finding.status.is_resolved() {
        // That it is fixed is a claim like any other.
        let own = own.filter(|_| at.trust == MarkTrust::Own);
        return asks_nothing(finding, own, entry);
    }
    let Some(own) = own else {
        return match inline {
            InlinePlace::Beside(SummaryOnlyReason::BelowThreshold) if !was_raised && (at.is_late)(finding) => late(),
            InlinePlace::Beside(why) => beside(*why, format!("Not on its lines: {why}.")),
            InlinePlace::Here(_) if at.review.outcome == ReviewOutcome::Failed => {
                beside(SummaryOnlyReason::NotPosted, "Nothing was reviewed, so nothing is said on lines.".to_owned())
            }
            InlinePlace::Here(_) if !was_raised && (at.is_late)(finding) => late(),
            InlinePlace::Here(comment) => entry(DeliveryAct::Posted, None, EntryWork::Comment(comment.clone())),
        };
    };
    if !own.thread.is_resolved {
        return entry(DeliveryAct::Left, None, EntryWork::Nothing);
    }
    if at.trust == MarkTrust::Untrusted || !resolved_by_us(own, at.viewer) {
        let who = own.thread.resolved_by.as_ref().map_or("somebody else", |actor| actor.login.as_str());
        let why = format!("Its thread was resolved by {who}.");
        return entry(DeliveryAct::ResolvedByOthers, Some(why), EntryWork::Nothing);
    }
    match (own.thread.can_unresolve, inline) {
        (true, inline) => {
            let anew = match inline {
                InlinePlace::Here(comment) => Some(comment.clone()),
                InlinePlace::Beside(_) => None,
            };
            entry(DeliveryAct::Reopened, None, EntryWork::Reopen { thread: own.thread.node.clone(), anew })
        }
        (false, InlinePlace::Here(comment)) => {
            let why = "Our account may not reopen its thread.".to_owned();
            entry(DeliveryAct::PostedAgain, Some(why), EntryWork::Comment(comment.clone()))
        }
        (false, InlinePlace::Beside(why)) => {
            beside(*why, format!("It came back, and our account may not reopen its thread; not on its lines: {why}."))
        }
    }
}

/// A finding that was dismissed or refuted, or is fixed: its thread asks for nothing more.
fn asks_nothing(
    finding: &Finding,
    own: Option<&OwnThread<'_>>,
    entry: impl Fn(DeliveryAct, Option<String>, EntryWork) -> PlanEntry,
) -> PlanEntry {
    let why = match (&finding.dismissed, finding.status) {
        (Some(why), FindingStatus::Dismissed) => format!("It was dismissed: {}.", why.describe().trim_end_matches('.')),
        (None, FindingStatus::Dismissed) => "It was dismissed.".to_owned(),
        (_, FindingStatus::Refuted) => "It was refuted.".to_owned(),
        (_, FindingStatus::Fixed | FindingStatus::New | FindingStatus::Open | FindingStatus::Reopened) => {
            "It is fixed.".to_owned()
        }
    };
    match own.filter(|own| !own.thread.is_resolved) {
        Some(own) => of_resolving(own, &why, entry),
        None => entry(DeliveryAct::InArtefact, Some(why), EntryWork::Nothing),
    }
}

fn of_resolving(
    own: &OwnThread<'_>,
    why: &str,
    entry: impl Fn(DeliveryAct, Option<String>, EntryWork) -> PlanEntry,
) -> PlanEntry {
    if own.thread.can_resolve {
        let work = EntryWork::Resolve { thread: own.thread.node.clone() };
        return entry(DeliveryAct::Resolved, Some(why.to_owned()), work);
    }
    let why = format!("{why} Our account may not resolve its thread.");
    entry(DeliveryAct::ResolveRefused, Some(why), EntryWork::Nothing)
}

fn of_thread(at: &PlanInput<'_>, own: &OwnThread<'_>) -> PlanEntry {
    let entry = |act, reason, work| thread_entry(own, act, reason, work);
    let still = if at.trust == MarkTrust::Untrusted {
        ThreadStatus::Stands("Nobody vouches for this review, so what it does not say shows nothing.".to_owned())
    } else if at.has_moved {
        ThreadStatus::Stands("The head moved after the review, so nothing shows that it is fixed.".to_owned())
    } else if at.review.outcome == ReviewOutcome::Complete {
        (at.still)(own)
    } else {
        ThreadStatus::Stands("The review is not complete, so nothing shows that it is fixed.".to_owned())
    };
    match still {
        ThreadStatus::Stands(why) => entry(DeliveryAct::StillOpen, Some(why), EntryWork::Nothing),
        ThreadStatus::Gone => of_resolving(own, "The lines that it is about are gone.", entry),
    }
}

/// The entry of a thread that no finding is about.
fn thread_entry(own: &OwnThread<'_>, act: DeliveryAct, reason: Option<String>, work: EntryWork) -> PlanEntry {
    let thread = own.thread;
    PlanEntry {
        item: DeliveryItem {
            finding: own.mark.id.clone(),
            severity: own.mark.severity,
            title: finding_title(own),
            act,
            reason,
            url: first_url(own),
        },
        work,
        is_found: false,
        beside: None,
        kept: None,
        age: thread.comments.first().and_then(|first| first.number).unwrap_or(0),
        // The lines of when it was written do not change with each push.
        place: format_place(thread.path.as_ref().map(|path| (path, thread.original_line))),
    }
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
