//! Searching a tree: in parallel, and yet with the same answer every time. Main types: [`Query`], [`SearchHits`].
//!
//! Threads take chunks of files in path order. Each puts what it found into the slot of its chunk; when the slots from the first on hold
//! enough, the number of the last of them is published and nobody goes past it. So the hits are the first ones in path order however the
//! threads ran, and the waste is bounded by the chunks in flight.
//!
//! The first look is at text that is not masked, since masking every file costs more than searching it. Only hits in the masked text of
//! a file are returned, so a search cannot be used to guess a secret.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use super::catalogue::{Catalogue, CatalogueFile, CatalogueReader, PathChunk};
use super::content::{MaskedTextCache, SearchContent};
use super::pattern::LineRegex;
use super::{TreeEntry, WorkspaceError};
use crate::domain::change::FileMode;
use crate::domain::filter::PathFilter;
use crate::domain::generated::is_generated;
use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::cancel::{Cancel, CancelReason};

/// The reason why a file is not searched whose text and pattern do not go together.
const COSTLY: &str = "its lines are so long that this pattern would take minutes there; search for something simpler";

/// More threads than this do not pay: they wait for memory.
const MOST_THREADS: usize = 8;

/// Files that could not be read are counted, and so many are told by name.
const MOST_TOLD: usize = 5;

/// A search.
#[derive(Debug, Clone, Copy)]
pub struct Query<'q> {
    /// The pattern.
    pub pattern: &'q LineRegex,
    /// Only in these files; in all when `None`.
    pub files: Option<&'q PathFilter>,
    /// The search ends when so many lines were found.
    pub most: usize,
    /// `true` if lines of generated, vendored and minified files come after all others, and do not end the search.
    pub generated_last: bool,
}

impl Query<'_> {
    /// Adds the lines of a file that match.
    fn add_lines(&self, path: RepoPath, text: Arc<FileText>, hits: &mut SearchHits) {
        if self.generated_last && is_generated(&path, text.text()) {
            let lines = self.pattern.lines(&text, usize::MAX);
            hits.add_generated(path, text, lines, self.most);
        } else {
            let lines = self.pattern.lines(&text, self.most - hits.lines);
            hits.add_file(path, text, lines);
        }
    }
}

/// The lines of one file that match.
#[derive(Debug, Clone)]
pub struct FileHits {
    /// The file.
    pub path: RepoPath,
    /// Its masked text, for context.
    pub text: Arc<FileText>,
    /// The lines, ascending; never empty.
    pub lines: Vec<u32>,
}

/// The results of a search, in path order.
#[derive(Debug, Clone, Default)]
pub struct SearchHits {
    /// Files with hits.
    pub files: Vec<FileHits>,
    /// The number of lines those are; [`Query::most`] at most.
    pub lines: usize,
    /// `true` if every file was searched to its end.
    pub exhausted: bool,
    /// The number of files that could not be searched: too large, or not readable.
    pub unread: usize,
    /// The first of those, and why.
    pub unread_named: Vec<(RepoPath, String)>,
    /// Generated files with hits, if they come last: their first lines, [`Query::most`] at most.
    pub generated: Vec<FileHits>,
    /// The number of lines in all generated files, if they come last.
    pub generated_lines: usize,
    /// The number of files that were searched.
    pub searched: usize,
    /// The number of lines in `generated`.
    generated_kept: usize,
}

impl SearchHits {
    fn add_file(&mut self, path: RepoPath, text: Arc<FileText>, lines: Vec<u32>) {
        if !lines.is_empty() {
            self.lines += lines.len();
            self.files.push(FileHits { path, text, lines });
        }
    }

    /// Adds lines of a generated file, of which `most` are kept over all such files.
    fn add_generated(&mut self, path: RepoPath, text: Arc<FileText>, mut lines: Vec<u32>, most: usize) {
        self.generated_lines += lines.len();
        lines.truncate(most.saturating_sub(self.generated_kept));
        if !lines.is_empty() {
            self.generated_kept += lines.len();
            self.generated.push(FileHits { path, text, lines });
        }
    }

    fn add_unread(&mut self, path: RepoPath, why: String) {
        self.unread += 1;
        if self.unread_named.len() < MOST_TOLD {
            self.unread_named.push((path, why));
        }
    }

    fn append(&mut self, mut next: Self) {
        self.lines += next.lines;
        self.files.append(&mut next.files);
        self.generated.append(&mut next.generated);
        self.generated_lines += next.generated_lines;
        self.generated_kept += next.generated_kept;
        self.searched += next.searched;
        self.unread += next.unread;
        self.unread_named
            .extend(next.unread_named.into_iter().take(MOST_TOLD - self.unread_named.len().min(MOST_TOLD)));
    }

