//! Reviews a pull request in a step, and posts the review as configured.

use super::reviewing::{ActionStep, StepFiles, destination};
use super::{PostDestination, StepOutcome, StepReview};
use crate::app::action::inputs::{DraftPolicy, PostMode};
use crate::app::action::task::PullToReview;
use crate::app::context::error::AppError;
use crate::app::post::{MovedHeadPolicy, PostOptions, PostOutcome, post_review};
use crate::app::review::deliver::DeliveredReview;
use crate::domain::forge::Delivery;
use crate::domain::forge::{PullId, PullSpecifier};
use crate::domain::id::CommitId;
use crate::domain::request::ReviewScope;
use crate::domain::text::{mask, strip_line};
use crate::forge::GitHub;

/// The reason why a review is not on its pull request.
const FORBIDDEN: &str =
    "the token may not write on pull requests (give the job pull-requests: write to have it comment)";

/// The result of posting a review.
enum PutOutcome {
    /// It was posted, or could not be posted anywhere.
    Done(PostDestination),
    /// The pull request no longer matches the step, with the reason.
    Moved(String),
}

/// The head and target that the step's check is for.
struct CheckTarget {
    id: PullId,
    head: CommitId,
    /// The target branch: the source of settings and rules, and the base of the comparison. The author of a pull request can change it at
    /// any time, and back: a review for another target does not apply.
    target: String,
}

impl CheckTarget {
    /// Describes the difference from the pull request's current state; `None` if there is none.
    fn other(&self, head: CommitId, target: &str) -> Option<String> {
        let Self { id, head: own, target: meant } = self;
        if head != *own {
            let (from, to) = (own.short(), head.short());
            return Some(format!(
                "The head of {id} was {from} when this run began and is {to} now: nothing is said about the former; the run for the \
                 latter says it."
            ));
        }
        let (target, meant) = (mask(&strip_line(target)).text, mask(&strip_line(meant)).text);
        (target != meant).then(|| {
            format!(
                "{id} asked to be merged into {} when this run began, and into {} now: nothing is said about {}; run the workflow again.",
                meant,
                target,
                own.short()
            )
        })
    }
}

impl ActionStep {
    pub(super) async fn pull(mut self, wanted: PullToReview) -> Result<StepOutcome, AppError> {
        // The event and the forge must agree: either may be outdated, and an extra review does less harm.
        let may_skip = self.inputs.drafts == DraftPolicy::Skip && wanted.is_draft != Some(false);
        if !may_skip {
            self.choose(wanted.lacks_secrets)?;
        }
        let github = self.github().await?;
        let pull = github.pull(&wanted.id).await?;
        if may_skip {
            if pull.is_draft {
                return Ok(StepOutcome::Skipped(format!(
                    "{} is a draft, and drafts: skip leaves those out.",
                    wanted.id
                )));
            }
            self.choose(wanted.lacks_secrets)?;
        }
        let PullToReview { id, head, target, .. } = wanted;
        let (head, target) = (head.unwrap_or(pull.head), target.unwrap_or_else(|| pull.base_ref.clone()));
        let meant = CheckTarget { id, head, target };
        if let Some(why) = meant.other(pull.head, &pull.base_ref) {
            return Ok(StepOutcome::Superseded { why, made: None });
        }
        let ask = PullSpecifier::Whole { host: None, id: meant.id.clone() };
        let StepFiles { mut delivered, folder, files } =
            Box::pin(self.review(self.directory.clone(), ReviewScope::Pull(ask))).await?;
        let mut receipt = None;
        let put = if delivered.interrupted {
            PutOutcome::Done(PostDestination::Nowhere("the run was interrupted".to_owned()))
        } else {
            self.put(&meant, &github, &mut delivered, &mut receipt).await
        };
        Ok(match put {
            PutOutcome::Done(posted) => StepOutcome::Reviewed(StepReview { delivered, posted, receipt, folder, files }),
            PutOutcome::Moved(why) => {
                let posted = PostDestination::Nowhere("the pull request moved on".to_owned());
                StepOutcome::Superseded { why, made: Some(StepReview { delivered, posted, receipt, folder, files }) }
            }
        })
    }

    /// Posts the review, unless the pull request now has another head or target.
    async fn put(
        &self,
        meant: &CheckTarget,
        github: &GitHub,
        delivered: &mut DeliveredReview,
        receipt: &mut Option<Box<Delivery>>,
    ) -> PutOutcome {
        match github.pull(&meant.id).await {
            Ok(now) => {
                if let Some(why) = meant.other(now.head, &now.base_ref) {
                    return PutOutcome::Moved(why);
                }
            }
            Err(error) => {
                let text = format!("it could not be found out whether the head moved meanwhile: {error}");
                delivered.failures.push(text);
                return PutOutcome::Done(PostDestination::Nowhere(
                    "the pull request could not be asked for again".to_owned(),
                ));
            }
        }
        // The target was requested again while fetching, and may have changed there and back.
        let change = &delivered.review.change;
        if let Some(why) = meant.other(change.head.unwrap_or(meant.head), &change.target) {
            return PutOutcome::Moved(why);
        }
        match self.inputs.post {
            PostMode::Annotations => PutOutcome::Done(PostDestination::Annotations(None)),
            PostMode::Nowhere => PutOutcome::Done(PostDestination::Nowhere("post: none".to_owned())),
            PostMode::Auto | PostMode::Review => self.post(meant, delivered, receipt).await,
        }
    }

    async fn post(
        &self,
        meant: &CheckTarget,
        delivered: &mut DeliveredReview,
        kept: &mut Option<Box<Delivery>>,
    ) -> PutOutcome {
        // The review must be of the step's head: on another head it would be wrong.
        let options = PostOptions { moved_head: MovedHeadPolicy::Stop, ..PostOptions::default() };
        let (directory, events) = (self.directory.clone(), &*self.events);
        let (flags, around) = (&self.flags, &self.around);
        let posted = post_review(&delivered.review, directory, &options, flags, around, events, &self.cancel).await;
        let receipt = match posted {
            Ok(PostOutcome::Done(receipt)) => receipt,
            Ok(PostOutcome::Dry(_)) => {
                return PutOutcome::Done(PostDestination::Nowhere("it was only worked out".to_owned()));
            }
            Err(error) => {
                delivered.failures.push(format!("the review was not posted: {error}"));
                return PutOutcome::Done(PostDestination::Nowhere("the review could not be posted".to_owned()));
            }
        };
        let put = if let Some(why) = meant.other(receipt.head, &meant.target) {
            PutOutcome::Moved(why)
        } else if receipt.is_forbidden && self.inputs.post == PostMode::Auto {
            PutOutcome::Done(PostDestination::Annotations(Some(FORBIDDEN.to_owned())))
        } else if receipt.is_forbidden {
            // The forge's message names the permissions of other tokens.
            delivered.failures.push(FORBIDDEN.to_owned());
            PutOutcome::Done(PostDestination::Nowhere(FORBIDDEN.to_owned()))
        } else {
            delivered.failures.extend(receipt.failures.iter().cloned());
            PutOutcome::Done(destination(&receipt))
        };
        *kept = Some(receipt);
        put
    }
}
