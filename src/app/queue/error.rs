//! Errors of queues and workers. Main type: [`QueueUseError`].

use std::path::PathBuf;

use crate::app::context::error::UseCaseError;
use crate::queue::QueueError;
use crate::sys::database::InvalidAddress;
use crate::sys::files::FileError;

/// The reason why a queue cannot be used, or why a worker cannot start.
#[derive(Debug, thiserror::Error)]
pub enum QueueUseError {
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The queue is named by no address.
    #[error("the address of the queue (--queue or REVIEW_QUEUE) {0}")]
    Address(#[from] InvalidAddress),
    /// The folder of `--repos` cannot be used.
    #[error(transparent)]
    Folder(#[from] FileError),
    /// Workers of a server need to know where their repositories are.
    #[error("a worker of a PostgreSQL queue needs --repos: the folder or the address below which its repositories are")]
    NoFolder,
    /// A path in the queue must mean the same on every machine.
    #[error(
        "give jobs of a PostgreSQL queue the name of their repository below the workers' --repos: --repository NAME"
    )]
    NoName,
    /// Workers would review one repository in place of another.
    #[error(
        "--repository names one repository, and the list may name several: add the changes of each repository by a call of its own, without \
         --shard"
    )]
    SharedName,
    /// A repository that this worker does not review.
    #[error("{name:?} {why}")]
    Repository {
        /// Its name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A job of something that is on one disk only.
    #[error("a job reviews commits or a pull request only")]
    NoCommits,
    /// A choice of changes that cannot be made again and again.
    #[error("a schedule takes branches or open pull requests: name BRANCH, --all-branches, --remote or --prs open")]
    NoSchedule,
    /// There is no schedule of the name.
    #[error("the queue has no schedule {0:?}: `review queue schedule list` shows what there is")]
    UnknownSchedule(String),
    /// The name of a repository that no worker will find.
    #[error("{} is not in UTF-8: give the repository a name with --repository", .0.display())]
    Name(PathBuf),
}

impl UseCaseError for QueueUseError {}