    fn truncate(&mut self, most: usize) {
        while self.lines > most {
            let Some(last) = self.files.last_mut() else { break };
            let keep = last.lines.len().saturating_sub(self.lines - most);
            self.lines -= last.lines.len() - keep;
            last.lines.truncate(keep);
            if keep == 0 {
                self.files.pop();
            }
        }
        let mut left = most;
        self.generated.retain_mut(|file| {
            file.lines.truncate(left);
            left -= file.lines.len();
            !file.lines.is_empty()
        });
    }
}

/// A tree that can be searched by many threads.
pub(super) trait SearchableTree: Sync {
    /// A handle for one thread.
    fn hand(&self) -> CatalogueReader<'_>;
    /// Its files.
    fn catalogue(&self, cancel: &Cancel) -> Result<&Catalogue, WorkspaceError>;
    /// Returns the cached contents.
    fn kept(&self) -> &MaskedTextCache;
    /// The number of first searches that keep no contents for the next one.
    fn free_searches(&self) -> u32;
    /// Lends the bytes of a plain file to `take`, unless it has more than are read: then their number.
    fn read_bytes<T>(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        file: &CatalogueFile,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Result<T, u64>, WorkspaceError>;
    /// Reads the contents of a plain file.
    fn load(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        file: &CatalogueFile,
    ) -> Result<SearchContent, WorkspaceError> {
        Ok(self.read_bytes(hand, path, file, SearchContent::new)?.unwrap_or_else(SearchContent::TooLarge))
    }
    /// Likewise, for a search that keeps nothing; `None` for text that `pattern` is not in.
    fn load_for(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        file: &CatalogueFile,
        pattern: &LineRegex,
    ) -> Result<Option<SearchContent>, WorkspaceError> {
        let take = |bytes: &[u8]| SearchContent::for_pattern(bytes, pattern);
        let loaded = self.read_bytes(hand, path, file, take)?;
        Ok(loaded.unwrap_or_else(|size| Some(SearchContent::TooLarge(size))))
    }
}

/// Searches with as many threads as the machine has.
pub(super) fn search(
    shelf: &impl SearchableTree,
    query: &Query<'_>,
    cancel: &Cancel,
) -> Result<SearchHits, WorkspaceError> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
    search_with(shelf, query, cancel, threads)
}

/// The shared state of the threads.
struct SearchState {
    next: AtomicUsize,
    /// Chunks from this one on are not needed.
    stop: AtomicUsize,
    found: Mutex<SearchProgress>,
}

#[derive(Default)]
struct SearchProgress {
    slots: Vec<Option<SearchHits>>,
    /// The number of leading slots that are filled.
    filled: usize,
    /// The lines in those.
    lines: usize,
    /// The first chunk that could not be listed, and why.
    fault: Option<(usize, WorkspaceError)>,
    stopped: Option<CancelReason>,
}

impl SearchState {
    /// Checks whether the hits of a chunk may still be among the first.
    fn needs(&self, number: usize) -> bool {
        number < self.stop.load(Ordering::SeqCst)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SearchProgress> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, number: usize, hits: SearchHits, most: usize) {
        let mut found = self.lock();
        if found.slots.len() <= number {
            found.slots.resize_with(number + 1, || None);
        }
        found.slots[number] = Some(hits);
        // Once there is enough, slots that other threads still fill must not count: which ones those are depends on the threads.
        while found.lines < most
            && let Some(Some(slot)) = found.slots.get(found.filled)
        {
            let lines = slot.lines;
            found.lines += lines;
            found.filled += 1;
        }
        if found.lines >= most {
            self.stop.fetch_min(found.filled, Ordering::SeqCst);
        }
    }

    fn fault(&self, number: usize, error: WorkspaceError) {
        self.stop.fetch_min(number, Ordering::SeqCst);
        let mut found = self.lock();
        if found.fault.as_ref().is_none_or(|(first, _)| number < *first) {
            found.fault = Some((number, error));
        }
    }

    fn halt(&self, stopped: CancelReason) {
        self.stop.store(0, Ordering::SeqCst);
        self.lock().stopped = Some(stopped);
    }
}

