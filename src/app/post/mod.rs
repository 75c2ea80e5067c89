//! Posts a review on a pull request: reads the current state, plans, executes, and saves the receipt. Main functions: [`post`],
//! [`post_delivered`].
//!
//! Planning belongs in `publish`. Posting is requested by flags only: no setting of a repository and no variable can request it.

pub(in crate::app) mod artefact;
mod context;
mod posting;
pub(in crate::app) mod thread;

use crate::app::context::error::UseCaseError;
use crate::app::context::{project, saved_runs, settings};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::forge::ForgeEnvironment;
use crate::app::review::deliver::DeliveredReview;
use crate::config::{Flags, Settings};
use crate::domain::event::{Event, EventSink, ReviewStage};
use crate::domain::finding::{FindingId, FindingStatus};
use crate::domain::forge::{Delivery, DeliveryItem, DeliveryVerdict, MarkTrust, PullId, PullSpecifier};
use crate::domain::id::CommitId;
use crate::domain::request::ReviewScope;
use crate::domain::review::{Review, ReviewOutcome};
use crate::domain::run::RunId;
use crate::domain::secret::Secret;
use crate::present::delivery;
use crate::publish::SecretGuard;
use crate::sys::cancel::Cancel;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

pub(super) use posting::AcceptPull;
use posting::{PostJob, PostTarget};

/// The file name of the receipt in a run folder.
const RECEIPT: &str = "delivery.json";
/// The policy if the pull request has another head than the reviewed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MovedHeadPolicy {
    /// Locate every finding on the new head, and note that later commits were not reviewed.
    #[default]
    Reanchor,
    /// Post nothing.
    Stop,
}

/// The options of posting.
#[derive(Debug, Clone, Default)]
pub struct PostOptions {
    /// The pull request; that of the review if `None`.
    pub pull: Option<PullSpecifier>,
    /// `true` to only report what would be sent.
    pub dry_run: bool,
    /// The policy if the head moved.
    pub moved_head: MovedHeadPolicy,
}

/// The result of a dry run.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The exact requests, in order.
    pub requests: Vec<Value>,
    /// The planned delivery of each item.
    pub items: Vec<DeliveryItem>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The verdict of the review.
    pub verdict: DeliveryVerdict,
}

/// The outcome of posting.
#[derive(Debug, Clone)]
pub enum PostOutcome {
    /// The delivery was attempted, with this receipt.
    Done(Box<Delivery>),
    /// A dry run: nothing was sent.
    Dry(DryRun),
}

impl PostOutcome {
    /// The failures, one sentence each.
    pub fn failures(&self) -> &[String] {
        match self {
            Self::Done(delivery) => &delivery.failures,
            Self::Dry(_) => &[],
        }
    }
}

/// The reason why a review cannot be posted at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PostError {
    /// There is no commit to attach comments to.
    #[error(
        "the review {run} is not of a commit but of {what}, so it cannot stand on a pull request; commit the change and review it again"
    )]
    NoCommit { run: String, what: String },
    /// The scope is not a pull request.
    #[error("--post posts the review of a pull request: name it with --pr")]
    NotAPull,
    /// No pull request was specified.
    #[error(
        "the review {run} is not of a pull request: name one with --pr NUMBER, if it has the commit that was reviewed"
    )]
    NoPull { run: String },
    /// The repository has no saved review.
    #[error(
        "no review of the repository {folder} is kept; if you mean the newest of all, which is of {of}: review post {newest}"
    )]
    NoneHere { folder: String, newest: String, of: String },
    /// Two pull requests were named.
    #[error("the review is of {of}, not of {asked}: leave out --pr, or review {asked} with review --pr")]
    OtherPull { of: String, asked: String },
    /// The reviewed commit is not an ancestor of the head.
    #[error("{pull} does not have the commit {reviewed} that was reviewed: review it with review --pr {number}")]
    NotThere { pull: String, reviewed: String, number: u32 },
}

impl UseCaseError for PostError {}

/// Checks whether a review of this scope can be posted.
pub fn check_scope(scope: &ReviewScope) -> Result<(), PostError> {
    if matches!(scope, ReviewScope::Pull(_)) { Ok(()) } else { Err(PostError::NotAPull) }
}

