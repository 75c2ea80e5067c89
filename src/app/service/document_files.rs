//! Presented documents for the adapters: reads the Markdown of a file or a saved document, and renders it for a surface.

use std::path::{Path, PathBuf};

use super::Service;
use super::ServiceOptions;
use super::documents::PresentFault;
use crate::app::context::environment::ProcessEnv;
use crate::app::context::error::AppError;
use crate::config::Flags;
use crate::document;
use crate::domain::presented::{DocumentId, Presented};
use crate::store::SavedDocument;
use crate::sys::files;
use crate::sys::repo::Repo;

pub use crate::document::ReferenceStyle;

/// Maximum file size in bytes; slightly above the limit of a document, whose message is more helpful.
const LONGEST: u64 = 8 << 20;

/// Reads the text of a file, or of standard input for `-`.
pub fn read_content(file: &Path) -> Result<String, AppError> {
    let (name, bytes) = if file.as_os_str() == "-" {
        let name = Path::new("standard input");
        (name, files::read_within(std::io::stdin().lock(), name, LONGEST))
    } else {
        (file, files::open(file).and_then(|open| files::read_within(open, file, LONGEST)))
    };
    let bytes = bytes.map_err(AppError::Input)?;
    String::from_utf8(bytes).map_err(|_| AppError::not_text(name))
}

/// Finds the id and the base of a saved document by its id, a prefix of it, or `last`.
pub fn find_document(around: &ProcessEnv, name: &str) -> Result<(DocumentId, PathBuf), AppError> {
    let kept = kept(around, name)?;
    Ok((kept.id, kept.base))
}

/// Loads a saved document, found likewise. If its text differs from the checked one, its references are checked again.
pub fn show_document(around: &ProcessEnv, name: &str) -> Result<Presented, AppError> {
    let SavedDocument { id, markdown, base, references } = kept(around, name)?;
    if let Some(references) = references {
        return Ok(Presented { id, markdown, base, references });
    }
    let options =
        ServiceOptions { directory: base, roots: Vec::new(), flags: Flags::default(), allow_write: false, log: None };
    Ok(Service::open(options, around.clone())?.document(id)?)
}

fn kept(around: &ProcessEnv, name: &str) -> Result<SavedDocument, PresentFault> {
    let store = &around.store;
    let id = store.documents().find(name)?;
    store.documents().read(id)?.ok_or(PresentFault::Unknown(id))
}

/// The working tree around a base: links to files start from there.
pub fn checkout(base: &Path) -> Option<PathBuf> {
    let repo = Repo::open(base).ok()?;
    files::real_path(repo.workdir()?).ok()
}

/// Renders the Markdown of a document, with its references in the form of a surface.
pub fn render_document(presented: &Presented, dialect: &ReferenceStyle) -> String {
    document::rewrite(&presented.markdown, &presented.references, dialect)
}
