//! The working tree as tools see it, so that uncommitted files are pointed out. Main types: [`Checkout`], [`Uncommitted`].
//!
//! It is consulted when something was not found, and never read from: that takes a call of its own. Finding uncommitted files belongs in `git`.

use std::path::Path;
use std::sync::Arc;

use crate::domain::path::RepoPath;

/// The working tree, as far as responses mention it. The default knows none.
#[derive(Clone, Default)]
pub struct Checkout {
    /// Its root: an absolute path below it is taken as a path of the tree.
    pub root: Option<Arc<Path>>,
    /// Source of uncommitted files; `None` for callers that cannot read them.
    pub uncommitted: Option<Arc<dyn Uncommitted>>,
}

/// Finds uncommitted files.
pub trait Uncommitted: Send + Sync {
    /// Returns how a file, or anything below a folder (`None`: anywhere), differs from `HEAD`; `None` also if the tools do not read `HEAD`, or if the
    /// path may not be read.
    fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead>;
}

/// Something that is not at `HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAtHead {
    /// Place of the file, in words (`on the disk`).
    pub place: &'static str,
    /// Argument with which a caller reads it (`` `at: "uncommitted"` ``).
    pub ask: &'static str,
}

impl Checkout {
    /// Returns the uncommitted state of a path.
    pub(super) fn uncommitted(&self, path: Option<&RepoPath>) -> Option<NotAtHead> {
        self.uncommitted.as_ref()?.pending(path)
    }

    /// Returns the remark on a path that exists, but not at `HEAD`.
    pub(super) fn check_at_head(&self, path: Option<&RepoPath>) -> Option<String> {
        let NotAtHead { place, ask } = self.uncommitted(path)?;
        Some(format!("not at HEAD; it is {place}: {ask}"))
    }
}
