//! One posting: reads the forge's state, plans, sends, and writes the receipt. Main type: [`PostJob`].

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::context::{PostContext, PreparedPost};
use super::{DryRun, MovedHeadPolicy, PostOptions, PostOutcome};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::prepare::pull;
use crate::app::prepare::pull::FetchedPull;
use crate::app::prepare::pull::sign_in;
use crate::config::Settings;
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::Finding;
use crate::domain::forge::{
    Actor, Delivery, DeliveryAct, DeliveryItem, DeliveryResult, DeliveryVerdict, MarkTrust, PullConversation, PullId,
    PullRequest, PullSpecifier, PullState, SummaryAct,
};
use crate::domain::id::CommitId;
use crate::domain::review::Review;
use crate::domain::text::count_noun;
use crate::forge::{FaultKind, ForgeError, GitHub};
use crate::publish::{HeadMoved, PlanExecutor, PostLimits, PostResult, SecretGuard, SourceLinks, SummaryBuilder};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::clock;

/// Limit on planning attempts when the head keeps moving.
const ROUNDS: usize = 2;

/// A review to post, and its pull request.
pub(super) struct PostJob<'a> {
    pub(super) review: &'a Review,
    pub(super) reviewed: CommitId,
    pub(super) asked: PostTarget,
    pub(super) trust: MarkTrust,
    /// The check of the pull request each time that it is read.
    pub(super) accept: Option<&'a AcceptPull>,
    pub(super) options: &'a PostOptions,
    pub(super) settings: &'a Settings,
    pub(super) guard: SecretGuard,
    pub(super) around: &'a ProcessEnv,
    pub(super) cancel: &'a Cancel,
}

/// Checks that a review may be posted on a pull request in its current state.
pub(in crate::app) type AcceptPull = dyn Fn(&PullRequest) -> Result<(), AppError> + Send + Sync;

/// The pull request to post on, and the repository with its objects.
pub(super) enum PostTarget {
    /// As named by the user; the repository in the folder is used if it is the pull request's.
    Near(PullSpecifier, PathBuf),
    /// By its full name; its objects are in a mirror.
    Apart(PullId),
}

/// The current state on the forge.
pub(super) struct ForgeState {
    fetched: FetchedPull,
    viewer: Actor,
    conversation: Arc<PullConversation>,
}

