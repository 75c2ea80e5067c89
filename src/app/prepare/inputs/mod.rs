//! The pinned inputs of a run: `given.json`, written to its folder before the engine begins, beside the change. Main type: [`RunInputs`].
//!
//! Together with the journal they suffice to resume or replay a run. The request belongs in `asked`, settings that affect the outcome in
//! `shaping`, the model in `reviewer`; writing and reading the folder in `folder`. No key is in any of them.

mod folder;
mod hashes;
mod request;
mod reviewer;
mod settings;

use serde::{Deserialize, Serialize};

use crate::rules::{PackFile, ScannerReports};

pub(in crate::app) use folder::{NAME, RunInputsError, read, save, update};
pub(in crate::app) use hashes::ContentHashes;
pub(in crate::app) use request::RunRequest;
pub(in crate::app) use reviewer::{RecordedCandidate, RecordedReviewer, ReviewerContext};
pub(in crate::app) use settings::PinnedSettings;

/// The version of this program, whose prompts, rules and decisions a run depends on.
pub(in crate::app) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The pinned inputs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::app) struct RunInputs {
    /// The version of the program.
    pub(in crate::app) program: String,
    pub(in crate::app) asked: RunRequest,
    /// The settings that affect the outcome.
    pub(in crate::app) shaping: PinnedSettings,
    /// The commit from which the project's settings were read.
    pub(in crate::app) settings_at: Option<String>,
    /// The repository with the objects: the working tree, or the git folder of a bare one or a mirror.
    pub(in crate::app) repository: Option<String>,
    /// The folder of the working tree, if the reviewed state was the one checked out.
    pub(in crate::app) root: Option<String>,
    /// The hash of the rule packs.
    pub(in crate::app) rules: String,
    /// The rules that are not built in.
    #[serde(default)]
    pub(in crate::app) rule_files: Vec<PackFile>,
    /// The model and its context; `None` for the rules engine.
    pub(in crate::app) reviewer: Option<RecordedReviewer>,
    /// Hashes that detect changes of uncommitted files.
    pub(in crate::app) contents: ContentHashes,
    /// Reports of other scanners on the change.
    #[serde(default, skip_serializing_if = "ScannerReports::is_empty")]
    pub(in crate::app) reports: ScannerReports,
    /// Notes for the receipt on the origin of the change.
    pub(in crate::app) notes: Vec<String>,
    /// The hash of everything that the review depends on, in a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::app) identity: Option<String>,
}
