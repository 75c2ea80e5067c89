//! Everything that can end a command, with its exit code. Main type: [`AppError`].

use crate::config::ConfigError;
use crate::git::GitError;
use crate::rules::RuleError;
use crate::store::StoreError;
use crate::sys::cancel::Stopped;
use crate::sys::files::FileError;
use crate::sys::repo::RepoError;
use crate::workspace::WorkspaceError;

/// Why a command could not do what it was asked. Each message is one to three lines: what, whose fault, what next.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The range or the change could not be had.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository could not be had.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A tree could not be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A rule pack is broken.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The kept runs could not be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file that was named could not be read.
    #[error("{0}")]
    Input(FileError),
    /// Something could not be written.
    #[error("{0}")]
    Output(#[from] std::io::Error),
    /// A kept review is not readable.
    #[error("the kept review {id} is damaged: {why}; `review list` shows the others")]
    Damaged {
        /// The run.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// The settings name an output format that there is not.
    #[error("{origin}: format cannot be {name:?}; it takes {known}")]
    Format {
        /// Where it was set.
        origin: String,
        /// What was named.
        name: String,
        /// What there is.
        known: String,
    },
    /// A model was named.
    #[error(
        "no model can be used yet: {0:?} was named; use --no-model (or `model = \"none\"`) to review with the built-in rules"
    )]
    Model(String),
    /// A tool's input is not JSON.
    #[error("the tool's input is not JSON: {0}; write it like '{{\"file_path\": \"src/main.rs\"}}'")]
    ToolInput(serde_json::Error),
    /// The run was stopped before there was anything to deliver.
    #[error("{0}; nothing was reviewed")]
    Stopped(#[from] Stopped),
    /// A part of the program panicked.
    #[error("a part of the program failed unexpectedly; this is a defect of review, please report it")]
    Broken,
}

impl AppError {
    /// The process's exit code (design of the command line: 2 usage, 3 nothing reviewed, 5 could not publish, 130 interrupted).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Stopped(Stopped::Interrupted)
            | Self::Git(GitError::Stopped(Stopped::Interrupted))
            | Self::Workspace(WorkspaceError::Stopped(Stopped::Interrupted)) => 130,
            Self::Stopped(Stopped::DeadlinePassed)
            | Self::Git(GitError::Stopped(_))
            | Self::Workspace(WorkspaceError::Stopped(_))
            | Self::Broken => 3,
            Self::Output(_) => 5,
            Self::Git(_)
            | Self::Repo(_)
            | Self::Config(_)
            | Self::Workspace(_)
            | Self::Rules(_)
            | Self::Store(_)
            | Self::Input(_)
            | Self::Damaged { .. }
            | Self::Format { .. }
            | Self::Model(_)
            | Self::ToolInput(_) => 2,
        }
    }
}
