//! A folder to work in, scripts of the shell, and the processes that they leave.

#![allow(clippy::unwrap_used, reason = "nothing here runs outside of a test")]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use review_runner::build::environment::{EnvironmentCall, tool_environment};
use review_runner::build::execute::{BuildCall, BuildRun, ExecuteError, execute};
use review_runner::build::runs::BuildRuns;
use review_runner::sys::cancel::Cancel;
use review_runner::sys::process::{SandboxLevel, SandboxSpec, StreamedError};

/// The executable that has the supervisor in it.
pub const BINARY: &str = env!("CARGO_BIN_EXE_review");

pub struct Place {
    pub folder: tempfile::TempDir,
    pub runs: BuildRuns,
}

impl Place {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    pub fn within(folder: tempfile::TempDir) -> Self {
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::create_dir(folder.path().join("sibling")).unwrap();
        let runs = BuildRuns::at(&folder.path().join("state"));
        Self { folder, runs }
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn call(&self, script: &str) -> BuildCall {
        shell(&self.work(), script)
    }

    pub fn run(&self, call: &BuildCall, cancel: &Cancel) -> BuildRun {
        execute(call, &self.runs, cancel, &mut |_, _| {}).unwrap()
    }
}

/// The strictest level that this kernel can enforce; where that is not all, a sandbox that is required is refused with the reason.
pub fn strictest() -> SandboxLevel {
    static LEVEL: LazyLock<SandboxLevel> = LazyLock::new(|| {
        let place = Place::new();
        let run = place.run(&shell_at(&place.work(), "true", SandboxLevel::Strict), &Cancel::never());
        match run.exit {
            Err(ExecuteError::Streamed(StreamedError::Refused(words))) => {
                assert!(!words.trim().is_empty(), "a refusal says why");
                SandboxLevel::BestEffort
            }
            _ => SandboxLevel::Strict,
        }
    });
    *LEVEL
}

/// Runs a script in a folder, in a sandbox.
pub fn shell(work: &Path, script: &str) -> BuildCall {
    shell_at(work, script, strictest())
}

fn shell_at(work: &Path, script: &str, level: SandboxLevel) -> BuildCall {
    let mut sandbox = SandboxSpec::new(level);
    sandbox.write.push(work.to_owned());
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let environment = tool_environment(std::env::vars_os(), &EnvironmentCall::default());
    let call = BuildCall::new("shell", argv, work.to_owned(), sandbox, PathBuf::from(BINARY));
    BuildCall { environment, timeout: Duration::from_mins(2), ..call }
}

/// Lists the processes with this word in their command line.
pub fn processes(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        std::fs::read(path.join("cmdline")).is_ok_and(|line| memchr::memmem::find(&line, word.as_bytes()).is_some())
    };
    entries.filter(|entry| has(&entry.path())).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Waits until something is so, for a minute at most.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A number of seconds to sleep that nobody else sleeps: it marks a process.
pub fn mark() -> String {
    let bits = uuid::Uuid::new_v4().as_u128();
    format!("9{:011}", bits % 100_000_000_000)
}
