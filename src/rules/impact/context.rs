//! Read access for impact rules: both trees, with caches of texts and symbols. Main type: [`ImpactContext`].

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::sides::BothSides;
use super::super::target::{is_markup, read_text};
use super::words::FollowedWords;
use crate::domain::language;
use crate::domain::path::RepoPath;
use crate::domain::place::DiffSide;
use crate::domain::text::FileText;
use crate::syntax::{ExcerptQuery, SymbolDepth, Symbols, symbols};
use crate::sys::cancel::CancelReason;
use crate::sys::threads::for_each_file;
use crate::workspace::{TreeEntry, WorkspaceError};

/// Maximum number of bytes of texts examined for one change, each text once for each definition.
const MOST_BYTES: usize = 192 << 20;

/// Maximum number of entries in the cached symbols of all files; an entry takes some 200 bytes.
const MOST_SYMBOLS: usize = 250_000;

/// Symbols of the files read so far; `None` for unreadable ones.
type SymbolsByFile = HashMap<SymbolsKey, Option<Arc<Symbols>>>;
type SymbolsKey = (DiffSide, SymbolDepth, RepoPath, String);

/// The symbols of a text, and its size in bytes.
type ParsedText = (Option<Arc<Symbols>>, usize);

/// Read access to both sides of a change, for rules that look beyond its files.
pub(super) struct ImpactContext<'a> {
    pub(super) sides: BothSides<'a>,
    notes: RefCell<BTreeSet<String>>,
    known: RefCell<SymbolsByFile>,
    /// Number of entries in them.
    entries: Cell<usize>,
    /// Symbols parsed ahead, until they are requested.
    ahead: RefCell<HashMap<SymbolsKey, ParsedText>>,
    parsed: Cell<usize>,
    files: OnceCell<Arc<[TreeEntry]>>,
}

impl<'a> ImpactContext<'a> {
    pub(super) fn new(sides: BothSides<'a>) -> Self {
        Self {
            sides,
            notes: RefCell::default(),
            known: RefCell::default(),
            ahead: RefCell::default(),
            entries: Cell::new(0),
            parsed: Cell::new(0),
            files: OnceCell::new(),
        }
    }

    /// Reads the text of a file; `None` if there is none or it is unreadable.
    pub(super) fn read(&self, side: DiffSide, path: &RepoPath) -> Result<Option<Arc<FileText>>, CancelReason> {
        let tree = if side == DiffSide::Old { self.sides.old } else { self.sides.new };
        read_text(tree, path)
    }

    /// Returns the definitions and uses in a file of the head, of the code that has these words; `None` if unknown.
    pub(super) fn symbols(&self, path: &RepoPath, words: &FollowedWords) -> Result<Option<Arc<Symbols>>, CancelReason> {
        self.known(DiffSide::New, SymbolDepth::All, path, words)
    }

    /// Returns those of some files of the head whose texts are `wanted`. The symbols of these are parsed on several threads, as far as there is room for
    /// them; they count when they are requested, so that the order of the threads decides nothing.
    pub(super) fn parse_ahead<'p>(
        &self,
        paths: &'p [RepoPath],
        words: &FollowedWords,
        wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Vec<&'p RepoPath>, CancelReason> {
        let key = |path: &RepoPath| (DiffSide::New, SymbolDepth::All, path.clone(), words.key().to_owned());
        let known: Vec<bool> = paths.iter().map(|path| self.known.borrow().contains_key(&key(path))).collect();
        let (sides, bytes, entries) = (self.sides, AtomicUsize::new(self.parsed.get()), AtomicUsize::new(0));
        let read = |at: usize| -> Result<(bool, Option<ParsedText>), CancelReason> {
            sides.cancel.check()?;
            let text = paths.get(at).map(|path| read_text(sides.new, path)).transpose()?.flatten();
            let Some(text) = text.filter(|text| wanted(text.text())) else { return Ok((false, None)) };
            let size = text.text().len();
            let is_due = !known.get(at).is_some_and(|known| *known) && !is_markup(&text);
            let language = paths.get(at).and_then(language::from_path).filter(|_| is_due);
            let has_room = || {
                entries.load(Ordering::Relaxed) <= MOST_SYMBOLS
                    && bytes.fetch_add(size, Ordering::Relaxed) + size <= MOST_BYTES
            };
            let Some(language) = language.filter(|_| has_room()) else { return Ok((true, None)) };
            let symbols = read_symbols(&sides, (language, &text), SymbolDepth::All, words);
            entries.fetch_add(symbols.as_ref().map_or(0, |symbols| symbols.entry_count()), Ordering::Relaxed);
            Ok((true, Some((symbols, size))))
        };
        let mut found = Vec::new();
        let mut ahead = HashMap::new();
        for (path, text) in paths.iter().zip(for_each_file(paths.len(), read)) {
            let (is_wanted, parsed) = text.transpose()?.unwrap_or_default();
            found.extend(is_wanted.then_some(path));
            ahead.extend(parsed.map(|parsed| (key(path), parsed)));
        }
        self.ahead.replace(ahead);
        Ok(found)
    }

    /// Returns the imports and the package of a file; `None` if unknown.
    pub(super) fn imports(&self, side: DiffSide, path: &RepoPath) -> Result<Option<Arc<Symbols>>, CancelReason> {
        self.known(side, SymbolDepth::Outline, path, &FollowedWords::default())
    }

    fn known(
        &self,
        side: DiffSide,
        depth: SymbolDepth,
        path: &RepoPath,
        words: &FollowedWords,
    ) -> Result<Option<Arc<Symbols>>, CancelReason> {
        let key = (side, depth, path.clone(), words.key().to_owned());
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        self.sides.cancel.check()?;
        let ahead = self.ahead.borrow_mut().remove(&key);
        let found = match ahead {
            Some((found, size)) => self.count(path, size, || found)?,
            None => match (self.read(side, path)?, language::from_path(path)) {
                (Some(text), Some(language)) if !is_markup(&text) => {
                    let read = || read_symbols(&self.sides, (language, &text), depth, words);
                    self.count(path, text.text().len(), read)?
                }
                _ => None,
            },
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

    /// Returns what `read` reads of a text of this size, unless that would be too much.
    fn count(
        &self,
        path: &RepoPath,
        size: usize,
        read: impl FnOnce() -> Option<Arc<Symbols>>,
    ) -> Result<Option<Arc<Symbols>>, CancelReason> {
        let parsed = self.parsed.get() + size;
        if parsed > MOST_BYTES {
            self.note(format!(
                "what the change does beyond its files was not followed to its end: more than {} MiB would have to be examined",
                MOST_BYTES >> 20
            ));
            return Ok(None);
        }
        self.parsed.set(parsed);
        let found = read();
        self.sides.cancel.check()?;
        if found.is_none() {
            self.note(not_parsed(path));
        }
        Ok(found)
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

/// Reads the symbols of the code that has these words.
fn read_symbols(
    sides: &BothSides<'_>,
    (language, text): (&str, &FileText),
    depth: SymbolDepth,
    words: &FollowedWords,
) -> Option<Arc<Symbols>> {
    let read = |query| symbols(language, text.text(), Some(query), depth, sides.trees, sides.cancel);
    let found = read(words.query())?;
    // A name that is imported under another one is used by that.
    match words.with_renamed(&found) {
        Some(renamed) => read(ExcerptQuery { words: Some(&renamed), ..words.query() }),
        None => Some(found),
    }
}

/// Builds the note about a file that was not examined.
pub(super) fn not_parsed(path: &RepoPath) -> String {
    format!("{path} was not asked whether it uses what the change changes: it cannot be parsed in time")
}
