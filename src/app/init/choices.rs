//! The answers of a setup. Main type: [`InitChoices`].

use crate::domain::finding::Severity;

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
