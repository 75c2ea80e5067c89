//! Presented documents: one folder each under `$XDG_STATE_HOME/review/presented/`, named by the document's id.
//!
//! Main type: [`PresentedStore`]. `document.md` is the Markdown as it was presented, readable by people; `document.json` (`wire`) records what
//! it was checked against. The two are written one after the other: if they do not match, the reader is told to check again.

mod wire;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::domain::limits::LIMITS;
use crate::domain::presented::{CheckedRef, DocumentId, DocumentRecord, Presented};
use crate::sys::clock;
use crate::sys::files::{self, FileError, FileLock};

const TEXT: &str = "document.md";
const RECORD: &str = "document.json";
const LOCK: &str = "lock";

/// Upper bound on the time that a writer waits for another one.
const PATIENCE: Duration = Duration::from_mins(1);

/// The saved documents.
#[derive(Debug, Clone)]
pub struct PresentedStore {
    folder: PathBuf,
}

/// A document as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDocument {
    /// Its id.
    pub id: DocumentId,
    /// The Markdown.
    pub markdown: String,
    /// The folder that relative references are resolved against.
    pub base: PathBuf,
    /// Its references; `None` if they were checked for another text: `document.md` was edited, or a writer was killed.
    pub references: Option<Vec<CheckedRef>>,
}

/// Reasons why a document could not be saved, found or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DocumentFault {
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The record could not be serialized; an internal error.
    #[error("cannot write the record of the document: {0}")]
    Record(#[source] serde_json::Error),
    /// The document's files are not readable.
    #[error("the presented document {id} is damaged: {why}; it is kept in {}", folder.display())]
    Damaged { id: DocumentId, why: String, folder: PathBuf },
    /// No document has the id.
    #[error("no presented document begins with {0:?}; `review present --show last` prints the newest one")]
    Unknown(String),
    /// No document is saved at all.
    #[error("nothing was presented yet; `review present FILE` presents a file")]
    Empty,
    /// Several documents match.
    #[error("{count} presented documents begin with {given:?}: give more of the id")]
    Ambiguous { given: String, count: usize },
}

