//! Documents presented by assistants: written part by part, with their references checked. Main function: [`Service::present`].
//!
//! The store holds the documents: each is read from there for every change, so that it outlives the server and other processes may write to
//! it too. Only the assignment of documents to owners, and documents that could not be saved, are in memory. The base folder belongs in
//! `base`, checking references in `ground`.

mod base;
mod references;

use crate::app::context::error::UseCaseError;
use crate::app::context::settings;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ClientConnection;
use super::Service;
use super::notifier::ChangeNotice;
use super::roots::AllowedRootsError;
use crate::domain::presented::{CheckedRef, DocumentId, DocumentRecord, DocumentSelector, PresentReview, Presented};
use crate::store::{DocumentFault, PresentedStore, SavedDocument, Store};
use crate::sys::clock;

/// Maximum size in bytes of a document.
const LONGEST: usize = 4 << 20;
/// Limit on stored documents; beyond it the oldest is removed.
const MOST: usize = 1_000;
/// Limit on remembered connections; beyond it the one idle for longest is dropped.
const CONNECTIONS: usize = 1_000;
/// Limit in bytes on Markdown in memory that could not be saved.
const UNKEPT: usize = 64 << 20;
/// The number of locks: changes of one document are serialized; different documents rarely share a lock.
const STRIPES: usize = 16;

/// A document after a part was presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedDocument {
    /// The document.
    pub presented: Presented,
    /// The byte range of its Markdown that this call wrote.
    pub written: Range<usize>,
    /// The file that holds it; `None` if it could not be saved, or the client may be on another machine.
    pub file: Option<PathBuf>,
    /// A note for the client, in sentences.
    pub note: Option<String>,
}

/// An error in presenting or reading a document.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PresentFault {
    /// The document is empty.
    #[error("there is nothing to present: the content is blank")]
    Blank,
    #[error(
        "the document would have {size} bytes, more than the {LONGEST} that are kept; split it over several documents (reviewId \"new\")"
    )]
    TooLong {
        /// Its resulting length, in bytes.
        size: usize,
    },
    /// The base is not an allowed folder.
    #[error(transparent)]
    Base(#[from] AllowedRootsError),
    /// The base is a file.
    #[error("{} is not a folder; a base is the folder that relative references start from, mostly that of the repository", .0.display())]
    NotAFolder(PathBuf),
    /// The base lies outside of the document's.
    #[error(
        "{} is outside of {}, where this document's references start; leave baseUri out to go on from there, or begin another document \
         with reviewId \"new\", or present this one anew with mode \"replace\"",
        base.display(),
        root.display()
    )]
    LeavesRoot { base: PathBuf, root: PathBuf },
    /// The document does not exist.
    #[error("there is no presented document {0} (any more); leave reviewId out, or give \"new\"")]
    Unknown(DocumentId),
    /// The document belongs to a folder that the server may not read.
    #[error("the presented document {0} belongs to a folder outside of those this server may look in")]
    Elsewhere(DocumentId),
    /// The document cannot be read, or other processes keep writing to it.
    #[error(transparent)]
    Kept(#[from] DocumentFault),
}

impl UseCaseError for PresentFault {}

/// The document state of a service.
pub(super) struct DocumentStore {
    documents: PresentedStore,
    held: Mutex<ShelvedDocuments>,
    stripes: [Mutex<()>; STRIPES],
    hasher: RandomState,
}

#[derive(Default)]
struct ShelvedDocuments {
    /// The most recent presenter comes last.
    own: Vec<OwnedDocument>,
    /// The documents that could not be saved, with the time of the last change; the oldest first.
    unkept: Vec<(String, Presented)>,
}

struct OwnedDocument {
    owner: DocumentOwner,
    id: DocumentId,
    /// `true` if anything was presented in it.
    begun: bool,
}

/// The owner of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DocumentOwner {
    Process,
    Session(String),
    /// All callers for this repository, or for this folder outside of any repository.
    Repository(PathBuf),
}

