//! The answers of a setup, and the places of the files that they are about. Main type: [`InitChoices`].

use crate::domain::finding::Severity;

/// The workflow's path in a repository.
pub(super) const WORKFLOW_PATH: [&str; 3] = [".github", "workflows", "review.yml"];
/// The path of the hook in the git folder.
pub(super) const HOOK_PATH: [&str; 2] = ["hooks", "pre-push"];

/// The answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InitChoices {
    /// The model to set; `None` to leave the setting as it is.
    pub(super) model: Option<String>,
    /// The severity from which the hook stops a push; `None` for no hook.
    pub(super) hook: Option<Severity>,
    /// `true` to write the workflow.
    pub(super) workflow: bool,
}
