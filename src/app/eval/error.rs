//! Why cases cannot be evaluated. Main type: [`EvalError`].

use std::path::PathBuf;

use crate::domain::filter::FilterError;
use crate::sys::cancel::Stopped;
use crate::sys::files::FileError;
use crate::sys::folder::FolderError;

/// Why an evaluation cannot begin. A case is the user's, so that each names its file and says what to write instead.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// There is no case to review.
    #[error("there is no case in {}: a case is a folder in it that holds a case.toml (docs/eval.md)", .0.display())]
    NoCase(PathBuf),
    /// `--only` leaves nothing.
    #[error("--only {pattern} leaves no case of the {count} in {}", folder.display())]
    NoneLeft {
        /// What was asked for.
        pattern: String,
        /// How many cases there are.
        count: usize,
        /// Where.
        folder: PathBuf,
    },
    /// `--only` is no glob.
    #[error("--only: {0}")]
    Only(#[from] FilterError),
    /// A case is not written as cases are.
    #[error("{}: {why}", case.display())]
    Case {
        /// The file or folder.
        case: PathBuf,
        /// What is wrong, and what to write.
        why: String,
    },
    /// A folder of a case cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// What `--compare` names is no evaluation.
    #[error("{}: {why}; give a file that `review eval --output json=FILE` wrote", file.display())]
    NotEarlier {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl EvalError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Folder(FolderError::Stopped(Stopped::Interrupted)) => 130,
            Self::Folder(FolderError::Stopped(Stopped::DeadlinePassed)) => 3,
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