impl DocumentStore {
    pub(super) fn new(store: &Store) -> Self {
        let documents = store.documents().clone();
        Self { documents, held: Mutex::default(), stripes: Default::default(), hasher: RandomState::new() }
    }

    fn held(&self) -> MutexGuard<'_, ShelvedDocuments> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a document until the guard is dropped.
    fn turn(&self, id: DocumentId) -> MutexGuard<'_, ()> {
        let stripe = usize::try_from(self.hasher.hash_one(id) % STRIPES as u64).unwrap_or(0);
        self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves the requested document.
    fn which(&self, which: DocumentSelector, owner: DocumentOwner) -> DocumentId {
        let mut held = self.held();
        let own = held.own.iter().position(|own| own.owner == owner).map(|at| {
            held.own[at..].rotate_left(1);
            held.own[held.own.len() - 1].id
        });
        match (which, own) {
            (DocumentSelector::Known(id), _) | (DocumentSelector::Own, Some(id)) => id,
            (DocumentSelector::New, Some(_)) => DocumentId::random(),
            // The first document of a connection becomes its own, however it was requested.
            (DocumentSelector::New | DocumentSelector::Own, None) => {
                let id = DocumentId::random();
                if held.own.len() >= CONNECTIONS {
                    held.own.remove(0);
                }
                held.own.push(OwnedDocument { owner, id, begun: false });
                id
            }
        }
    }

    /// Marks a connection's own document as begun; `true` if it already was.
    fn begin(&self, id: DocumentId) -> bool {
        let mut held = self.held();
        held.own.iter_mut().find(|own| own.id == id).is_some_and(|own| std::mem::replace(&mut own.begun, true))
    }

    fn read(&self, id: DocumentId) -> Result<Option<SavedDocument>, DocumentFault> {
        if let Some((_, presented)) = self.held().unkept.iter().find(|(_, presented)| presented.id == id) {
            let Presented { id, markdown, base, references } = presented.clone();
            return Ok(Some(SavedDocument { id, markdown, base, references: Some(references) }));
        }
        self.documents.read(id)
    }

    /// Saves a document, in the store if possible; else returns a note.
    fn keep(&self, presented: &Presented) -> Option<String> {
        let kept = self.documents.save(presented);
        let mut held = self.held();
        held.unkept.retain(|(_, other)| other.id != presented.id);
        let fault = kept.err()?;
        held.unkept.push((clock::now(), presented.clone()));
        let size = |unkept: &[(String, Presented)]| unkept.iter().map(|(_, one)| one.markdown.len()).sum::<usize>();
        while held.unkept.len() > 1 && size(&held.unkept) > UNKEPT {
            held.unkept.remove(0);
        }
        Some(format!("It could not be kept on the disk and is gone when this server ends: {fault}."))
    }

    fn records(&self) -> Result<Vec<DocumentRecord>, DocumentFault> {
        let held = self.held();
        let mut records: Vec<_> = held.unkept.iter().map(|(changed_at, one)| one.record(changed_at)).collect();
        drop(held);
        let known: Vec<DocumentId> = records.iter().map(|record| record.id).collect();
        records.extend(self.documents.list(MOST)?.into_iter().filter(|record| !known.contains(&record.id)));
        records.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| a.id.cmp(&b.id)));
        Ok(records)
    }
}

