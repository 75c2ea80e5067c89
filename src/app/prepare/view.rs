//! The input of the reading tools, found with as little work as a call needs. Main type: [`RepositoryView`].
//!
//! Reading, searching and listing use one tree: no change is collected for them. Calls by hand and servers share this code; they differ
//! only in the lifetime of an [`ViewCache`]. The allowed folders belong in `service`.

use crate::app::context::settings;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::diff_source::DiffOrigin;
use super::uncommitted::{UncommittedCheck, UncommittedRequest};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::lru::LruCache;
use crate::app::context::project::project_settings;
use crate::config::{Flags, Settings};
use crate::domain::change::ChangeSet;
use crate::domain::event::NullEventSink;
use crate::domain::filter::PathFilter;
use crate::domain::id::CommitId;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::request::ReviewScope;
use crate::git::{self, GitError, RangeEnds, ResolvedRange};
use crate::sys::cancel::Cancel;
use crate::sys::repo::RepoPool;
use crate::tools::{Checkout, ErrorKind, TOOLS, ToolContext, ToolLimits, ToolOutcome, Toolbox, TreeNeeds, Uncommitted};
use crate::workspace::{self, Workspace};

/// Limit on open trees. A tree caches the files read from it, up to a cap of its own.
const TREES: usize = 4;
const CHANGES: usize = 4;
const POLICIES: usize = 16;

/// A cache of opened trees and changes for later calls, keyed by commits, so that no entry goes stale. Shared by all repositories; a
/// repository is a number that is never reused.
pub(in crate::app) struct ViewCache {
    policies: LruCache<(u64, Option<CommitId>), Arc<ReadingPolicy>>,
    trees: LruCache<(u64, CommitId, Option<CommitId>), Arc<dyn Workspace>>,
    changes: LruCache<ChangeKey, Arc<OpenedChange>>,
}

/// The settings for reading.
struct ReadingPolicy {
    settings: Settings,
    filter: PathFilter,
}

/// The key of a change between two commits, with the names given for its ends.
#[derive(PartialEq, Eq, Clone)]
struct ChangeKey {
    repository: u64,
    old_at: WorkspaceAt,
    new_at: WorkspaceAt,
    settings_at: Option<CommitId>,
    base: Option<CommitId>,
    names: (String, String),
}

/// A collected change with its trees.
struct OpenedChange {
    set: Arc<ChangeSet>,
    new: Arc<dyn Workspace>,
    old: Arc<dyn Workspace>,
}

impl Default for ViewCache {
    fn default() -> Self {
        Self { policies: LruCache::new(POLICIES), trees: LruCache::new(TREES), changes: LruCache::new(CHANGES) }
    }
}

impl ViewCache {
    /// Drops the trees and changes unused for `time`; `true` if any remain.
    pub(in crate::app) fn release(&self, time: Duration) -> bool {
        // Changes hold trees.
        let changes = self.changes.release(time);
        self.trees.release(time) || changes
    }
}

/// A repository and the options for reading it.
pub(in crate::app) struct RepositoryView<'a> {
    /// Its number among the opened ones.
    pub(in crate::app) repository: u64,
    /// A pool of its handles.
    pub(in crate::app) pool: &'a RepoPool,
    /// The cache of opened trees.
    pub(in crate::app) opened: &'a ViewCache,
    /// The environment of the process.
    pub(in crate::app) around: &'a ProcessEnv,
    /// The settings from the command line.
    pub(in crate::app) flags: &'a Flags,
    /// `true` if the project's settings are read from the working tree.
    pub(in crate::app) settings_from_worktree: bool,
    /// The way in which a caller requests uncommitted changes.
    pub(in crate::app) asking: UncommittedRequest,
    /// The size limits of an answer.
    pub(in crate::app) limits: ToolLimits,
}

