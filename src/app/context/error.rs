//! The errors that end a command, with their exit codes. Main type: [`AppError`].

use std::fmt;
use std::path::Path;

use crate::config::ConfigError;
use crate::domain::request::InvalidScope;
use crate::forge::{FaultKind, ForgeError};
use crate::git::{FetchError, GitError};
use crate::llm::{ConnectError, TableError};
use crate::prompt::PromptError;
use crate::review::{EngineError, NotAdmitted};
use crate::rules::{RuleError, ScannerReportError};
use crate::store::StoreError;
use crate::sys::blocking::BlockingFailure;
use crate::sys::cancel::CancelReason;
use crate::sys::database::DatabaseError;
use crate::sys::files::FileError;
use crate::sys::process::ProcessError;
use crate::sys::repo_error::RepoError;
use crate::workspace::WorkspaceError;

/// An error that ends a command. Each message is one to three lines: what happened, the cause, what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum AppError {
    /// The range or the change could not be collected.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository could not be opened or read.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The forge could not be reached, or refused the request.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// The commits of a pull request could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A use case failed for a reason of its own.
    #[error("{0}")]
    UseCase(Box<dyn UseCaseError>),
    /// A review could not be posted, and there is no receipt to report it.
    #[error("nothing was posted on {pull}: {why}")]
    NotPosted { pull: String, why: String },
    /// A tree could not be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A named file could not be read.
    #[error("{0}")]
    Input(FileError),
    /// The user's own table of providers could not be read.
    #[error("{0}; the setting providers (REVIEW_PROVIDERS) names it: docs/models.md has its shape")]
    ProvidersFile(FileError),
    /// Something could not be written.
    #[error("{0}")]
    Output(#[from] std::io::Error),
    /// A server was called with a folder outside any repository.
    #[error("{folder} is not inside a git repository: name the folder of one as repo")]
    NotARepository { folder: String },
    #[error(
        "{origin}: there is no provider {provider:?}{}; it is one of {known}, as in anthropic/NAME (--no-model reviews with the \
         built-in rules)",
        near.as_ref().map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
    )]
    UnknownProvider { origin: String, provider: String, near: Option<String>, known: String },
    /// A provider was named without a model, though its models depend on its server.
    #[error("{origin}: {provider} has no model of its own; name one, as in {provider}/NAME")]
    NoModelName { origin: String, provider: String },
    /// A model cannot be used without a key.
    #[error(
        "{model} needs a key and none is set: set {variable} (or api_key under [{provider}] in your settings file), or review with \
         the built-in rules: --no-model"
    )]
    NoKey { model: String, variable: String, provider: String },
    /// The key found is not a valid header value.
    #[error(
        "{variable} is set, but not to one line of plain ASCII (it is not shown here): copy the key again, or review with --no-model"
    )]
    UnfitKey { variable: String },
    /// The model cannot be reached as the settings say.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// The user's prompts, or this program, cannot put the question to the model.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A server could not be started as requested, or had to stop.
    #[error("{0}")]
    Serve(String),
    /// The request, or something that it names, cannot be used: a message that no caller tells apart.
    #[error("{0}")]
    Unusable(String),
    /// The scope has an invalid form.
    #[error(transparent)]
    Scope(#[from] InvalidScope),
    /// The run was stopped before there was anything to deliver.
    #[error("{0}; nothing was reviewed")]
    Stopped(#[from] CancelReason),
    /// A part of the program did not end, or panicked.
    #[error("{0}")]
    Unfinished(BlockingFailure),
    /// The program contradicts itself.
    #[error("a part of the program failed unexpectedly; this is a defect of review, please report it")]
    Broken,
}

/// An error of one use case. What it needs to know of the others would make a circle of them all, so they are seen as this.
pub trait UseCaseError: std::error::Error + Send + Sync + 'static {
    /// The exit code: 2 unless a retry may help, or something else was in the way.
    fn exit_code(&self) -> u8 {
        2
    }
}

// No caller tells these apart.
impl UseCaseError for ConfigError {}
impl UseCaseError for RuleError {}
impl UseCaseError for ScannerReportError {}
impl UseCaseError for TableError {}

impl UseCaseError for StoreError {
    fn exit_code(&self) -> u8 {
        match self {
            // Another process ends, a database comes back.
            Self::Database(DatabaseError::Away { .. }) | Self::Busy(_) | Self::Lost(_) => 3,
            _ => 2,
        }
    }
}

impl<E: UseCaseError> From<E> for AppError {
    fn from(error: E) -> Self {
        Self::UseCase(Box::new(error))
    }
}

impl AppError {
    /// Returns the error of a saved review that is not readable.
    pub(in crate::app) fn damaged(id: &dyn fmt::Display, why: &dyn fmt::Display) -> Self {
        Self::Unusable(format!("the kept review {id} is damaged: {why}; `review list` shows the others"))
    }

    /// Returns the error of a file that should be text and is not.
    pub(in crate::app) fn not_text(path: &Path) -> Self {
        Self::Unusable(format!("{} is not UTF-8 text", path.display()))
    }

    /// Returns the error of an output format that does not exist, or does not suit the command.
    pub(crate) fn format(origin: &str, name: &str, known: &str) -> Self {
        Self::Unusable(format!("{origin}: format cannot be {name:?}; it takes {known}"))
    }