impl Service {
    /// Presents Markdown in a document, checks its references, and saves it. Reads files and waits for other writers: call it off the async
    /// threads.
    pub fn present(
        &self,
        connection: &ClientConnection,
        ask: PresentReview,
    ) -> Result<PresentedDocument, PresentFault> {
        let PresentReview { content, mode, base, document } = ask;
        if content.trim().is_empty() {
            return Err(PresentFault::Blank);
        }
        within_limit(content.len())?;
        let given = base.as_deref().map(|base| self.base(base)).transpose()?;
        let id = self.shelf.which(document, self.owner(connection, given.as_deref()));

        let turn = self.shelf.turn(id);
        let held = self.shelf.documents.lock(id)?;
        let current = self.shelf.read(id)?;
        if let Some(current) = &current {
            self.may_see(id, &current.base)?;
        } else if matches!(document, DocumentSelector::Known(_)) {
            return Err(PresentFault::Unknown(id));
        }
        let (base, of_base) = self.base_of(current.as_ref(), given, &mode)?;
        let is_new = current.is_none();
        let before = current.map(|current| current.markdown).unwrap_or_default();
        let edited = crate::document::edit(&before, &content, &mode);
        within_limit(edited.markdown.len())?;
        let (references, of_references) = self.check_references(&base, &edited.markdown);
        let presented = Presented { id, markdown: edited.markdown, base, references };
        let of_keeping = self.shelf.keep(&presented);
        drop((held, turn));
        let is_here = of_keeping.is_none() && *connection == ClientConnection::Process;
        let file = is_here.then(|| self.shelf.documents.text_file(id));

        let was_there = self.shelf.begin(id);
        let of_itself = (is_new && was_there)
            .then(|| "What was presented here before is kept no more: this begins the document anew.".to_owned());
        let of_others = if is_new { self.make_room() } else { None };
        self.changes.notify(ChangeNotice::Document(id));
        if is_new {
            self.changes.notify(ChangeNotice::List);
        }
        let notes: Vec<String> =
            [edited.note.map(|note| sentence(&note)), of_base, of_itself, of_references, of_keeping, of_others]
                .into_iter()
                .flatten()
                .collect();
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(PresentedDocument { presented, written: edited.written, file, note })
    }

    /// Loads a document.
    pub fn document(&self, id: DocumentId) -> Result<Presented, PresentFault> {
        let kept = self.shelf.read(id)?.ok_or(PresentFault::Unknown(id))?;
        self.may_see(id, &kept.base)?;
        Ok(self.whole(kept))
    }

    /// Lists the documents of the allowed folders, newest first.
    pub fn documents(&self) -> Result<Vec<DocumentRecord>, PresentFault> {
        let mut records = self.shelf.records()?;
        records.retain(|record| self.roots.contains(&record.base));
        Ok(records)
    }

    /// Checks references again that were checked for another text.
    fn whole(&self, kept: SavedDocument) -> Presented {
        let SavedDocument { id, markdown, base, references } = kept;
        let references: Vec<CheckedRef> = references.unwrap_or_else(|| self.check_references(&base, &markdown).0);
        Presented { id, markdown, base, references }
    }

    fn owner(&self, connection: &ClientConnection, base: Option<&Path>) -> DocumentOwner {
        match connection {
            ClientConnection::Process => DocumentOwner::Process,
            ClientConnection::Session(id) => DocumentOwner::Session(id.clone()),
            ClientConnection::Stateless => {
                DocumentOwner::Repository(references::find_repository(base.unwrap_or(self.roots.start())))
            }
        }
    }

    /// Checks access to a document: the store belongs to the user and may hold documents about any folder.
    fn may_see(&self, id: DocumentId, base: &Path) -> Result<(), PresentFault> {
        if self.roots.contains(base) { Ok(()) } else { Err(PresentFault::Elsewhere(id)) }
    }

    /// Removes the oldest documents: those past the retention time of runs, and those beyond the limit.
    fn make_room(&self) -> Option<String> {
        // A failure to prune does not affect the new document.
        if let Ok(resolved) = settings::resolve(None, &self.options.flags, &self.around) {
            let _ = self.shelf.documents.prune(resolved.settings.keep_runs);
        }
        let removed = self.shelf.documents.prune_to_newest(MOST).unwrap_or_default();
        let count = removed.len();
        (count > 0).then(|| {
            let which = if count == 1 {
                "The oldest document was".to_owned()
            } else {
                format!("The {count} oldest documents were")
            };
            format!("{which} removed: {MOST} are kept.")
        })
    }
}

fn within_limit(size: usize) -> Result<(), PresentFault> {
    if size <= LONGEST { Ok(()) } else { Err(PresentFault::TooLong { size }) }
}

/// Formats a note as a sentence, with a capital letter and a full stop.
fn sentence(note: &str) -> String {
    let mut letters = note.trim().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if note.trim_end().ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests;
