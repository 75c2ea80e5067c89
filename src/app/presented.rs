//! Presented documents for the rim: the Markdown of a file, a kept document, and how a document is written for a surface.

use std::path::{Path, PathBuf};

use super::error::AppError;
use super::service::{PresentFault, Service, ServiceOptions};
use super::subject::Surroundings;
use crate::config::Flags;
use crate::document;
use crate::domain::presented::{DocumentId, Presented};
use crate::store::{KeptDocument, Store};
use crate::sys::files;
use crate::sys::repo::Repo;

pub use crate::document::Dialect;

/// A longer file is refused, in bytes; a little more than a document may have, which is told better.
const LONGEST: u64 = 8 << 20;

/// The text of a file, or of standard input where it is `-`.
pub fn read_content(file: &Path) -> Result<String, AppError> {
    let bytes = if file.as_os_str() == "-" {
        files::read_within(std::io::stdin().lock(), Path::new("standard input"), LONGEST)
    } else {
        files::open(file).and_then(|open| files::read_within(open, file, LONGEST))
    };
    let bytes = bytes.map_err(AppError::Input)?;
    String::from_utf8(bytes).map_err(|_| AppError::NotText { path: file.display().to_string() })
}

/// The id and the base of a kept document, by its id, the beginning of its id, or `last`.
pub fn find_document(around: &Surroundings, name: &str) -> Result<(DocumentId, PathBuf), AppError> {
    let kept = kept(around, name)?;
    Ok((kept.id, kept.base))
}

/// A kept document, likewise. Where its text is not the one that was checked, its references are checked anew.
pub fn show_document(around: &Surroundings, name: &str) -> Result<Presented, AppError> {
    let KeptDocument { id, markdown, base, references } = kept(around, name)?;
    if let Some(references) = references {
        return Ok(Presented { id, markdown, base, references });
    }
    let options =
        ServiceOptions { directory: base, roots: Vec::new(), flags: Flags::default(), allow_write: false, log: None };
    Ok(Service::open(options, around.clone())?.document(id)?)
}

fn kept(around: &Surroundings, name: &str) -> Result<KeptDocument, PresentFault> {
    let store = Store::at(&around.state);
    let id = store.documents().find(name)?;
    store.documents().read(id)?.ok_or(PresentFault::Unknown(id))
}

/// The folder that is checked out around a base: what links to files on the disk start from.
pub fn checkout(base: &Path) -> Option<PathBuf> {
    let repo = Repo::open(base).ok()?;
    files::real_path(repo.workdir()?).ok()
}

/// The Markdown of a document, with its references in the form that a surface understands.
pub fn written(presented: &Presented, dialect: &Dialect) -> String {
    document::rewrite(&presented.markdown, &presented.references, dialect)
}
