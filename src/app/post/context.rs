//! Builds a plan from the state of a forge and a repository. Main types: [`PostContext`], [`PreparedPost`]. It blocks.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::PostError;
use crate::app::context::error::AppError;
use crate::domain::change::ChangeSet;
use crate::domain::event::NullEventSink;
use crate::domain::filter::PathFilter;
use crate::domain::finding::{Finding, FindingId, Severity};
use crate::domain::forge::{Actor, MarkTrust, PullConversation, PullRequest, ReviewMark, SummaryMark};
use crate::domain::id::CommitId;
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::request::ReviewScope;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::run::Engine;
use crate::git::{self, CollectOptions};
use crate::publish::{
    InlinePlace, PlanInput, PostLimits, PostPlan, SecretGuard, SourceLinks, SummaryOnlyReason, draft_comments,
    existing_summary, lists_as_summary_only, plan_post, reanchor, saw_finding, thread_status,
};
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::workspace::{self, Workspace};

/// The input of a plan.
pub(super) struct PostContext {
    pub(super) review: Review,
    pub(super) reviewed: CommitId,
    pub(super) directory: PathBuf,
    pub(super) base: CommitId,
    pub(super) head: CommitId,
    pub(super) pull: PullRequest,
    pub(super) viewer: Actor,
    pub(super) conversation: Arc<PullConversation>,
    pub(super) floor: Option<Severity>,
    pub(super) comment_on: Option<Severity>,
    pub(super) max_comments: usize,
    pub(super) has_moved: bool,
    pub(super) guard: SecretGuard,
    pub(super) trust: MarkTrust,
    pub(super) cancel: Cancel,
}

/// A plan, and the review with its findings located at the head.
pub(super) struct PreparedPost {
    pub(super) review: Review,
    pub(super) plan: PostPlan,
}

impl PostContext {
    /// Collects the change as the pull request shows it now, locates every finding in it, and plans.
    pub(super) fn prepare(self) -> Result<PreparedPost, AppError> {
        let repo = Repo::open(&self.directory)?;
        self.check_history(&repo)?;
        // The forge shows a pull request from the merge base.
        let scope =
            ReviewScope::Range { from: self.base.to_string(), to: self.head.to_string(), from_merge_base: true };
        let range = git::resolve(&repo, &scope)?;
        let change = git::collect(&repo, &range, &CollectOptions::default(), &self.cancel, &NullEventSink)?;
        let pool = RepoPool::new(repo);
        let open = |at, side| workspace::open(Some(&pool), at, side, &[], everything()?).map_err(AppError::from);
        let new = open(range.new_at, DiffSide::New)?;
        let old = open(range.old_at, DiffSide::Old)?;

        let has_same_base = change.merge_base == self.review.change.merge_base;
        let (mut review, gone) = if !self.has_moved && has_same_base {
            (self.review.clone(), std::collections::HashSet::new())
        } else {
            let found = reanchor(&self.review, &*new, &*old, &self.cancel)?;
            (found.review, found.gone)
        };
        if !has_same_base && !self.has_moved {
            note_other_base(&mut review, &change);
        }
        let left_out = count_uncovered(&review, &change);
        if left_out > 0 && review.change.pull.is_none() && review.outcome == ReviewOutcome::Complete {
            // A review of one commit does not cover the whole pull request.
            review.outcome = ReviewOutcome::Incomplete;
            let files = if left_out == 1 { "One file".to_owned() } else { format!("{left_out} files") };
            review.reasons.push(format!("{files} that the pull request changes: not part of what was reviewed"));
        }
        let inline = self.inline(&review, &change, |id| gone.contains(id));
        let earlier = self.earlier(&pool);
        let mut plan = plan_post(&PlanInput {
            trust: self.trust,
            review: &review,
            inline,
            pull: &self.pull,
            conversation: &self.conversation,
            viewer: &self.viewer,
            floor: self.floor,
            has_moved: self.has_moved,
            still: &|own| thread_status(own, &review, &change, (&*old, &*new), &self.cancel),
            most: self.max_comments.min(PostLimits::default().comments),
            is_late: &|finding| earlier.as_ref().is_some_and(|earlier| earlier.is_late(finding)),
        });
        plan.is_of_all = left_out == 0;
        Ok(PreparedPost { review, plan })
    }

