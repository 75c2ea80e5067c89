//! Putting a review on a pull request: read what stands there, plan, carry out, keep the receipt. Main functions: [`post`], [`review_and_post`].
//!
//! What is posted is worked out in `publish` and asked for by flags alone: no setting of a repository and no variable has a review posted.

mod ground;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::deliver::Delivered;
use super::error::AppError;
use super::forge::ForgeEnvironment;
use super::pull::{self, Fetched};
use super::review::{Job, review};
use super::subject::{self, Surroundings};
use super::{model::ProviderEnvironment, runs};
use crate::config::Flags;
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::Severity;
use crate::domain::forge::{
    Actor, Conversation, Delivery, DeliveryAct, DeliveryItem, PullAsk, PullId, PullState, SummaryAct, Verdict,
};
use crate::domain::id::CommitId;
use crate::domain::request::Scope;
use crate::domain::review::Review;
use crate::domain::secret::Secret;
use crate::forge::{ForgeError, GitHub};
use crate::present::delivery;
use crate::publish::{Carry, Done, Guard, HeadMoved, Limits, Telling};
use crate::store::Store;
use crate::sys::cancel::Cancel;
use crate::sys::clock;

use ground::{Ground, Prepared};

/// The name of the receipt in the folder of a run.
const RECEIPT: &str = "delivery.json";
/// How often a review is planned anew because the head moved meanwhile.
const ROUNDS: usize = 2;

/// What to do when the pull request has another head than the one that was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MovedHead {
    /// Find every finding again on the new head, and say that what came after the review was not reviewed.
    #[default]
    Reanchor,
    /// Post nothing.
    Stop,
}

/// How a review is posted.
#[derive(Debug, Clone, Default)]
pub struct PostOptions {
    /// Which pull request; that of the review where not said.
    pub pull: Option<PullAsk>,
    /// Whether only to say what would be sent.
    pub dry_run: bool,
    /// What to do when the head moved.
    pub moved_head: MovedHead,
}

/// What a dry run would have done.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The exact requests, in order.
    pub requests: Vec<Value>,
    /// What would have become of everything.
    pub items: Vec<DeliveryItem>,
    /// What to tell people.
    pub notes: Vec<String>,
    /// What the review would have said.
    pub verdict: Verdict,
}

/// What became of posting.
#[derive(Debug, Clone)]
pub enum Posted {
    /// It was tried, and this is the receipt.
    Done(Box<Delivery>),
    /// It was not tried.
    Dry(DryRun),
}

impl Posted {
    /// What failed: one sentence each.
    pub fn failures(&self) -> &[String] {
        match self {
            Self::Done(delivery) => &delivery.failures,
            Self::Dry(_) => &[],
        }
    }
}

/// Why a review cannot be posted at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// There is nothing to tie comments to.
    #[error(
        "the review {run} is not of a commit but of {what}, so it cannot stand on a pull request; commit the change and review it again"
    )]
    NoCommit {
        /// The run.
        run: String,
        /// What was reviewed.
        what: String,
    },
    /// Something else than a pull request is reviewed.
    #[error("--post posts the review of a pull request: name it with --pr")]
    NotAPull,
    /// Nobody said which pull request.
    #[error(
        "the review {run} is not of a pull request: name one with --pr NUMBER, if it has the commit that was reviewed"
    )]
    NoPull {
        /// The run.
        run: String,
    },
    /// Two pull requests were named.
    #[error("the review is of {of}, not of {asked}: leave out --pr, or review {asked} with review --pr")]
    OtherPull {
        /// What it is of.
        of: String,
        /// What was asked for.
        asked: String,
    },
    /// The reviewed commit is on no way to the head.
    #[error("{pull} does not have the commit {reviewed} that was reviewed: review it with review --pr {number}")]
    NotThere {
        /// The pull request.
        pull: String,
        /// The commit.
        reviewed: String,
        /// Its number.
        number: u32,
    },
}

/// A review that is to be posted, and on what.
struct Posting<'a> {
    review: &'a Review,
    reviewed: CommitId,
    ask: PullAsk,
    directory: PathBuf,
    options: &'a PostOptions,
    floor: Option<Severity>,
    guard: Guard,
    around: &'a Surroundings,
    cancel: &'a Cancel,
}

/// What stands on the forge.
struct There {
    fetched: Fetched,
    viewer: Actor,
    conversation: Arc<Conversation>,
}

