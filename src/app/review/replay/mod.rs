//! Replays a run: `review replay`. Main functions: [`replay`], [`compare`].
//!
//! No request is made and no repository is needed: the run's folder has all external inputs. The same binary produces the same bytes; with
//! other prompts or rules, the changed requests are reported. Diffs belong in `difference`.

mod difference;
mod error;
mod unreachable;

use crate::app::prepare::rule_files;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use difference::{ChangedRequest, RequestPart};
pub use error::ReplayError;

use super::resume::{READING_RUN, RecordedRun, ResumeError};
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::app::context::prompts;
use crate::app::prepare::builds::recorded_builds;
use crate::app::prepare::inputs::PROGRAM;
use crate::app::prepare::inputs::RecordedCandidate;
use crate::app::prepare::inputs::RunInputs;
use crate::app::prepare::packs;
use crate::domain::event::NullEventSink;
use crate::domain::place::{DiffSide, WorkspaceAt};
use crate::domain::review::Review;
use crate::domain::run::RunId;
use crate::present::{RenderOptions, json, presenter};
use crate::prompt::Prompts;
use crate::review::{self, FailoverCandidate, JournalReplay, ModelRun, VerificationSettings};
use crate::rules::Packs;
use crate::sys::blocking;
use crate::sys::cancel::Cancel;
use crate::sys::repo::{Repo, RepoPool};
use crate::tools::{Checkout, ToolContext, ToolLimits, Toolbox};
use crate::workspace::memory::MemoryTree;
use crate::workspace::{self, Workspace};
use unreachable::UnreachableModel;

/// A replayed run.
#[derive(Debug)]
pub struct ReplayResult {
    /// The review.
    pub review: Review,
    /// The difference from the saved review, if any, as a unified diff of their documents.
    pub difference: Option<String>,
    /// The probable cause of the difference, if known: a sentence.
    pub because: Option<String>,
}

/// The requests that would change with other prompts or rules.
#[derive(Debug)]
pub struct RequestComparison {
    /// The run.
    pub run: RunId,
    /// The number of compared requests.
    pub requests: u32,
    /// The changed ones, by conversation and turn.
    pub changed: Vec<ChangedRequest>,
}

/// The options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct ComparisonOptions {
    /// A folder with prompts.
    pub prompts: Option<PathBuf>,
    /// A folder with rule packs.
    pub rules: Option<PathBuf>,
}

/// Replays a run, found by its id, a prefix of it, or `last`, and compares the result with the saved review.
pub async fn replay(around: &ProcessEnv, name: &str, cancel: &Cancel) -> Result<ReplayResult, AppError> {
    let opened = open(around, name, cancel).await?;
    let store = around.store.clone();
    let run = opened.run;
    let kept = blocking::run(READING_RUN, cancel, move || store.read(run, "review.json")).await??;
    let because = (opened.given.program != PROGRAM)
        .then(|| format!("the run was made with version {} of this program, which is {PROGRAM}", opened.given.program));
    let past = JournalReplay::replay(&opened.entries).map_err(|source| ResumeError::Past { run, source })?;
    let reviewer = opened.given.reviewer.as_ref().ok_or(ReplayError::Rules(run))?;
    let prompts = reviewer.prompts()?;
    let packs = packs::load_recorded(&opened.given)?;
    let because = because.or_else(|| {
        let same = packs.hash() == opened.given.rules;
        (!same).then(|| "the rules of this program are not those of then".to_owned())
    });
    let mut review = Box::pin(run_replay(opened, past, prompts, packs, None, cancel)).await?;
    // Facts about the run, which no engine computes.
    if let Ok(saved) = json::parse(&kept) {
        review.coverage.is_standalone = saved.coverage.is_standalone;
        review.coverage.uncommitted = saved.coverage.uncommitted;
    }
    let options = RenderOptions::default();
    let told = presenter("json").map(|presenter| (presenter.render)(&review, &options)).unwrap_or_default();
    let difference = (told != kept).then(|| difference::diff_documents(&kept, &told));
    let because = because.filter(|_| difference.is_some());
    Ok(ReplayResult { review, difference, because })
}

/// Determines which requests of a run would change with these prompts and rules. No model is called.
pub async fn compare(
    around: &ProcessEnv,
    name: &str,
    with: ComparisonOptions,
    cancel: &Cancel,
) -> Result<RequestComparison, AppError> {
    let opened = open(around, name, cancel).await?;
    let run = opened.run;
    let reviewer = opened.given.reviewer.as_ref().ok_or(ReplayError::Rules(run))?;
    let prompts = match &with.prompts {
        Some(folder) => own_prompts(folder)?.salted(&reviewer.salt),
        None => reviewer.prompts()?,
    };
    let (past, differences) =
        JournalReplay::compare(&opened.entries).map_err(|source| ResumeError::Past { run, source })?;
    let (packs, past, trees) = match &with.rules {
        None => (packs::load_recorded(&opened.given)?, past, None),
        Some(folder) => {
            let packs = own_rules(&opened.given, folder)?;
            (packs, past.rerunning_rules(), Some(trees(&opened)?))
        }
    };
    Box::pin(run_replay(opened, past, prompts, packs, trees, cancel)).await?;
    let (requests, found) = differences.into_differences();
    Ok(RequestComparison { run, requests, changed: difference::compare_requests(found) })
}

