//! Schedules of a queue: setting one, and adding its jobs when it is due. Main functions: [`set_schedule`], [`add_scheduled`].

use std::path::PathBuf;
use std::time::Duration;

use super::add::{AddRequest, AddedJobs, add_to, path_of};
use super::error::QueueUseError;
use super::repos::WorkerRepos;
use crate::app::batch::{BatchRequest, BatchSelection};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::queue::ScheduledSelection;
use crate::domain::text::strip_line;
use crate::queue::JobQueue;
use crate::sys::cancel::Cancel;
use crate::sys::database::DatabaseAddress;
use crate::sys::repo::Repo;

/// The request to set a schedule.
#[derive(Debug, Clone)]
pub struct ScheduleRequest {
    /// The address of the queue.
    pub queue: String,
    /// The name of the schedule.
    pub name: String,
    /// The time from one due time to the next.
    pub every: Duration,
    /// The time of day, in UTC, from which it is counted.
    pub at: Option<Duration>,
    /// The changes, as for a batch; its limits, outputs and settings are not used.
    pub changes: BatchRequest,
    /// `true` if only a shard was asked for, which a schedule does not know.
    pub has_shard: bool,
    /// The name of the repository below the workers' folder; its path if `None`.
    pub repository: Option<String>,
    /// The priority of the jobs.
    pub priority: i64,
    /// `true` to post the reviews of pull requests.
    pub post: bool,
}

/// Adds a schedule to a queue, or replaces the one of that name. It blocks.
pub fn set_schedule(request: ScheduleRequest) -> Result<(), AppError> {
    let address = DatabaseAddress::parse(&request.queue).map_err(QueueUseError::from)?;
    let repository = match request.repository {
        Some(name) => name,
        None if address.is_server() => return Err(QueueUseError::NoName.into()),
        None => path_of(&Repo::open(&request.changes.directory)?)?,
    };
    let choice = ScheduledSelection {
        schedule: request.name,
        repository,
        target: request.changes.target,
        priority: request.priority,
        post: request.post,
        ..ScheduledSelection::default()
    };
    let selection = match request.changes.selection {
        BatchSelection::Branches { globs, all, remote } if !request.has_shard => {
            ScheduledSelection { branches: globs, all_branches: all, remote, ..choice }
        }
        BatchSelection::OpenPulls if !request.has_shard => ScheduledSelection { open_pulls: true, ..choice },
        _ => return Err(QueueUseError::NoSchedule.into()),
    };
    let queue = JobQueue::open(&address).map_err(QueueUseError::from)?;
    Ok(queue.set_schedule(&selection, request.every, request.at).map_err(QueueUseError::from)?)
}

/// Adds the jobs of a schedule that is due; returns a line about them.
pub(super) async fn add_scheduled(
    queue: JobQueue,
    selection: &ScheduledSelection,
    repos: &WorkerRepos,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<String, AppError> {
    let found = repos.find(&selection.repository, None, around, cancel).await?;
    let choice = if selection.open_pulls {
        BatchSelection::OpenPulls
    } else {
        let (globs, all, remote) = (selection.branches.clone(), selection.all_branches, selection.remote.clone());
        BatchSelection::Branches { globs, all, remote }
    };
    let request = AddRequest {
        queue: String::new(),
        changes: BatchRequest { target: selection.target.clone(), ..BatchRequest::choosing(found.directory, choice) },
        repos: None::<PathBuf>,
        // A path is known by what the repository itself says it is.
        repository: (!matches!(repos, WorkerRepos::Any)).then(|| selection.repository.clone()),
        priority: selection.priority,
        post: selection.post,
    };
    let AddedJobs { added, known, failed, .. } =
        add_to(move || Ok(queue), false, request, around.clone(), cancel.clone()).await?;
    let first = failed.first().map(|first| {
        let (name, reason) = (strip_line(&first.name), strip_line(&first.reason));
        format!(", {} not added ({name}: {reason})", failed.len())
    });
    Ok(format!("added {added}, {known} were there{}", first.unwrap_or_default()))
}
