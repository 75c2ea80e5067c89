//! Errors of a workflow step. Main type: [`ActionError`].

use crate::app::context::error::UseCaseError;
use crate::sys::files::FileError;

/// An error in a step's inputs, its event or its machine. Each message says what to write.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ActionError {
    /// An input cannot be used.
    #[error("the input {input} {wrong}: {write}")]
    Input {
        /// Its name in `action.yml`.
        input: &'static str,
        /// The defect; a secret value is not shown.
        wrong: String,
        write: String,
    },
    /// A variable of the runner is missing or invalid.
    #[error(
        "{name} {wrong}: `review action` is for a step of a GitHub workflow, whose runner sets it; elsewhere use `review` itself"
    )]
    Variable { name: &'static str, wrong: String },
    #[error(
        "the event {event} in {path} cannot be read: {why}; if no other program wrote it, please report this as a defect of review"
    )]
    Payload { event: String, path: String, why: String },
    /// The event has no change to review.
    #[error(
        "the event {event} names nothing to review: run on pull_request, pull_request_target, merge_group or push, or name a pull request \
         in the input pull"
    )]
    Nothing { event: String },
    /// A run that follows another one needs the artefact of that one.
    #[error(
        "the event workflow_run follows another run: name the folder of its downloaded artefact in the input artifact, or a pull request in \
         the input pull"
    )]
    NoArtefact,
    #[error(
        "no model is named: write `model: PROVIDER/NAME` and `key: ${{{{ secrets.NAME }}}}` under `with:`, or `model: none` for the built-in \
         rules alone{}",
        of_fork(*is_fork)
    )]
    NoModel {
        /// `true` if the change comes from a fork.
        is_fork: bool,
    },
    /// The named model needs a key.
    #[error(
        "{model} needs a key, and the input key is empty: write `key: ${{{{ secrets.NAME }}}}` under `with:` and look whether the repository \
         has a secret of that name, or write `model: none` for the built-in rules alone{}",
        of_fork(*is_fork)
    )]
    NoKey {
        model: String,
        /// `true` if the change comes from a fork.
        is_fork: bool,
    },
    /// There is no token for the forge.
    #[error(
        "the input github-token is empty, and GitHub answers nobody without a token: leave it out for the workflow's own, or look whether \
         the repository has the secret that it is taken from"
    )]
    NoToken,
    /// A folder or file of the runner cannot be written.
    #[error("{0}; look at the disk of the runner and at RUNNER_TEMP")]
    File(#[from] FileError),
}

/// The hint to add if a key is missing because GitHub withholds it.
fn of_fork(is_fork: bool) -> &'static str {
    if is_fork {
        ". This change comes from a fork: GitHub gives no secrets to runs of pull_request from forks; run on pull_request_target as \
         docs/forks.md says, without checking the head out"
    } else {
        ""
    }
}

impl UseCaseError for ActionError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::File(_) => 5,
            Self::Input { .. }
            | Self::Variable { .. }
            | Self::Payload { .. }
            | Self::Nothing { .. }
            | Self::NoArtefact
            | Self::NoModel { .. }
            | Self::NoToken
            | Self::NoKey { .. } => 2,
        }
    }
}
