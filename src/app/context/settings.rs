//! The settings of a run, merged from all their sources. Main function: [`resolve`].
//!
//! The project's own belong in `project`, merging in `config`.

use super::environment::ProcessEnv;
use super::error::AppError;
use super::project::project_settings;
use crate::config::{self, Flags, ResolvedSettings, Settings, SettingsDocument, SettingsSources};
use crate::domain::filter::PathFilter;
use crate::domain::request::ReviewRequest;
use crate::git::{self, CollectOptions, GitError, ResolvedRange};
use crate::present::{self, presenter};
use crate::sys::repo::Repo;
use crate::sys::repo_error::RepoError;

/// Merges the settings, with their origins.
pub(in crate::app) fn resolve(
    project: Option<SettingsDocument>,
    flags: &Flags,
    around: &ProcessEnv,
) -> Result<ResolvedSettings, AppError> {
    let (user, environment) = (around.user_settings.clone(), around.environment.clone());
    let resolved = config::resolve(&SettingsSources { user, repository: project, environment, flags: flags.clone() })?;
    // The names of the output formats are known only here; an unknown one would print nothing.
    if presenter(&resolved.settings.format).is_none() {
        let origin = resolved.origins.iter().find(|(key, _, _)| *key == "format");
        let origin = origin.map_or_else(String::new, |(_, _, origin)| origin.to_string());
        return Err(AppError::format(&origin, &resolved.settings.format, &present::names().join(", ")));
    }
    Ok(resolved)
}

/// Lists every setting with its origin: only the user's outside a repository, also the project's inside one.
pub fn list_settings(
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
) -> Result<ResolvedSettings, AppError> {
    let project = match Repo::open(&request.directory) {
        Err(RepoError::NotARepository(_)) => None,
        Err(error) => return Err(error.into()),
        Ok(repo) => match git::resolve(&repo, &request.scope) {
            Ok(range) => project_settings(&repo, range.settings_at, request.settings_from_worktree)?,
            Err(GitError::NoTarget { .. } | GitError::TargetIsHead { .. } | GitError::Repo(RepoError::Unborn)) => None,
            Err(error) => return Err(error.into()),
        },
    };
    resolve(project, flags, around)
}

/// The limits of a collection under these settings.
pub(in crate::app) fn options(settings: &Settings) -> Result<CollectOptions, AppError> {
    Ok(CollectOptions {
        filter: filter(settings)?,
        max_commits: settings.max_commits as usize,
        ..CollectOptions::default()
    })
}

/// The path filter of the settings, for the change and for everything read.
pub(in crate::app) fn filter(settings: &Settings) -> Result<PathFilter, AppError> {
    filter_of(&settings.include, &settings.exclude)
}

/// Builds a filter from groups of globs: a path must match one of each group of `include`, and none of `exclude`.
pub(in crate::app) fn filter_of(include: &[Vec<String>], exclude: &[String]) -> Result<PathFilter, AppError> {
    let all = PathFilter::new(&[], exclude);
    let narrowed = include.iter().fold(all, |filter, globs| filter.and_then(|filter| filter.narrow(globs)));
    Ok(narrowed.map_err(git::GitError::from)?)
}

/// Resolves the settings of a range: the project's are read from the target commit unless the working tree was requested.
pub(in crate::app) fn settings_for(
    repo: &Repo,
    range: &ResolvedRange,
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
) -> Result<Settings, AppError> {
    let project = project_settings(repo, range.settings_at, request.settings_from_worktree)?;
    Ok(resolve(project, flags, around)?.settings)
}
