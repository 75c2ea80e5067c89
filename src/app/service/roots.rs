//! The folders that a server may look in. Main type: [`Roots`].
//!
//! A client is another program's model; what it names is checked here before anything is opened.

use std::path::{Path, PathBuf};

use crate::sys::files::{self, FileError};
use crate::sys::repo::Repo;

/// The folders below which repositories and documents may lie.
#[derive(Debug, Clone)]
pub struct Roots {
    start: PathBuf,
    allowed: Vec<PathBuf>,
}

/// Why a folder is not looked in.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// It is not there.
    #[error(transparent)]
    Missing(#[from] FileError),
    /// It lies elsewhere.
    #[error(
        "{path} is outside the folders this server may look in ({allowed}); start it with --root {path} to allow it"
    )]
    Outside {
        /// What was named.
        path: String,
        /// What is allowed.
        allowed: String,
    },
}

impl Roots {
    /// `start`, the repository that holds it, and `more`.
    pub fn new(start: &Path, more: &[PathBuf]) -> Result<Self, RootsError> {
        let start = files::real_path(start)?;
        // Whoever starts a server in a folder of a repository means the repository.
        let whole =
            Repo::open(&start).ok().and_then(|repo| repo.workdir().and_then(|path| files::real_path(path).ok()));
        let mut allowed = vec![whole.unwrap_or_else(|| start.clone())];
        for path in more {
            allowed.push(files::real_path(path)?);
        }
        Ok(Self { start, allowed })
    }

    /// The folder that stands for the repository where none is named.
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// Whether a real path lies below one of the folders, by its words alone: it may be gone.
    pub fn cover(&self, path: &Path) -> bool {
        self.allowed.iter().any(|root| path.starts_with(root))
    }

    /// The folder that is meant by `named` (absolute, or from the start), with all links in it followed; the start where none is.
    pub fn folder(&self, named: Option<&Path>) -> Result<PathBuf, RootsError> {
        let Some(named) = named else { return Ok(self.start.clone()) };
        let found = files::real_path(&self.start.join(named))?;
        if self.cover(&found) {
            return Ok(found);
        }
        let allowed: Vec<String> = self.allowed.iter().map(|root| root.display().to_string()).collect();
        Err(RootsError::Outside { path: found.display().to_string(), allowed: allowed.join(", ") })
    }
}
