//! Reviews a pull request in a step, and posts the review as configured.

use super::reviewing::{Step, Written, stands_on};
use super::{Did, Made, Where};
use crate::app::action::inputs::{Drafts, PostWish};
use crate::app::action::what::Wanted;
use crate::app::error::AppError;
use crate::app::post::{MovedHead, PostOptions, Posted, post_review};
use crate::domain::forge::{PullAsk, PullId};
use crate::domain::id::CommitId;
use crate::domain::request::Scope;
use crate::domain::text::{mask, strip_line};
use crate::forge::GitHub;

/// The reason why a review is not on its pull request.
const FORBIDDEN: &str =
    "the token may not write on pull requests (give the job pull-requests: write to have it comment)";

/// The result of posting a review.
enum Put {
    /// It was posted, or could not be posted anywhere.
    Done(Where),
    /// The pull request no longer matches the step, with the reason.
    Moved(String),
}

/// The head and target that the step's check is for.
struct Meant {
    id: PullId,
    head: CommitId,
    /// The target branch: the source of settings and rules, and the base of the comparison. The author of a pull request can change it at
    /// any time, and back: a review for another target does not apply.
    target: String,
}

impl Meant {
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

impl Step {
    pub(super) async fn pull(mut self, wanted: Wanted) -> Result<Did, AppError> {
        // The event and the forge must agree: either may be outdated, and an extra review does less harm.
        let may_skip = self.inputs.drafts == Drafts::Skip && wanted.is_draft != Some(false);
        if !may_skip {
            self.choose(wanted.lacks_secrets)?;
        }
        let github = self.github().await?;
        let pull = github.pull(&wanted.id).await?;
        if may_skip {
            if pull.is_draft {
                return Ok(Did::Skipped(format!("{} is a draft, and drafts: skip leaves those out.", wanted.id)));
            }
            self.choose(wanted.lacks_secrets)?;
        }
        let Wanted { id, head, target, .. } = wanted;
        let (head, target) = (head.unwrap_or(pull.head), target.unwrap_or_else(|| pull.base_ref.clone()));
        let meant = Meant { id, head, target };
        if let Some(why) = meant.other(pull.head, &pull.base_ref) {
            return Ok(Did::Superseded { why, made: None });
        }
        let ask = PullAsk::Whole { host: None, id: meant.id.clone() };
        let Written { mut delivered, folder, files } = self.review(self.directory.clone(), Scope::Pull(ask)).await?;
        let put = if delivered.interrupted {
            Put::Done(Where::Nowhere("the run was interrupted".to_owned()))
        } else {
            self.put(&meant, &github, &mut delivered).await
        };
        Ok(match put {
            Put::Done(posted) => Did::Reviewed(Made { delivered, posted, folder, files }),
            Put::Moved(why) => {
                let posted = Where::Nowhere("the pull request moved on".to_owned());
                Did::Superseded { why, made: Some(Made { delivered, posted, folder, files }) }
            }
        })
    }

    /// Posts the review, unless the pull request now has another head or target.
    async fn put(&self, meant: &Meant, github: &GitHub, delivered: &mut crate::app::Delivered) -> Put {
        match github.pull(&meant.id).await {
            Ok(now) => {
                if let Some(why) = meant.other(now.head, &now.base_ref) {
                    return Put::Moved(why);
                }
            }
            Err(error) => {
                let text = format!("it could not be found out whether the head moved meanwhile: {error}");
                delivered.failures.push(text);
                return Put::Done(Where::Nowhere("the pull request could not be asked for again".to_owned()));
            }
        }
        // The target was requested again while fetching, and may have changed there and back.
        let change = &delivered.review.change;
        if let Some(why) = meant.other(change.head.unwrap_or(meant.head), &change.target) {
            return Put::Moved(why);
        }
        match self.inputs.post {
            PostWish::Annotations => Put::Done(Where::Annotations(None)),
            PostWish::Nowhere => Put::Done(Where::Nowhere("post: none".to_owned())),
            PostWish::Auto | PostWish::Review => self.post(meant, delivered).await,
        }
    }

    async fn post(&self, meant: &Meant, delivered: &mut crate::app::Delivered) -> Put {
        // The review must be of the step's head: on another head it would be wrong.
        let options = PostOptions { moved_head: MovedHead::Stop, ..PostOptions::default() };
        let (directory, events) = (self.directory.clone(), &*self.events);
        let (flags, around) = (&self.flags, &self.around);
        let posted = post_review(&delivered.review, directory, &options, flags, around, events, &self.cancel).await;
        let receipt = match posted {
            Ok(Posted::Done(receipt)) => receipt,
            Ok(Posted::Dry(_)) => return Put::Done(Where::Nowhere("it was only worked out".to_owned())),
            Err(error) => {
                delivered.failures.push(format!("the review was not posted: {error}"));
                return Put::Done(Where::Nowhere("the review could not be posted".to_owned()));
            }
        };
        let put = if let Some(why) = meant.other(receipt.head, &meant.target) {
            Put::Moved(why)
        } else if receipt.is_forbidden && self.inputs.post == PostWish::Auto {
            Put::Done(Where::Annotations(Some(FORBIDDEN.to_owned())))
        } else if receipt.is_forbidden {
            // The forge's message names the permissions of other tokens.
            delivered.failures.push(FORBIDDEN.to_owned());
            Put::Done(Where::Nowhere(FORBIDDEN.to_owned()))
        } else {
            delivered.failures.extend(receipt.failures.iter().cloned());
            Put::Done(stands_on(&receipt))
        };
        delivered.posted = Some(Posted::Done(receipt));
        put
    }
}