/// Posts a review that was just delivered. What could not be posted is a failure of the delivery.
pub async fn post_delivered(
    delivered: &mut DeliveredReview,
    directory: PathBuf,
    options: &PostOptions,
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Option<PostOutcome> {
    let posting = post_review(&delivered.review, directory, options, flags, around, events, cancel);
    match Box::pin(posting).await {
        Ok(posted) => {
            delivered.failures.extend(posted.failures().iter().cloned());
            Some(posted)
        }
        Err(error) => {
            delivered.failures.push(format!("the review was not posted: {error}"));
            None
        }
    }
}

/// Posts a saved review, found by its id, a prefix of it, or `last` (of the repository around `directory`).
pub async fn post(
    name: &str,
    directory: PathBuf,
    options: &PostOptions,
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<PostOutcome, AppError> {
    let review = saved_runs::read(around, find_run(name, &directory, around)?)?;
    let recorded = around.store.read_record(review.id).ok().and_then(|record| record.folder);
    let directory = recorded.filter(|folder| folder.is_dir()).unwrap_or(directory);
    post_review(&review, directory, options, flags, around, events, cancel).await
}

/// Resolves the name of a run. `last` is the newest of the current repository, and outside of any the newest of all.
fn find_run(name: &str, directory: &Path, around: &ProcessEnv) -> Result<RunId, AppError> {
    let newest = around.store.find(name)?;
    if name != "last" {
        return Ok(newest);
    }
    let repo = match Repo::open(directory) {
        Err(RepoError::NotARepository(_)) => return Ok(newest),
        opened => opened?,
    };
    let Some(folder) = project::folder_of(&repo) else { return Ok(newest) };
    if let Some(record) = saved_runs::latest_of(around, &folder)? {
        return Ok(record.id);
    }
    let record = saved_runs::record(around, newest)?;
    let of = record.pull.map_or(record.repository, |pull| pull.to_string());
    Err(PostError::NoneHere { folder: folder.display().to_string(), newest: newest.to_string(), of }.into())
}

pub(super) async fn post_review(
    review: &Review,
    directory: PathBuf,
    options: &PostOptions,
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<PostOutcome, AppError> {
    let (settings, cancel) = begin(flags, around, events, cancel)?;
    let review = &drop_fixed(review);
    let run = review.id.to_string();
    let what = review.change.head_name.clone();
    let reviewed = review.change.head.ok_or(PostError::NoCommit { run: run.clone(), what })?;
    let ask = select_pull(review, options)?.ok_or(PostError::NoPull { run })?;
    let posting = PostJob {
        review,
        reviewed,
        asked: PostTarget::Near(ask, directory),
        trust: MarkTrust::Own,
        accept: None,
        options,
        settings: &settings,
        guard: guard(&around.forge, &settings),
        around,
        cancel: &cancel,
    };
    let posted = posting.run(events).await?;
    if let PostOutcome::Done(receipt) = &posted {
        around.store.save(review.id, RECEIPT, &delivery::json(receipt))?;
    }
    Ok(posted)
}

/// Removes findings that the history calls fixed by their lines: their threads are checked against the current tree, and resolved if that
/// shows the fix. The text of a refuted or disproved finding is unchanged, so a complete review decides it.
fn drop_fixed(review: &Review) -> Review {
    let mut told = review.clone();
    if let Some(previous) = &review.coverage.previous {
        // Another run with the same findings changes nothing on the page.
        told.coverage.notes.retain(|note| !crate::domain::prior::is_reference(note));
        let is_told = |id: &FindingId| review.outcome == ReviewOutcome::Complete && previous.disproved.contains(id);
        told.findings.retain(|finding| match finding.status {
            FindingStatus::Fixed => is_told(&finding.id),
            FindingStatus::Refuted => review.outcome == ReviewOutcome::Complete,
            _ => true,
        });
    }
    told
}

/// Announces posting, and returns its time limit and settings: the repository cannot influence how a review is posted, nor for how long.
pub(super) fn begin(
    flags: &Flags,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<(Settings, Cancel), AppError> {
    events.emit(Event::Stage { stage: ReviewStage::Post });
    let settings = settings::resolve(None, flags, around)?.settings;
    let cancel = cancel.with_deadline(settings.timeout);
    Ok((settings, cancel))
}

/// Posts a review of an untrusted run, on a pull request that `accept` approves each time. No receipt is saved: the run is of elsewhere.
#[expect(clippy::too_many_arguments, reason = "what `post` takes, and what is to be posted where")]
pub(super) async fn post_untrusted(
    review: &Review,
    (id, reviewed): (PullId, CommitId),
    accept: &AcceptPull,
    options: &PostOptions,
    settings: &Settings,
    around: &ProcessEnv,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<PostOutcome, AppError> {
    let posting = PostJob {
        review,
        reviewed,
        asked: PostTarget::Apart(id),
        trust: MarkTrust::Untrusted,
        accept: Some(accept),
        options,
        settings,
        guard: guard(&around.forge, settings),
        around,
        cancel,
    };
    posting.run(events).await
}

/// Determines the pull request; that of the review if none is named.
fn select_pull(review: &Review, options: &PostOptions) -> Result<Option<PullSpecifier>, PostError> {
    let Some(of) = &review.change.pull else { return Ok(options.pull.clone()) };
    let other = match &options.pull {
        Some(PullSpecifier::Number(number)) => *number != of.id.number,
        Some(PullSpecifier::Whole { id, .. }) => id.number != of.id.number || !id.repo.is(&of.id.repo),
        None => false,
    };
    if other {
        let asked = match &options.pull {
            Some(PullSpecifier::Whole { id, .. }) => id.to_string(),
            Some(PullSpecifier::Number(number)) => format!("#{number}"),
            None => String::new(),
        };
        return Err(PostError::OtherPull { of: of.id.to_string(), asked });
    }
    let host = of.server.split_once("://").map(|(_, host)| host.to_ascii_lowercase());
    Ok(Some(PullSpecifier::Whole { host, id: of.id.clone() }))
}

/// Builds a guard over the secrets of this process: its environment, and keys from other sources.
fn guard(forge: &ForgeEnvironment, settings: &Settings) -> SecretGuard {
    let keys = settings.providers.values().filter_map(|provider| provider.api_key.clone());
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), Secret::new(value.to_string_lossy().into_owned())));
    SecretGuard::new(environment).with(forge.secrets()).with(keys)
}
