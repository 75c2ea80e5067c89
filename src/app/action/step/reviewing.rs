//! The shared parts of a step's reviews. Main type: [`Step`].

use std::path::PathBuf;
use std::sync::Arc;

use super::Did;
use crate::app::action::error::ActionError;
use crate::app::action::event::RunEvent;
use crate::app::action::inputs::Inputs;
use crate::app::action::step::Where;
use crate::app::action::who;
use crate::app::artefact::{Expected, post_artefact};
use crate::app::deliver::{Delivered, Output};
use crate::app::error::AppError;
use crate::app::instructions::Whose;
use crate::app::post::{PostOptions, Posted};
use crate::app::pull::SIGNING_IN;
use crate::app::review::{Job, review_with};
use crate::app::subject::{self, Surroundings};
use crate::config::Flags;
use crate::domain::event::{Event, EventSink};
use crate::domain::forge::{Delivery, PullNumber, RepoName};
use crate::domain::request::{Compare, ReviewRequest, Scope};
use crate::domain::run::RunId;
use crate::forge::GitHub;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::files;

/// A step before its task is performed.
pub(super) struct Step {
    pub(super) inputs: Inputs,
    pub(super) flags: Flags,
    pub(super) around: Surroundings,
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
pub(super) struct Written {
    pub(super) delivered: Delivered,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<(&'static str, PathBuf)>,
}

impl Step {
    /// Checks the choice of the reviewer, and reports inputs without effect.
    pub(super) fn choose(&mut self, is_fork: bool) -> Result<(), AppError> {
        for text in who::choose(&self.inputs, &self.flags, &mut self.around, is_fork)? {
            self.events.emit(Event::Notice { text });
        }
        if let Some(path) = &self.inputs.instructions {
            self.flags.instructions = Some(PathBuf::from(path));
        }
        Ok(())
    }

    /// Creates a client limited to the time of the step.
    pub(super) async fn github(&self) -> Result<GitHub, AppError> {
        let timeout = subject::resolve(None, &self.flags, &self.around)?.settings.timeout;
        let (forge, cancel) = (self.around.forge.clone(), self.cancel.within(timeout));
        let limit = cancel.clone();
        let client = blocking::run(SIGNING_IN, &limit, move || forge.client(&cancel)).await??;
        Ok(client.about(&self.here))
    }

    /// Reviews, and writes the files.
    pub(super) async fn review(&self, directory: PathBuf, scope: Scope) -> Result<Written, AppError> {
        let run = RunId::random();
        let folder = self.temporary.join("review").join(run.to_string());
        files::private_folder(&folder).map_err(ActionError::from)?;
        let file = |extension: &str| folder.join(format!("review.{extension}"));
        let formats: Vec<_> = self.inputs.formats.iter().map(|format| (format.name, file(format.extension))).collect();
        let output = |(format, file): &(&str, PathBuf)| Output { format: (*format).to_owned(), file: file.clone() };
        let job = Job {
            run,
            request: ReviewRequest { directory, scope, settings_from_worktree: false },
            flags: self.flags.clone(),
            outputs: formats.iter().map(output).collect(),
            compare: Compare::default(),
            leads: Vec::new(),
        };
        let whose = if self.inputs.instructions.is_some() { Whose::Target } else { Whose::User };
        let (events, cancel) = (Arc::clone(&self.events), self.cancel.clone());
        let delivered = review_with(job, whose, self.around.clone(), events, cancel).await?;
        let files = formats.into_iter().filter(|(_, file)| files::modified(file).is_some()).collect();
        Ok(Written { delivered, folder, files })
    }

    /// Verifies the artefact of an untrusted run, and posts it.
    pub(super) async fn artefact(
        self,
        folder: PathBuf,
        run: RunEvent,
        pull: Option<PullNumber>,
    ) -> Result<Did, AppError> {
        let expected = Expected {
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
        let Posted::Done(receipt) = posted else {
            return Ok(Did::Skipped("Nothing was to be posted.".to_owned()));
        };
        Ok(Did::Posted { posted: stands_on(&receipt), receipt })
    }
}

/// The destination according to a receipt.
pub(super) fn stands_on(receipt: &Delivery) -> Where {
    let url = receipt.delivered.review_url.clone().or_else(|| receipt.delivered.summary_url.clone());
    let is_there = url.is_some() || receipt.is_whole();
    match receipt.failures.first() {
        Some(why) if !is_there => Where::Nowhere(why.clone()),
        _ => Where::Review { pull: receipt.pull.clone(), url },
    }
}