pub(super) fn search_with(
    shelf: &impl SearchableTree,
    query: &Query<'_>,
    cancel: &Cancel,
    threads: usize,
) -> Result<SearchHits, WorkspaceError> {
    let catalogue = shelf.catalogue(cancel)?;
    let board = SearchState {
        next: AtomicUsize::new(0),
        stop: AtomicUsize::new(usize::MAX),
        found: Mutex::new(SearchProgress::default()),
    };
    let task = SearchTask {
        shelf,
        catalogue,
        query,
        cancel,
        board: &board,
        keep: shelf.kept().count_search() >= shelf.free_searches(),
    };
    let mut hand = shelf.hand();
    // A common word is found often enough in the first files: no other thread, with a handle of its own, is needed then.
    if task.one_chunk(&mut hand) {
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| {
                    let mut hand = shelf.hand();
                    while task.one_chunk(&mut hand) {}
                });
            }
            while task.one_chunk(&mut hand) {}
        });
    }
    let found = board.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(stopped) = found.stopped {
        return Err(stopped.into());
    }
    let enough = found.lines >= query.most;
    if let (false, Some((_, error))) = (enough, found.fault) {
        return Err(error);
    }
    let mut hits =
        SearchHits { exhausted: !enough && catalogue.incomplete_reason().is_none(), ..SearchHits::default() };
    for slot in found.slots.into_iter().take(found.filled).flatten() {
        hits.append(slot);
    }
    hits.truncate(query.most);
    Ok(hits)
}

/// The work of each thread.
struct SearchTask<'t, S> {
    shelf: &'t S,
    catalogue: &'t Catalogue,
    query: &'t Query<'t>,
    cancel: &'t Cancel,
    board: &'t SearchState,
    keep: bool,
}

impl<S: SearchableTree> SearchTask<'_, S> {
    /// Searches the next chunk; `false` when there is none or none is needed.
    fn one_chunk(&self, hand: &mut CatalogueReader<'_>) -> bool {
        let number = self.board.next.fetch_add(1, Ordering::SeqCst);
        if !self.board.needs(number) {
            return false;
        }
        match self.catalogue.chunk(number, hand, self.cancel) {
            Ok(Some(chunk)) => match self.search_chunk(hand, &chunk, number) {
                Ok(hits) => self.board.put(number, hits, self.query.most),
                Err(stopped) => self.board.halt(stopped),
            },
            Ok(None) => return false,
            Err(WorkspaceError::Stopped(stopped)) => self.board.halt(stopped),
            Err(error) => self.board.fault(number, error),
        }
        self.board.needs(number + 1)
    }

    fn search_chunk(
        &self,
        hand: &mut CatalogueReader<'_>,
        chunk: &PathChunk,
        number: usize,
    ) -> Result<SearchHits, CancelReason> {
        let mut hits = SearchHits::default();
        let contents = self.keep.then(|| chunk.contents());
        for (at, (path, file)) in chunk.files().enumerate() {
            self.cancel.check()?;
            // The hits of a chunk that is not needed any more are not looked at, so it need not be searched to its end.
            if !self.board.needs(number) {
                break;
            }
            if is_searched(file.mode, path, self.query) {
                let found = match contents {
                    Some(contents) => self.search_kept(hand, path, file, &contents[at], &mut hits),
                    None => match self.shelf.load_for(hand, path, file, self.query.pattern) {
                        Ok(Some(content)) => self.search_content(path, &content, &mut hits),
                        Ok(None) => Ok(()),
                        Err(error) => Err(error),
                    },
                };
                match (found, RepoPath::from_bytes(path)) {
                    (Ok(()), _) => hits.searched += 1,
                    (Err(error), Ok(path)) => hits.add_unread(path, error.to_string()),
                    (Err(_), Err(_)) => {}
                }
            }
            if hits.lines >= self.query.most {
                break;
            }
        }
        Ok(hits)
    }

    fn search_kept(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        file: &CatalogueFile,
        place: &OnceLock<SearchContent>,
        hits: &mut SearchHits,
    ) -> Result<(), WorkspaceError> {
        let tree = self.shelf;
        let mut spare = None;
        let kept = place.get_or_init(|| match tree.load(hand, path, file) {
            Ok(content) if tree.kept().has_room(&content) => content,
            other => {
                spare = Some(other);
                SearchContent::NotKept
            }
        });
        match kept {
            SearchContent::NotKept => {
                let loaded = spare.unwrap_or_else(|| tree.load(hand, path, file))?;
                self.search_content(path, &loaded, hits)
            }
            kept => self.search_content(path, kept, hits),
        }
    }

    fn search_content(
        &self,
        path: &[u8],
        content: &SearchContent,
        hits: &mut SearchHits,
    ) -> Result<(), WorkspaceError> {
        let pattern = self.query.pattern;
        match content {
            SearchContent::Text { text, .. } if pattern.is_costly(text) => {
                hits.add_unread(RepoPath::from_bytes(path)?, COSTLY.to_owned());
            }
            SearchContent::Text { text, charset } if pattern.may_match(text) => {
                let path = RepoPath::from_bytes(path)?;
                let text = self.shelf.kept().text_of(&path, text, charset);
                self.query.add_lines(path, text, hits);
            }
            SearchContent::Text { .. } | SearchContent::Binary | SearchContent::NotKept => {}
            SearchContent::TooLarge(size) => {
                hits.add_unread(RepoPath::from_bytes(path)?, format!("it has {size} bytes"));
            }
        }
        Ok(())
    }
}

