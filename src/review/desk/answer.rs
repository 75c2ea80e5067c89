//! Results of the engine's tools for the model. Main types: [`Answer`], [`Effect`].

use serde_json::{Map, Value};

use crate::domain::finding::Severity;
use crate::domain::path::RepoPath;
use crate::domain::text::mask;
use crate::tools::ToolFault;

/// Result of a call of one of the engine's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Exactly what the model sees: one JSON object.
    pub text: String,
    /// `true` if the call itself was wrong. A rejected report is no error: it was recorded.
    pub is_error: bool,
    /// Effect on the review.
    pub effect: Effect,
}

/// Effect of a call on the review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// No effect that must be reported.
    None,
    /// A claim was verified and became a finding.
    Finding {
        /// Name for the model (`F1`).
        id: String,
        /// Its title.
        title: String,
        /// Severity.
        severity: Severity,
        /// Its file.
        path: RepoPath,
        /// First line, if any.
        line: Option<u32>,
    },
    /// A claim was not verified.
    Withheld {
        /// Its title.
        title: String,
        /// Reason, one line.
        reason: String,
    },
    /// The review is over.
    Finished,
}

impl From<ToolFault> for Answer {
    fn from(fault: ToolFault) -> Self {
        Self { text: masked(fault).to_json().to_string(), is_error: true, effect: Effect::None }
    }
}

/// Returns a fault that repeats no secret of what it is about.
pub(super) fn masked(fault: ToolFault) -> ToolFault {
    ToolFault { message: mask(&fault.message).text, ..fault }
}

/// Result under construction.
#[derive(Debug, Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn status(word: &str) -> Self {
        Self::default().with("status", word)
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds remarks, in the format of the reading tools.
    pub(super) fn notes(self, notes: &[String]) -> Self {
        if notes.is_empty() { self } else { self.with("note", notes.join(" ")) }
    }

    pub(super) fn answer(self) -> Answer {
        self.with_effect(Effect::None)
    }

    pub(super) fn with_effect(self, effect: Effect) -> Answer {
        Answer { text: Value::Object(self.0).to_string(), is_error: false, effect }
    }

    pub(super) fn error(self, effect: Effect) -> Answer {
        Answer { is_error: true, ..self.with_effect(effect) }
    }
}
