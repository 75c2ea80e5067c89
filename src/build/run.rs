//! One run of a tool, from its name to its diagnostics. Main function: [`run`].

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::declared::ResolvedTool;
use super::environment::{EnvironmentCall, project_programs, tool_environment};
use super::execute::{BuildCall, BuildExit, BuildRun, ExecuteError, execute};
use super::parsers::MOST_DIAGNOSTICS;
use super::places::{self, FilePlaces, RefusedArgument};
use super::runs::{BuildRuns, BuildRunsError};
use super::toolchains;
use super::tools::ArgumentPlace;
use crate::domain::diagnostic::{Diagnostic, DiagnosticSeverity, LogRange, TestSummary};
use crate::sys::cancel::Cancel;
use crate::sys::process::{Environment, Program, SandboxLevel, SandboxSpec, own_executable};

/// Programs that a project may bring a starter of its own for.
const STARTERS: &[(&str, &str)] = &[("gradle", "gradlew"), ("mvn", "mvnw")];

/// A tool to run.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The tool.
    pub tool: ResolvedTool,
    /// The arguments of the caller.
    pub arguments: Vec<String>,
    /// The folder to run in, without links; below `root`.
    pub directory: PathBuf,
    /// The repository's folder, without links.
    pub root: PathBuf,
    /// Time limit.
    pub timeout: Duration,
    /// `true` if it may use the network.
    pub network: bool,
    /// `true` if it may run only where the sandbox holds.
    pub is_strict: bool,
}

/// A run that was started.
#[derive(Debug)]
pub struct EndedBuild {
    /// Its id.
    pub run: String,
    /// `true` if it ran to its end and the tool says that all is well.
    pub success: bool,
    /// The diagnostics, without doubles; files relative to the repository.
    pub diagnostics: Vec<Diagnostic>,
    /// The numbers of the tests.
    pub summary: Option<TestSummary>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// `true` if not all of its output was read.
    is_cut: bool,
    exit: BuildExit,
}

impl EndedBuild {
    /// `true` if the program ran to its end.
    pub fn is_whole(&self) -> bool {
        self.exit.stopped.is_none() && self.exit.code.is_some()
    }

    /// Describes why what a check says is not all: it crashed, could not read its settings, or wrote more than is read.
    pub fn check_fault(&self) -> Option<String> {
        let log = format!("(`review build log {}`)", self.run);
        if self.is_cut {
            return Some(format!("it wrote more than is read {log}"));
        }
        let code = self.exit.code.filter(|code| *code != 0)?;
        let is_placed = |diagnostic: &Diagnostic| diagnostic.file.is_some() && diagnostic.line.is_some();
        let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == DiagnosticSeverity::Error;
        let own = self.diagnostics.iter().filter(is_error).find(|diagnostic| !is_placed(diagnostic));
        match own {
            Some(own) => Some(format!("it ended with exit code {code}: {} {log}", own.message)),
            None if !self.diagnostics.iter().any(is_placed) => {
                Some(format!("it ended with exit code {code} and nothing that could be read {log}"))
            }
            None => None,
        }
    }

    /// Describes why it did not.
    pub fn describe_end(&self) -> String {
        match (self.exit.signal, self.notes.first()) {
            (_, Some(note)) if self.exit.stopped.is_some() => note.clone(),
            (Some(signal), _) => format!("signal {signal} ended it"),
            (None, _) => "it did not run to its end".to_owned(),
        }
    }
}

/// Why a tool was not run.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BuildFault {
    #[error(transparent)]
    Argument(#[from] RefusedArgument),
    /// The run could not be saved.
    #[error(transparent)]
    Runs(#[from] BuildRunsError),
    /// This program does not know where it is.
    #[error("the executable of this program cannot be found: {0}; call it by its whole path")]
    Own(#[from] io::Error),
    /// The program was not found or could not be started.
    #[error("{error}")]
    Program { run: String, error: ExecuteError },
}

impl BuildFault {
    /// `true` if nothing was run: the tool was not found, or its arguments were refused.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Argument(_) => true,
            Self::Runs(_) | Self::Own(_) => false,
            Self::Program { error, .. } => matches!(error, ExecuteError::Empty | ExecuteError::Program(_)),
        }
    }

    /// Returns the run, if there is one with a log.
    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Program { run, .. } => Some(run),
            Self::Argument(_) | Self::Runs(_) | Self::Own(_) => None,
        }
    }
}

