//! `document.json`: the versioned record of a presented document, apart from its text. Main type: [`StoredDocument`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::id::hex;
use crate::domain::path::{display_path, unquote};
use crate::domain::presented::{CheckedRef, DocumentId, DocumentRecord, Presented};
use crate::store::version::version_of;

const VERSION: u32 = 1;

/// The contents of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredDocument {
    version: u32,
    id: String,
    title: String,
    /// Spelled like paths of the tree: in C quoting if it is not plain text.
    base: String,
    changed_at: String,
    bytes: u64,
    /// The hash of the text that was checked.
    sha256: String,
    references: Vec<CheckedRef>,
}

/// Reasons why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoredDocumentFault {
    #[error("document.json cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("document.json has version {0}, this program reads {VERSION}")]
    Version(u32),
    #[error("document.json is of another document: {0}")]
    Other(String),
}

pub(super) fn write(presented: &Presented, changed_at: &str) -> Result<Vec<u8>, serde_json::Error> {
    let record = presented.record(changed_at);
    serde_json::to_vec_pretty(&StoredDocument {
        version: VERSION,
        id: record.id.to_string(),
        title: record.title,
        base: display_path(record.base.as_os_str().as_encoded_bytes()).into_owned(),
        changed_at: record.changed_at,
        bytes: record.bytes,
        sha256: hash(&presented.markdown),
        references: presented.references.clone(),
    })
}

pub(super) fn read(id: DocumentId, bytes: &[u8]) -> Result<StoredDocument, StoredDocumentFault> {
    let version = version_of(bytes)?;
    if version != VERSION {
        return Err(StoredDocumentFault::Version(version));
    }
    let document: StoredDocument = serde_json::from_slice(bytes)?;
    if document.id == id.to_string() { Ok(document) } else { Err(StoredDocumentFault::Other(document.id)) }
}

fn hash(markdown: &str) -> String {
    hex(&Sha256::digest(markdown.as_bytes()))
}

impl StoredDocument {
    pub(super) fn base(&self) -> Option<PathBuf> {
        let bytes = if self.base.starts_with('"') { unquote(&self.base).ok()? } else { self.base.clone().into_bytes() };
        path(bytes)
    }

    pub(super) fn into_record(self, id: DocumentId) -> Option<DocumentRecord> {
        let base = self.base()?;
        let broken = self.references.iter().filter(|reference| reference.found.is_err()).count();
        let references = self.references.len();
        let (title, changed_at, bytes) = (self.title, self.changed_at, self.bytes);
        Some(DocumentRecord { id, title, base, changed_at, bytes, references, broken })
    }

    /// Returns the references, if they were checked for exactly this text.
    pub(super) fn into_references(self, markdown: &str) -> Option<Vec<CheckedRef>> {
        if self.sha256 != hash(markdown) {
            return None;
        }
        // Inconsistent ones are all checked again.
        let is_in_text = |reference: &CheckedRef| markdown.get(reference.at.clone()).is_some();
        Some(self.references).filter(|references| references.iter().all(is_in_text))
    }
}

#[cfg(unix)]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    Some(path).filter(|path| path.is_absolute())
}

#[cfg(not(unix))]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from).filter(|path| path.is_absolute())
}
