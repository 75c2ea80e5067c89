//! Sets reviews up for a user and a repository: `review init`. Main function: [`init`]; main type: [`InitRequest`].
//!
//! Finding models, keys and assistants belongs in `detect`, the questions in `interview`, the files in `plan`. Of a file that exists only the setting
//! `model` is changed, and a key is never written.

mod choices;
mod detect;
mod interview;
mod plan;

use std::path::PathBuf;
use std::sync::Arc;

pub use interview::Questioner;

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::{AppError, UseCaseError};
use crate::app::context::settings;
use crate::app::doctor::try_model;
use crate::config::Flags;
use crate::domain::doctor::CheckState;
use crate::domain::event::EventSink;
use crate::domain::finding::Severity;
use crate::domain::text::strip_line;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;

use choices::InitChoices;
use detect::{Detected, detect};
use interview::{confirm, interview};
use plan::{InitPlan, PlannedFile, plan};

/// The options of a setup. An option that is given is not asked for.
#[derive(Debug, Clone)]
pub struct InitRequest {
    /// The current folder.
    pub directory: PathBuf,
    /// The model, as the setting `model` names it.
    pub model: Option<String>,
    /// The gate of the git hook.
    pub hook: Option<HookGate>,
    /// `true` to write the workflow for GitHub.
    pub workflow: Option<bool>,
    /// `true` to test the model with one request.
    pub test: bool,
}

/// The gate of the git hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookGate {
    /// No hook.
    Off,
    /// A push with findings at or above this severity is stopped.
    From(Severity),
}

/// An error that ends a setup before anything is written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InitError {
    /// The model did not respond as it should.
    #[error("{model} cannot review: {found}{}; nothing was written", advice.as_ref().map_or_else(String::new, |advice| format!(" ({advice})")))]
    Model { model: String, found: String, advice: Option<String> },
    /// There is no home folder for the settings.
    #[error("there is no home folder to write the settings to: set HOME or XDG_CONFIG_HOME; nothing was written")]
    NoHome,
    /// A question has no valid answer.
    #[error("no answer was given; nothing was written (--yes takes the defaults)")]
    NoAnswer,
    /// The user interrupted it.
    #[error("interrupted; run `review init` again to set reviews up")]
    Interrupted,
}

impl UseCaseError for InitError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Model { .. } => 4,
            Self::NoHome | Self::NoAnswer => 2,
            Self::Interrupted => 130,
        }
    }
}

/// Sets reviews up: detects, asks at most four questions, tests the model, and writes the files that the user confirms. Returns the questioner, and
/// `false` if the user confirmed nothing.
pub async fn init<Q: Questioner + 'static>(
    request: InitRequest,
    questions: Q,
    around: ProcessEnv,
    events: Arc<dyn EventSink>,
    cancel: Cancel,
) -> Result<bool, AppError> {
    let detected = detect(&request.directory, &around).await?;
    let open = request.clone();
    let work = move || interview(&open, detected, questions);
    let (choices, detected, mut questions) = blocking::run("waiting for answers", &cancel, work).await??;
    if let Some(model) = choices.model.as_deref().filter(|model| request.test && *model != "none") {
        test_model(model, &around, &*events, &cancel).await?;
        questions.show(&format!("{model} responds"));
    }
    let work = move || finish(&choices, &detected, questions);
    blocking::run("writing the settings", &cancel, work).await?
}

/// Tests the chosen model with one small request, without code.
async fn test_model(model: &str, around: &ProcessEnv, events: &dyn EventSink, cancel: &Cancel) -> Result<(), AppError> {
    let flags = Flags { model: Some(model.to_owned()), ..Flags::default() };
    let resolved = settings::resolve(None, &flags, around)?;
    let checks = try_model(&resolved, &around.providers, events, cancel).await?;
    match checks.into_iter().find(|check| matches!(check.state, CheckState::Failed(_))) {
        None => Ok(()),
        Some(check) => {
            let (found, advice) = (strip_line(&check.found), check.advice.map(|advice| strip_line(&advice)));
            Err(InitError::Model { model: model.to_owned(), found, advice }.into())
        }
    }
}

/// Shows the files, and writes them once the user confirms.
fn finish<Q: Questioner>(choices: &InitChoices, detected: &Detected, mut questions: Q) -> Result<bool, AppError> {
    let InitPlan { files, unchanged } = plan(choices, detected)?;
    for line in &unchanged {
        questions.show(line);
    }
    if files.is_empty() {
        questions.show("nothing to write");
    } else {
        questions.show("files to write:");
        for file in &files {
            questions.show(&file.describe());
        }
        if !confirm(&mut questions)? {
            questions.show("nothing was written");
            return Ok(false);
        }
        for file in &files {
            file.write()?;
            questions.show(&format!("wrote {}", file.path().display()));
        }
    }
    for line in files.iter().filter_map(PlannedFile::next_step).chain(detected.next_steps()) {
        questions.show(&line);
    }
    Ok(true)
}
