//! Saved runs, as they are read and written. Main functions: [`read`], [`keep`].
//!
//! What is done with a run belongs in `findings`, `review` and `post`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::environment::ProcessEnv;
use super::error::AppError;
use super::project::folder_of;
use crate::domain::finding::Severity;
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::domain::run_record::{RunRecord, SavedRun};
use crate::domain::text::strip_line;
use crate::present::{RenderOptions, json, presenter};
use crate::store::{Store, StoreError};
use crate::sys::clock;
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Lists the saved runs, newest first.
pub fn list(around: &ProcessEnv) -> Result<Vec<SavedRun>, AppError> {
    Ok(around.store.list()?)
}

/// Lists the saved runs of the repository of `directory`, newest first, and `true`; outside of any, all of them and `false`.
///
/// A run that did not finish has only the name of its repository; one of a patch or a damaged one has none, and is listed everywhere.
pub fn list_here(around: &ProcessEnv, directory: &Path) -> Result<(Vec<SavedRun>, bool), AppError> {
    let mut all = list(around)?;
    let repo = match Repo::open(directory) {
        Err(RepoError::NotARepository(_)) => return Ok((all, false)),
        opened => opened?,
    };
    let (folder, name) = (folder_of(&repo), repo.name());
    all.retain(|run| match run {
        SavedRun::Whole(record) => record.folder.is_none() || record.folder == folder,
        SavedRun::Unfinished { run, .. } => run.repository == name,
        // It has no repository that could be read.
        SavedRun::Damaged { .. } => true,
    });
    Ok((all, true))
}

/// Finds a run by its id or a prefix of it; if several have the prefix, the error says when and where each was made.
fn find(around: &ProcessEnv, name: &str) -> Result<RunId, AppError> {
    /// Bound on the runs that the error names.
    const NAMED: usize = 10;
    let ids = match around.store.find(name) {
        Err(StoreError::Ambiguous { ids, .. }) => ids,
        found => return Ok(found?),
    };
    let listed = list(around)?;
    let like: Vec<&SavedRun> = listed.iter().filter(|run| ids.contains(&run.id())).take(NAMED).collect();
    let line = |run: &&SavedRun| {
        let when = clock::local_minute(run.last_activity());
        let id: String = run.id().to_string().chars().take(8.max(name.len() + 1)).collect();
        format!("{id} ({when}, {})", strip_line(run.repository().unwrap_or("damaged")))
    };
    let named: Vec<String> = like.iter().map(line).collect();
    Err(AppError::Unusable(format!(
        "{} runs begin with {name:?}: {}; write more of the id",
        ids.len(),
        named.join(", ")
    )))
}

/// Loads a saved review.
pub(in crate::app) fn read(around: &ProcessEnv, id: RunId) -> Result<Review, AppError> {
    read_from(&around.store, id)
}

/// Loads a saved review from a store.
pub(in crate::app) fn read_from(store: &Store, id: RunId) -> Result<Review, AppError> {
    let bytes = store.read(id, "review.json")?;
    json::parse(&bytes).map_err(|error| AppError::damaged(&id, &error))
}

/// Loads the list entry of one run.
pub(in crate::app) fn record(around: &ProcessEnv, id: RunId) -> Result<RunRecord, AppError> {
    Ok(around.store.read_record(id)?)
}

/// Finds the newest saved run of the repository with this folder (absolute, without links).
pub fn latest_of(around: &ProcessEnv, folder: &Path) -> Result<Option<RunRecord>, AppError> {
    Ok(whole(around)?.find(|record| record.folder.as_deref() == Some(folder)))
}

/// Lists the whole saved runs, newest first.
fn whole(around: &ProcessEnv) -> Result<impl Iterator<Item = RunRecord>, AppError> {
    Ok(list(around)?.into_iter().filter_map(|run| match run {
        SavedRun::Whole(record) => Some(record),
        SavedRun::Unfinished { .. } | SavedRun::Damaged { .. } => None,
    }))
}

/// Finds a run by its id or a prefix of it; with `last`, or without a name, the newest of the repository.
pub(in crate::app) fn find_in_repository(
    around: &ProcessEnv,
    repo: &Repo,
    name: Option<&str>,
) -> Result<RunId, AppError> {
    if let Some(name) = name.filter(|name| *name != "last") {
        return find(around, name);
    }
    let folder = folder_of(repo);
    let newest = folder.as_deref().map_or(Ok(None), |folder| latest_of(around, folder))?;
    newest.map(|record| record.id).ok_or_else(|| no_run_in(repo))
}

/// Finds a run by its id or a prefix of it; with `last`, the newest of the repository of `directory` or of a patch, and outside of any repository the
/// newest of all. In a repository without either, `last` is the newest of all if that is of no checkout: of a pull request in a mirror.
pub(in crate::app) fn find_here(around: &ProcessEnv, name: &str, directory: &Path) -> Result<RunId, AppError> {
    let store = &around.store;
    if name != "last" {
        return find(around, name);
    }
    let repo = match Repo::open(directory) {
        Err(RepoError::NotARepository(_)) => return Ok(store.find(name)?),
        opened => opened?,
    };
    let here = folder_of(&repo);
    let records: Vec<RunRecord> = whole(around)?.collect();
    let is_of_checkout =
        |record: &&RunRecord| record.folder.as_ref().is_some_and(|folder| folder.join(".git").exists());
    let newest = records
        .iter()
        .find(|record| record.folder.is_none() || record.folder == here)
        .or_else(|| of_other_worktree(&records, &repo))
        .or_else(|| records.first().filter(|record| !is_of_checkout(record)));
    newest.map(|record| record.id).ok_or_else(|| no_run_in(&repo))
}

/// Finds the newest run of another worktree of the repository.
fn of_other_worktree<'r>(records: &'r [RunRecord], repo: &Repo) -> Option<&'r RunRecord> {
    let mut known: HashMap<&Path, bool> = HashMap::new();
    records.iter().find(|record| {
        record.folder.as_deref().is_some_and(|folder| {
            *known.entry(folder).or_insert_with(|| {
                Repo::open(folder)
                    .is_ok_and(|other| other.workdir() == Some(folder) && other.common_dir() == repo.common_dir())
            })
        })
    })
}

fn no_run_in(repo: &Repo) -> AppError {
    let folder = repo.workdir().unwrap_or_else(|| repo.git_dir()).display();
    AppError::Unusable(format!(
        "no review of {folder} is kept: review it first, or name a run (`review list` shows them)"
    ))
}

/// Saves a review in every format that is read later. The file that lists read comes last, so a listed run is complete.
pub(in crate::app) fn keep(
    store: &Store,
    review: &Review,
    folder: Option<PathBuf>,
    identity: Option<String>,
) -> Result<(), StoreError> {
    for (format, file) in [("json", "review.json"), ("markdown", "review.md")] {
        let Some(bytes) = render(review, format, None) else { continue };
        store.save(review.id, file, &bytes)?;
    }
    store.save_record(&RunRecord::of(review, folder, identity))
}

/// Renders a review in the named format, with the gate's threshold.
pub(in crate::app) fn render(review: &Review, format: &str, fail_on: Option<Severity>) -> Option<Vec<u8>> {
    let options = RenderOptions { fail_on, ..RenderOptions::default() };
    presenter(format).map(|presenter| (presenter.render)(review, &options))
}
