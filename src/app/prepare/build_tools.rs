//! The tools of a place: built in, declared by the user, or by the project if the user trusts that. Main functions: [`find`],
//! [`list_tools`], [`trust`].

use std::path::{Path, PathBuf};

use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::UseCaseError;
use crate::build::declared::{self, DeclarationError, MOST_BYTES, PROJECT_FILE};
use crate::build::tools::{self, BuildTool};
use crate::build::{BuildRunsError, ResolvedTool, finds_program};
use crate::config;
use crate::domain::build::{BuildToolList, BuildToolRow};
use crate::sys::files::{self, FileError};

/// The folder of the hashes of trusted files, below the state folder.
const TRUSTED: &str = "trusted";
/// The name of the user's file, beside the settings.
const USER_FILE: &str = "build.toml";

/// Why a tool cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BuildUseError {
    #[error("Unknown tool: {name}")]
    Unknown { name: String },
    /// The project declares it, and nobody has looked.
    #[error(
        "{name} is declared by {PROJECT_FILE} of the repository, which is not trusted: read it, then run `review trust`"
    )]
    Untrusted { name: String },
    /// There is nothing to trust.
    #[error("{} is not there: there is nothing to trust", .0.display())]
    NothingToTrust(PathBuf),
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    #[error(transparent)]
    File(#[from] FileError),
    /// A log could not be read.
    #[error(transparent)]
    Runs(#[from] BuildRunsError),
}

impl UseCaseError for BuildUseError {}

/// The tools that the user now trusts.
#[derive(Debug)]
pub struct TrustedTools {
    /// The file that declares them.
    pub file: PathBuf,
    /// Their names and commands.
    pub tools: Vec<(String, String)>,
}

/// The file of the project with its tools.
struct ProjectTools {
    bytes: Vec<u8>,
    tools: Vec<ResolvedTool>,
}

fn read(path: &Path, shown: &str) -> Result<Option<ProjectTools>, BuildUseError> {
    let Some(bytes) = files::read_plain(path, MOST_BYTES)? else { return Ok(None) };
    let tools = declared::read(shown, &String::from_utf8_lossy(&bytes))?;
    Ok(Some(ProjectTools { bytes, tools }))
}

fn of_user() -> Result<Vec<ResolvedTool>, BuildUseError> {
    let Some(path) = config::user_file().map(|file| file.with_file_name(USER_FILE)) else { return Ok(Vec::new()) };
    Ok(read(&path, &path.display().to_string())?.map_or_else(Vec::new, |file| file.tools))
}

fn of_project(root: &Path) -> Result<Option<ProjectTools>, BuildUseError> {
    read(&root.join(PROJECT_FILE), PROJECT_FILE)
}

fn trusted(root: &Path, bytes: &[u8], around: &ProcessEnv) -> PathBuf {
    let real = files::real_path(root).unwrap_or_else(|_| root.to_owned());
    around.state.join(TRUSTED).join(declared::fingerprint(&real, bytes))
}

/// Finds a tool by its name. The user's come before the project's; nobody can replace one that is built in.
pub(in crate::app) fn find(name: &str, root: &Path, around: &ProcessEnv) -> Result<ResolvedTool, BuildUseError> {
    if let Some(row) = tools::find(name) {
        return Ok(row.into());
    }
    if let Some(tool) = of_user()?.into_iter().find(|tool| tool.name == name) {
        return Ok(tool);
    }
    let Some(project) = of_project(root)? else { return Err(BuildUseError::Unknown { name: name.to_owned() }) };
    let is_trusted = trusted(root, &project.bytes, around).is_file();
    match project.tools.into_iter().find(|tool| tool.name == name) {
        Some(tool) if is_trusted => Ok(tool),
        Some(tool) => Err(BuildUseError::Untrusted { name: tool.name }),
        None => Err(BuildUseError::Unknown { name: name.to_owned() }),
    }
}

/// Lists the tools that apply in a folder of a repository: a file of theirs is there and their program is found. With `all`, all.
pub fn list_tools(
    directory: &Path,
    root: &Path,
    all: bool,
    around: &ProcessEnv,
) -> Result<BuildToolList, BuildUseError> {
    let applies = |tool: &&BuildTool| {
        let is_there = tool.manifests.iter().any(|name| has_file(directory, name) || has_file(root, name));
        all || is_there && finds_program(tool.program, directory, root)
    };
    let row = |name: &str, description: String| BuildToolRow { name: name.to_owned(), description };
    let mut rows: Vec<BuildToolRow> = tools::TOOLS
        .iter()
        .filter(applies)
        .map(|tool| row(tool.name, describe(tool.description, tool.mutates)))
        .collect();
    rows.extend(of_user()?.iter().map(|tool| row(&tool.name, describe(&tool.description, tool.mutates))));
    if let Some(project) = of_project(root)? {
        let is_trusted = trusted(root, &project.bytes, around).is_file();
        let note = if is_trusted { "" } else { " (not trusted: review trust)" };
        let of = |tool: &ResolvedTool| row(&tool.name, format!("{}{note}", describe(&tool.description, tool.mutates)));
        rows.extend(project.tools.iter().map(of));
    }
    Ok(BuildToolList { tools: rows })
}

fn describe(description: &str, mutates: bool) -> String {
    format!("{description}{}", if mutates { " (changes files)" } else { "" })
}

fn has_file(folder: &Path, name: &str) -> bool {
    match name.strip_prefix("*.") {
        None => folder.join(name).is_file(),
        Some(ending) => std::fs::read_dir(folder).is_ok_and(|entries| {
            let is_one = |entry: std::io::Result<std::fs::DirEntry>| {
                entry.is_ok_and(|entry| Path::new(&entry.file_name()).extension().is_some_and(|found| found == ending))
            };
            entries.take(10_000).any(is_one)
        }),
    }
}

/// Trusts the tools that a repository declares, as they are now: another byte in the file, and they are not trusted any more.
pub fn trust(root: &Path, around: &ProcessEnv) -> Result<TrustedTools, BuildUseError> {
    let file = root.join(PROJECT_FILE);
    let Some(project) = of_project(root)? else { return Err(BuildUseError::NothingToTrust(file)) };
    let mark = trusted(root, &project.bytes, around);
    files::private_folder(&around.state.join(TRUSTED))?;
    files::write_private(&mark, file.display().to_string().as_bytes())?;
    let command = |tool: &ResolvedTool| {
        let words = std::iter::once(&tool.program).chain(&tool.arguments).map(String::as_str);
        describe(&words.collect::<Vec<_>>().join(" "), tool.mutates)
    };
    let tools = project.tools.iter().map(|tool| (tool.name.clone(), command(tool))).collect();
    Ok(TrustedTools { file, tools })
}