    /// Returns the reason for which it was stopped before there was a result; `None` if it failed, or hung beyond its deadline.
    pub(in crate::app) fn stopped(&self) -> Option<CancelReason> {
        match self {
            Self::Stopped(why)
            | Self::Git(GitError::Stopped(why))
            | Self::Workspace(WorkspaceError::Stopped(why))
            | Self::Fetch(FetchError::Stopped(why) | FetchError::Process(ProcessError::Stopped(why)))
            | Self::Engine(
                EngineError::NotAdmitted(NotAdmitted::Stopped(why))
                | EngineError::Unfinished(BlockingFailure::Abandoned { why: why @ CancelReason::Interrupted, .. }),
            ) => Some(*why),
            Self::Forge(error) => error.stopped,
            _ => None,
        }
    }

    /// Returns the error of a use case, if it is of this type.
    pub fn of_use_case<E: UseCaseError>(&self) -> Option<&E> {
        let Self::UseCase(error) = self else { return None };
        let error: &dyn std::error::Error = error.as_ref();
        error.downcast_ref()
    }
}

impl From<BlockingFailure> for AppError {
    fn from(lost: BlockingFailure) -> Self {
        match lost {
            BlockingFailure::Abandoned { why: why @ CancelReason::Interrupted, .. } => Self::Stopped(why),
            lost => Self::Unfinished(lost),
        }
    }
}

/// Returns 2 for faults that the user must fix, 3 for those that a retry may fix.
fn forge_code(error: &ForgeError) -> u8 {
    match error.kind {
        FaultKind::RateLimit | FaultKind::Network | FaultKind::CircuitOpen | FaultKind::Stopped => 3,
        FaultKind::Auth | FaultKind::Permission | FaultKind::NotFound | FaultKind::Parse | FaultKind::Refused => 2,
    }
}

/// Returns the exit code of a failed fetch, likewise.
fn fetch_code(error: &FetchError) -> u8 {
    match error {
        FetchError::Stopped(_)
        | FetchError::Process(ProcessError::Stopped(_) | ProcessError::TooMuch { .. })
        | FetchError::Network { .. }
        | FetchError::NoCommit { .. }
        | FetchError::NoBranch { .. }
        | FetchError::HeadMoved { .. }
        | FetchError::ShallowChanged { .. }
        | FetchError::Branches { is_refused: false, .. }
        | FetchError::Failed { .. } => 3,
        FetchError::Process(ProcessError::Missing { .. } | ProcessError::Start { .. })
        | FetchError::File(_)
        | FetchError::Repo(_)
        | FetchError::NoRemote { .. }
        | FetchError::SeveralRemotes { .. }
        | FetchError::Nowhere(_)
        | FetchError::OtherServer { .. }
        | FetchError::Address { .. }
        | FetchError::Certificate { .. }
        | FetchError::Access { .. }
        | FetchError::Base { .. }
        | FetchError::Name { .. }
        | FetchError::Branches { .. }
        | FetchError::Moved { .. } => 2,
    }
}

impl From<PromptError> for AppError {
    fn from(error: PromptError) -> Self {
        Self::Engine(error.into())
    }
}

impl AppError {
    /// The exit code (design of the command line: 2 usage, 3 nothing reviewed, 5 could not publish, 130 interrupted).
    pub fn exit_code(&self) -> u8 {
        if let Some(stopped) = self.stopped() {
            return if stopped == CancelReason::Interrupted { 130 } else { 3 };
        }
        match self {
            Self::Engine(EngineError::Unfinished(_) | EngineError::NotAdmitted(_))
            | Self::Unfinished(_)
            | Self::Broken => 3,
            Self::Forge(error) => forge_code(error),
            Self::Fetch(error) => fetch_code(error),
            Self::UseCase(error) => error.exit_code(),
            Self::Output(_) | Self::NotPosted { .. } => 5,
            Self::Stopped(_)
            | Self::Git(_)
            | Self::Repo(_)
            | Self::Workspace(_)
            | Self::Input(_)
            | Self::ProvidersFile(_)
            | Self::NotARepository { .. }
            | Self::UnknownProvider { .. }
            | Self::NoModelName { .. }
            | Self::NoKey { .. }
            | Self::UnfitKey { .. }
            | Self::Connect(_)
            | Self::Engine(EngineError::Prompt(_) | EngineError::Diverged(_))
            | Self::Scope(_)
            | Self::Serve(_)
            | Self::Unusable(_) => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forge_that_may_answer_the_next_time_is_no_fault_of_the_user() {
        for (kind, code) in [
            (FaultKind::Network, 3),
            (FaultKind::RateLimit, 3),
            (FaultKind::CircuitOpen, 3),
            (FaultKind::Auth, 2),
            (FaultKind::Permission, 2),
            (FaultKind::NotFound, 2),
            (FaultKind::Parse, 2),
            (FaultKind::Refused, 2),
        ] {
            assert_eq!(AppError::from(ForgeError::new(kind, "what", "do")).exit_code(), code, "{kind:?}");
        }
        for (stopped, code) in [(CancelReason::Interrupted, 130), (CancelReason::DeadlinePassed, 3)] {
            assert_eq!(AppError::from(ForgeError::from(stopped)).exit_code(), code);
            assert_eq!(AppError::from(FetchError::Stopped(stopped)).exit_code(), code);
        }
        assert_eq!(
            AppError::from(FetchError::Process(ProcessError::Stopped(CancelReason::Interrupted))).exit_code(),
            130
        );
    }
}
