//! Read access for impact rules: both trees, with caches of texts and symbols. Main type: [`ImpactContext`].

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::super::sides::BothSides;
use super::super::target::{is_markup, read_text};
use super::memory::{SymbolMemory, recall_symbols};
use crate::domain::id::BlobId;
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::syntax::{Symbols, outline};
use crate::sys::cancel::CancelReason;
use crate::workspace::{TreeEntry, WorkspaceError};

/// Maximum number of bytes parsed for one change.
pub(super) const MOST_BYTES: usize = 48 << 20;

/// Maximum number of entries in the cached symbols of all files; an entry takes some 200 bytes.
const MOST_SYMBOLS: usize = 250_000;

/// Symbols of the files read so far; `None` for unreadable ones.
type SymbolsByFile = HashMap<SymbolsKey, Option<Arc<Symbols>>>;
type SymbolsKey = (DiffSide, SymbolDepth, RepoPath);

/// The level of detail at which a file is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SymbolDepth {
    Outline,
    All,
}

/// Read access to both sides of a change, for rules that look beyond its files.
pub(super) struct ImpactContext<'a> {
    pub(super) sides: BothSides<'a>,
    memory: Option<&'a dyn SymbolMemory>,
    notes: RefCell<BTreeSet<String>>,
    known: RefCell<SymbolsByFile>,
    /// Number of entries in them.
    entries: Cell<usize>,
    parsed: Cell<usize>,
    files: OnceCell<Arc<[TreeEntry]>>,
    touched: OnceCell<HashSet<RepoPath>>,
}

impl<'a> ImpactContext<'a> {
    pub(super) fn new(sides: BothSides<'a>, memory: Option<&'a dyn SymbolMemory>) -> Self {
        Self {
            sides,
            memory,
            notes: RefCell::default(),
            known: RefCell::default(),
            entries: Cell::new(0),
            parsed: Cell::new(0),
            files: OnceCell::new(),
            touched: OnceCell::new(),
        }
    }

    /// Reads the text of a file; `None` if there is none or it is unreadable.
    pub(super) fn read(&self, side: DiffSide, path: &RepoPath) -> Result<Option<Arc<FileText>>, CancelReason> {
        let tree = if side == DiffSide::Old { self.sides.old } else { self.sides.new };
        read_text(tree, path)
    }

    /// Returns the definitions and uses in a file of the head; `None` if unknown.
    pub(super) fn symbols(&self, path: &RepoPath) -> Result<Option<Arc<Symbols>>, CancelReason> {
        self.known(DiffSide::New, SymbolDepth::All, path)
    }

    /// Returns the exported symbols of a file, without the bodies of its functions; `None` if unknown.
    pub(super) fn outline(&self, side: DiffSide, path: &RepoPath) -> Result<Option<Arc<Symbols>>, CancelReason> {
        self.known(side, SymbolDepth::Outline, path)
    }

    fn known(&self, side: DiffSide, depth: SymbolDepth, path: &RepoPath) -> Result<Option<Arc<Symbols>>, CancelReason> {
        let key = (side, depth, path.clone());
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        self.sides.cancel.check()?;
        let found = match (language::from_path(path), self.read(side, path)?) {
            (Some(language), Some(text)) if !is_markup(&text) => self.parse(language, (side, depth), path, &text)?,
            _ => None,
        };
        self.keep(key, found.clone());
        Ok(found)
    }

    /// Caches the symbols of a file. When they are too many, those of the other files are forgotten, and read again if asked for.
    fn keep(&self, key: SymbolsKey, found: Option<Arc<Symbols>>) {
        let mut known = self.known.borrow_mut();
        let entries = self.entries.get() + found.as_ref().map_or(0, |symbols| symbols.entry_count());
        self.entries.set(entries);
        if entries > MOST_SYMBOLS {
            known.retain(|_, symbols| symbols.is_none());
            self.entries.set(found.as_ref().map_or(0, |symbols| symbols.entry_count()));
        }
        known.insert(key, found);
    }

    fn parse(
        &self,
        language: &str,
        (side, depth): (DiffSide, SymbolDepth),
        path: &RepoPath,
        text: &FileText,
    ) -> Result<Option<Arc<Symbols>>, CancelReason> {
        let other = if depth == SymbolDepth::All { SymbolDepth::Outline } else { SymbolDepth::All };
        let is_known = self.known.borrow().contains_key(&(side, other, path.clone()));
        let parsed = self.parsed.get() + if is_known { 0 } else { text.text().len() };
        if parsed > MOST_BYTES {
            self.note(format!(
                "what the change does beyond its files was not followed to its end: more than {} MiB would have to be parsed",
                MOST_BYTES >> 20
            ));
            return Ok(None);
        }
        self.parsed.set(parsed);
        let blob = self.blob(side, path)?;
        let BothSides { trees, cancel, .. } = self.sides;
        let found = match depth {
            SymbolDepth::Outline => outline(language, text.text(), None, trees, cancel),
            SymbolDepth::All => recall_symbols(self.memory, blob, language, text.text(), trees, cancel),
        };
        self.sides.cancel.check()?;
        if found.is_none() {
            self.note(format!(
                "{path} was not asked whether it uses what the change changes: it cannot be parsed in time"
            ));
        }
        Ok(found)
    }

    /// Returns the blob id by which the contents of a file are identified.
    fn blob(&self, side: DiffSide, path: &RepoPath) -> Result<Option<BlobId>, CancelReason> {
        // The rules parse the files of the change anyway; storing their symbols would gain nothing.
        if self.memory.is_none() || side == DiffSide::Old || self.is_changed(path) {
            return Ok(None);
        }
        let files = self.files()?;
        let at = files.binary_search_by(|entry| entry.path.cmp(path)).ok();
        Ok(at.and_then(|at| files.get(at)?.blob))
    }

    /// Checks whether the change touches a file of the head.
    fn is_changed(&self, path: &RepoPath) -> bool {
        let of_change = || self.sides.change.files.iter().map(|file| file.path.clone()).collect();
        self.touched.get_or_init(of_change).contains(path)
    }

    /// Returns all files of the head; none if they cannot be listed.
    pub(super) fn files(&self) -> Result<&[TreeEntry], CancelReason> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let files = match self.sides.new.files(self.sides.cancel) {
            Ok(files) => files,
            Err(WorkspaceError::Stopped(stopped)) => return Err(stopped),
            Err(error) => {
                self.note(format!(
                    "the files of the head cannot be listed, so effects beyond the change are not told: {error}"
                ));
                Arc::from([])
            }
        };
        Ok(self.files.get_or_init(|| files))
    }

    /// Checks whether there is such a file at the head.
    pub(super) fn exists(&self, path: &[u8]) -> Result<bool, CancelReason> {
        Ok(self.files()?.binary_search_by(|entry| entry.path.as_bytes().cmp(path)).is_ok())
    }

    /// Records what was not examined.
    pub(super) fn note(&self, note: String) {
        self.notes.borrow_mut().insert(note);
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner().into_iter().collect()
    }
}
