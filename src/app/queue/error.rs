//! Errors of queues and workers. Main type: [`QueueUseError`].

use std::path::PathBuf;

use crate::app::context::error::UseCaseError;
use crate::queue::QueueError;
use crate::sys::files::FileError;

/// The reason why a queue cannot be used, or why a worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum QueueUseError {
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The folder of `--repos` cannot be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Workers of a server need to know where their repositories are.
    #[error("a worker of a PostgreSQL queue needs --repos DIR, the folder below which its repositories are")]
    NoFolder,
    /// A path in the queue must mean the same on every machine.
    #[error(
        "give jobs of a PostgreSQL queue the name of their repository below the workers' --repos: --repository NAME"
    )]
    NoName,
    /// The name of a repository that no worker will find.
    #[error("{} is not in UTF-8: give the repository a name with --repository", .0.display())]
    Name(PathBuf),
}

impl UseCaseError for QueueUseError {}
