//! Results of tool calls. Main types: [`ToolOutcome`], [`ToolReply`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer::{self, NextCall, ToolAnswer};
use super::fault::{ErrorKind, ToolFault};
use crate::domain::path::RepoPath;
use crate::domain::place::{DiffSide, LineRange};

/// Result of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// Exactly what the model sees.
    pub text: String,
    /// The same as one JSON object, if `text` is none.
    pub json: Option<String>,
    /// `true` if `text` is an error.
    pub is_error: bool,
    /// The kind of that error.
    pub error: Option<ErrorKind>,
    /// The places that were shown.
    pub references: Vec<ShownLines>,
    /// Description of the omitted part, if any.
    pub cut: Option<Truncation>,
}

impl ToolOutcome {
    /// Returns the result as one JSON object.
    pub fn json(&self) -> &str {
        self.json.as_deref().unwrap_or(&self.text)
    }
}

/// Lines of a file that a model was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownLines {
    /// The file.
    pub path: RepoPath,
    /// The side of the change.
    pub side: DiffSide,
    /// Lines; `None` if no lines in particular were shown.
    pub lines: Option<LineRange>,
    /// Set for a hunk of the diff: then `lines` says where the hunk is, and this how much of it was shown.
    pub hunk: Option<HunkPart>,
    /// Over-long lines of it that were not shown whole: their numbers, or in a hunk their places in its text, from 0.
    pub cut: Vec<u32>,
}

/// Lines of a hunk's text that a model was shown, from 0, the hunk's header not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkPart {
    /// The hunk, from 0.
    pub hunk: usize,
    /// The first line.
    pub from: usize,
    /// First line that was not shown; `None` if it was shown to its end.
    pub to: Option<usize>,
}

/// Part that a response does not show.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncation {
    /// Description, one sentence.
    pub what: String,
    /// Call that shows the rest, if possible.
    pub next: Option<NextCall>,
}

/// Response of a tool before it is serialized.
#[derive(Debug, Clone, Default)]
pub struct ToolReply {
    /// Fields of the response, in order.
    pub fields: Map<String, Value>,
    /// The fields as a model reads them: lines of text.
    pub text: String,
    /// Remarks for the model, each a sentence.
    pub notes: Vec<String>,
    /// The places that are shown.
    pub references: Vec<ShownLines>,
    /// Description of the omitted part.
    pub cut: Option<Truncation>,
}

impl ToolReply {
    /// Creates a reply with these fields, and the text of the same content.
    pub(super) fn of(own: &impl Serialize, text: String) -> Self {
        Self { fields: answer::fields(own), text, ..Self::default() }
    }

    /// Adds a remark.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl From<ToolReply> for ToolOutcome {
    fn from(reply: ToolReply) -> Self {
        let ToolReply { fields, mut text, mut notes, references, cut } = reply;
        if let Some(cut) = &cut {
            notes.insert(0, cut.what.clone());
        }
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        let next = cut.as_ref().and_then(|cut| cut.next.clone());
        let note_line = note.as_ref().map(|note| format!("Note: {note}"));
        for line in note_line.into_iter().chain(next.as_ref().map(NextCall::line)) {
            text.push_str(&line);
            text.push('\n');
        }
        // Only maps with odd keys cannot be serialized, and there are none.
        let json = serde_json::to_string(&ToolAnswer { own: fields, note, next }).unwrap_or_default();
        Self { text, json: Some(json), is_error: false, error: None, references, cut }
    }
}

impl From<ToolFault> for ToolOutcome {
    fn from(fault: ToolFault) -> Self {
        let error = Some(fault.kind);
        Self { text: fault.to_json().to_string(), json: None, is_error: true, error, references: Vec::new(), cut: None }
    }
}