impl RepositoryView<'_> {
    /// Calls a tool on a scope other than a patch. The call is limited by the time limit of the settings.
    pub(in crate::app) fn call(
        &self,
        scope: &ReviewScope,
        name: &str,
        input: Value,
        cancel: &Cancel,
    ) -> Result<ToolOutcome, AppError> {
        cancel.check()?;
        let ends = git::range_ends(&*self.pool.acquire()?, scope)?;
        let policy = self.policy(ends.settings_at, cancel)?;
        let cancel = &cancel.with_deadline(policy.settings.timeout);
        let looks = TOOLS.iter().find(|tool| tool.name == name).map_or(TreeNeeds::AtTree, |tool| (tool.looks)(&input));
        if looks == TreeNeeds::AtChange {
            let context = self.of_change(scope, cancel)?;
            return Ok(Toolbox::new(context).call(name, input));
        }
        let new = self.tree(ends, &policy, cancel)?;
        let context = ToolContext {
            change: None,
            new,
            old: None,
            diff: None,
            from_merge_base: false,
            checkout: self.checkout(ends.new_at, &policy)?,
            cancel: cancel.clone(),
            builds: None,
            languages: None,
            limits: self.limits,
        };
        let outcome = Toolbox::new(context).call(name, input.clone());
        if looks != TreeNeeds::AtTreeFirst || outcome.error != Some(ErrorKind::FileNotFound) {
            return Ok(outcome);
        }
        match self.of_change(scope, cancel) {
            Ok(context) => Ok(Toolbox::new(context).call(name, input)),
            Err(_) => Ok(outcome),
        }
    }

    fn policy(&self, at: Option<CommitId>, cancel: &Cancel) -> Result<Arc<ReadingPolicy>, AppError> {
        let make = || {
            let project = project_settings(&*self.pool.acquire()?, at, self.settings_from_worktree)?;
            let settings = settings::resolve(project, self.flags, self.around)?.settings;
            let filter = settings::filter(&settings)?;
            Ok(Arc::new(ReadingPolicy { settings, filter }))
        };
        // The working tree changes, so it is not cached.
        if self.settings_from_worktree { make() } else { self.opened.policies.get((self.repository, at), cancel, make) }
    }

    fn open(&self, at: WorkspaceAt, side: DiffSide, policy: &ReadingPolicy) -> Result<Arc<dyn Workspace>, AppError> {
        Ok(workspace::open(Some(self.pool), at, side, &[], policy.filter.clone())?)
    }

    fn tree(&self, ends: RangeEnds, policy: &ReadingPolicy, cancel: &Cancel) -> Result<Arc<dyn Workspace>, AppError> {
        let open = || self.open(ends.new_at, DiffSide::New, policy);
        match ends.new_at {
            WorkspaceAt::Revision(commit) if !self.settings_from_worktree => {
                self.opened.trees.get((self.repository, commit, ends.settings_at), cancel, open)
            }
            WorkspaceAt::Revision(_)
            | WorkspaceAt::Index
            | WorkspaceAt::Worktree
            | WorkspaceAt::PatchOnly
            | WorkspaceAt::Empty => open(),
        }
    }

    fn checkout(&self, at: WorkspaceAt, policy: &ReadingPolicy) -> Result<Checkout, AppError> {
        let root = self.pool.acquire()?.workdir().map(Arc::from);
        let (pool, filter, asking) = (self.pool.clone(), policy.filter.clone(), self.asking);
        let uncommitted: Option<Arc<dyn Uncommitted>> = match at {
            WorkspaceAt::Revision(commit) => Some(Arc::new(UncommittedCheck { pool, commit, filter, asking })),
            WorkspaceAt::Index | WorkspaceAt::Worktree | WorkspaceAt::PatchOnly | WorkspaceAt::Empty => None,
        };
        Ok(Checkout { root, uncommitted })
    }

    /// Opens both sides of a change, and the change.
    fn of_change(&self, scope: &ReviewScope, cancel: &Cancel) -> Result<ToolContext, AppError> {
        let range = git::resolve(&*self.pool.acquire()?, scope)?;
        let policy = self.policy(range.settings_at, cancel)?;
        let make = || self.collect(&range, &policy, cancel);
        let settled = |at| matches!(at, WorkspaceAt::Revision(_) | WorkspaceAt::Empty);
        let change = if settled(range.old_at) && settled(range.new_at) && !self.settings_from_worktree {
            let ResolvedRange { old_at, new_at, settings_at, base, .. } = range;
            let names = (range.target.clone(), range.head_name.clone());
            let key = ChangeKey { repository: self.repository, old_at, new_at, settings_at, base, names };
            self.opened.changes.get(key, cancel, make)?
        } else {
            make()?
        };
        Ok(ToolContext {
            change: Some(Arc::clone(&change.set)),
            new: Arc::clone(&change.new),
            old: Some(Arc::clone(&change.old)),
            diff: Some(DiffOrigin::Repository(self.pool.clone()).source(&change.set)),
            from_merge_base: matches!(
                scope,
                ReviewScope::Branch { .. }
                    | ReviewScope::BranchWithWorktree { .. }
                    | ReviewScope::Range { from_merge_base: true, .. }
            ),
            checkout: self.checkout(range.new_at, &policy)?,
            cancel: cancel.clone(),
            builds: None,
            languages: None,
            limits: self.limits,
        })
    }

    fn collect(
        &self,
        range: &ResolvedRange,
        policy: &ReadingPolicy,
        cancel: &Cancel,
    ) -> Result<Arc<OpenedChange>, AppError> {
        let options = settings::options(&policy.settings)?;
        let set = Arc::new(git::collect(&*self.pool.acquire()?, range, &options, cancel, &NullEventSink)?);
        let ends = RangeEnds { new_at: range.new_at, settings_at: range.settings_at };
        let new = self.tree(ends, policy, cancel)?;
        let old = self.open(range.old_at, DiffSide::Old, policy)?;
        Ok(Arc::new(OpenedChange { set, new, old }))
    }
}

/// Checks whether the error means that the scope has no base to compare with.
pub(in crate::app) fn has_no_target(error: &AppError) -> bool {
    matches!(error, AppError::Git(GitError::NoTarget { .. } | GitError::TargetIsHead { .. }))
}
