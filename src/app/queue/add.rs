//! Adds jobs to a queue: the changes are chosen as for a batch. Main function: [`add_jobs`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::error::QueueUseError;
use crate::app::batch::{BatchItem, BatchRequest, select};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::domain::batch::LeftOutChange;
use crate::domain::id::hex;
use crate::domain::queue::{JobRequest, NewJob};
use crate::domain::request::ReviewScope;
use crate::git;
use crate::queue::JobQueue;
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
    /// The changes that are no jobs, each with the reason.
    pub left_out: Vec<LeftOutChange>,
}

/// Adds a job for each chosen change. One that the queue has already, with the same commits, is not added again.
pub async fn add_jobs(request: AddRequest, around: ProcessEnv, cancel: Cancel) -> Result<AddedJobs, AppError> {
    let (items, mut left_out) = select(&request.changes, &around, &cancel).await?;
    let address = DatabaseAddress::parse(&request.queue);
    let work = move || -> Result<AddedJobs, AppError> {
        let queue = JobQueue::open(&address).map_err(QueueUseError::from)?;
        let is_server = matches!(address, DatabaseAddress::Server(_));
        let (mut jobs, mut opened) = (Vec::new(), HashMap::new());
        for item in &items {
            match job(item, &request, is_server, &mut opened)? {
                Ok(job) => jobs.push(job),
                Err(reason) => {
                    let (repository, name) = (item.repository.clone(), item.name.clone());
                    left_out.push(LeftOutChange { repository, name, reason });
                }
            }
        }
        let added = queue.add(&jobs).map_err(QueueUseError::from)?;
        let known = (jobs.len() as u64).saturating_sub(added);
        Ok(AddedJobs { added, known, left_out })
    };
    blocking::run("adding the jobs", &cancel, work).await?
}

/// Makes the job of a change; the inner error is the reason why there is none.
fn job(
    item: &BatchItem,
    request: &AddRequest,
    is_server: bool,
    opened: &mut HashMap<PathBuf, Repo>,
) -> Result<Result<NewJob, String>, QueueUseError> {
    let scope = match &item.change {
        Ok(scope) => scope.clone(),
        Err((_, reason, _)) => return Ok(Err(reason.clone())),
    };
    let mut key = Sha256::new();
    let mut add = |text: &str| {
        key.update((text.len() as u64).to_le_bytes());
        key.update(text);
    };
    let repository = match &scope {
        ReviewScope::Pull(pull) => {
            add(&format!("{pull:?}"));
            add(&item.version);
            String::new()
        }
        scope => {
            let repo = match opened.entry(item.directory.clone()) {
                Entry::Occupied(known) => Ok(&*known.into_mut()),
                Entry::Vacant(new) => Repo::open(&item.directory).map(|repo| &*new.insert(repo)),
            };
            let resolved = repo
                .map_err(|error| error.to_string())
                .and_then(|repo| Ok((git::resolve(repo, scope).map_err(|error| error.to_string())?, repo)));
            let (range, repo) = match resolved {
                Ok(resolved) => resolved,
                Err(reason) => return Ok(Err(reason)),
            };
            for commit in [range.base, range.merge_base, range.head] {
                add(&commit.map(|commit| commit.to_string()).unwrap_or_default());
            }
            let name = match &request.repository {
                Some(name) => name.clone(),
                None if is_server => return Err(QueueUseError::NoName),
                None => {
                    let folder = repo.workdir().unwrap_or_else(|| repo.git_dir()).to_owned();
                    let text = folder.to_str().map(str::to_owned);
                    text.ok_or(QueueUseError::Name(folder))?
                }
            };
            add(&name);
            name
        }
    };
    add(&serde_json::to_string(&scope).unwrap_or_default());
    add(if request.post { "post" } else { "" });
    if request.changes.force {
        add(&uuid::Uuid::new_v4().to_string());
    }
    let request_of = JobRequest { repository, name: item.name.clone(), scope, post: request.post };
    Ok(Ok(NewJob { key: hex(&key.finalize()), request: request_of, priority: request.priority }))
}