impl PostJob<'_> {
    /// Posts the review, with a second attempt if the head moved during the first.
    pub(super) async fn run(self, events: &dyn EventSink) -> Result<PostOutcome, AppError> {
        let github = sign_in(self.around, self.cancel).await?;
        for round in 1..=ROUNDS {
            let there = match self.read_state(&github).await {
                Ok(there) => there,
                Err(PostingFault::Forge(error)) => return self.refused(None, &error),
                Err(PostingFault::App(error)) => return Err(error),
            };
            for text in &there.fetched.notices {
                events.emit(Event::Notice { text: text.clone() });
            }
            if round == 1 {
                events.emit(Event::Notice { text: self.announce(&there) });
            }
            let has_moved = there.fetched.head != self.reviewed;
            if has_moved && self.options.moved_head == MovedHeadPolicy::Stop {
                let why = format!(
                    "the head of {} moved from {} to {} after the review; review it again, or post with --moved-head reanchor",
                    there.fetched.pull.id,
                    self.reviewed.short(),
                    there.fetched.head.short()
                );
                return self.nothing_posted(Some(&there), &why);
            }
            // The credentials are known only now: they may come from a file or another program, or be issued for an App.
            let guard = self.guard.clone().with(github.secrets());
            let prepared = self.prepare(&there, has_moved, &guard).await?;
            if let Some(posted) = self.deliver(&github, &there, &prepared, &guard, round).await? {
                return Ok(posted);
            }
            events.emit(Event::Notice {
                text: "the head moved while the review was being posted; looking again".to_owned(),
            });
        }
        self.nothing_posted(
            None,
            "the head moved again and again while the review was being posted; try again in a moment",
        )
    }

    /// Announces what is about to be posted where, before anything is sent.
    fn announce(&self, there: &ForgeState) -> String {
        let (pull, run) = (&there.fetched.pull.id, self.review.id);
        let findings = count_noun(self.review.findings.len(), "finding");
        let what = format!("the review {run} ({findings} at {})", self.reviewed.short());
        if self.options.dry_run {
            return format!("working out what {what} comes to on {pull}; nothing is sent");
        }
        format!("posting {what} on {pull}")
    }

    async fn read_state(&self, github: &GitHub) -> Result<ForgeState, PostingFault> {
        let fetched = match &self.asked {
            PostTarget::Near(ask, directory) => pull::fetch(ask, directory, github, self.around, self.cancel).await?,
            PostTarget::Apart(id) => pull::fetch_apart(id, github, self.around, self.cancel).await?,
        };
        self.accepted(&fetched.pull)?;
        let id = fetched.pull.id.clone();
        let (viewer, conversation) = tokio::try_join!(github.viewer(), github.conversation(&id))?;
        Ok(ForgeState { fetched, viewer, conversation: Arc::new(conversation) })
    }

    fn accepted(&self, pull: &PullRequest) -> Result<(), AppError> {
        self.accept.map_or(Ok(()), |accept| accept(pull))
    }

    /// Reads the trees and builds the plan, off the async threads.
    async fn prepare(
        &self,
        there: &ForgeState,
        has_moved: bool,
        guard: &SecretGuard,
    ) -> Result<PreparedPost, AppError> {
        let ground = PostContext {
            review: self.review.clone(),
            reviewed: self.reviewed,
            directory: there.fetched.directory.clone(),
            base: there.fetched.base,
            head: there.fetched.head,
            pull: there.fetched.pull.clone(),
            viewer: there.viewer.clone(),
            conversation: Arc::clone(&there.conversation),
            floor: self.settings.request_changes_on,
            comment_on: self.settings.comment_on,
            max_comments: self.settings.max_comments,
            has_moved,
            guard: guard.clone(),
            trust: self.trust,
            cancel: self.cancel.clone(),
        };
        blocking::run("preparing the post", self.cancel, move || ground.prepare()).await?
    }

    /// Sends the plan; `None` if the head moved before anything was posted and an attempt remains.
    async fn deliver(
        &self,
        github: &GitHub,
        there: &ForgeState,
        prepared: &PreparedPost,
        guard: &SecretGuard,
        round: usize,
    ) -> Result<Option<PostOutcome>, AppError> {
        let (pull, head) = (&there.fetched.pull.id, there.fetched.head);
        let telling = SummaryBuilder {
            review: &prepared.review,
            plan: &prepared.plan,
            head,
            has_moved: head != self.reviewed,
            links: SourceLinks::of(&there.fetched.pull.url, head, prepared.review.change.merge_base),
            limits: PostLimits::default(),
            guard,
        };
        let carry = PlanExecutor {
            github,
            pull,
            plan: &prepared.plan,
            head,
            run: self.review.id,
            known_reviews: existing_reviews(&there.conversation),
            summarise: &|told| telling.summary(told),
            introduce: &|told| telling.introduction(told),
        };
        if self.options.dry_run {
            let items = carry.planned_entries().into_iter().map(|entry| entry.item).collect();
            let (requests, notes) = (carry.requests(), prepared.plan.notes.clone());
            return Ok(Some(PostOutcome::Dry(DryRun { requests, items, notes, verdict: prepared.plan.verdict })));
        }
        match github.pull(pull).await {
            Ok(now) if now.head != head && round < ROUNDS => return Ok(None),
            Ok(now) => self.accepted(&now)?,
            Err(error) => return self.refused(Some(there), &error).map(Some),
        }
        match carry.execute().await {
            Ok(done) => Ok(Some(self.posted(there, done))),
            Err(HeadMoved) if round < ROUNDS => Ok(None),
            Err(HeadMoved) => {
                let why = "GitHub says that the head is not part of the pull request (any more); review it again";
                self.nothing_posted(Some(there), why).map(Some)
            }
        }
    }

    fn posted(&self, there: &ForgeState, done: PostResult) -> PostOutcome {
        let PostResult { entries, verdict, delivered, summary, notes, failures, has_arrived, only_forbidden } = done;
        let is_forbidden = !failures.is_empty() && !has_arrived && only_forbidden;
        PostOutcome::Done(Box::new(Delivery {
            run: self.review.id,
            pull: there.fetched.pull.id.clone(),
            reviewed: self.reviewed,
            head: there.fetched.head,
            at: clock::now(),
            by: there.viewer.login.clone(),
            verdict,
            delivered,
            summary,
            items: entries.into_iter().map(|entry| entry.item).collect(),
            notes: notes.into_iter().chain(self.about(there)).collect(),
            failures,
            is_forbidden,
        }))
    }

    /// Notes on the pull request for the user.
    fn about(&self, there: &ForgeState) -> Vec<String> {
        let pull = &there.fetched.pull;
        let state = match pull.state {
            PullState::Open => None,
            PullState::Closed => Some(format!("{} is closed.", pull.id)),
            PullState::Merged => Some(format!("{} was merged already.", pull.id)),
        };
        let moved = (there.fetched.head != self.reviewed).then(|| {
            let (now, then) = (there.fetched.head.short(), self.reviewed.short());
            format!("The head is {now} now; the review is of {then}, and nothing after that was reviewed.")
        });
        state.into_iter().chain(moved).collect()
    }

    /// Builds the receipt of a failed delivery.
    fn nothing_posted(&self, there: Option<&ForgeState>, why: &str) -> Result<PostOutcome, AppError> {
        self.nothing_came(there, why, false)
    }

    /// Builds the receipt of a delivery refused by the forge.
    fn refused(&self, there: Option<&ForgeState>, error: &ForgeError) -> Result<PostOutcome, AppError> {
        self.nothing_came(there, &error.to_string(), error.kind == FaultKind::Permission)
    }

    fn nothing_came(&self, there: Option<&ForgeState>, why: &str, is_forbidden: bool) -> Result<PostOutcome, AppError> {
        let pull = match (there, &self.asked, &self.review.change.pull) {
            (Some(there), _, _) => there.fetched.pull.id.clone(),
            (None, PostTarget::Near(PullSpecifier::Whole { id, .. }, _) | PostTarget::Apart(id), _) => id.clone(),
            (None, PostTarget::Near(PullSpecifier::Number(_), _), Some(of)) => of.id.clone(),
            // The receipt has no pull request to name.
            (None, PostTarget::Near(PullSpecifier::Number(number), _), None) => {
                return Err(AppError::NotPosted { pull: format!("#{number}"), why: why.to_owned() });
            }
        };
        if self.options.dry_run {
            return Err(AppError::NotPosted { pull: pull.to_string(), why: why.to_owned() });
        }
        Ok(PostOutcome::Done(Box::new(self.receipt_of_nothing(pull, there, why, is_forbidden))))
    }

    fn receipt_of_nothing(&self, pull: PullId, there: Option<&ForgeState>, why: &str, is_forbidden: bool) -> Delivery {
        let item = |finding: &Finding| DeliveryItem {
            finding: finding.id.clone(),
            severity: finding.severity,
            title: finding.title.clone(),
            act: DeliveryAct::InArtefact,
            reason: Some("Nothing was posted.".to_owned()),
            url: None,
        };
        Delivery {
            run: self.review.id,
            pull,
            reviewed: self.reviewed,
            head: there.map_or(self.reviewed, |there| there.fetched.head),
            at: clock::now(),
            by: there.map_or_else(String::new, |there| there.viewer.login.clone()),
            verdict: DeliveryVerdict::Comment,
            delivered: DeliveryResult::default(),
            summary: SummaryAct::Failed,
            items: self.review.findings.iter().map(item).collect(),
            notes: Vec::new(),
            failures: vec![format!("nothing was posted: {why}")],
            is_forbidden,
        }
    }
}

/// Collects the ids of existing reviews on the forge.
fn existing_reviews(conversation: &PullConversation) -> HashSet<String> {
    conversation.reviews.iter().map(|review| review.comment.node.clone()).collect()
}

/// A fault before sending: faults of the forge leave a receipt, the others are returned unchanged.
enum PostingFault {
    Forge(ForgeError),
    App(AppError),
}

impl From<ForgeError> for PostingFault {
    fn from(error: ForgeError) -> Self {
        Self::Forge(error)
    }
}

impl From<AppError> for PostingFault {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Forge(error) => Self::Forge(error),
            error => Self::App(error),
        }
    }
}
