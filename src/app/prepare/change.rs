//! Prepares a change for an engine: collects it, opens its two trees and resolves the settings. Main type: [`PreparedChange`].

use super::rule_files;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::project::folder_of;
use crate::app::context::settings::options;
use crate::app::context::settings::resolve;
use crate::app::context::settings::settings_for;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::diff_source::DiffOrigin;
use super::dismissals::{self, DismissedFile};
use super::pull::FetchedPull;
use crate::app::context::error::AppError;
use crate::app::context::project::{changed_settings, unused_settings};
use crate::config::{Flags, Settings};
use crate::domain::change::ChangeSet;
use crate::domain::event::{Event, EventSink};
use crate::domain::filter::PathFilter;
use crate::domain::forge::ReviewedPull;
use crate::domain::id::CommitId;
use crate::domain::limits::LIMITS;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::request::{Compare, PatchSource, Previous, ReviewRequest, ReviewScope};
use crate::domain::run_record::SavedRun;
use crate::domain::text::find_prompt_injection;
use crate::evidence::GrammarLanguages;
use crate::git::{self, GitError, ResolvedRange};
use crate::review::BranchHistory;
use crate::rules::{PackFile, ScannerReports};
use crate::syntax::{ParserProbe, ProbeScope, TreeCache};
use crate::sys::cancel::Cancel;
use crate::sys::files;
use crate::sys::repo::{Repo, RepoPool};
use crate::tools::{Checkout, ToolContext, ToolLimits};
use crate::workspace::{self, Workspace};

/// A change prepared for review.
pub(in crate::app) struct PreparedChange {
    pub(in crate::app) change: Arc<ChangeSet>,
    pub(in crate::app) new: Arc<dyn Workspace>,
    pub(in crate::app) old: Arc<dyn Workspace>,
    pub(in crate::app) settings: Settings,
    /// The target commit, from which the project's configuration is read; `None` for a patch.
    pub(in crate::app) settings_at: Option<CommitId>,
    /// The cancellation of the run, with the deadline of the settings.
    pub(in crate::app) cancel: Cancel,
    /// The repository's folder, absolute and without links; `None` for a patch.
    pub(in crate::app) repository: Option<PathBuf>,
    /// The folder of the working tree, if the reviewed state is the one checked out: places may link into it.
    pub(in crate::app) root: Option<PathBuf>,
    /// The source for the rest of a truncated diff.
    pub(in crate::app) diffs: DiffOrigin,
    /// Reports of other scanners on the change.
    pub(in crate::app) reports: ScannerReports,
    /// Notes for the receipt on how the change was reviewed.
    pub(in crate::app) notes: Vec<String>,
    /// The results of earlier reviews of the branch.
    pub(in crate::app) known: BranchHistory,
    /// The choice of the previous review.
    pub(in crate::app) compare: Compare,
    /// The saved runs, newest first, if they are listed already.
    pub(in crate::app) saved: Option<Arc<[SavedRun]>>,
    /// The project's dismissals as read; `known` has the parsed entries.
    pub(in crate::app) dismissed: Option<DismissedFile>,
    /// The rules that are not built in: the user's and the project's.
    pub(in crate::app) rule_files: Vec<PackFile>,
    /// The process for trial parses of its files.
    pub(in crate::app) parser: Option<Arc<ParserProbe>>,
}

impl PreparedChange {
    /// A change without a repository, history, notes and rules of its own.
    pub(in crate::app) fn of(
        change: Arc<ChangeSet>,
        [new, old]: [Arc<dyn Workspace>; 2],
        settings: Settings,
        cancel: Cancel,
        diffs: DiffOrigin,
        parser: Option<Arc<ParserProbe>>,
    ) -> Self {
        let (repository, root, settings_at, saved, dismissed) = (None, None, None, None, None);
        let (reports, known) = (ScannerReports::default(), BranchHistory::default());
        let compare = Compare { with: Previous::None, full: false };
        let (notes, rule_files) = (Vec::new(), Vec::new());
        Self {
            change,
            new,
            old,
            settings,
            settings_at,
            cancel,
            repository,
            root,
            diffs,
            reports,
            notes,
            known,
            compare,
            saved,
            dismissed,
            rule_files,
            parser,
        }
    }