    /// Checks that a review without a pull request applies to this one: its commit must be an ancestor of the head.
    fn check_history(&self, repo: &Repo) -> Result<(), AppError> {
        if self.review.change.pull.is_some() || !self.has_moved {
            return Ok(());
        }
        let not_there = || PostError::NotThere {
            pull: self.pull.id.to_string(),
            reviewed: self.reviewed.short(),
            number: self.pull.id.number.value(),
        };
        repo.commit(&self.reviewed.to_string()).map_err(|_| not_there())?;
        let scope =
            ReviewScope::Range { from: self.reviewed.to_string(), to: self.head.to_string(), from_merge_base: true };
        let met = git::resolve(repo, &scope).map_err(|_| not_there())?.merge_base;
        if met == Some(self.reviewed) { Ok(()) } else { Err(not_there().into()) }
    }

    /// Determines where each finding can be placed.
    fn inline(&self, review: &Review, change: &ChangeSet, is_gone: impl Fn(&FindingId) -> bool) -> Vec<InlinePlace> {
        let mut standing = review.clone();
        standing.findings.retain(|finding| !is_gone(&finding.id));
        // The plan selects those to post.
        let limits = PostLimits { comments: usize::MAX, ..PostLimits::default() };
        let links = SourceLinks::of(&self.pull.url, self.head, change.merge_base);
        let draft =
            draft_comments(&standing, change, self.comment_on, &limits, &self.guard, self.trust, links.as_ref());
        let comments = draft.comments.into_iter().map(|one| (one.finding, InlinePlace::Here(one.comment)));
        let beside = draft.beside.into_iter().map(|one| (one.finding, InlinePlace::Beside(one.why)));
        let mut known: HashMap<FindingId, InlinePlace> = comments.chain(beside).collect();
        let of = |finding: &Finding| {
            let unplaced = if is_gone(&finding.id) { SummaryOnlyReason::Changed } else { SummaryOnlyReason::Unplaced };
            known.remove(&finding.id).unwrap_or(InlinePlace::Beside(unplaced))
        };
        review.findings.iter().map(of).collect()
    }

    /// Loads what the last complete review saw, if our summary records one and its commit is still here.
    fn earlier(&self, pool: &RepoPool) -> Option<PreviousComplete> {
        let summary = existing_summary(&self.conversation, self.trust).0?;
        let mark = SummaryMark::read_as(&summary.body, self.trust).filter(|mark| mark.complete)?;
        let at = WorkspaceAt::Revision(mark.head);
        let tree = workspace::open(Some(pool), at, DiffSide::New, &[], everything().ok()?).ok()?;
        Some(PreviousComplete { tree, said: summary.body, made: mark.made?, engine: self.review.provenance.engine })
    }
}

/// Notes that a review is of another change than the pull request shows, because it has another base.
fn note_other_base(review: &mut Review, shown: &ChangeSet) {
    let short = |id: Option<CommitId>| id.map_or_else(|| "the beginning".to_owned(), |id| id.short());
    if review.outcome == ReviewOutcome::Complete {
        review.outcome = ReviewOutcome::Incomplete;
    }
    let (from, begins) = (short(review.change.merge_base), short(shown.merge_base));
    review.reasons.push(format!("What was reviewed begins at {from}, but the pull request at {begins}."));
    // The marker in the summary identifies the pull request's change, even if the review has none.
    let mut change = ChangeSet::clone(&review.change);
    change.merge_base = shown.merge_base;
    review.change = Arc::new(change);
}

/// Counts the files changed by the pull request that the review did not include.
fn count_uncovered(review: &Review, change: &ChangeSet) -> usize {
    let of: std::collections::HashSet<&RepoPath> = review.coverage.files.iter().map(|file| &file.path).collect();
    change.files.iter().filter(|file| !of.contains(&file.path)).count()
}

fn everything() -> Result<PathFilter, AppError> {
    Ok(PathFilter::new(&[], &[]).map_err(git::GitError::from)?)
}

/// The coverage and findings of an earlier, complete review.
struct PreviousComplete {
    tree: Arc<dyn Workspace>,
    said: String,
    made: ReviewMark,
    /// The engine of this review.
    engine: Engine,
}

impl PreviousComplete {
    /// Checks whether the earlier review overlooked a finding. Findings in its summary were not overlooked: they could not be placed on
    /// lines. Nor were those that it omitted or hid, nor any that rules cannot find.
    fn is_late(&self, finding: &Finding) -> bool {
        let could_find = self.made.engine == Engine::Model || self.engine == Engine::Rules;
        could_find
            && self.made.untold == 0
            && self.made.hid.is_none_or(|hid| finding.severity < hid)
            && !lists_as_summary_only(&self.said, &finding.id)
            && saw_finding(finding, &*self.tree)
    }
}