impl PresentedStore {
    pub(super) fn at(root: &Path) -> Self {
        Self { folder: root.join("presented") }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn of(&self, id: DocumentId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Waits until no other process writes to a saved document, and locks it until the guard is dropped. Returns `None` if no such document
    /// is saved: only its creator knows a new id, so there is nothing to wait for.
    pub fn lock(&self, id: DocumentId) -> Result<Option<FileLock>, DocumentFault> {
        let folder = self.of(id);
        if !folder.is_dir() {
            return Ok(None);
        }
        Ok(Some(files::lock(&folder.join(LOCK), PATIENCE)?))
    }

    /// Returns the file with the Markdown of a saved document.
    pub fn text_file(&self, id: DocumentId) -> PathBuf {
        self.of(id).join(TEXT)
    }

    /// Saves a document.
    pub fn save(&self, presented: &Presented) -> Result<(), DocumentFault> {
        let folder = self.of(presented.id);
        let record = wire::write(presented, &clock::now()).map_err(DocumentFault::Record)?;
        files::private_folder(&folder)?;
        files::write_private(&folder.join(TEXT), presented.markdown.as_bytes())?;
        files::write_private(&folder.join(RECORD), &record)?;
        Ok(())
    }

    /// Reads a document; `None` if there is none.
    pub fn read(&self, id: DocumentId) -> Result<Option<SavedDocument>, DocumentFault> {
        let folder = self.of(id);
        let Some(record) = files::read_plain(&folder.join(RECORD), LIMITS.kept_file_bytes)? else { return Ok(None) };
        let Some(text) = files::read_plain(&folder.join(TEXT), LIMITS.kept_file_bytes)? else { return Ok(None) };
        let damaged = |why: String| DocumentFault::Damaged { id, why, folder: folder.clone() };
        let record = wire::read(id, &record).map_err(|fault| damaged(fault.to_string()))?;
        let markdown = String::from_utf8(text).map_err(|_| damaged(format!("{TEXT} is not UTF-8 text")))?;
        let base = record.base().ok_or_else(|| damaged(format!("{RECORD} has no base that can be read")))?;
        let references = record.into_references(&markdown);
        Ok(Some(SavedDocument { id, markdown, base, references }))
    }

    /// Lists the documents, newest first, at most `most`; unreadable ones are skipped.
    pub fn list(&self, most: usize) -> Result<Vec<DocumentRecord>, DocumentFault> {
        let newest = self.newest_first()?.into_iter();
        let read = newest.filter_map(|(id, folder)| {
            let bytes = files::read_plain(&folder.path.join(RECORD), LIMITS.kept_file_bytes).ok().flatten()?;
            wire::read(id, &bytes).ok()?.into_record(id)
        });
        Ok(read.take(most).collect())
    }

    /// Finds the one document whose id begins with `given` (`last`: the newest).
    pub fn find(&self, given: &str) -> Result<DocumentId, DocumentFault> {
        if given == "last" {
            let newest = self.list(1)?.into_iter().next();
            return newest.map(|record| record.id).ok_or(DocumentFault::Empty);
        }
        let wanted = given.to_ascii_lowercase();
        let mut ids: Vec<DocumentId> = self.newest_first()?.into_iter().map(|(id, _)| id).collect();
        ids.retain(|id| !wanted.is_empty() && id.to_string().starts_with(&wanted));
        match ids.as_slice() {
            [] => Err(DocumentFault::Unknown(given.to_owned())),
            [one] => Ok(*one),
            several => Err(DocumentFault::Ambiguous { given: given.to_owned(), count: several.len() }),
        }
    }

    /// Removes the documents that were not written to for `age` and returns their number. A document that is locked by a writer stays.
    pub fn prune(&self, age: Duration) -> Result<usize, DocumentFault> {
        let now = SystemTime::now();
        let mut removed = 0;
        for (_, folder) in self.newest_first()? {
            // A time in the future means that the clock was set back: such a document is young.
            if now.duration_since(folder.modified).is_ok_and(|since| since >= age) {
                removed += usize::from(remove(&folder)?);
            }
        }
        Ok(removed)
    }

    /// Removes the oldest documents until at most `most` are left and returns their ids. Those locked by a writer stay.
    pub fn prune_to_newest(&self, most: usize) -> Result<Vec<DocumentId>, DocumentFault> {
        let mut removed = Vec::new();
        for (id, folder) in self.newest_first()?.into_iter().skip(most) {
            if remove(&folder)? {
                removed.push(id);
            }
        }
        Ok(removed)
    }

    /// Lists the folders by the time of the last write: each write replaces files of the folder, and so changes the folder.
    fn newest_first(&self) -> Result<Vec<(DocumentId, files::OpenedFolder)>, DocumentFault> {
        let folders = files::folders(&self.folder)?.into_iter();
        let mut found: Vec<(DocumentId, _)> =
            folders.filter_map(|folder| Some((folder.name.parse().ok()?, folder))).collect();
        found.sort_by(|(a, of_a), (b, of_b)| of_b.modified.cmp(&of_a.modified).then_with(|| a.cmp(b)));
        Ok(found)
    }
}

/// Removes a document as it was listed, unless it is locked or was written to since; returns whether it was removed.
fn remove(folder: &files::OpenedFolder) -> Result<bool, DocumentFault> {
    let record = folder.path.join(RECORD);
    let listed = files::read_plain(&record, LIMITS.kept_file_bytes)?;
    // The lock may be a new file, which changes the folder itself.
    let is_as_listed = files::modified(&folder.path).is_some_and(|modified| modified == folder.modified);
    let Some(held) = files::lock(&folder.path.join(LOCK), Duration::ZERO).ok().filter(|_| is_as_listed) else {
        return Ok(false);
    };
    if files::read_plain(&record, LIMITS.kept_file_bytes)? != listed {
        return Ok(false);
    }
    files::remove_folder(&folder.path)?;
    drop(held);
    Ok(true)
}

#[cfg(test)]
mod tests;
