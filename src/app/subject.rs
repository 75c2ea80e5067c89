//! From a request to what an engine needs: the change, its two trees, the settings. Main type: [`Subject`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::diffs::Diffs;
use super::dismissed::{self, DismissedFile};
use super::error::AppError;
use super::forge::ForgeEnvironment;
use super::model::ProviderEnvironment;
use super::packs;
use super::project::{changed_settings, project_settings};
use super::pull::Fetched;
use super::table;
use crate::config::{self, Document, Flags, Resolved, Settings, Sources};
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink};
use crate::domain::filter::PathFilter;
use crate::domain::forge::PullOf;
use crate::domain::id::CommitId;
use crate::domain::limits::LIMITS;
use crate::domain::place::{Side, WorkspaceAt};
use crate::domain::request::{Compare, PatchSource, Previous, ReviewRequest, Scope};
use crate::domain::secret::Secret;
use crate::domain::text::steering;
use crate::git::{self, CollectOptions, Range};
use crate::present::{self, presenter};
use crate::review::Known;
use crate::rules::{PackFile, Reports};
use crate::store::Store;
use crate::syntax::{ParserProbe, ProbeScope};
use crate::sys::cancel::Cancel;
use crate::sys::files;
use crate::sys::repo::{Repo, RepoPool};
use crate::tools::{Checkout, Limits, ToolContext};
use crate::workspace::{self, Workspace};

/// What the process was started with. It is read once, by the command line, so that no part reads the environment on its own.
/// `Debug` shows no value of a variable: it may be a key.
#[derive(Clone)]
pub struct Surroundings {
    /// The user's settings file, where there is one.
    pub user_settings: Option<Document>,
    /// The environment variables that begin with `REVIEW_`.
    pub environment: Vec<(String, String)>,
    /// The keys and addresses in the variables that the providers' own libraries read.
    pub providers: ProviderEnvironment,
    /// Which forge is asked, and as whom.
    pub forge: ForgeEnvironment,
    /// Where runs are kept.
    pub state: PathBuf,
    /// Where texts are parsed on trial; `None` where this process is not the program itself.
    pub parser: Option<Arc<ParserProbe>>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user_settings, environment, providers, forge, state, parser } = self;
        let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("Surroundings");
        shown.field("user_settings", user_settings).field("environment", &names).field("providers", providers);
        shown.field("forge", forge).field("state", state).field("parser", parser).finish()
    }
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process() -> Result<Self, AppError> {
        let (environment, user_settings) = (config::environment(), config::user_document()?);
        let providers = ProviderEnvironment::of_this_process(table::known(user_settings.as_ref(), &environment)?);
        let (forge, state) = (ForgeEnvironment::of_this_process(), Store::default_root()?);
        let program =
            if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() };
        let parser = program.ok().map(|program| Arc::new(ParserProbe::new(program, ProbeScope::GrowingScanners)));
        Ok(Self { user_settings, environment, providers, forge, state, parser })
    }

    /// The trial parser for texts that are trusted as little as `scope` says.
    pub(super) fn parser(&self, scope: ProbeScope) -> Option<Arc<ParserProbe>> {
        self.parser.as_ref().map(|parser| parser.with(scope))
    }
}

/// A change, ready to be reviewed.
pub(super) struct Subject {
    pub(super) change: Arc<ChangeSet>,
    pub(super) new: Arc<dyn Workspace>,
    pub(super) old: Arc<dyn Workspace>,
    pub(super) settings: Settings,
    /// The target's tip, from which all that the project says about its reviews is read; a patch has none.
    pub(super) settings_at: Option<CommitId>,
    /// The run's flag with the deadline of the settings.
    pub(super) cancel: Cancel,
    /// The repository's folder, absolute and with no link in it; a patch has none.
    pub(super) repository: Option<PathBuf>,
    /// The folder that is checked out, if what is reviewed is what is there: places may link into it.
    pub(super) root: Option<PathBuf>,
    /// Where the rest of a cut diff is read from.
    pub(super) diffs: Diffs,
    /// What other scanners report of the change.
    pub(super) reports: Reports,
    /// What the receipt says about how the change was reviewed.
    pub(super) notes: Vec<String>,
    /// What is known of the branch from before.
    pub(super) known: Known,
    /// Which review it is compared with.
    pub(super) compare: Compare,
    /// The project's dismissals as they were read; `known` has what they say.
    pub(super) dismissed: Option<DismissedFile>,
    /// The rules that did not come with the program: the user's and the project's.
    pub(super) rule_files: Vec<PackFile>,
    /// Where its texts are parsed on trial.
    pub(super) parser: Option<Arc<ParserProbe>>,
}