    pub(in crate::app) fn tool_context(&self) -> ToolContext {
        ToolContext {
            change: Some(Arc::clone(&self.change)),
            new: Arc::clone(&self.new),
            old: Some(Arc::clone(&self.old)),
            diff: Some(self.diffs.source(&self.change)),
            from_merge_base: false,
            // A model sees no path of this machine and cannot request another revision.
            checkout: Checkout::default(),
            builds: None,
            languages: Some(GrammarLanguages::with(Arc::new(TreeCache::with_probe(self.parser.clone())))),
            cancel: self.cancel.clone(),
            limits: ToolLimits::default(),
        }
    }
}

/// Returns the scope to review: the uncommitted work of a branch that is checked out and has no commits of its own, else the requested one.
pub(in crate::app) fn effective_scope(request: &ReviewRequest, cancel: &Cancel, events: &dyn EventSink) -> ReviewScope {
    let scope = request.scope.clone();
    // An error is reported where the change is collected.
    let Ok(repo) = Repo::open(&request.directory) else { return scope };
    let own = match git::resolve(&repo, &scope) {
        Ok(range) if range.merge_base == range.head => range.head_name,
        Err(GitError::TargetIsHead { branch, .. }) => branch,
        Ok(_) | Err(_) => return scope,
    };
    if git::count_uncommitted(&repo, &PathFilter::all(), cancel).unwrap_or(0) == 0 {
        return scope;
    }
    let text = format!("{own} has no commits of its own: reviewing its uncommitted changes, as --uncommitted does");
    events.emit(Event::Notice { text });
    ReviewScope::Uncommitted
}

