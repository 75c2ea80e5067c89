//! Results of the engine's tools for the model. Main types: [`EngineToolResponse`], [`CallEffect`].

use serde_json::{Map, Value};

use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::text::mask;
use crate::tools::ToolFault;

/// Result of a call of one of the engine's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineToolResponse {
    /// Exactly what the model sees: one JSON object.
    pub text: String,
    /// `true` if the call itself was wrong. A rejected report is no error: it was recorded.
    pub is_error: bool,
    /// Effect on the review.
    pub effect: CallEffect,
}

/// Effect of a call on the review.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what some fields are")]
pub enum CallEffect {
    /// No effect that must be reported.
    None,
    /// A claim was verified and became a finding.
    Finding {
        /// Name for the model (`F1`).
        id: String,
        title: String,
        severity: Severity,
        path: RepoPath,
        /// First line, if any.
        line: Option<u32>,
    },
    /// A claim was not verified.
    Withheld {
        title: String,
        /// Reason, one line.
        reason: String,
    },
    /// The review is over.
    Finished,
}

impl From<ToolFault> for EngineToolResponse {
    fn from(fault: ToolFault) -> Self {
        Self { text: mask_secrets(fault).to_json().to_string(), is_error: true, effect: CallEffect::None }
    }
}

/// Returns a fault that repeats no secret of what it is about.
pub(super) fn mask_secrets(fault: ToolFault) -> ToolFault {
    ToolFault { message: mask(&fault.message).text, ..fault }
}

/// Result under construction.
#[derive(Debug, Default)]
pub(super) struct ResponseFields(Map<String, Value>);

impl ResponseFields {
    pub(super) fn status(word: &str) -> Self {
        Self::default().with_field("status", word)
    }

    pub(super) fn with_field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn with_optional_field(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with_field(name, value),
            None => self,
        }
    }

    /// Adds remarks, in the format of the reading tools.
    pub(super) fn notes(self, notes: &[String]) -> Self {
        if notes.is_empty() { self } else { self.with_field("note", notes.join(" ")) }
    }

    pub(super) fn answer(self) -> EngineToolResponse {
        self.with_effect(CallEffect::None)
    }

    pub(super) fn with_effect(self, effect: CallEffect) -> EngineToolResponse {
        EngineToolResponse { text: Value::Object(self.0).to_string(), is_error: false, effect }
    }

    pub(super) fn error(self, effect: CallEffect) -> EngineToolResponse {
        EngineToolResponse { is_error: true, ..self.with_effect(effect) }
    }
}
