//! Carrying a plan out: what is sent, in which order, and what becomes of it. Main type: [`PlanExecutor`].
//!
//! Threads are opened again first (what is refused there is said anew), then one review brings all new comments, then threads are resolved, and
//! the summary comes last: it is what the next run believes, so it never says more than what arrived. A run that breaks off in the middle is
//! repaired by the next one. What is to be sent is worked out in `plan`.

mod review;
mod summary;

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::domain::forge::{Comment, DeliveryAct, DeliveryResult, DeliveryVerdict, PullId, SummaryAct};
use crate::domain::id::CommitId;
use crate::domain::run::RunId;
use crate::forge::{FaultKind, ForgeError, GitHub, NewComment, NewReview};

use super::draft::SummaryOnlyReason;
use super::plan::{EntryWork, PlanEntry, PostPlan};

/// The progress of posting, from which the summary is made.
#[derive(Debug, Clone, Copy)]
pub struct PostProgress<'a> {
    /// The results so far.
    pub entries: &'a [PlanEntry],
    /// The verdict of the review.
    pub verdict: DeliveryVerdict,
    /// The failures so far: one sentence each.
    pub failures: &'a [String],
}

/// The summary's text, and what found no room in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedSummary {
    /// Markdown with our mark.
    pub body: String,
    /// The entries that it does not show, by their places.
    pub left_out: Vec<usize>,
}

/// A plan and all that is needed to carry it out.
pub struct PlanExecutor<'a> {
    /// The client.
    pub github: &'a GitHub,
    /// The pull request.
    pub pull: &'a PullId,
    /// The run that is delivered.
    pub run: RunId,
    /// The head that it is posted on.
    pub head: CommitId,
    /// The plan.
    pub plan: &'a PostPlan,
    /// The reviews that stand there already, by the forge's ids.
    pub known_reviews: HashSet<String>,
    /// Makes the summary.
    pub summarise: &'a (dyn Fn(&PostProgress<'_>) -> RenderedSummary + Send + Sync),
    /// Makes the text of the review that brings the comments, with its mark.
    pub introduce: &'a (dyn Fn(&PostProgress<'_>) -> String + Send + Sync),
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostResult {
    /// Each finding and each open thread of ours.
    pub entries: Vec<PlanEntry>,
    /// The verdict.
    pub verdict: DeliveryVerdict,
    /// Pages of what was put there.
    pub delivered: DeliveryResult,
    /// The result of the summary.
    pub summary: SummaryAct,
    /// The deviations from the plan: one sentence each.
    pub notes: Vec<String>,
    /// The failures: one sentence each.
    pub failures: Vec<String>,
    /// `true` if anything was changed on the forge.
    pub has_arrived: bool,
    /// `true` if all that failed did so because the login may not.
    pub only_forbidden: bool,
}

/// The forge says that the head is no longer part of the pull request; no comment was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadMoved;

