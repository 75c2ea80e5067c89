//! `document.json`: the versioned record of a presented document, apart from its text. Main type: [`StoredDocument`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::id::hex;
use crate::domain::path::{RepoPath, display_path, unquote};
use crate::domain::place::LineRange;
use crate::domain::presented::{
    BrokenRef, CheckedRef, DocumentId, DocumentRecord, FileRef, Presented, RefForm, RefPlace,
};

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
    references: Vec<StoredReference>,
}

#[derive(Serialize, Deserialize)]
struct StoredReference {
    start: usize,
    end: usize,
    form: StoredRefForm,
    text: String,
    path: String,
    lines: Option<(u32, u32)>,
    columns: (Option<u32>, Option<u32>),
    pattern: Option<String>,
    found: StoredRefPlace,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredRefForm {
    Link,
    Rustdoc,
    Plain,
    Dialectic,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredRefPlace {
    Place { path: String, lines: Option<(u32, u32)>, preview: Option<String> },
    Broken { why: String, near: Vec<String> },
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
        references: presented.references.iter().map(StoredReference::of).collect(),
    })
}

pub(super) fn read(id: DocumentId, bytes: &[u8]) -> Result<StoredDocument, StoredDocumentFault> {
    #[derive(Deserialize)]
    struct DocumentVersion {
        version: u32,
    }
    let DocumentVersion { version } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(StoredDocumentFault::Version(version));
    }
    let document: StoredDocument = serde_json::from_slice(bytes)?;
    if document.id == id.to_string() { Ok(document) } else { Err(StoredDocumentFault::Other(document.id)) }
}

fn hash(markdown: &str) -> String {
    hex(&Sha256::digest(markdown.as_bytes()))
}

fn range(lines: LineRange) -> (u32, u32) {
    (lines.start(), lines.end())
}

impl StoredDocument {
    pub(super) fn base(&self) -> Option<PathBuf> {
        let bytes = if self.base.starts_with('"') { unquote(&self.base).ok()? } else { self.base.clone().into_bytes() };
        path(bytes)
    }

    pub(super) fn into_record(self, id: DocumentId) -> Option<DocumentRecord> {
        let base = self.base()?;
        let broken =
            self.references.iter().filter(|reference| matches!(reference.found, StoredRefPlace::Broken { .. })).count();
        let references = self.references.len();
        let (title, changed_at, bytes) = (self.title, self.changed_at, self.bytes);
        Some(DocumentRecord { id, title, base, changed_at, bytes, references, broken })
    }

    /// Returns the references, if they were checked for exactly this text.
    pub(super) fn into_references(self, markdown: &str) -> Option<Vec<CheckedRef>> {
        if self.sha256 != hash(markdown) {
            return None;
        }
        self.references.into_iter().map(|reference| reference.checked(markdown)).collect()
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

impl StoredReference {
    fn of(checked: &CheckedRef) -> Self {
        let FileRef { path, lines, columns, pattern } = checked.to.clone();
        Self {
            start: checked.at.start,
            end: checked.at.end,
            form: match checked.form {
                RefForm::Link => StoredRefForm::Link,
                RefForm::Rustdoc => StoredRefForm::Rustdoc,
                RefForm::Plain => StoredRefForm::Plain,
                RefForm::Dialectic => StoredRefForm::Dialectic,
            },
            text: checked.text.clone(),
            path,
            lines: lines.map(range),
            columns,
            pattern,
            found: match checked.found.clone() {
                Ok(RefPlace { path, lines, preview }) => {
                    StoredRefPlace::Place { path: path.display_name().into_owned(), lines: lines.map(range), preview }
                }
                Err(BrokenRef { why, near }) => StoredRefPlace::Broken { why, near },
            },
        }
    }

    /// Converts a reference; `None` if it is inconsistent: then all are checked again.
    fn checked(self, markdown: &str) -> Option<CheckedRef> {
        let lines = |pair: Option<(u32, u32)>| match pair {
            None => Some(None),
            Some((start, end)) => LineRange::new(start, end).ok().map(Some),
        };
        let at = self.start..self.end;
        markdown.get(at.clone())?;
        let found = match self.found {
            StoredRefPlace::Place { path, lines: pair, preview } => {
                Ok(RefPlace { path: RepoPath::parse(&path).ok()?, lines: lines(pair)?, preview })
            }
            StoredRefPlace::Broken { why, near } => Err(BrokenRef { why, near }),
        };
        let form = match self.form {
            StoredRefForm::Link => RefForm::Link,
            StoredRefForm::Rustdoc => RefForm::Rustdoc,
            StoredRefForm::Plain => RefForm::Plain,
            StoredRefForm::Dialectic => RefForm::Dialectic,
        };
        let to = FileRef { path: self.path, lines: lines(self.lines)?, columns: self.columns, pattern: self.pattern };
        Some(CheckedRef { at, form, text: self.text, to, found })
    }
}
