//! Reviews, threads and pull requests for the tests of `plan`.

use super::*;
use crate::domain::finding::{Category, FindingFingerprint, FindingId, OriginKind};
use crate::domain::forge::{
    FindingMark, MarkTrust, PullId, PullNumber, PullState, RepoName, ReviewNote, ReviewVerdict, RunMark, Thread,
    quote_hash,
};
use crate::domain::id::{CommitId, ObjectId};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};
use crate::domain::run::RunId;
use crate::present::json;

/// The example review with findings of these fingerprints, each on its own line of one file.
pub(super) fn review(findings: &[(&str, Severity)]) -> Review {
    let mut review = json::parse(include_bytes!("../../../fixtures/documents/typical.json")).unwrap();
    let model = review.findings[0].clone();
    let one = |(at, (name, severity)): (usize, &(&str, Severity))| {
        let mut finding = model.clone();
        finding.id = FindingId((*name).to_owned());
        finding.fingerprint = FindingFingerprint((*name).to_owned());
        finding.severity = *severity;
        finding.status = FindingStatus::New;
        finding.category = Category::Logic;
        finding.anchors.truncate(1);
        finding.anchors[0].path = path();
        finding.anchors[0].side = DiffSide::New;
        finding.anchors[0].lines = Some(line_of(at));
        finding
    };
    review.findings = findings.iter().enumerate().map(one).collect();
    review.outcome = ReviewOutcome::Complete;
    review
}

pub(super) fn path() -> RepoPath {
    RepoPath::parse("src/a.rs").unwrap()
}

pub(super) fn line_of(at: usize) -> LineRange {
    LineRange::line(10 * (u32::try_from(at).unwrap() + 1))
}

pub(super) fn here(review: &Review) -> Vec<InlinePlace> {
    let comment = |finding: &Finding| NewComment {
        path: path(),
        side: DiffSide::New,
        lines: finding.anchors[0].lines.unwrap(),
        body: finding.title.clone(),
    };
    review.findings.iter().map(|finding| InlinePlace::Here(comment(finding))).collect()
}

pub(super) fn actor(login: &str) -> Actor {
    Actor { login: login.to_owned(), is_bot: false }
}

pub(super) fn comment(number: u64, body: String, mine: bool) -> Comment {
    Comment {
        node: format!("node{number}"),
        number: Some(number),
        body,
        author: Some(actor(if mine { "robot" } else { "mallory" })),
        association: "NONE".to_owned(),
        mine,
        created_at: format!("2026-01-01T00:00:{:02}Z", number % 60),
        updated_at: String::new(),
        url: format!("https://forge.example/{number}"),
        is_minimized: false,
    }
}

pub(super) fn thread(number: u64, fingerprint: &str, severity: Severity, line: Option<u32>) -> Thread {
    thread_as(MarkTrust::Own, number, fingerprint, severity, line)
}

/// The same of a review of this trust.
pub(super) fn thread_as(
    trust: MarkTrust,
    number: u64,
    fingerprint: &str,
    severity: Severity,
    line: Option<u32>,
) -> Thread {
    let mark = FindingMark {
        id: FindingId(fingerprint.to_owned()),
        fingerprint: FindingFingerprint(fingerprint.to_owned()),
        quote: quote_hash("let a = 1;"),
        severity,
        category: Category::Logic,
        origin: OriginKind::Model,
    };
    Thread {
        node: format!("thread{number}"),
        is_resolved: false,
        resolved_by: None,
        is_outdated: line.is_none(),
        can_resolve: true,
        can_unresolve: true,
        path: Some(path()),
        line,
        start_line: None,
        original_line: Some(1),
        original_start_line: None,
        side: DiffSide::New,
        on_file: false,
        comments: vec![comment(number, format!("**[high] It leaks**\n\nwords\n\n{}", mark.write_as(trust)), true)],
    }
}

pub(super) fn resolved(mut thread: Thread, by: &str) -> Thread {
    (thread.is_resolved, thread.resolved_by) = (true, Some(actor(by)));
    thread
}

pub(super) fn pull(author: &str) -> PullRequest {
    PullRequest {
        id: PullId { repo: RepoName::new("ada", "engine").unwrap(), number: PullNumber::new(7).unwrap() },
        node: "P".to_owned(),
        url: String::new(),
        title: String::new(),
        body: String::new(),
        state: PullState::Open,
        is_draft: false,
        author: Some(actor(author)),
        association: String::new(),
        head_ref: "topic".to_owned(),
        base_ref: "main".to_owned(),
        head: commit(),
        base: commit(),
        head_repo: None,
        mergeable: None,
        review_decision: None,
        created_at: String::new(),
        updated_at: String::new(),
        additions: 0,
        deletions: 0,
        changed_files: 0,
    }
}

pub(super) fn commit() -> CommitId {
    CommitId(ObjectId::new([7; 20]))
}

/// The differences from a review of an open pull request with threads of ours whose lines are gone.
pub(super) struct PlanCase {
    pub(super) author: &'static str,
    pub(super) floor: Option<Severity>,
    pub(super) has_moved: bool,
    pub(super) still: ThreadStatus,
    pub(super) late: bool,
    /// Why no finding can stand on lines; `None` if all can.
    pub(super) beside: Option<SummaryOnlyReason>,
}

pub(super) const USUAL: PlanCase =
    PlanCase { author: "ada", floor: None, has_moved: false, still: ThreadStatus::Gone, late: false, beside: None };

pub(super) fn planned(review: &Review, conversation: &PullConversation, case: &PlanCase) -> PostPlan {
    planned_as(MarkTrust::Own, review, conversation, case)
}

/// The same for a review of this trust.
pub(super) fn planned_as(
    trust: MarkTrust,
    review: &Review,
    conversation: &PullConversation,
    case: &PlanCase,
) -> PostPlan {
    plan_post(&PlanInput {
        trust,
        review,
        inline: case.beside.map_or_else(|| here(review), |why| vec![InlinePlace::Beside(why); review.findings.len()]),
        pull: &pull(case.author),
        conversation,
        viewer: &actor("robot"),
        floor: case.floor,
        has_moved: case.has_moved,
        still: &|_| case.still.clone(),
        most: 50,
        is_late: &|_| case.late,
    })
}

pub(super) fn threads(threads: Vec<Thread>) -> PullConversation {
    PullConversation { threads, ..PullConversation::default() }
}

pub(super) fn acts(plan: &PostPlan) -> Vec<DeliveryAct> {
    plan.entries.iter().map(|entry| entry.item.act).collect()
}

pub(super) fn objection(number: u64, mine: bool, verdict: ReviewVerdict) -> ReviewNote {
    let mark = RunMark { run: RunId::random(), head: commit() }.write();
    ReviewNote { comment: comment(number, format!("x\n\n{mark}"), mine), verdict, commit: None }
}

impl PostPlan {
    /// The comments that a review would bring, with the entry each is of.
    pub(crate) fn comments(&self) -> Vec<(usize, NewComment)> {
        let with_comment = self.entries.iter().enumerate().filter_map(|(at, entry)| match &entry.work {
            EntryWork::Comment(comment) => Some((at, comment.clone())),
            EntryWork::Nothing | EntryWork::Reopen { .. } | EntryWork::Resolve { .. } => None,
        });
        with_comment.collect()
    }

    /// The entry of a finding of this review.
    pub(crate) fn for_finding(&self, finding: &FindingId) -> Option<&PlanEntry> {
        self.entries.iter().find(|entry| entry.is_found && entry.item.finding == *finding)
    }
}
