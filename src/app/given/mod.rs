//! The pinned inputs of a run: `given.json`, written to its folder before the engine begins, beside the change. Main type: [`Given`].
//!
//! Together with the journal they suffice to resume or replay a run. The request belongs in `asked`, settings that affect the outcome in
//! `shaping`, the model in `reviewer`; writing and reading the folder in `folder`. No key is in any of them.

mod asked;
mod contents;
mod folder;
mod reviewer;
mod shaping;

use serde::{Deserialize, Serialize};

use crate::rules::{PackFile, Reports};

pub(super) use asked::Asked;
pub(super) use contents::Contents;
pub(super) use folder::{GivenError, NAME, keep, read, update};
pub(super) use reviewer::{GivenRunner, Reviewer, Told};
pub(super) use shaping::Shaping;

/// The version of this program, whose prompts, rules and decisions a run depends on.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The pinned inputs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    /// The version of the program.
    pub(super) program: String,
    /// The request.
    pub(super) asked: Asked,
    /// The settings that affect the outcome.
    pub(super) shaping: Shaping,
    /// The commit from which the project's settings were read.
    pub(super) settings_at: Option<String>,
    /// The repository with the objects: the working tree, or the git folder of a bare one or a mirror.
    pub(super) repository: Option<String>,
    /// The folder of the working tree, if the reviewed state was the one checked out.
    pub(super) root: Option<String>,
    /// The hash of the rule packs.
    pub(super) rules: String,
    /// The rules that are not built in.
    #[serde(default)]
    pub(super) rule_files: Vec<PackFile>,
    /// The model and its context; `None` for the rules engine.
    pub(super) reviewer: Option<Reviewer>,
    /// Hashes that detect changes of uncommitted files.
    pub(super) contents: Contents,
    /// Reports of other scanners on the change.
    #[serde(default, skip_serializing_if = "Reports::is_empty")]
    pub(super) reports: Reports,
    /// Notes for the receipt on the origin of the change.
    pub(super) notes: Vec<String>,
}