/// Runs a tool and reads what it wrote. It blocks until the tool has ended with all of its processes; `on_line` gets each line.
pub fn run(
    request: &BuildRequest,
    runs: &BuildRuns,
    cancel: &Cancel,
    on_line: &mut dyn FnMut(&str),
) -> Result<EndedBuild, BuildFault> {
    let tool = &request.tool;
    places::check_arguments(&tool.program, &request.arguments, tool.place == ArgumentPlace::ScriptFirst)?;
    let environment = environment(&request.directory, &request.root, request.network);
    let program = program_of(&tool.program, &request.directory, &request.root);
    // A program of the project opens nothing: where it leads is the project's choice.
    let found = Program::find(&program, &environment).ok();
    let found = found.as_ref().map(Program::path).filter(|path| !path.starts_with(&request.root));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let open = toolchains::folders(&environment, &path, found, request.is_strict);
    let level = if request.is_strict { SandboxLevel::Strict } else { SandboxLevel::BestEffort };
    let mut write = vec![request.root.clone()];
    write.extend(open.write);
    let sandbox = SandboxSpec { read: open.read, write, network: request.network, ..SandboxSpec::new(level) };
    let mut argv = vec![program];
    argv.extend(arguments(tool, &request.arguments));
    let call = BuildCall {
        environment,
        timeout: request.timeout,
        ..BuildCall::new(&tool.name, argv, request.directory.clone(), sandbox, own_executable()?)
    };
    let mut hear = |_, line: &[u8]| on_line(&String::from_utf8_lossy(line));
    let BuildRun { run_id, exit, log, mut notes, mut is_cut, sandbox, .. } = execute(&call, runs, cancel, &mut hear)?;
    let run = run_id.to_string();
    let exit = exit.map_err(|error| BuildFault::Program { run: run.clone(), error })?;
    if let Some(sandbox) = sandbox.filter(|sandbox| !sandbox.files || !sandbox.network && !request.network) {
        notes.push(format!("the sandbox does not hold all: {}", sandbox.words));
    }
    let (mut diagnostics, mut summary): (Vec<Diagnostic>, _) = (Vec::new(), None);
    let mut known = HashSet::new();
    let files = FilePlaces::new(&request.directory, &request.root);
    for parser in &tool.parsers {
        let parsed = parser(&log);
        summary = summary.or(parsed.summary);
        is_cut |= parsed.diagnostics.len() >= MOST_DIAGNOSTICS;
        for mut diagnostic in parsed.diagnostics {
            diagnostic.file = diagnostic.file.map(|file| files.relative(&file));
            if known.insert(DiagnosticKey::of(&diagnostic)) {
                diagnostics.push(diagnostic);
            }
        }
    }
    runs.save_diagnostics(&run, &diagnostics)?;
    let success = exit.stopped.is_none() && exit.code == Some(0);
    Ok(EndedBuild { run, success, diagnostics, summary, notes, is_cut, exit })
}

/// The parts by which two parsers read the same: one place and one message are one diagnostic; without a file the place in the log counts.
#[derive(PartialEq, Eq, Hash)]
struct DiagnosticKey {
    file: Result<String, Option<LogRange>>,
    place: (Option<u32>, Option<u32>, DiagnosticSeverity),
    message: String,
}

impl DiagnosticKey {
    fn of(diagnostic: &Diagnostic) -> Self {
        Self {
            file: diagnostic.file.clone().ok_or(diagnostic.log_range),
            place: (diagnostic.line, diagnostic.column, diagnostic.severity),
            message: diagnostic.message.clone(),
        }
    }
}

/// Checks whether the program of a tool is found for a folder of a repository.
pub fn finds_program(program: &str, directory: &Path, root: &Path) -> bool {
    let found = program_of(program, directory, root);
    Path::new(&found).is_absolute() || Program::find(&found, &environment(directory, root, false)).is_ok()
}

/// Returns the starter that the project brings for a program, or the program.
fn program_of(program: &str, directory: &Path, root: &Path) -> String {
    let starter = STARTERS.iter().find(|(known, _)| *known == program).map(|(_, starter)| starter);
    let there = starter
        .and_then(|name| [directory, root].map(|folder| folder.join(name)).into_iter().find(|path| path.is_file()));
    there.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| program.to_owned())
}

fn environment(directory: &Path, root: &Path, network: bool) -> Environment {
    // The nearest folder first: a package of a monorepo may have programs of its own.
    let programs = project_programs(directory, root);
    tool_environment(std::env::vars_os(), &EnvironmentCall { programs: &programs, network })
}

fn arguments(tool: &ResolvedTool, own: &[String]) -> Vec<String> {
    let mut all = tool.arguments.clone();
    let (script, rest) = match (tool.place, own) {
        (ArgumentPlace::ScriptFirst, [script, rest @ ..]) => (Some(script), rest),
        _ => (None, own),
    };
    all.extend(script.cloned());
    if tool.place != ArgumentPlace::Last && !rest.is_empty() {
        all.push("--".to_owned());
    }
    all.extend(rest.iter().cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::tools;

    #[test]
    fn arguments_of_a_script_stand_behind_dashes() {
        let words = |name: &str, own: &[&str]| {
            let own: Vec<String> = own.iter().map(|&word| word.to_owned()).collect();
            arguments(&tools::find(name).unwrap().into(), &own).join(" ")
        };
        assert_eq!(words("npm.test", &["--ci"]), "run test -- --ci");
        assert_eq!(words("npm.test", &[]), "run test");
        assert_eq!(words("npm.run", &["lint", "--fix"]), "run lint -- --fix");
        assert_eq!(words("npm.install", &["left-pad"]), "install left-pad");
    }
}
