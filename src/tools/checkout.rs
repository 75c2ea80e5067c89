//! What tools know of the folder that is checked out, so that what is only there is not passed over. Main types: [`Checkout`],
//! [`Uncommitted`].
//!
//! It is asked where something was not found, and never read from: that is for a call that asks for it. How it is found out belongs in `git`.

use std::path::Path;
use std::sync::Arc;

use crate::domain::path::RepoPath;

/// The folder that is checked out, as far as answers tell of it. The default knows of none.
#[derive(Clone, Default)]
pub struct Checkout {
    /// Its root: an absolute path below it stands for one of the tree.
    pub root: Option<Arc<Path>>,
    /// What is not committed; `None` for callers that could not ask for it.
    pub uncommitted: Option<Arc<dyn Uncommitted>>,
}

/// Tells of what is not committed.
pub trait Uncommitted: Send + Sync {
    /// What of a file, or below a folder (`None`: anywhere), is not as `HEAD` has it; `None` too where the tools do not look at `HEAD`, and
    /// where the path may not be read.
    fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead>;
}

/// Something that is not at `HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAtHead {
    /// Where it is, in words (`on the disk`).
    pub place: &'static str,
    /// How a caller asks for it (`` `at: "uncommitted"` ``).
    pub ask: &'static str,
}

impl Checkout {
    /// What of a path is not committed.
    pub(super) fn pending(&self, path: Option<&RepoPath>) -> Option<NotAtHead> {
        self.uncommitted.as_ref()?.pending(path)
    }

    /// What to say of a path that is not at `HEAD` and yet is there.
    pub(super) fn not_at_head(&self, path: Option<&RepoPath>) -> Option<String> {
        let NotAtHead { place, ask } = self.pending(path)?;
        Some(format!("not at HEAD; it is {place}: {ask}"))
    }
}
