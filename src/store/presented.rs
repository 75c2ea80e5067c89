//! Presented documents: one folder each under `$XDG_STATE_HOME/review/presented/`, named by the document's id.
//!
//! Main type: [`Documents`]. `document.md` is the Markdown as it was presented, for people too; `document.json` (`wire`) says what it was
//! checked against. The two are written one after the other: where they do not belong together, whoever reads is told to check again.

mod wire;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::domain::limits::LIMITS;
use crate::domain::presented::{CheckedRef, DocumentId, DocumentRecord, Presented};
use crate::sys::clock;
use crate::sys::files::{self, FileError, Held};

const TEXT: &str = "document.md";
const RECORD: &str = "document.json";
const LOCK: &str = "lock";

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_mins(1);

/// The kept documents.
#[derive(Debug, Clone)]
pub struct Documents {
    folder: PathBuf,
}

/// A document as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDocument {
    /// Its id.
    pub id: DocumentId,
    /// The Markdown.
    pub markdown: String,
    /// The folder that relative references start from.
    pub base: PathBuf,
    /// Its references; `None` where they were checked for another text: somebody edited `document.md`, or a writer was killed.
    pub references: Option<Vec<CheckedRef>>,
}

/// Why a document could not be kept, found or read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentFault {
    /// The disk said no.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its record could not be put into words; a fault of this program.
    #[error("cannot write the record of the document: {0}")]
    Record(#[source] serde_json::Error),
    /// Its files are not readable.
    #[error("the presented document {id} is damaged: {why}; it is kept in {}", folder.display())]
    Damaged {
        /// The document.
        id: DocumentId,
        /// What is wrong with it.
        why: String,
        /// Where it is.
        folder: PathBuf,
    },
    /// No document has the id.
    #[error("no presented document begins with {0:?}; `review present --show last` prints the newest one")]
    Unknown(String),
    /// No document is kept at all.
    #[error("nothing was presented yet; `review present FILE` presents a file")]
    Empty,
    /// Several documents have it.
    #[error("{count} presented documents begin with {given:?}: give more of the id")]
    Ambiguous {
        /// What was given.
        given: String,
        /// How many.
        count: usize,
    },
}

impl Documents {
    pub(super) fn at(root: &Path) -> Self {
        Self { folder: root.join("presented") }
    }

    fn of(&self, id: DocumentId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// Waits until nobody else writes to a kept document, and keeps others from it until the answer is dropped. There is nothing to wait
    /// for where none is kept: only who makes a document knows its id.
    pub fn hold(&self, id: DocumentId) -> Result<Option<Held>, DocumentFault> {
        let folder = self.of(id);
        if !folder.is_dir() {
            return Ok(None);
        }
        Ok(Some(files::hold(&folder.join(LOCK), PATIENCE)?))
    }

    /// Keeps a document as it stands.
    pub fn keep(&self, presented: &Presented) -> Result<(), DocumentFault> {
        let folder = self.of(presented.id);
        let record = wire::write(presented, &clock::now()).map_err(DocumentFault::Record)?;
        files::private_folder(&folder)?;
        files::write_private(&folder.join(TEXT), presented.markdown.as_bytes())?;
        files::write_private(&folder.join(RECORD), &record)?;
        Ok(())
    }

    /// Reads a document; `None` where none is kept.
    pub fn read(&self, id: DocumentId) -> Result<Option<KeptDocument>, DocumentFault> {
        let folder = self.of(id);
        let Some(record) = files::read_plain(&folder.join(RECORD), LIMITS.kept_file_bytes)? else { return Ok(None) };
        let Some(text) = files::read_plain(&folder.join(TEXT), LIMITS.kept_file_bytes)? else { return Ok(None) };
        let damaged = |why: String| DocumentFault::Damaged { id, why, folder: folder.clone() };
        let record = wire::read(id, &record).map_err(|fault| damaged(fault.to_string()))?;
        let markdown = String::from_utf8(text).map_err(|_| damaged(format!("{TEXT} is not UTF-8 text")))?;
        let base = record.base().ok_or_else(|| damaged(format!("{RECORD} has no base that can be read")))?;
        let references = record.references(&markdown);
        Ok(Some(KeptDocument { id, markdown, base, references }))
    }

    /// What there is, newest first, at most so many; those that cannot be read are passed over.
    pub fn records(&self, most: usize) -> Result<Vec<DocumentRecord>, DocumentFault> {
        let newest = self.newest_first()?.into_iter();
        let read = newest.filter_map(|(id, folder)| {
            let bytes = files::read_plain(&folder.path.join(RECORD), LIMITS.kept_file_bytes).ok().flatten()?;
            wire::read(id, &bytes).ok()?.record(id)
        });
        Ok(read.take(most).collect())
    }

    /// The one document whose id begins with `given` (`last`: the newest).
    pub fn find(&self, given: &str) -> Result<DocumentId, DocumentFault> {
        if given == "last" {
            let newest = self.records(1)?.into_iter().next();
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

    /// Removes the documents to which nothing was written for `age`, and says how many. One that somebody is about to write to stays.
    pub fn prune(&self, age: Duration) -> Result<usize, DocumentFault> {
        let now = SystemTime::now();
        let mut removed = 0;
        for (_, folder) in self.newest_first()? {
            // A time in the future is a clock that was set back: such a document is young.
            if now.duration_since(folder.modified).is_ok_and(|since| since >= age) {
                removed += usize::from(remove(&folder)?);
            }
        }
        Ok(removed)
    }

    /// Removes the oldest documents until there are at most `most`, and says which. Those that somebody is about to write to stay beyond that.
    pub fn keep_newest(&self, most: usize) -> Result<Vec<DocumentId>, DocumentFault> {
        let mut removed = Vec::new();
        for (id, folder) in self.newest_first()?.into_iter().skip(most) {
            if remove(&folder)? {
                removed.push(id);
            }
        }
        Ok(removed)
    }

    /// By the time of the last writing: each one replaces files of the folder, and so changes the folder.
    fn newest_first(&self) -> Result<Vec<(DocumentId, files::Folder)>, DocumentFault> {
        let folders = files::folders(&self.folder)?.into_iter();
        let mut found: Vec<(DocumentId, _)> =
            folders.filter_map(|folder| Some((folder.name.parse().ok()?, folder))).collect();
        found.sort_by(|(a, of_a), (b, of_b)| of_b.modified.cmp(&of_a.modified).then_with(|| a.cmp(b)));
        Ok(found)
    }
}

/// Removes a document as it was listed, unless somebody holds it or has written to it since; whether it was removed.
fn remove(folder: &files::Folder) -> Result<bool, DocumentFault> {
    let record = folder.path.join(RECORD);
    let listed = files::read_plain(&record, LIMITS.kept_file_bytes)?;
    // The lock may be a new file, which changes the folder itself.
    let is_as_listed = files::modified(&folder.path).is_some_and(|modified| modified == folder.modified);
    let Some(held) = files::hold(&folder.path.join(LOCK), Duration::ZERO).ok().filter(|_| is_as_listed) else {
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
