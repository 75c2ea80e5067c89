//! The shared parts of a step's reviews. Main type: [`ActionStep`].

use crate::app::context::settings;
use std::path::PathBuf;
use std::sync::Arc;

use super::StepOutcome;
use crate::app::action::error::ActionError;
use crate::app::action::event::RunEvent;
use crate::app::action::inputs::ActionInputs;
use crate::app::action::reviewer;
use crate::app::action::step::PostDestination;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::post::artefact::ExpectedArtefact;
use crate::app::post::artefact::post_artefact;
use crate::app::post::{PostOptions, PostOutcome};
use crate::app::prepare::instructions::TrustLevel;
use crate::app::prepare::pull::sign_in;
use crate::app::review::deliver::DeliveredReview;
use crate::app::review::deliver::OutputFile;
use crate::app::review::job::ReviewJob;
use crate::app::review::job::{KnownInputs, review_with};
use crate::config::Flags;
use crate::domain::event::{Event, EventSink};
use crate::domain::forge::{Delivery, PullNumber, RepoName};
use crate::domain::request::{ReviewRequest, ReviewScope};
use crate::domain::run::RunId;
use crate::forge::GitHub;
use crate::sys::cancel::Cancel;
use crate::sys::files;

/// A step before its task is performed.
pub(super) struct ActionStep {
    pub(super) inputs: ActionInputs,
    pub(super) flags: Flags,
    pub(super) around: ProcessEnv,
    /// The folder of a possible checkout.
    pub(super) directory: PathBuf,
    /// The folder for files.
    pub(super) temporary: PathBuf,
    /// The repository that the workflow is of.
    pub(super) here: RepoName,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) cancel: Cancel,
}

/// A review and its files.
pub(super) struct StepFiles {
    pub(super) delivered: DeliveredReview,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<(&'static str, PathBuf)>,
}

impl ActionStep {
    /// Checks the choice of the reviewer, and reports inputs without effect.
    pub(super) fn choose(&mut self, is_fork: bool) -> Result<(), AppError> {
        for text in reviewer::choose_reviewer(&self.inputs, &self.flags, &mut self.around, is_fork)? {
            self.events.emit(Event::Notice { text });
        }
        if let Some(path) = &self.inputs.instructions {
            self.flags.instructions = Some(PathBuf::from(path));
        }
        Ok(())
    }

    /// Creates a client limited to the time of the step.
    pub(super) async fn github(&self) -> Result<GitHub, AppError> {
        let timeout = settings::resolve(None, &self.flags, &self.around)?.settings.timeout;
        let client = sign_in(&self.around, &self.cancel.with_deadline(timeout)).await?;
        Ok(client.about(&self.here))
    }

    /// Reviews, and writes the files.
    pub(super) async fn review(&self, directory: PathBuf, scope: ReviewScope) -> Result<StepFiles, AppError> {
        let run = RunId::random();
        let folder = self.temporary.join("review").join(run.to_string());
        files::private_folder(&folder).map_err(ActionError::from)?;
        let file = |extension: &str| folder.join(format!("review.{extension}"));
        let formats: Vec<_> = self.inputs.formats.iter().map(|format| (format.name, file(format.extension))).collect();
        let output = |(format, file): &(&str, PathBuf)| OutputFile { format: (*format).to_owned(), file: file.clone() };
        let request = ReviewRequest { directory, scope, settings_from_worktree: false };
        let outputs = formats.iter().map(output).collect();
        let job = ReviewJob { run, outputs, ..ReviewJob::new(request, self.flags.clone()) };
        let whose = if self.inputs.instructions.is_some() { TrustLevel::Target } else { TrustLevel::User };
        let (events, cancel) = (Arc::clone(&self.events), self.cancel.clone());
        let delivered = review_with(job, whose, KnownInputs::default(), self.around.clone(), events, cancel).await?;
        let files = formats.into_iter().filter(|(_, file)| files::modified(file).is_some()).collect();
        Ok(StepFiles { delivered, folder, files })
    }

    /// Verifies the artefact of an untrusted run, and posts it.
    pub(super) async fn artefact(
        self,
        folder: PathBuf,
        run: RunEvent,
        pull: Option<PullNumber>,
    ) -> Result<StepOutcome, AppError> {
        let expected = ExpectedArtefact {
            repository: self.here.clone(),
            head: run.head,
            head_repository: run.head_repository,
            pull: pull.map(PullNumber::value),
        };
        self.events.emit(Event::Notice { text: format!("checking what the run {} left", run.id) });
        let options = PostOptions::default();
        let (flags, around) = (&self.flags, &self.around);
        let work = post_artefact(&folder, expected, &options, flags, around, &*self.events, &self.cancel);
        let posted = Box::pin(work).await?;
        let PostOutcome::Done(receipt) = posted else {
            return Ok(StepOutcome::Skipped("Nothing was to be posted.".to_owned()));
        };
        Ok(StepOutcome::Posted { posted: destination(&receipt), receipt })
    }
}

/// The destination according to a receipt.
pub(super) fn destination(receipt: &Delivery) -> PostDestination {
    let url = receipt.delivered.review_url.clone().or_else(|| receipt.delivered.summary_url.clone());
    let is_there = url.is_some() || receipt.is_complete();
    match receipt.failures.first() {
        Some(why) if !is_there => PostDestination::Nowhere(why.clone()),
        _ => PostDestination::Review { pull: receipt.pull.clone(), url },
    }
}