/// Opens a run that ended.
async fn open(around: &ProcessEnv, name: &str, cancel: &Cancel) -> Result<RecordedRun, AppError> {
    let (store, name) = (around.store.clone(), name.to_owned());
    let work = move || {
        let run = store.find(&name)?;
        RecordedRun::read(&store, run).map_err(|error| match error.of_use_case() {
            Some(ResumeError::Rules(run)) => ReplayError::Rules(*run).into(),
            _ => error,
        })
    };
    let opened = blocking::run(READING_RUN, cancel, work).await??;
    if opened.review.is_none() {
        return Err(ReplayError::Unfinished(opened.run).into());
    }
    Ok(opened)
}

/// The new tree and the old one.
type ReplayTrees = (Arc<dyn Workspace>, Arc<dyn Workspace>);

/// Runs the engine on the journal. The trees are read only if `trees` requires them; nothing else is read.
async fn run_replay(
    opened: RecordedRun,
    past: JournalReplay,
    prompts: Prompts,
    packs: Packs,
    trees: Option<ReplayTrees>,
    cancel: &Cancel,
) -> Result<Review, AppError> {
    let RecordedRun { run, started_at, given, change, known, .. } = opened;
    let reviewer = given.reviewer.ok_or(ReplayError::Rules(run))?;
    let second_look = reviewer.second_look.as_ref().map(|look| VerificationSettings {
        which: look.which,
        provider: Arc::new(UnreachableModel(look.model.clone())),
        limits: look.limits.limits(),
    });
    let runner = |next: &RecordedCandidate| FailoverCandidate {
        provider: Arc::new(UnreachableModel(next.model.clone())),
        limits: next.limits.limits(),
    };
    let next = reviewer.next.iter().map(runner).collect();
    let change = Arc::new(change);
    let empty = || (Arc::new(MemoryTree::default()) as Arc<dyn Workspace>, Arc::new(MemoryTree::default()) as _);
    let (new, old) = trees.unwrap_or_else(empty);
    let tools = Toolbox::new(ToolContext {
        change: Some(Arc::clone(&change)),
        new: Arc::clone(&new),
        old: Some(Arc::clone(&old)),
        diff: None,
        from_merge_base: false,
        checkout: Checkout::default(),
        builds: recorded_builds(&given.shaping.allow_build),
        cancel: cancel.clone(),
        languages: None,
        limits: ToolLimits::default(),
    });
    let input = ModelRun {
        run,
        change,
        new,
        old,
        tools,
        packs,
        reports: given.reports,
        provider: Arc::new(UnreachableModel(reviewer.model.clone())),
        next,
        relay: review::Failover::default(),
        prompts,
        instructions: reviewer.instructions().map(|instructions| instructions.text),
        guidelines: Arc::new(reviewer.guidelines.clone()),
        limits: reviewer.last_limits.limits(),
        pool: None,
        second_look,
        floor: given.shaping.threshold(),
        known,
        past,
        notes: given.notes,
        started: (started_at, Instant::now()),
        cancel: cancel.clone(),
        events: Arc::new(NullEventSink),
        journal: None,
    };
    Ok(review::review_with_model(input, None).await?)
}

/// Opens the trees of a run, if its commits still exist.
fn trees(opened: &RecordedRun) -> Result<ReplayTrees, AppError> {
    let (run, change, given) = (opened.run, &opened.change, &opened.given);
    let gone = |why: String| ReplayError::NoTrees { run, why };
    let place = match change.new_at {
        WorkspaceAt::Revision(_) | WorkspaceAt::Empty => given.repository.as_ref(),
        WorkspaceAt::Index | WorkspaceAt::Worktree | WorkspaceAt::PatchOnly => {
            return Err(ReplayError::NotCommitted(run).into());
        }
    };
    let place = place.ok_or_else(|| gone("nobody kept where it is".to_owned()))?;
    let pool = RepoPool::new(Repo::open(Path::new(place)).map_err(|error| gone(error.to_string()))?);
    let filter = given.shaping.filter()?;
    let open = |at, side| workspace::open(Some(&pool), at, side, &[], filter.clone());
    let new = open(change.new_at, DiffSide::New).map_err(|error| gone(error.to_string()))?;
    let old = open(change.old_at, DiffSide::Old).map_err(|error| gone(error.to_string()))?;
    Ok((new, old))
}

/// Loads the prompts of a folder, which must have some.
fn own_prompts(folder: &Path) -> Result<Prompts, AppError> {
    let prompts = prompts::load(Some(folder))?;
    let is_same = prompts.hash() == Prompts::built_in()?.hash();
    let has_one = Prompts::names().any(|name| folder.join(name).is_file());
    if is_same && !has_one {
        let (folder, what) = (folder.display().to_string(), "prompts (system.md, change.md, …)");
        return Err(ReplayError::Nothing { folder, what }.into());
    }
    Ok(prompts)
}

/// Loads the rule packs of a folder, which replace built-in ones of the same names or are added.
fn own_rules(given: &RunInputs, folder: &Path) -> Result<Packs, AppError> {
    let found = rule_files::read_folder(folder)?;
    if found.is_empty() {
        let (folder, what) = (folder.display().to_string(), "rule packs (python.yml, python-house.yml, …)");
        return Err(ReplayError::Nothing { folder, what }.into());
    }
    packs::load_recorded_with(given, found)
}