/// Reviews a change, and posts the review where that was asked for. What could not be posted is a failure of the delivery.
pub async fn review_and_post(
    job: Job,
    options: Option<PostOptions>,
    around: Surroundings,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<Delivered, AppError> {
    if options.is_some() && !matches!(job.request.scope, Scope::Pull(_)) {
        return Err(PostError::NotAPull.into());
    }
    let (flags, directory) = (job.flags.clone(), job.request.directory.clone());
    let mut delivered = review(job, around.clone(), Arc::clone(&events), cancel.clone()).await?;
    let Some(options) = options else { return Ok(delivered) };
    match post_review(&delivered.review, directory, &options, &flags, &around, &*events, &cancel).await {
        Ok(posted) => {
            delivered.failures.extend(posted.failures().iter().cloned());
            delivered.posted = Some(posted);
        }
        Err(error) => delivered.failures.push(format!("the review was not posted: {error}")),
    }
    Ok(delivered)
}

/// Posts a kept review, named by its id, the beginning of its id, or `last`.
pub async fn post(
    name: &str,
    directory: PathBuf,
    options: &PostOptions,
    flags: &Flags,
    around: &Surroundings,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<Posted, AppError> {
    let review = runs::show(around, name)?;
    let kept = Store::at(&around.state).record(review.id).ok().and_then(|record| record.folder);
    let directory = kept.filter(|folder| folder.is_dir()).unwrap_or(directory);
    post_review(&review, directory, options, flags, around, events, cancel).await
}

async fn post_review(
    review: &Review,
    directory: PathBuf,
    options: &PostOptions,
    flags: &Flags,
    around: &Surroundings,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<Posted, AppError> {
    // The repository has no say in how a review is posted.
    let settings = subject::resolve(None, flags, around)?.settings;
    let cancel = cancel.within(settings.timeout);
    let run = review.id.to_string();
    let what = review.change.head_name.clone();
    let reviewed = review.change.head.ok_or(PostError::NoCommit { run: run.clone(), what })?;
    let ask = asked(review, options)?.ok_or(PostError::NoPull { run })?;
    let keys = settings.providers.values().filter_map(|provider| provider.api_key.clone());
    let posting = Posting {
        review,
        reviewed,
        ask,
        directory,
        options,
        floor: settings.request_changes_on,
        guard: guard(&around.forge, &around.providers, keys),
        around,
        cancel: &cancel,
    };
    let posted = posting.go(events).await?;
    if let Posted::Done(receipt) = &posted {
        Store::at(&around.state).keep(review.id, RECEIPT, &delivery::json(receipt))?;
    }
    Ok(posted)
}

/// The pull request that is meant; of the review itself where none is named.
fn asked(review: &Review, options: &PostOptions) -> Result<Option<PullAsk>, PostError> {
    let Some(of) = &review.change.pull else { return Ok(options.pull.clone()) };
    let other = match &options.pull {
        Some(PullAsk::Number(number)) => *number != of.id.number,
        Some(PullAsk::Whole { id, .. }) => id.number != of.id.number || !id.repo.is(&of.id.repo),
        None => false,
    };
    if other {
        let asked = match &options.pull {
            Some(PullAsk::Whole { id, .. }) => id.to_string(),
            Some(PullAsk::Number(number)) => format!("#{number}"),
            None => String::new(),
        };
        return Err(PostError::OtherPull { of: of.id.to_string(), asked });
    }
    let host = of.server.split_once("://").map(|(_, host)| host.to_ascii_lowercase());
    Ok(Some(PullAsk::Whole { host, id: of.id.clone() }))
}

/// A guard over the secrets of this process: its environment, and the keys it was given otherwise.
fn guard(forge: &ForgeEnvironment, _: &ProviderEnvironment, keys: impl Iterator<Item = Secret>) -> Guard {
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), Secret::new(value.to_string_lossy().into_owned())));
    Guard::new(environment).with(forge.secrets()).with(keys)
}

