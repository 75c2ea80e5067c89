//! Saved runs of tools: `builds/<id>/` below the state folder, with the log, its index, the diagnostics and what ran. Main type:
//! [`BuildRuns`].
//!
//! A folder has mode 0700, a file 0600. The process of a run keeps `run.lock` locked: an unfinished run without that is an orphan. What stands
//! in a folder is not trusted: it is read through no link, and never without a limit. Parsing logs belongs in `parsers`.

mod index;
mod page;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::build::{LogPage, RawPage};
use crate::domain::diagnostic::Diagnostic;
use crate::sys::clock;
use crate::sys::contained_folder::{ContainedFolder, Kind, ReadFile};
use crate::sys::files::{self, FileError};
use crate::sys::process::StopCause;
use index::LogIndex;

pub use write::BuildRunWriter;

/// Default number of lines of a page of a log.
pub const DEFAULT_LINES: u64 = 50;
/// Maximum number of lines of a page of a log.
pub const MOST_LINES: u64 = 500;
/// Default number of bytes of a page of raw bytes.
pub const DEFAULT_BYTES: u64 = 4096;
/// Maximum number of bytes of a page of raw bytes.
pub const MOST_BYTES: u64 = 65_536;
/// The time for which runs are kept.
pub const KEPT_FOR: Duration = Duration::from_hours(14 * 24);

const LOG: &str = "raw.log";
const INDEX: &str = "raw.index.json";
const DIAGNOSTICS: &str = "diagnostics.json";
const META: &str = "meta.json";
const LOCK: &str = "run.lock";
/// Upper bound on the bytes of an index or of a description of a run.
const MOST_DOCUMENT: u64 = 4 << 20;

/// Why saved runs cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BuildRunsError {
    #[error("Invalid runId: {0}")]
    InvalidId(String),
    #[error("Run not found: {0}")]
    NotFound(String),
    #[error("startLine must be >= 1")]
    InvalidStart,
    /// Another process changed or damaged it.
    #[error("the run {id} has no usable {file} ({reason}); run the tool again")]
    Damaged { id: Uuid, file: &'static str, reason: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the run cannot be described in JSON: {0}; use paths in UTF-8")]
    Json(#[from] serde_json::Error),
}

impl BuildRunsError {
    /// Returns the code that callers know it by, where it has one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::InvalidId(_) => Some("INVALID_RUN_ID"),
            Self::NotFound(_) => Some("RUN_NOT_FOUND"),
            Self::InvalidStart => Some("INVALID_START_LINE"),
            Self::Damaged { .. } | Self::File(_) | Self::Json(_) => None,
        }
    }
}

/// The record of a run: its command, and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildMeta {
    /// The id of the run.
    pub run_id: Uuid,
    /// The name of the tool.
    pub tool: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended; `None` as long as it runs, and forever if its process died.
    pub completed_at: Option<String>,
    /// The exit code; `None` as well if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The reason why it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopCause>,
    /// The working directory.
    pub cwd: String,
    /// The program and all its arguments.
    pub command: Vec<String>,
    /// The process that runs it.
    pub pid: u32,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildRunState {
    /// Its process is alive.
    Running,
    /// Its process died before it ended.
    Orphaned,
    /// It ended.
    Completed,
}

/// The saved runs below one folder.
#[derive(Debug, Clone)]
pub struct BuildRuns {
    root: PathBuf,
}

impl BuildRuns {
    /// Returns the runs below a state folder; nothing is created until a tool runs.
    pub fn at(state: &Path) -> Self {
        Self { root: state.join("builds") }
    }

    /// Begins a run, in a folder of its own.
    pub fn start(&self, tool: &str, cwd: &Path, command: &[String]) -> Result<BuildRunWriter, BuildRunsError> {
        files::private_folder(&self.root)?;
        let meta = BuildMeta {
            run_id: Uuid::new_v4(),
            tool: tool.to_owned(),
            started_at: clock::now(),
            completed_at: None,
            exit_code: None,
            signal: None,
            stopped: None,
            cwd: cwd.to_string_lossy().into_owned(),
            command: command.to_vec(),
            pid: std::process::id(),
        };
        BuildRunWriter::start(self.folder(meta.run_id), meta)
    }

    /// Saves what the parsers found.
    pub fn save_diagnostics(&self, id: &str, diagnostics: &[Diagnostic]) -> Result<(), BuildRunsError> {
        let (id, _) = self.find(id)?;
        Ok(files::write_private(&self.folder(id).join(DIAGNOSTICS), &serde_json::to_vec(diagnostics)?)?)
    }

    /// Reads what ran, and how far it is.
    pub fn meta(&self, id: &str) -> Result<(BuildMeta, BuildRunState), BuildRunsError> {
        let (id, runs) = self.find(id)?;
        let missing = || BuildRunsError::Damaged { id, file: META, reason: "it is missing".to_owned() };
        let meta: BuildMeta = document(&runs, id, META)?.ok_or_else(missing)?;
        let state = match &meta.completed_at {
            Some(_) => BuildRunState::Completed,
            None if self.is_running(id, &runs) => BuildRunState::Running,
            None => BuildRunState::Orphaned,
        };
        Ok((meta, state))
    }

