//! The base folder of relative references: the given one, as far as the document allows it. Main function: [`Service::base_of`].

use std::path::{Path, PathBuf};

use super::{PresentFault, Service};
use crate::domain::presented::PresentMode;
use crate::store::SavedDocument;

impl Service {
    /// Resolves a folder named by a client, if allowed.
    pub(super) fn base(&self, named: &Path) -> Result<PathBuf, PresentFault> {
        let base = self.roots().folder(Some(named))?;
        if base.is_dir() { Ok(base) } else { Err(PresentFault::NotAFolder(base)) }
    }

    /// Determines the base of the presented document, and a note about it.
    pub(super) fn base_of(
        &self,
        current: Option<&SavedDocument>,
        given: Option<PathBuf>,
        mode: &PresentMode,
    ) -> Result<(PathBuf, Option<String>), PresentFault> {
        let root = match (current, mode) {
            (None, _) => return Ok((given.unwrap_or_else(|| self.roots().start().to_owned()), None)),
            (Some(current), PresentMode::Replace) => return Ok((given.unwrap_or_else(|| current.base.clone()), None)),
            (Some(current), PresentMode::Append | PresentMode::UpdateSection { .. }) => current.base.clone(),
        };
        match given {
            None => Ok((root, None)),
            Some(base) if base == root => Ok((root, None)),
            Some(base) if base.starts_with(&root) => {
                let below = base.strip_prefix(&root).unwrap_or(&base).display();
                let note = format!(
                    "All references of this document start from {}: leave baseUri out, and write {below}/ before paths that were meant from \
                     there.",
                    root.display()
                );
                Ok((root, Some(note)))
            }
            Some(base) => Err(PresentFault::LeavesRoot { base, root }),
        }
    }
}