impl Posting<'_> {
    async fn go(&self, events: &dyn EventSink) -> Result<Posted, AppError> {
        let (forge, cancel) = (self.around.forge.clone(), self.cancel.clone());
        // `gh` may be asked for its token.
        let client = tokio::task::spawn_blocking(move || forge.client(&cancel)).await.map_err(|_| AppError::Broken)?;
        let github = client?;
        for round in 1..=ROUNDS {
            let there = match self.look(&github).await {
                Ok(there) => there,
                Err(Fault::Forge(error)) => return self.nothing_posted(None, &error.to_string()),
                Err(Fault::App(error)) => return Err(error),
            };
            for text in &there.fetched.notices {
                events.emit(Event::Notice { text: text.clone() });
            }
            let has_moved = there.fetched.head != self.reviewed;
            if has_moved && self.options.moved_head == MovedHead::Stop {
                let why = format!(
                    "the head of {} moved from {} to {} after the review; review it again, or post with --moved-head reanchor",
                    there.fetched.pull.id,
                    self.reviewed.short(),
                    there.fetched.head.short()
                );
                return self.nothing_posted(Some(&there), &why);
            }
            let prepared = self.prepare(&there, has_moved).await?;
            if let Some(posted) = self.deliver(&github, &there, &prepared, round).await? {
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

    async fn look(&self, github: &GitHub) -> Result<There, Fault> {
        let fetched = pull::fetch(&self.ask, &self.directory, github, self.around, self.cancel).await?;
        let id = fetched.pull.id.clone();
        let (viewer, conversation) = tokio::try_join!(github.viewer(), github.conversation(&id))?;
        Ok(There { fetched, viewer, conversation: Arc::new(conversation) })
    }

    /// Reads the trees and works out the plan, away from the async threads.
    async fn prepare(&self, there: &There, has_moved: bool) -> Result<Prepared, AppError> {
        let ground = Ground {
            review: self.review.clone(),
            reviewed: self.reviewed,
            directory: there.fetched.directory.clone(),
            base: there.fetched.base,
            head: there.fetched.head,
            pull: there.fetched.pull.clone(),
            viewer: there.viewer.clone(),
            conversation: Arc::clone(&there.conversation),
            floor: self.floor,
            has_moved,
            guard: self.guard.clone(),
            cancel: self.cancel.clone(),
        };
        tokio::task::spawn_blocking(move || ground.prepare()).await.map_err(|_| AppError::Broken)?
    }

    /// Sends what was planned; `None` where the head moved before anything was posted and there is another round.
    async fn deliver(
        &self,
        github: &GitHub,
        there: &There,
        prepared: &Prepared,
        round: usize,
    ) -> Result<Option<Posted>, AppError> {
        let (pull, head) = (&there.fetched.pull.id, there.fetched.head);
        let telling = Telling {
            review: &prepared.review,
            plan: &prepared.plan,
            head,
            has_moved: head != self.reviewed,
            limits: Limits::default(),
            guard: &self.guard,
        };
        let carry = Carry {
            github,
            pull,
            plan: &prepared.plan,
            head,
            run: self.review.id,
            known_reviews: known(&there.conversation),
            summarise: &|told| telling.summary(told),
            introduce: &|told| telling.introduction(told),
        };
        if self.options.dry_run {
            let items = carry.planned().into_iter().map(|entry| entry.item).collect();
            let (requests, notes) = (carry.requests(), prepared.plan.notes.clone());
            return Ok(Some(Posted::Dry(DryRun { requests, items, notes, verdict: prepared.plan.verdict })));
        }
        match github.pull(pull).await {
            Ok(now) if now.head != head && round < ROUNDS => return Ok(None),
            Ok(_) => {}
            Err(error) => return self.nothing_posted(Some(there), &error.to_string()).map(Some),
        }
        match carry.out().await {
            Ok(done) => Ok(Some(self.posted(there, done))),
            Err(HeadMoved) if round < ROUNDS => Ok(None),
            Err(HeadMoved) => {
                let why = "GitHub says that the head is not part of the pull request (any more); review it again";
                self.nothing_posted(Some(there), why).map(Some)
            }
        }
    }

    fn posted(&self, there: &There, done: Done) -> Posted {
        let Done { entries, verdict, delivered, summary, notes, failures } = done;
        Posted::Done(Box::new(Delivery {
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
        }))
    }

    /// What to tell people about the pull request.
    fn about(&self, there: &There) -> Vec<String> {
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

    /// The receipt of a delivery of which nothing came.
    fn nothing_posted(&self, there: Option<&There>, why: &str) -> Result<Posted, AppError> {
        let pull = match (there, &self.ask, &self.review.change.pull) {
            (Some(there), _, _) => there.fetched.pull.id.clone(),
            (None, PullAsk::Whole { id, .. }, _) => id.clone(),
            (None, PullAsk::Number(_), Some(of)) => of.id.clone(),
            // There is no name to put on a receipt.
            (None, PullAsk::Number(number), None) => {
                return Err(AppError::NotPosted { pull: format!("#{number}"), why: why.to_owned() });
            }
        };
        if self.options.dry_run {
            return Err(AppError::NotPosted { pull: pull.to_string(), why: why.to_owned() });
        }
        Ok(Posted::Done(Box::new(self.receipt_of_nothing(pull, there, why))))
    }

    fn receipt_of_nothing(&self, pull: PullId, there: Option<&There>, why: &str) -> Delivery {
        let item = |finding: &crate::domain::finding::Finding| DeliveryItem {
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
            verdict: Verdict::Comment,
            delivered: crate::domain::forge::Delivered::default(),
            summary: SummaryAct::Failed,
            items: self.review.findings.iter().map(item).collect(),
            notes: Vec::new(),
            failures: vec![format!("nothing was posted: {why}")],
        }
    }
}

/// The reviews that stand there, by the forge's ids.
fn known(conversation: &Conversation) -> HashSet<String> {
    conversation.reviews.iter().map(|review| review.comment.node.clone()).collect()
}

/// What may go wrong while looking: the forge's faults leave a receipt, the others are told as they are.
enum Fault {
    Forge(ForgeError),
    App(AppError),
}

impl From<ForgeError> for Fault {
    fn from(error: ForgeError) -> Self {
        Self::Forge(error)
    }
}

impl From<AppError> for Fault {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Forge(error) => Self::Forge(error),
            error => Self::App(error),
        }
    }
}
