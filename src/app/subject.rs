//! From a request to what an engine needs: the change, its two trees, the settings. Main type: [`Subject`].

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::AppError;
use crate::config::{self, Document, Flags, Settings, Sources};
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink};
use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::request::{PatchSource, ReviewRequest, Scope};
use crate::git::{self, CollectOptions, Range};
use crate::sys::cancel::Cancel;
use crate::sys::files;
use crate::sys::repo::Repo;
use crate::sys::tree;
use crate::workspace::{self, Workspace};

/// The project's settings file, at the root of its tree.
const PROJECT_SETTINGS: &str = ".review.toml";

/// What the process was started with. It is read once, by the command line, so that no part reads the environment on its own.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The user's settings file, where there is one.
    pub user_settings: Option<PathBuf>,
    /// The environment variables that begin with `REVIEW_`.
    pub environment: Vec<(String, String)>,
    /// Where runs are kept.
    pub state: PathBuf,
}

/// A change, ready to be reviewed.
pub(super) struct Subject {
    pub(super) change: Arc<ChangeSet>,
    pub(super) new: Arc<dyn Workspace>,
    pub(super) old: Arc<dyn Workspace>,
    pub(super) settings: Settings,
    /// The run's flag with the deadline of the settings.
    pub(super) cancel: Cancel,
}

/// Finds the change and opens its trees.
pub(super) fn collect(
    request: &ReviewRequest,
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Subject, AppError> {
    if let Scope::Patch(source) = &request.scope {
        return collect_patch(source, flags, around, cancel);
    }
    let repo = Repo::open(&request.directory)?;
    let range = git::resolve(&repo, &request.scope)?;
    for notice in &range.notices {
        events.emit(Event::Notice { text: notice.clone() });
    }
    let settings = settings_for(&repo, &range, request, flags, around)?;
    let cancel = cancel.within(settings.timeout);
    let options = CollectOptions {
        include: settings.include.clone(),
        exclude: settings.exclude.clone(),
        max_commits: settings.max_commits,
        ..CollectOptions::default()
    };
    let change = git::collect(&repo, &range, &options, &cancel, events)?;
    let filter = PathFilter::new(&settings.include, &settings.exclude)?;
    let new = workspace::open(&repo, range.new_at, filter.clone())?;
    let old = workspace::open(&repo, range.old_at, filter)?;
    Ok(Subject { change: Arc::new(change), new, old, settings, cancel })
}

fn collect_patch(
    source: &PatchSource,
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
) -> Result<Subject, AppError> {
    // There is no target to take a project's settings from: only the user's hold.
    let settings = resolve_settings(None, flags, around)?;
    let (name, bytes) = match source {
        PatchSource::Stdin => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
                AppError::Input(files::FileError { verb: "read", path: "standard input".into(), source: error })
            })?;
            ("(standard input)".to_owned(), bytes)
        }
        PatchSource::File(path) => (path.display().to_string(), files::read(path).map_err(AppError::Input)?),
    };
    let cancel = cancel.within(settings.timeout);
    let options = CollectOptions {
        include: settings.include.clone(),
        exclude: settings.exclude.clone(),
        ..CollectOptions::default()
    };
    let patch = git::from_patch(&name, &bytes, &options, &cancel)?;
    let filter = PathFilter::new(&settings.include, &settings.exclude)?;
    let (new, old) = workspace::from_patch(patch.known, &filter);
    Ok(Subject { change: Arc::new(patch.change), new, old, settings, cancel })
}

/// The settings of a range: the project's come from the target tip unless the disk was asked for.
pub(super) fn settings_for(
    repo: &Repo,
    range: &Range,
    request: &ReviewRequest,
    flags: &Flags,
    around: &Surroundings,
) -> Result<Settings, AppError> {
    let project = project_settings(repo, range.settings_at, request.settings_from_worktree)?;
    resolve_settings(project, flags, around)
}

pub(super) fn project_settings(
    repo: &Repo,
    at: Option<CommitId>,
    from_worktree: bool,
) -> Result<Option<Document>, AppError> {
    if from_worktree {
        let Some(root) = repo.workdir() else { return Ok(None) };
        let path = root.join(PROJECT_SETTINGS);
        let found = files::read_optional(&path).map_err(AppError::Input)?;
        return Ok(found.map(|bytes| document(PROJECT_SETTINGS.to_owned(), &bytes)));
    }
    let Some(commit) = at else { return Ok(None) };
    let found = tree::find(repo, repo.tree_of(commit)?, PROJECT_SETTINGS.as_bytes())?;
    let Some(tree::Found::File(_, blob)) = found else { return Ok(None) };
    Ok(Some(document(format!("{PROJECT_SETTINGS} at {}", commit.short()), &repo.blob(blob)?)))
}

fn resolve_settings(project: Option<Document>, flags: &Flags, around: &Surroundings) -> Result<Settings, AppError> {
    let resolved = config::resolve(&sources(project, flags, around)?)?;
    let settings = resolved.settings;
    // A model that was named but cannot be used is an error, never a quiet review by the rules.
    match &settings.model {
        Some(model) if model != "none" => Err(AppError::Model(model.clone())),
        _ => Ok(settings),
    }
}

pub(super) fn sources(
    project: Option<Document>,
    flags: &Flags,
    around: &Surroundings,
) -> Result<Sources, AppError> {
    let user = match &around.user_settings {
        Some(path) => files::read_optional(path)
            .map_err(AppError::Input)?
            .map(|bytes| document(path.display().to_string(), &bytes)),
        None => None,
    };
    Ok(Sources { user, repository: project, env: around.environment.clone(), flags: flags.clone() })
}

fn document(name: String, bytes: &[u8]) -> Document {
    Document { name, text: String::from_utf8_lossy(bytes).into_owned() }
}
