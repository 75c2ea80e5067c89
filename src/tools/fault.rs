//! Errors as messages a model can act on. Main type: [`ToolFault`].

use std::io;

use serde_json::{Map, Value};

use crate::domain::path::{PathError, RepoPath};
use crate::domain::words::words;
use crate::sys::cancel::CancelReason;
use crate::workspace::WorkspaceError;

use super::diff_source::DiffError;

words! {
    /// Kinds of tool errors; the words are part of what models see.
    pub enum ErrorKind: word {
        /// No such file or folder.
        FileNotFound = "file_not_found",
        /// Lines or hunks that do not exist.
        InvalidRange = "invalid_range",
        /// It is there and has no text.
        NotText = "not_text",
        /// The settings or git's ignore rules leave it out.
        Excluded = "excluded",
        /// The path leads out of the reviewed tree.
        RefusedPath = "refused_path",
        /// It is too large to read.
        TooLarge = "too_large",
        /// The repository failed.
        GitFailure = "git_failure",
        /// The disk failed.
        DiskFailure = "disk_failure",
        /// The disk does not allow it.
        Permission = "permission",
        /// The input does not fit the schema, or makes no sense.
        InvalidInput = "invalid_input",
        /// There is no such tool.
        UnknownTool = "unknown_tool",
        /// The run was stopped.
        Stopped = "stopped",
    }
}

/// An error of a tool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFault {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Message: what happened and what to do, in one or two sentences.
    pub message: String,
    /// Names similar to the requested one.
    pub near: Vec<String>,
    /// Name of the field and number of lines or hunks, for an invalid range.
    pub length: Option<(&'static str, u64)>,
}

impl ToolFault {
    /// Creates an error without particulars.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), near: Vec::new(), length: None }
    }

    /// Creates an error for a missing path or name; `near` are similar names.
    pub(super) fn not_found(message: impl Into<String>, near: &[RepoPath]) -> Self {
        let near = near.iter().map(|path| path.display_name().into_owned()).collect();
        Self { kind: ErrorKind::FileNotFound, message: message.into(), near, length: None }
    }

    /// Creates an error for a range beyond the existing lines or hunks.
    pub(super) fn range(message: impl Into<String>, field: &'static str, length: u64) -> Self {
        Self { length: Some((field, length)), ..Self::new(ErrorKind::InvalidRange, message) }
    }

    /// Returns the error as the model sees it.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("kind".to_owned(), self.kind.word().into());
        error.insert("message".to_owned(), self.message.clone().into());
        if !self.near.is_empty() {
            error.insert("near".to_owned(), self.near.clone().into());
        }
        if let Some((field, length)) = self.length {
            error.insert(field.to_owned(), length.into());
        }
        Value::Object(Map::from_iter([("error".to_owned(), Value::Object(error))]))
    }
}

impl From<PathError> for ToolFault {
    fn from(error: PathError) -> Self {
        let kind = match error {
            PathError::Absolute | PathError::Leaves | PathError::GitFolder => ErrorKind::RefusedPath,
            PathError::Empty | PathError::Malformed | PathError::TooLong | PathError::BadQuoting => {
                ErrorKind::InvalidInput
            }
        };
        Self::new(kind, error.to_string())
    }
}

impl From<CancelReason> for ToolFault {
    fn from(stopped: CancelReason) -> Self {
        Self::new(ErrorKind::Stopped, stopped.to_string())
    }
}

impl From<WorkspaceError> for ToolFault {
    fn from(error: WorkspaceError) -> Self {
        let message = error.to_string();
        let kind = match error {
            WorkspaceError::NotFound(_) => ErrorKind::FileNotFound,
            WorkspaceError::Path(error) => return error.into(),
            WorkspaceError::NotText { .. } => ErrorKind::NotText,
            WorkspaceError::TooLarge { .. } => ErrorKind::TooLarge,
            WorkspaceError::Excluded(_) | WorkspaceError::Ignored(_) => ErrorKind::Excluded,
            WorkspaceError::Repo(_) | WorkspaceError::Told(_) => ErrorKind::GitFailure,
            WorkspaceError::Disk { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => ErrorKind::Permission,
                io::ErrorKind::NotFound => ErrorKind::FileNotFound,
                _ => ErrorKind::DiskFailure,
            },
            WorkspaceError::Stopped(_) => ErrorKind::Stopped,
        };
        Self::new(kind, message)
    }
}

impl From<DiffError> for ToolFault {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Git(message) => Self::new(ErrorKind::GitFailure, message),
            DiffError::Stopped(stopped) => stopped.into(),
        }
    }
}
