//! The window of an editor that shows reviews: the search for it, its generation, its selection. Main types: [`EditorProbe`],
//! [`EditorSelection`].

use std::path::PathBuf;

use serde::Serialize;

use super::words::words;

/// The origin of a path to an editor's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorSource {
    /// `--socket`.
    Flag,
    /// `DIALECTIC_IPC_PATH`.
    Variable,
    /// The socket of an editor that is an ancestor of this process.
    Process,
    /// The bus of the daemon of such an editor.
    Bus,
}

/// A place that was searched for an editor's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorLookup {
    /// The origin of the path.
    pub source: EditorSource,
    /// The path.
    pub path: PathBuf,
    /// The reason why there is no usable socket; `None` if there is one.
    pub fault: Option<String>,
}

words! {
    /// A published generation of the extension, as far as its replies tell.
    pub enum EditorGeneration: as_str {
        /// The first: `present-review`, one message at a time.
        A = "A",
        /// `present_review`, one message at a time; before a review was shown, it may still be the first one.
        B = "A or B",
        /// One message a line.
        CorD = "C or D",
        /// A bus of a daemon.
        E = "E",
        /// It has not answered yet.
        Unknown = "unknown",
    }
}

/// The result of searching for an editor and of asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorProbe {
    /// The places that were searched, in order.
    pub lookups: Vec<EditorLookup>,
    /// The editor, if one was found.
    pub editor: Option<ProbedEditor>,
}

/// An editor that was found and asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedEditor {
    /// Its socket.
    pub path: PathBuf,
    /// The process of the terminal's shell; 0 if unknown.
    pub shell: u32,
    /// Its generation.
    pub generation: EditorGeneration,
    /// The reason why it did not answer; `None` if it did.
    pub fault: Option<String>,
}

/// The selection in an editor; texts are sanitised and bounded, lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub struct EditorSelection {
    pub selected_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u64>,
    /// The line, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_untitled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
