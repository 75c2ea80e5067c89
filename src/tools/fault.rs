//! Errors as messages a model can act on. Main type: [`ToolFault`].

use std::io;

use serde_json::{Map, Value};

use crate::domain::path::{PathError, RepoPath};
use crate::sys::cancel::CancelReason;
use crate::workspace::WorkspaceError;

use super::diff_source::DiffError;

/// Kinds of tool errors; the words are part of what models see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No such file or folder.
    FileNotFound,
    /// Lines or hunks that do not exist.
    InvalidRange,
    /// It is there and has no text.
    NotText,
    /// The settings or git's ignore rules leave it out.
    Excluded,
    /// The path leads out of the reviewed tree.
    RefusedPath,
    /// It is too large to read.
    TooLarge,
    /// The repository failed.
    GitFailure,
    /// The disk failed.
    DiskFailure,
    /// The disk does not allow it.
    Permission,
    /// The input does not fit the schema, or makes no sense.
    InvalidInput,
    /// There is no such tool.
    UnknownTool,
    /// The run was stopped.
    Stopped,
}

impl ErrorKind {
    /// Returns the word in the response.
    pub const fn word(self) -> &'static str {
        match self {
            Self::FileNotFound => "file_not_found",
            Self::InvalidRange => "invalid_range",
            Self::NotText => "not_text",
            Self::Excluded => "excluded",
            Self::RefusedPath => "refused_path",
            Self::TooLarge => "too_large",
            Self::GitFailure => "git_failure",
            Self::DiskFailure => "disk_failure",
            Self::Permission => "permission",
            Self::InvalidInput => "invalid_input",
            Self::UnknownTool => "unknown_tool",
            Self::Stopped => "stopped",
        }
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
