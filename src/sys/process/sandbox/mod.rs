//! The permissions of a program that a supervisor starts. Main types: [`SandboxSpec`], [`SandboxReport`].
//!
//! On Linux its files are limited by Landlock, and where there is no network for it, it gets a network namespace with nothing but a loopback
//! of its own. Elsewhere there is no sandbox, and the report says so. Starting and ending it belongs in `supervisor`.
//!
//! Not limited: what a program may do to the folders that it may write, a checkout's `.git` among them; sockets in folders other than `/run`
//! on kernels before 7.1, which can be connected to by whoever knows their path.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
mod landlocked;
#[cfg(target_os = "linux")]
mod namespaces;

#[cfg(target_os = "linux")]
pub(super) use landlocked::restrict;
#[cfg(target_os = "linux")]
pub(super) use namespaces::{Isolation, isolate};

/// How much is required of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxLevel {
    /// None is wanted. Nothing outlives a program all the same that does not attack its supervisor.
    Off,
    /// As much as the system can enforce; the report says what that is.
    BestEffort,
    /// A program is not started where something cannot be enforced.
    Strict,
}

/// The permissions of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// How much is required.
    pub level: SandboxLevel,
    /// Folders and files that it may read and run, besides those of the system (toolchains in the home).
    pub read: Vec<PathBuf>,
    /// Folders that it may write as well: the work folder, caches of tools.
    pub write: Vec<PathBuf>,
    /// A folder for its temporary files. It stands in for `/tmp` where that can be and nothing else there is granted: not every program
    /// asks `TMPDIR`.
    pub temporary: Option<PathBuf>,
    /// `true` if it may use the network.
    pub network: bool,
    /// The most processes at a time; with more, everything is ended.
    pub processes: usize,
    /// The most bytes of a file that it writes.
    pub file_bytes: u64,
}

impl SandboxSpec {
    /// The usual limits: no network, 1000 processes, files of 8 GiB, and nothing that may be written.
    pub fn new(level: SandboxLevel) -> Self {
        let (read, write, temporary) = (Vec::new(), Vec::new(), None);
        Self { level, read, write, temporary, network: false, processes: 1000, file_bytes: 8 << 30 }
    }

    /// Checks whether what was enforced is all that is required.
    pub(super) fn accepts(&self, report: &SandboxReport) -> bool {
        self.level != SandboxLevel::Strict || report.files && (report.network || self.network)
    }
}

/// The limits that were enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// `true` if it could read and write only what it may.
    pub files: bool,
    /// `true` if it had no network at all.
    pub network: bool,
    /// The same in words.
    pub words: String,
}

#[cfg(not(target_os = "linux"))]
pub(super) use NoIsolation as Isolation;

/// The isolation of a system that has none.
#[cfg(not(target_os = "linux"))]
pub(super) struct NoIsolation {
    /// The folder of temporary files in its place: none.
    pub(super) temporary: Option<PathBuf>,
}

#[cfg(not(target_os = "linux"))]
pub(super) fn isolate(_: &SandboxSpec) -> NoIsolation {
    NoIsolation { temporary: None }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn restrict(_: &SandboxSpec, _: &NoIsolation) -> SandboxReport {
    SandboxReport { files: false, network: false, words: "there is no sandbox on this system".to_owned() }
}