/// Collects the change and opens its trees.
///
/// `patch` is the result of [`read_patch`], for a patch scope; `opened` the repository, if it is open already.
pub(in crate::app) fn collect(
    request: &ReviewRequest,
    opened: Option<&RepoPool>,
    patch: &[u8],
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<PreparedChange, AppError> {
    if let ReviewScope::Patch(source) = &request.scope {
        return collect_patch(source, patch, flags, around, cancel);
    }
    let repo = match opened {
        Some(opened) => opened.acquire()?.reopen()?,
        None => Repo::open(&request.directory)?,
    };
    let range = git::resolve(&repo, &request.scope)?;
    collect_range(repo, &range, None, request, flags, around, cancel, events)
}

/// Collects the change of a fetched pull request.
pub(in crate::app) fn collect_pull(
    fetched: &FetchedPull,
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<PreparedChange, AppError> {
    let FetchedPull { directory, base, head, pull, of, .. } = fetched;
    let repo = Repo::open(directory)?;
    let range = git::of_pull(&repo, *base, *head, &pull.base_ref, &pull.head_ref)?;
    collect_range(repo, &range, Some(of), request, flags, around, cancel, events)
}

#[expect(clippy::too_many_arguments, reason = "what both ways of naming a range have in common")]
fn collect_range(
    repo: Repo,
    range: &ResolvedRange,
    of: Option<&ReviewedPull>,
    request: &ReviewRequest,
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<PreparedChange, AppError> {
    for notice in &range.notices {
        events.emit(Event::Notice { text: notice.clone() });
    }
    let settings = settings_for(&repo, range, request, flags, around)?;
    let dismissed = dismissals::read(&repo, range.settings_at, request.settings_from_worktree)?;
    let dismissals = dismissed.as_ref().map_or(Ok(Vec::new()), DismissedFile::parse)?;
    let rule_files = rule_files::read_all(&settings, Some((&repo, range.settings_at)), request.settings_from_worktree)?;
    let cancel = cancel.with_deadline(settings.timeout);
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
    if notes.is_empty()
        && root.is_some()
        && !request.settings_from_worktree
        && let Some(text) = unused_settings(&repo, range.settings_at)
    {
        events.emit(Event::Notice { text });
    }
    notes.extend(note_prompt_injection(&change));
    notes.extend(dismissals::report_removed(&dismissals, &repo, range, &cancel)?);
    let pool = RepoPool::after(repo);
    let new = workspace::open(Some(&pool), range.new_at, DiffSide::New, &[], options.filter.clone())?;
    let old = workspace::open(Some(&pool), range.old_at, DiffSide::Old, &[], options.filter)?;
    let (change, settings_at, diffs) = (Arc::new(change), range.settings_at, DiffOrigin::Repository(pool));
    // The files of a pull request may come from a stranger.
    let parser = around.parser(if of.is_some() { ProbeScope::Everything } else { ProbeScope::GrowingScanners });
    let known = BranchHistory { dismissals, ..BranchHistory::default() };
    let prepared = PreparedChange::of(change, [new, old], settings, cancel, diffs, parser);
    Ok(PreparedChange { settings_at, repository, root, notes, known, dismissed, rule_files, ..prepared })
}

/// The folder of the working tree, if the reviewed state is the one checked out.
fn on_disk(repo: &Repo, range: &ResolvedRange) -> Option<PathBuf> {
    let there = match range.new_at {
        WorkspaceAt::Worktree | WorkspaceAt::Index => true,
        WorkspaceAt::Revision(head) => repo.commit("HEAD").is_ok_and(|checked_out| checked_out == head),
        WorkspaceAt::PatchOnly | WorkspaceAt::Empty => false,
    };
    repo.workdir().filter(|_| there).map(Path::to_owned)
}

/// Reads the patch of a patch scope; empty for the others. It may wait for a pipe forever.
pub(in crate::app) fn read_patch(scope: &ReviewScope) -> Result<Vec<u8>, AppError> {
    match scope {
        ReviewScope::Patch(PatchSource::Stdin) => {
            let name = Path::new("standard input");
            files::read_within(std::io::stdin().lock(), name, LIMITS.patch_bytes).map_err(AppError::Input)
        }
        ReviewScope::Patch(PatchSource::File(path)) => {
            let file = files::open(path).map_err(AppError::Input)?;
            files::read_within(file, path, LIMITS.patch_bytes).map_err(AppError::Input)
        }
        ReviewScope::Branch { .. }
        | ReviewScope::Commit(_)
        | ReviewScope::Range { .. }
        | ReviewScope::Staged
        | ReviewScope::Uncommitted
        | ReviewScope::BranchWithWorktree { .. }
        | ReviewScope::Pull(_) => Ok(Vec::new()),
    }
}

fn collect_patch(
    source: &PatchSource,
    bytes: &[u8],
    flags: &Flags,
    around: &ProcessEnv,
    cancel: &Cancel,
) -> Result<PreparedChange, AppError> {
    // Without a target there are no project settings: only the user's apply.
    let settings = resolve(None, flags, around)?.settings;
    let name = match source {
        PatchSource::Stdin => "(standard input)".to_owned(),
        PatchSource::File(path) => path.display().to_string(),
    };
    let cancel = cancel.with_deadline(settings.timeout);
    let options = options(&settings)?;
    let patch = git::from_patch(&name, bytes, &options, &cancel)?;
    let known = patch.known_files();
    let open = |at, side| workspace::open(None, at, side, &known, options.filter.clone());
    let new = open(patch.change.new_at, DiffSide::New)?;
    let old = open(patch.change.old_at, DiffSide::Old)?;
    let change = Arc::new(patch.change.clone());
    let diffs = DiffOrigin::Patch(Arc::new(patch));
    let rule_files = rule_files::read_all(&settings, None, false)?;
    let parser = around.parser(ProbeScope::Everything);
    let prepared = PreparedChange::of(change, [new, old], settings, cancel, diffs, parser);
    Ok(PreparedChange { rule_files, ..prepared })
}

/// Notes a prompt injection in the authors' description of the change. In the code itself, a rule reports it.
fn note_prompt_injection(change: &ChangeSet) -> Option<String> {
    let steers = |text: &str| !find_prompt_injection(text).is_empty();
    let pull = change.pull.as_ref().is_some_and(|pull| steers(&pull.title) || steers(&pull.body));
    let commits = change.commits.iter().any(|commit| steers(&commit.subject) || steers(&commit.body));
    let place = match (pull, commits) {
        (true, _) => "The description of the pull request",
        (false, true) => "A commit message",
        (false, false) => return None,
    };
    Some(format!("{place} tells the reviewer what to say; this review did not follow it."))
}