/// Links and submodules have no lines.
fn is_searched(mode: FileMode, path: &[u8], query: &Query<'_>) -> bool {
    matches!(mode, FileMode::File | FileMode::Executable) && query.files.is_none_or(|files| files.allows_bytes(path))
}

/// Searches a small tree file by file.
pub(super) fn search_sequentially(
    files: &[TreeEntry],
    read: impl Fn(&RepoPath) -> Result<Arc<FileText>, WorkspaceError>,
    query: &Query<'_>,
    cancel: &Cancel,
) -> Result<SearchHits, WorkspaceError> {
    let mut hits = SearchHits { exhausted: true, ..SearchHits::default() };
    for file in files.iter().filter(|file| is_searched(file.mode, file.path.as_bytes(), query)) {
        cancel.check()?;
        match read(&file.path) {
            Ok(text) if query.pattern.is_costly(text.text()) => hits.add_unread(file.path.clone(), COSTLY.to_owned()),
            Ok(text) => {
                query.add_lines(file.path.clone(), text, &mut hits);
                hits.searched += 1;
            }
            Err(WorkspaceError::NotText { .. }) => hits.searched += 1,
            Err(error @ (WorkspaceError::Stopped(_) | WorkspaceError::Repo(_))) => return Err(error),
            Err(error) => hits.add_unread(file.path.clone(), error.to_string()),
        }
        if hits.lines >= query.most {
            hits.exhausted = false;
            break;
        }
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree whose contents are its paths.
    struct PathEchoTree {
        catalogue: Catalogue,
        kept: MaskedTextCache,
        keeps: bool,
    }

    impl PathEchoTree {
        fn new(files: usize, keeps: bool) -> Self {
            let path = |number: usize| (format!("f{number:05}").into_bytes(), FileMode::File, None);
            let catalogue = Catalogue::from_files((0..files).map(path).collect(), PathFilter::all());
            Self { catalogue, kept: MaskedTextCache::default(), keeps }
        }
    }

    impl SearchableTree for PathEchoTree {
        fn hand(&self) -> CatalogueReader<'_> {
            CatalogueReader::new(None)
        }

        fn catalogue(&self, _: &Cancel) -> Result<&Catalogue, WorkspaceError> {
            Ok(&self.catalogue)
        }

        fn kept(&self) -> &MaskedTextCache {
            &self.kept
        }

        fn free_searches(&self) -> u32 {
            if self.keeps { 0 } else { u32::MAX }
        }

        fn read_bytes<T>(
            &self,
            _: &mut CatalogueReader<'_>,
            path: &[u8],
            _: &CatalogueFile,
            take: impl FnOnce(&[u8]) -> T,
        ) -> Result<Result<T, u64>, WorkspaceError> {
            match path.last() {
                Some(b'7') => Ok(Err(1)),
                _ => Ok(Ok(take(path))),
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_answer() {
        let pattern = LineRegex::new("[13]").unwrap();
        for most in [1, 40, 200, usize::MAX] {
            let query = Query { pattern: &pattern, files: None, most, generated_last: false };
            let answer = |threads, keeps| {
                let hits = search_with(&PathEchoTree::new(700, keeps), &query, &Cancel::never(), threads).unwrap();
                let files: Vec<_> = hits.files.iter().map(|file| (file.path.clone(), file.lines.clone())).collect();
                (files, hits.lines, hits.exhausted, hits.unread, hits.unread_named)
            };
            let one = answer(1, true);
            assert_eq!(one.1, one.0.len());
            for threads in [2, 3, 8] {
                for keeps in [false, true, false, true, false] {
                    assert_eq!(answer(threads, keeps), one, "{threads} threads, {most} lines");
                }
            }
        }
    }
}
