//! Errors of an evaluation. Main type: [`EvalError`].

use crate::app::context::error::UseCaseError;
use std::path::PathBuf;

use crate::domain::filter::FilterError;
use crate::sys::cancel::CancelReason;
use crate::sys::files::FileError;
use crate::sys::folder::FolderError;

/// The reason why an evaluation cannot start. A case is the user's, so each error names its file and says what to write instead.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EvalError {
    /// The folder has no case.
    #[error("there is no case in {}: a case is a folder in it that holds a case.toml (docs/eval.md)", .0.display())]
    NoCase(PathBuf),
    /// No case matches `--only`.
    #[error("--only {pattern} leaves no case of the {count} in {}", folder.display())]
    NoneLeft { pattern: String, count: usize, folder: PathBuf },
    /// `--only` is no glob.
    #[error("--only: {0}")]
    Only(#[from] FilterError),
    /// A case is malformed.
    #[error("{}: {why}", case.display())]
    Case { case: PathBuf, why: String },
    /// A folder of a case cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file of `--compare` is not an evaluation.
    #[error("{}: {why}; give a file that `review eval --output json=FILE` wrote", file.display())]
    NotEarlier { file: PathBuf, why: String },
}

impl UseCaseError for EvalError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Folder(FolderError::Stopped(CancelReason::Interrupted)) => 130,
            Self::Folder(FolderError::Stopped(CancelReason::DeadlinePassed)) => 3,
            Self::NoCase(_)
            | Self::NoneLeft { .. }
            | Self::Only(_)
            | Self::Case { .. }
            | Self::Folder(_)
            | Self::File(_)
            | Self::NotEarlier { .. } => 2,
        }
    }
}
