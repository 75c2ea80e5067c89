//! The project's tools, run for a model that reviews: `--allow-build`. Main type: [`AllowedBuilds`].
//!
//! Only the user turns this on, as a setting or a flag. A model reads text that others wrote, so what it runs is held by a sandbox or not run at
//! all, on a copy of the reviewed commit, without network. How a tool runs belongs in `build`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};

use super::build_tools;
use super::build_tree::{BuildTree, CopiedCommit};
use super::change::PreparedChange;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::build::{BuildRequest, BuildRuns, places};
use crate::domain::build::{BuildAnswer, BuildToolList, LogPage};
use crate::domain::path::RepoPath;
use crate::sys::cancel::Cancel;
use crate::tools::{BuildRunner, ErrorKind, ToolFault};

/// The word that allows all tools.
const ALL: &str = "all";
/// Time limit of one run: less than that of a call, so that its end can be said.
const LONGEST: Duration = Duration::from_mins(9);

/// The tools that the user allows, on the files of one review.
struct AllowedBuilds {
    /// The reviewed commit. Tools run on a copy: a model may be talked into anything, and the checkout has a git folder.
    commit: CopiedCommit,
    /// The copy, made when the model first needs it.
    tree: OnceLock<Result<BuildTree, ToolFault>>,
    /// The folder of the user, whose declared tools may be trusted.
    project: PathBuf,
    names: Vec<String>,
    around: ProcessEnv,
    /// Held while a tool runs: one at a time, for they share the files.
    busy: Mutex<()>,
    /// The runs of this review.
    runs: Mutex<Vec<String>>,
}

/// A model may run nothing in a repository that is replayed or only looked at: its recorded results are all there is.
struct RecordedBuilds;

/// Opens what the model may run; `None` if the user allows nothing.
pub(in crate::app) fn open_builds(
    subject: &PreparedChange,
    around: &ProcessEnv,
) -> Result<Option<Arc<dyn BuildRunner>>, AppError> {
    let names = subject.settings.allow_build.clone();
    if names.is_empty() {
        return Ok(None);
    }
    let commit = CopiedCommit::of(subject)?;
    let project = subject.root.as_ref().unwrap_or(&commit.repository).clone();
    for name in names.iter().filter(|name| *name != ALL) {
        build_tools::find(name, &project, around)?;
    }
    let (tree, busy, runs) = (OnceLock::new(), Mutex::default(), Mutex::default());
    Ok(Some(Arc::new(AllowedBuilds { commit, tree, project, names, around: around.clone(), busy, runs })))
}

/// Returns what stands for the tools that a recorded run was allowed.
pub(in crate::app) fn recorded_builds(allowed: &[String]) -> Option<Arc<dyn BuildRunner>> {
    (!allowed.is_empty()).then(|| Arc::new(RecordedBuilds) as Arc<dyn BuildRunner>)
}

impl AllowedBuilds {
    fn allows(&self, name: &str) -> bool {
        self.names.iter().any(|allowed| allowed == ALL || allowed == name)
    }

    /// Returns the folder of the copy.
    fn folder(&self) -> Result<&Path, ToolFault> {
        let copy = || BuildTree::copy(&self.commit, &self.around).map_err(fault);
        self.tree.get_or_init(copy).as_ref().map(|tree| tree.folder.as_path()).map_err(Clone::clone)
    }

    fn add_run(&self, run: &str) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(run.to_owned());
    }
}

fn refuse(message: impl Into<String>) -> ToolFault {
    ToolFault::new(ErrorKind::InvalidInput, message)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn fault(error: impl ToString) -> ToolFault {
    refuse(error.to_string())
}

impl BuildRunner for AllowedBuilds {
    fn list(&self) -> Result<BuildToolList, ToolFault> {
        let root = self.folder()?;
        let mut list = build_tools::list_tools(root, root, false, &self.around).map_err(fault)?;
        let only_looks =
            |name: &str| build_tools::find(name, &self.project, &self.around).is_ok_and(|tool| !tool.mutates);
        list.tools.retain(|tool| self.allows(&tool.name) && only_looks(&tool.name));
        Ok(list)
    }

    fn run(&self, name: &str, folder: &str, arguments: &[String], cancel: &Cancel) -> Result<BuildAnswer, ToolFault> {
        if !self.allows(name) {
            return Err(refuse(format!("{name} may not run here: list those that may with action list")));
        }
        let root = self.folder()?;
        let directory = match folder {
            "." => root.to_owned(),
            folder => root.join(RepoPath::parse(folder)?.display_name().as_ref()),
        };
        let directory = directory.canonicalize().ok().filter(|real| real.is_dir() && real.starts_with(root));
        let directory = directory.ok_or_else(|| refuse(format!("{folder} is no folder of the repository")))?;
        let tool = build_tools::find(name, &self.project, &self.around).map_err(fault)?;
        if tool.mutates || places::writes(&tool.program, arguments) {
            return Err(refuse(format!("{name} changes files of the project, which is left to people")));
        }
        let _busy = match self.busy.try_lock() {
            Ok(busy) => busy,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(refuse("another tool runs: one at a time, so call it again when that has ended"));
            }
        };
        let request = BuildRequest {
            tool,
            arguments: arguments.to_vec(),
            directory,
            root: root.to_owned(),
            timeout: LONGEST,
            network: false,
            is_strict: true,
        };
        let runs = BuildRuns::at(&self.around.state);
        // What stays is tried again the next time.
        let _ = runs.sweep(SystemTime::now());
        match crate::build::run(&request, &runs, cancel, &mut |_| {}) {
            Ok(ended) if ended.is_whole() => {
                self.add_run(&ended.run);
                let answer = BuildAnswer::of(ended.success, &ended.run, &ended.diagnostics, ended.summary);
                Ok(answer.with_notes(ended.notes))
            }
            Ok(ended) => {
                self.add_run(&ended.run);
                Err(refuse(format!("{name} did not run to its end: {} (run {})", ended.describe_end(), ended.run)))
            }
            Err(fault) => Err(refuse(format!("{name} was not run: {fault}"))),
        }
    }

    fn log(&self, run: &str, start: u32, count: u32) -> Result<LogPage, ToolFault> {
        let is_own = self.runs.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|made| made == run);
        if !is_own {
            return Err(refuse(format!("{run} is no run of this session: run the tool again")));
        }
        let page = BuildRuns::at(&self.around.state).lines(run, Some(start.into()), Some(count.into()));
        page.map_err(fault)
    }
}

impl BuildRunner for RecordedBuilds {
    fn list(&self) -> Result<BuildToolList, ToolFault> {
        Err(refuse(NOTHING))
    }

    fn run(&self, _: &str, _: &str, _: &[String], _: &Cancel) -> Result<BuildAnswer, ToolFault> {
        Err(refuse(NOTHING))
    }

    fn log(&self, _: &str, _: u32, _: u32) -> Result<LogPage, ToolFault> {
        Err(refuse(NOTHING))
    }
}

const NOTHING: &str = "nothing runs while a recorded run is replayed";