impl PlanExecutor<'_> {
    /// Sends what the plan says. Failures do not end it: what can still be done is done, and all of them are told.
    pub async fn execute(&self) -> Result<PostResult, HeadMoved> {
        let mut done = self.as_planned();
        self.reopen(&mut done).await;
        self.send_review(&mut done).await?;
        self.resolve(&mut done).await;
        self.dismiss(&mut done).await;
        self.send_summary(&mut done).await;
        Ok(done)
    }

    /// Returns the result of the plan if everything succeeds.
    fn as_planned(&self) -> PostResult {
        PostResult {
            entries: self.plan.entries.clone(),
            verdict: self.plan.verdict,
            delivered: DeliveryResult::default(),
            summary: SummaryAct::Unchanged,
            notes: self.plan.notes.clone(),
            failures: Vec::new(),
            has_arrived: false,
            only_forbidden: true,
        }
    }

    /// Returns the exact requests that [`out`](Self::execute) sends if everything succeeds, in order.
    pub fn requests(&self) -> Vec<Value> {
        let mut done = self.as_planned();
        let pull = format!("/repos/{}/pulls/{}", self.pull.repo, self.pull.number);
        let mut requests: Vec<Value> = Vec::new();
        for entry in &done.entries {
            if let EntryWork::Reopen { thread, .. } = &entry.work {
                requests.push(json!({"graphql": "unresolveReviewThread", "variables": {"threadId": thread}}));
            }
        }
        for number in &self.plan.discard {
            requests.push(json!({"method": "DELETE", "path": format!("{pull}/reviews/{number}")}));
        }
        if let Some(review) = self.new_review(&done) {
            requests.push(json!({"method": "POST", "path": format!("{pull}/reviews"), "body": review.json()}));
        }
        for entry in &done.entries {
            if let EntryWork::Resolve { thread } = &entry.work {
                requests.push(json!({"graphql": "resolveReviewThread", "variables": {"threadId": thread}}));
            }
        }
        for number in &self.plan.dismiss {
            let path = format!("{pull}/reviews/{number}/dismissals");
            requests.push(json!({"method": "PUT", "path": path, "body": {"message": DISMISSED, "event": "DISMISS"}}));
        }
        let body = self.summary_text(&mut done);
        match &self.plan.summary {
            Some(there) if summary::is_same_text(&there.body, &body) => {}
            Some(Comment { number: Some(number), .. }) => {
                let path = format!("/repos/{}/issues/comments/{number}", self.pull.repo);
                requests.push(json!({"method": "PATCH", "path": path, "body": {"body": body}}));
            }
            _ => {
                let path = format!("/repos/{}/issues/{}/comments", self.pull.repo, self.pull.number);
                requests.push(json!({"method": "POST", "path": path, "body": {"body": body}}));
            }
        }
        requests
    }

    /// The entries as they are planned, and as the summary shows them.
    pub fn planned_entries(&self) -> Vec<PlanEntry> {
        let mut done = self.as_planned();
        self.summary_text(&mut done);
        done.entries
    }

    /// The review that brings the new comments; `None` if there is nothing to say.
    fn new_review(&self, done: &PostResult) -> Option<NewReview> {
        let comments: Vec<NewComment> = new_comments(done).into_iter().map(|(_, comment)| comment).collect();
        (!comments.is_empty() || self.plan.must_say).then(|| self.with_comments(done, Some(done.verdict), comments))
    }

    fn with_comments(
        &self,
        done: &PostResult,
        verdict: Option<DeliveryVerdict>,
        comments: Vec<NewComment>,
    ) -> NewReview {
        NewReview { commit: self.head, verdict, body: (self.introduce)(&done.progress()), comments }
    }

    async fn reopen(&self, done: &mut PostResult) {
        for at in 0..done.entries.len() {
            let EntryWork::Reopen { thread, anew } = done.entries[at].work.clone() else { continue };
            let Err(error) = self.github.reopen(&thread).await else {
                done.has_arrived = true;
                continue;
            };
            let entry = &mut done.entries[at];
            match anew {
                Some(comment) if is_refusal(&error) => {
                    entry.item.act = DeliveryAct::PostedAgain;
                    entry.item.reason = Some(format!("Its thread could not be opened again: {}.", error.message));
                    entry.work = EntryWork::Comment(comment);
                }
                _ => {
                    entry.item.act = DeliveryAct::InSummary;
                    entry.item.reason = Some(format!("Its thread could not be opened again: {}.", error.message));
                    entry.beside = Some(SummaryOnlyReason::NotPosted);
                    entry.work = EntryWork::Nothing;
                    if !is_refusal(&error) {
                        done.fail(error.kind, format!("a thread could not be opened again: {error}"));
                    }
                }
            }
        }
    }

    async fn resolve(&self, done: &mut PostResult) {
        let mut refused: Option<ForgeError> = None;
        for at in 0..done.entries.len() {
            let EntryWork::Resolve { thread } = done.entries[at].work.clone() else { continue };
            // Who may not resolve one may resolve none: the others are not asked for.
            let error = match &refused {
                Some(error) => error.clone(),
                None => match self.github.resolve(&thread).await {
                    Ok(()) => {
                        done.has_arrived = true;
                        continue;
                    }
                    Err(error) => error,
                },
            };
            let entry = &mut done.entries[at];
            entry.item.act = DeliveryAct::ResolveRefused;
            let gone = entry.item.reason.take().unwrap_or_default();
            entry.item.reason =
                Some(format!("{gone} Its thread could not be resolved: {}.", error.message).trim().to_owned());
            match error.kind {
                FaultKind::Permission => {
                    if refused.is_none() {
                        done.notes.push(format!("Threads could not be resolved: {error}."));
                    }
                    refused = Some(error);
                }
                FaultKind::NotFound | FaultKind::Refused => {}
                _ => done.fail(error.kind, format!("a thread could not be resolved: {error}")),
            }
        }
    }

    async fn dismiss(&self, done: &mut PostResult) {
        for number in &self.plan.dismiss {
            match self.github.dismiss(self.pull, *number, DISMISSED).await {
                Ok(()) => {
                    done.has_arrived = true;
                    done.notes.push("An earlier request for changes was dismissed: nothing is left of it.".to_owned());
                }
                Err(error) if is_refusal(&error) => {
                    done.notes.push(format!("An earlier request for changes could not be dismissed: {error}."));
                }
                Err(error) => {
                    done.fail(error.kind, format!("an earlier request for changes could not be dismissed: {error}"));
                }
            }
        }
    }
}

/// The message for the dismissal of an objection.
const DISMISSED: &str = "Nothing that this review objected to is left.";

/// Checks whether the forge understood and will say no again.
fn is_refusal(error: &ForgeError) -> bool {
    matches!(error.kind, FaultKind::Permission | FaultKind::NotFound | FaultKind::Refused)
}

/// The comments that are to be sent, each with its entry.
fn new_comments(done: &PostResult) -> Vec<(usize, NewComment)> {
    let all = done.entries.iter().enumerate();
    all.filter_map(|(at, entry)| match &entry.work {
        EntryWork::Comment(comment) => Some((at, comment.clone())),
        EntryWork::Nothing | EntryWork::Reopen { .. } | EntryWork::Resolve { .. } => None,
    })
    .collect()
}

impl PostResult {
    fn progress(&self) -> PostProgress<'_> {
        PostProgress { entries: &self.entries, verdict: self.verdict, failures: &self.failures }
    }

    /// Says once that something failed.
    fn fail(&mut self, kind: FaultKind, text: String) {
        self.only_forbidden &= kind == FaultKind::Permission;
        if !self.failures.contains(&text) {
            self.failures.push(text);
        }
    }

    /// Puts an entry that was to stand on its lines into the summary.
    fn move_to_summary(&mut self, at: usize, beside: SummaryOnlyReason, why: String) {
        let entry = &mut self.entries[at];
        entry.item.act = DeliveryAct::InSummary;
        entry.item.reason = Some(why);
        entry.beside = Some(beside);
        entry.work = EntryWork::Nothing;
    }
}