impl Subject {
    /// What the tools look at.
    pub(super) fn tool_context(&self) -> ToolContext {
        ToolContext {
            change: Some(Arc::clone(&self.change)),
            new: Arc::clone(&self.new),
            old: Some(Arc::clone(&self.old)),
            diff: Some(self.diffs.source(&self.change)),
            from_merge_base: false,
            // A model is told no path of this machine, and cannot ask for another revision.
            checkout: Checkout::default(),
            cancel: self.cancel.clone(),
            limits: Limits::default(),
        }
    }
}

/// A larger file holds no secret that a header could carry, in bytes.
const MAX_SECRET: u64 = 64 << 10;

/// The secret in a file, without the white space around it.
pub fn secret_file(path: &Path) -> Result<Secret, AppError> {
    let bytes =
        files::open(path).and_then(|file| files::read_within(file, path, MAX_SECRET)).map_err(AppError::Input)?;
    let text = String::from_utf8(bytes).map_err(|_| AppError::NotText { path: path.display().to_string() })?;
    Ok(Secret::new(text).trimmed())
}

/// Finds the change and opens its trees.
///
/// `patch` is what [`read_patch`] read, for a scope that is a patch.
pub(super) fn collect(
    request: &ReviewRequest,
    patch: &[u8],
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Subject, AppError> {
    if let Scope::Patch(source) = &request.scope {
        return collect_patch(source, patch, flags, around, cancel);
    }
    let repo = Repo::open(&request.directory)?;
    let range = git::resolve(&repo, &request.scope)?;
    collect_range(repo, &range, None, request, flags, around, cancel, events)
}

/// The same for a pull request that was fetched.
pub(super) fn collect_pull(
    fetched: &Fetched,
    request: &ReviewRequest,
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Subject, AppError> {
    let Fetched { directory, base, head, pull, of, .. } = fetched;
    let repo = Repo::open(directory)?;
    let range = git::of_pull(&repo, *base, *head, &pull.base_ref, &pull.head_ref)?;
    collect_range(repo, &range, Some(of), request, flags, around, cancel, events)
}

#[expect(clippy::too_many_arguments, reason = "what both ways of naming a range have in common")]
fn collect_range(
    repo: Repo,
    range: &Range,
    of: Option<&PullOf>,
    request: &ReviewRequest,
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Subject, AppError> {
    for notice in &range.notices {
        events.emit(Event::Notice { text: notice.clone() });
    }
    let settings = settings_for(&repo, range, request, flags, around)?;
    let dismissed = dismissed::read(&repo, range.settings_at, request.settings_from_worktree)?;
    let dismissals = dismissed.as_ref().map_or(Ok(Vec::new()), DismissedFile::parse)?;
    let rule_files = packs::files(&settings, Some((&repo, range.settings_at)), request.settings_from_worktree)?;
    let cancel = cancel.within(settings.timeout);
    let options = options(&settings)?;
    let mut change = git::collect(&repo, range, &options, &cancel, events)?;
    if let Some(of) = of {
        // A clone may have any name.
        change.repository = of.id.repo.to_string();
        change.pull = Some(of.clone());
    }
    let root = on_disk(&repo, range);
    let repository = folder_of(&repo);
    let mut notes: Vec<String> =
        changed_settings(&repo, range, &change, request.settings_from_worktree)?.into_iter().collect();
    notes.extend(steered(&change));
    notes.extend(dismissed::gone(&dismissals, &repo, range, &cancel)?);
    let pool = RepoPool::new(repo);
    let new = workspace::open(Some(&pool), range.new_at, Side::New, &[], options.filter.clone())?;
    let old = workspace::open(Some(&pool), range.old_at, Side::Old, &[], options.filter)?;
    let (change, settings_at, diffs) = (Arc::new(change), range.settings_at, Diffs::Repository(pool));
    // A stranger may have written what a pull request holds.
    let parser = around.parser(if of.is_some() { ProbeScope::Everything } else { ProbeScope::GrowingScanners });
    let known = Known { dismissals, ..Known::default() };
    let compare = Compare { with: Previous::None, full: false };
    Ok(Subject {
        change,
        new,
        old,
        settings,
        settings_at,
        cancel,
        repository,
        root,
        diffs,
        reports: Reports::default(),
        notes,
        known,
        compare,
        dismissed,
        rule_files,
        parser,
    })
}

/// What stands for a repository on this machine: the folder that is checked out, or the git folder of a bare one, with no link in it.
pub(super) fn folder_of(repo: &Repo) -> Option<PathBuf> {
    files::real_path(repo.workdir().unwrap_or_else(|| repo.git_dir())).ok()
}

/// The folder that is checked out, if what is reviewed is what is there.
fn on_disk(repo: &Repo, range: &Range) -> Option<PathBuf> {
    let there = match range.new_at {
        WorkspaceAt::Worktree | WorkspaceAt::Index => true,
        WorkspaceAt::Revision(head) => repo.commit("HEAD").is_ok_and(|checked_out| checked_out == head),
        WorkspaceAt::PatchOnly | WorkspaceAt::Empty => false,
    };
    repo.workdir().filter(|_| there).map(Path::to_owned)
}

/// Reads the patch of a scope that is one; nothing for the others. It may wait for a pipe for ever.
pub(super) fn read_patch(scope: &Scope) -> Result<Vec<u8>, AppError> {
    match scope {
        Scope::Patch(PatchSource::Stdin) => {
            let name = Path::new("standard input");
            files::read_within(std::io::stdin().lock(), name, LIMITS.patch_bytes).map_err(AppError::Input)
        }
        Scope::Patch(PatchSource::File(path)) => {
            let file = files::open(path).map_err(AppError::Input)?;
            files::read_within(file, path, LIMITS.patch_bytes).map_err(AppError::Input)
        }
        Scope::Branch { .. }
        | Scope::Commit(_)
        | Scope::Range { .. }
        | Scope::Staged
        | Scope::Uncommitted
        | Scope::Pull(_) => Ok(Vec::new()),
    }
}

fn collect_patch(
    source: &PatchSource,
    bytes: &[u8],
    flags: &Flags,
    around: &Surroundings,
    cancel: &Cancel,
) -> Result<Subject, AppError> {
    // There is no target to take a project's settings from: only the user's hold.
    let settings = resolve(None, flags, around)?.settings;
    let name = match source {
        PatchSource::Stdin => "(standard input)".to_owned(),
        PatchSource::File(path) => path.display().to_string(),
    };
    let cancel = cancel.within(settings.timeout);
    let options = options(&settings)?;
    let patch = git::from_patch(&name, bytes, &options, &cancel)?;
    let known = patch.known();
    let open = |at, side| workspace::open(None, at, side, &known, options.filter.clone());
    let new = open(patch.change.new_at, Side::New)?;
    let old = open(patch.change.old_at, Side::Old)?;
    let change = Arc::new(patch.change.clone());
    let (repository, root, notes) = (None, None, Vec::new());
    let diffs = Diffs::Patch(Arc::new(patch));
    let rule_files = packs::files(&settings, None, false)?;
    // There is no target to take dismissals from either.
    let (settings_at, known, dismissed) = (None, Known::default(), None);
    let compare = Compare { with: Previous::None, full: false };
    Ok(Subject {
        change,
        new,
        old,
        settings,
        settings_at,
        cancel,
        repository,
        root,
        diffs,
        reports: Reports::default(),
        notes,
        known,
        compare,
        dismissed,
        rule_files,
        parser: around.parser(ProbeScope::Everything),
    })
}

/// What bounds a collection under these settings.
pub(super) fn options(settings: &Settings) -> Result<CollectOptions, AppError> {
    Ok(CollectOptions {
        filter: filter(settings)?,
        max_commits: settings.max_commits as usize,
        ..CollectOptions::default()
    })
}

/// Which paths the settings let through, for the change and for whatever is read.
pub(super) fn filter(settings: &Settings) -> Result<PathFilter, AppError> {
    filter_of(&settings.include, &settings.exclude)
}

/// The same of groups of globs: a path must match one of each of the first, and none of the others.
pub(super) fn filter_of(include: &[Vec<String>], exclude: &[String]) -> Result<PathFilter, AppError> {
    let all = PathFilter::new(&[], exclude);
    let narrowed = include.iter().fold(all, |filter, globs| filter.and_then(|filter| filter.narrowed(globs)));
    Ok(narrowed.map_err(git::GitError::from)?)
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
    Ok(resolve(project, flags, around)?.settings)
}

/// Says that what the authors wrote about the change tells its reviewer what to find. In the code itself a rule tells it.
fn steered(change: &ChangeSet) -> Option<String> {
    let steers = |text: &str| !steering(text).is_empty();
    let pull = change.pull.as_ref().is_some_and(|pull| steers(&pull.title) || steers(&pull.body));
    let commits = change.commits.iter().any(|commit| steers(&commit.subject) || steers(&commit.body));
    let place = match (pull, commits) {
        (true, _) => "The description of the pull request",
        (false, true) => "A commit message",
        (false, false) => return None,
    };
    Some(format!("{place} tells the reviewer what to say; this review did not follow it."))
}

/// The settings, merged, with their origins.
pub(super) fn resolve(project: Option<Document>, flags: &Flags, around: &Surroundings) -> Result<Resolved, AppError> {
    let (user, environment) = (around.user_settings.clone(), around.environment.clone());
    let resolved = config::resolve(&Sources { user, repository: project, environment, flags: flags.clone() })?;
    // Only here are the names of the outputs known; one that there is not would print nothing.
    if presenter(&resolved.settings.format).is_none() {
        let origin = resolved.origins.iter().find(|(key, _, _)| *key == "format");
        return Err(AppError::Format {
            origin: origin.map_or_else(String::new, |(_, _, origin)| origin.to_string()),
            name: resolved.settings.format,
            known: present::names().join(", "),
        });
    }
    Ok(resolved)
}