    /// Reads lines of a log: `count` of them, [`MOST_LINES`] at most, from the number `start`, which begins at 1.
    pub fn lines(&self, id: &str, start: Option<i64>, count: Option<i64>) -> Result<LogPage, BuildRunsError> {
        let (id, runs) = self.find(id)?;
        let start = u64::try_from(start.unwrap_or(1)).ok().filter(|start| *start >= 1);
        let start = start.ok_or(BuildRunsError::InvalidStart)?;
        let count = clamped(count, DEFAULT_LINES, MOST_LINES);
        // Without a usable index the log is counted from its beginning.
        let index = document::<LogIndex>(&runs, id, INDEX).ok().flatten().unwrap_or_default();
        let page = open_log(&runs, id).and_then(|mut log| page::lines(&mut log, &index, start, count));
        page.map_err(|error| damaged(id, LOG, &error))
    }

    /// Reads bytes of a log as text: `length` of them, [`MOST_BYTES`] at most, from the byte `offset`. A character is not cut in two.
    pub fn raw(&self, id: &str, offset: u64, length: Option<i64>) -> Result<RawPage, BuildRunsError> {
        let (id, runs) = self.find(id)?;
        let length = clamped(length, DEFAULT_BYTES, MOST_BYTES);
        let page = open_log(&runs, id).and_then(|mut log| page::raw(&mut log, offset, length));
        page.map_err(|error| damaged(id, LOG, &error))
    }

    /// Removes the runs that ended more than [`KEPT_FOR`] before `now`, and the orphans that began before that; returns their number.
    pub fn sweep(&self, now: SystemTime) -> Result<usize, BuildRunsError> {
        let stamp = clock::file_time(now);
        let mut removed = 0;
        for folder in files::folders(&self.root)? {
            let Ok((id, runs)) = self.find(&folder.name) else { continue };
            let described = self.meta(&folder.name).ok();
            let since = described.as_ref().map(|(meta, _)| meta.completed_at.as_ref().unwrap_or(&meta.started_at));
            // A run that says nothing usable is as old as its folder.
            let age = since.and_then(|since| clock::between(since, &stamp));
            let age = age.unwrap_or_else(|| now.duration_since(folder.modified).unwrap_or_default());
            if age >= KEPT_FOR && !self.is_running(id, &runs) {
                files::remove_folder(&folder.path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn folder(&self, id: Uuid) -> PathBuf {
        self.root.join(id.hyphenated().to_string())
    }

    /// Opens the folder of all runs, if a run with this id is in it.
    fn find(&self, given: &str) -> Result<(Uuid, ContainedFolder), BuildRunsError> {
        let id = parse(given)?;
        let missing = |_| BuildRunsError::NotFound(given.to_owned());
        let runs = ContainedFolder::new(&self.root).map_err(missing)?;
        match runs.kind(id.hyphenated().to_string().as_bytes()) {
            Ok(Kind::Folder) => Ok((id, runs)),
            _ => Err(BuildRunsError::NotFound(given.to_owned())),
        }
    }

    /// Checks whether the process of a run is alive.
    fn is_running(&self, id: Uuid, runs: &ContainedFolder) -> bool {
        // Where there is none, none is made: nobody holds it.
        matches!(runs.kind(&file(id, LOCK)), Ok(Kind::File { .. }))
            && matches!(files::try_lock(&self.folder(id).join(LOCK)), Ok(None))
    }
}

/// Reads the id of a run: a random UUID as it is usually written.
fn parse(given: &str) -> Result<Uuid, BuildRunsError> {
    let id = Uuid::try_parse(given).ok().filter(|id| id.get_version_num() == 4 && given.len() == 36);
    id.ok_or_else(|| BuildRunsError::InvalidId(given.to_owned()))
}

fn clamped(given: Option<i64>, default: u64, most: u64) -> u64 {
    given.map_or(default, |given| u64::try_from(given).unwrap_or(1).clamp(1, most))
}

fn damaged(id: Uuid, file: &'static str, error: &io::Error) -> BuildRunsError {
    BuildRunsError::Damaged { id, file, reason: error.to_string() }
}

fn file(id: Uuid, name: &str) -> Vec<u8> {
    format!("{}/{name}", id.hyphenated()).into_bytes()
}

fn open_log(runs: &ContainedFolder, id: Uuid) -> io::Result<std::fs::File> {
    runs.open_file(&file(id, LOG))
}

/// Reads a document of a run; `None` where there is none.
fn document<T: serde::de::DeserializeOwned>(
    runs: &ContainedFolder,
    id: Uuid,
    name: &'static str,
) -> Result<Option<T>, BuildRunsError> {
    let fault = |reason: String| BuildRunsError::Damaged { id, file: name, reason };
    let mut buffer = Vec::new();
    match runs.read(&file(id, name), MOST_DOCUMENT, &mut buffer) {
        Ok(ReadFile::Bytes(bytes)) => serde_json::from_slice(bytes).map(Some).map_err(|error| fault(error.to_string())),
        Ok(ReadFile::TooLarge(size)) => Err(fault(format!("it has {size} bytes"))),
        Ok(ReadFile::NotPlain(_)) => Err(fault("it is not a plain file".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(error.to_string())),
    }
}

#[cfg(test)]
mod tests;
