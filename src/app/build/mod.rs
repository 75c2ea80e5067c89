//! The project's own builds, tests and linters, run on request: from the command line and over MCP. Main functions: [`build`],
//! [`list_tools`], [`trust`].
//!
//! Nothing of a repository runs unless somebody asked for that tool. How a tool runs and what its output means belongs in `build`; the
//! checks of a review belong in `prepare::checks`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::context::environment::ProcessEnv;
use super::context::error::AppError;
use super::prepare::build_tools;
pub use super::prepare::build_tools::{BuildUseError, TrustedTools, list_tools, trust};
use crate::build::{BuildRequest, BuildRuns, BuildRunsError, places};
use crate::domain::build::{
    BuildAnswer, BuildDiagnostic, CONFIRMATION_REQUIRED, EXECUTION_ERROR, INVALID_CWD, LogPage, RawPage, UNKNOWN_TOOL,
};
use crate::sys::blocking;
use crate::sys::cancel::Cancel;

/// Default time limit of a run.
pub const BUILD_TIMEOUT: Duration = Duration::from_mins(20);

/// A request to run a tool.
#[derive(Debug, Clone)]
pub struct BuildAsk {
    /// Its name.
    pub tool: String,
    /// The arguments behind its own.
    pub arguments: Vec<String>,
    /// The repository.
    pub root: PathBuf,
    /// The folder to run in; below the repository.
    pub directory: PathBuf,
    /// `true` if the caller agrees that files of the project change.
    pub is_confirmed: bool,
    /// `true` if it may use the network.
    pub network: bool,
    /// Time limit.
    pub timeout: Duration,
}

/// How a run went, for an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildOutcome {
    /// The tool says that all is well.
    Passed,
    /// It says that something is wrong.
    Failed,
    /// It was not run: there is no such tool, or it may not run so.
    Refused,
    /// It did not run to its end.
    Unfinished,
}

/// A run with its answer.
#[derive(Debug, Clone)]
pub struct BuildReport {
    /// The answer.
    pub answer: BuildAnswer,
    /// How it went.
    pub outcome: BuildOutcome,
}

impl BuildReport {
    fn refused(code: &str, message: impl Into<String>) -> Self {
        let answer = BuildAnswer::failed("", BuildDiagnostic::of(code, message));
        Self { answer, outcome: BuildOutcome::Refused }
    }
}

/// Runs a tool and returns what it says. It blocks until the tool ends, the time is over or `cancel` stops; `on_line` gets each line of its
/// output.
pub fn build(ask: &BuildAsk, around: &ProcessEnv, cancel: &Cancel, on_line: &mut dyn FnMut(&str)) -> BuildReport {
    let (root, directory) = match confine(&ask.root, &ask.directory) {
        Ok(folders) => folders,
        Err(why) => return BuildReport::refused(INVALID_CWD, why),
    };
    let tool = match build_tools::find(&ask.tool, &root, around) {
        Ok(tool) => tool,
        Err(BuildUseError::Unknown { name }) => {
            return BuildReport::refused(UNKNOWN_TOOL, format!("Unknown tool: {name}"));
        }
        Err(error) => return BuildReport::refused(EXECUTION_ERROR, error.to_string()),
    };
    if (tool.mutates || places::writes(&tool.program, &ask.arguments)) && !ask.is_confirmed {
        let message = format!(
            "{} changes files of the project: confirm it (confirmed: true, or --confirm), or leave it to the user",
            tool.name
        );
        return BuildReport::refused(CONFIRMATION_REQUIRED, message);
    }
    let network = ask.network || tool.network;
    let (arguments, timeout) = (ask.arguments.clone(), ask.timeout);
    let request = BuildRequest { tool, arguments, directory, root, timeout, network, is_strict: false };
    let runs = BuildRuns::at(&around.state);
    // What stays is tried again the next time.
    let _ = runs.sweep(std::time::SystemTime::now());
    match crate::build::run(&request, &runs, cancel, on_line) {
        Ok(ended) if ended.is_whole() => {
            let answer = BuildAnswer::of(ended.success, &ended.run, &ended.diagnostics, ended.summary);
            let outcome = if ended.success { BuildOutcome::Passed } else { BuildOutcome::Failed };
            BuildReport { answer: answer.with_notes(ended.notes), outcome }
        }
        Ok(ended) => {
            let mut answer = BuildAnswer::of(false, &ended.run, &ended.diagnostics, ended.summary);
            let why = format!("Execution failed: {}", ended.describe_end());
            answer.errors.get_or_insert_default().insert(0, BuildDiagnostic::of(EXECUTION_ERROR, why));
            BuildReport { answer: answer.with_notes(ended.notes), outcome: BuildOutcome::Unfinished }
        }
        Err(fault) => {
            let diagnostic = BuildDiagnostic::of(EXECUTION_ERROR, format!("Execution failed: {fault}"));
            let answer = BuildAnswer::failed(fault.run().unwrap_or_default(), diagnostic);
            let outcome = if fault.is_refusal() { BuildOutcome::Refused } else { BuildOutcome::Unfinished };
            BuildReport { answer, outcome }
        }
    }
}

/// Runs a tool on a thread of its own.
pub async fn run_build(
    ask: BuildAsk,
    around: ProcessEnv,
    cancel: Cancel,
    mut on_line: impl FnMut(&str) + Send + 'static,
) -> Result<BuildReport, AppError> {
    // It ends the processes of the tool itself when `cancel` stops; abandoning it would leave them.
    let work = move || build(&ask, &around, &cancel, &mut on_line);
    Ok(blocking::run("the tool", &Cancel::never(), work).await?)
}

/// Reads lines of the log of a run; also of one that still runs.
pub fn build_log(around: &ProcessEnv, run: &str, start: i64, count: i64) -> Result<LogPage, BuildRunsError> {
    BuildRuns::at(&around.state).lines(run, Some(start), Some(count))
}

/// Reads bytes of the log of a run.
pub fn build_raw(around: &ProcessEnv, run: &str, offset: u64, length: i64) -> Result<RawPage, BuildRunsError> {
    BuildRuns::at(&around.state).raw(run, offset, Some(length))
}

/// Returns the repository and the folder to run in, without links; the error says why a tool cannot run there.
fn confine(root: &Path, directory: &Path) -> Result<(PathBuf, PathBuf), String> {
    let resolve = |folder: &Path| {
        let shown = folder.display();
        let whole = folder.canonicalize().map_err(|_| format!("Invalid cwd: {shown} is not there"))?;
        if whole.is_dir() { Ok(whole) } else { Err(format!("Invalid cwd: {shown} is no folder")) }
    };
    let root = resolve(root)?;
    // A relative folder is one of the repository.
    let directory = resolve(&root.join(directory))?;
    if directory.starts_with(&root) {
        Ok((root, directory))
    } else {
        Err(format!("Invalid cwd: {} is not below the repository", directory.display()))
    }
}

/// Finds the repository of a folder.
pub fn build_root(directory: &Path) -> Result<PathBuf, AppError> {
    let repo = crate::sys::repo::Repo::open(directory)?;
    Ok(repo.workdir().unwrap_or(repo.git_dir()).to_owned())
}
