//! What a run was given: `given.json`, kept in its folder before the engine begins, beside the change. Main type: [`Given`].
//!
//! With the journal it is all that taking a run up again, or telling it again, needs. How it was asked stands in `asked`, what shapes an answer in
//! `shaping`, who reviews in `reviewer`; the writing and reading of the whole folder in `folder`. No key is in any of it.

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

/// The version of this program, on whose prompts, rules and decisions a run hangs.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// What a run was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    /// The version of the program.
    pub(super) program: String,
    /// What was asked for, in which words.
    pub(super) asked: Asked,
    /// The settings that shape an answer.
    pub(super) shaping: Shaping,
    /// The commit from which the project's settings were read.
    pub(super) settings_at: Option<String>,
    /// The repository that has the objects: what is checked out, or the git folder of a bare one or a mirror.
    pub(super) repository: Option<String>,
    /// The folder that was checked out, if what is reviewed is what was there.
    pub(super) root: Option<String>,
    /// The hash of the rule packs.
    pub(super) rules: String,
    /// The rules that did not come with the program.
    #[serde(default)]
    pub(super) rule_files: Vec<PackFile>,
    /// The model, and what it is told beside the change; `None` for the rules engine.
    pub(super) reviewer: Option<Reviewer>,
    /// What tells whether files that are no commit's are still the same.
    pub(super) contents: Contents,
    /// What other scanners report of the change.
    #[serde(default, skip_serializing_if = "Reports::is_empty")]
    pub(super) reports: Reports,
    /// What the receipt says about how the change came here.
    pub(super) notes: Vec<String>,
}
