//! Adds jobs to a queue: the changes are chosen as for a batch. Main function: [`add_jobs`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::error::QueueUseError;
use super::repos::WorkerRepos;
use crate::app::batch::{BatchItem, BatchRequest, BatchSelection, IS_TARGET, select};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::batch::LeftOutChange;
use crate::domain::queue::{JobRequest, JobWork, NewJob, commits_version};
use crate::domain::request::ReviewScope;
use crate::git::{self, GitError};
use crate::queue::{JobQueue, QueueError};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::database::DatabaseAddress;
use crate::sys::repo::Repo;

/// The request to add jobs.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// The address of the queue.
    pub queue: String,
    /// The changes, as for a batch; its limits, outputs and settings are not used.
    pub changes: BatchRequest,
    /// The folder or the address below which the repository is; the repository of `changes` if `None`.
    pub repos: Option<PathBuf>,
    /// The name of the repository below the workers' folder; its path if `None`.
    pub repository: Option<String>,
    /// Jobs with a higher one are taken first.
    pub priority: i64,
    /// `true` to post the reviews of pull requests.
    pub post: bool,
}

/// The jobs that were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedJobs {
    /// The number of new jobs.
    pub added: u64,
    /// The number of those that the queue had already.
    pub known: u64,
    /// The changes that need no review, each with the reason.
    pub left_out: Vec<LeftOutChange>,
    /// The changes that could not be added, each with the reason.
    pub failed: Vec<LeftOutChange>,
}

/// The reason why a change is no job.
enum NoJob {
    /// It needs no review.
    LeftOut(String),
    /// It cannot be reviewed.
    Failed(String),
}

/// Adds a job for each chosen change. One that the queue has already, with the same commits, is not added again.
pub async fn add_jobs(mut request: AddRequest, around: ProcessEnv, cancel: Cancel) -> Result<AddedJobs, AppError> {
    if let (Some(repos), Some(name)) = (request.repos.take(), &request.repository) {
        let repos = WorkerRepos::new(Some(repos), true, &around)?;
        request.changes.directory = repos.find(name, None, &around, &cancel).await?.directory;
    }
    let address = DatabaseAddress::parse(&request.queue).map_err(QueueUseError::from)?;
    let is_server = address.is_server();
    add_to(move || JobQueue::open(&address), is_server, request, around, cancel).await
}

/// Adds the jobs to a queue, which is opened after the changes were chosen.
pub(super) async fn add_to(
    open: impl FnOnce() -> Result<JobQueue, QueueError> + Send + 'static,
    is_server: bool,
    request: AddRequest,
    around: ProcessEnv,
    cancel: Cancel,
) -> Result<AddedJobs, AppError> {
    let (items, left_out) = select(&request.changes, &around, &cancel).await?;
    refuse_shared_name(&request, &items)?;
    let work = move || -> Result<AddedJobs, AppError> {
        let queue = open().map_err(QueueUseError::from)?;
        let mut result = AddedJobs { left_out, ..AddedJobs::default() };
        let (mut jobs, mut opened) = (Vec::new(), HashMap::new());
        for item in &items {
            let (list, reason) = match job(item, &request, is_server, &mut opened)? {
                Ok(job) => {
                    jobs.push(job);
                    continue;
                }
                Err(NoJob::LeftOut(reason)) => (&mut result.left_out, reason),
                Err(NoJob::Failed(reason)) => (&mut result.failed, reason),
            };
            list.push(LeftOutChange { repository: item.repository.clone(), name: item.name.clone(), reason });
        }
        result.added = queue.add(&jobs).map_err(QueueUseError::from)?;
        result.known = (jobs.len() as u64).saturating_sub(result.added);
        Ok(result)
    };
    blocking::run("adding the jobs", &cancel, work).await?
}

/// Refuses one name for the repositories of a list. A shard of it may have lines of one repository where another shard has those of another.
fn refuse_shared_name(request: &AddRequest, items: &[BatchItem]) -> Result<(), QueueUseError> {
    let folders: HashSet<_> = items.iter().filter(|item| item.change.is_ok()).map(|item| &item.directory).collect();
    let is_list = matches!(request.changes.selection, BatchSelection::List);
    let is_shared = is_list && (folders.len() > 1 || request.changes.shard.is_some());
    if is_shared && request.repository.is_some() { Err(QueueUseError::SharedName) } else { Ok(()) }
}

/// Returns the path by which jobs know a repository of this machine.
pub(super) fn path_of(repo: &Repo) -> Result<String, QueueUseError> {
    let folder = repo.workdir().unwrap_or_else(|| repo.git_dir()).to_owned();
    let text = folder.to_str().map(str::to_owned);
    text.ok_or(QueueUseError::Name(folder))
}

/// Makes the job of a change; the inner error is the reason why there is none.
fn job(
    item: &BatchItem,
    request: &AddRequest,
    is_server: bool,
    opened: &mut HashMap<PathBuf, Repo>,
) -> Result<Result<NewJob, NoJob>, QueueUseError> {
    let scope = match &item.change {
        Ok(scope) => scope.clone(),
        Err((_, reason, _)) => return Ok(Err(NoJob::Failed(reason.clone()))),
    };
    let mut commits = Vec::new();
    let (repository, version) = if matches!(scope, ReviewScope::Pull(_)) {
        (String::new(), item.version.clone())
    } else {
        let repo = match opened.entry(item.directory.clone()) {
            Entry::Occupied(known) => &*known.into_mut(),
            Entry::Vacant(new) => match Repo::open(&item.directory) {
                Ok(repo) => &*new.insert(repo),
                Err(error) => return Ok(Err(NoJob::Failed(error.to_string()))),
            },
        };
        let range = match git::resolve(repo, &scope) {
            Ok(range) => range,
            Err(GitError::TargetIsHead { .. }) => return Ok(Err(NoJob::LeftOut(IS_TARGET.to_owned()))),
            Err(error) => return Ok(Err(NoJob::Failed(error.to_string()))),
        };
        let name = match &request.repository {
            Some(name) => name.clone(),
            None if is_server => return Err(QueueUseError::NoName),
            None => path_of(repo)?,
        };
        commits.extend([range.base, range.head].into_iter().flatten().map(|commit| commit.to_string()));
        (name, commits_version(range.merge_base, range.head))
    };
    let job = JobRequest { repository, name: item.name.clone(), scope, commits, post: request.post };
    let mut key = job.key(&version);
    if request.changes.force {
        key = format!("{key} {}", uuid::Uuid::new_v4());
    }
    Ok(Ok(NewJob { key, work: JobWork::Review(job), priority: request.priority }))
}
