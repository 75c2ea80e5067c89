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

/// A function that is shown the files with hits of a search, with the index of the query. It is called by one thread at a time, while the others may
/// wait for it.
pub type EachHits<'e> = dyn FnMut(usize, FileHits) + Send + 'e;

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

    /// Adds what comes next, as far as it is among the first `most` lines, and shows `each` its files.
    fn append(&mut self, mut next: Self, most: usize, mut each: impl FnMut(FileHits)) {
        for mut file in next.files {
            file.lines.truncate(most.saturating_sub(self.lines));
            if file.lines.is_empty() {
                break;
            }
            self.lines += file.lines.len();
            each(file);
        }
        for file in &mut next.generated {
            file.lines.truncate(most.saturating_sub(self.generated_kept));
            self.generated_kept += file.lines.len();
        }
        self.generated.extend(next.generated.into_iter().filter(|file| !file.lines.is_empty()));
        self.generated_lines += next.generated_lines;
        self.searched += next.searched;
        self.unread += next.unread;
        self.unread_named
            .extend(next.unread_named.into_iter().take(MOST_TOLD - self.unread_named.len().min(MOST_TOLD)));
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
    /// Likewise, for a search that keeps nothing; `None` for text that is not wanted.
    fn load_for(
        &self,
        hand: &mut CatalogueReader<'_>,
        path: &[u8],
        file: &CatalogueFile,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<SearchContent>, WorkspaceError> {
        let take = |bytes: &[u8]| SearchContent::if_wanted(bytes, is_wanted);
        let loaded = self.read_bytes(hand, path, file, take)?;
        Ok(loaded.unwrap_or_else(|size| Some(SearchContent::TooLarge(size))))
    }
}

/// Searches with as many threads as the machine has, in one pass for all queries. Shows `each` the files with hits, in path order for each query,
/// with its index; what is returned are the counts of each query, without the files.
pub(super) fn search(
    shelf: &impl SearchableTree,
    queries: &[Query<'_>],
    cancel: &Cancel,
    each: &mut EachHits<'_>,
) -> Result<Vec<SearchHits>, WorkspaceError> {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS);
    search_with(shelf, queries, cancel, threads, each)
}

/// The shared state of the threads.
struct SearchState<'q, 'e> {
    queries: &'q [Query<'q>],
    next: AtomicUsize,
    /// For each query: chunks from this one on are not needed.
    stops: Vec<AtomicUsize>,
    found: Mutex<SearchProgress<'e>>,
}

struct SearchProgress<'e> {
    /// Hits of chunks that follow one that is not searched yet, for each query.
    slots: Vec<Option<Vec<SearchHits>>>,
    /// The number of leading slots that were filled.
    filled: usize,
    /// The counts of those, for each query.
    totals: Vec<SearchHits>,
    each: &'e mut EachHits<'e>,
    /// The first chunk that could not be listed, and why.
    fault: Option<(usize, WorkspaceError)>,
    stopped: Option<CancelReason>,
}

impl<'e> SearchState<'_, 'e> {
    /// Checks whether the hits of a query in a chunk may still be among the first.
    fn needs(&self, query: usize, number: usize) -> bool {
        number < self.stops[query].load(Ordering::SeqCst)
    }

    fn needs_some(&self, number: usize) -> bool {
        (0..self.queries.len()).any(|query| self.needs(query, number))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SearchProgress<'e>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, number: usize, hits: Vec<SearchHits>) {
        let mut found = self.lock();
        let found = &mut *found;
        if found.slots.len() <= number {
            found.slots.resize_with(number + 1, || None);
        }
        found.slots[number] = Some(hits);
        while let Some(hits) = found.slots.get_mut(found.filled).and_then(Option::take) {
            for (at, (query, hits)) in self.queries.iter().zip(hits).enumerate() {
                let total = &mut found.totals[at];
                // Once there is enough, slots that other threads still fill must not count: which ones those are depends on the threads.
                if total.lines < query.most {
                    total.append(hits, query.most, |file| (found.each)(at, file));
                    if total.lines >= query.most {
                        self.stops[at].fetch_min(found.filled + 1, Ordering::SeqCst);
                    }
                }
            }
            found.filled += 1;
        }
    }

    fn stop_at(&self, number: usize) {
        for stop in &self.stops {
            stop.fetch_min(number, Ordering::SeqCst);
        }
    }

    fn fault(&self, number: usize, error: WorkspaceError) {
        self.stop_at(number);
        let mut found = self.lock();
        if found.fault.as_ref().is_none_or(|(first, _)| number < *first) {
            found.fault = Some((number, error));
        }
    }

    fn halt(&self, stopped: CancelReason) {
        self.stop_at(0);
        self.lock().stopped = Some(stopped);
    }
}

pub(super) fn search_with(
    shelf: &impl SearchableTree,
    queries: &[Query<'_>],
    cancel: &Cancel,
    threads: usize,
    each: &mut EachHits<'_>,
) -> Result<Vec<SearchHits>, WorkspaceError> {
    let catalogue = shelf.catalogue(cancel)?;
    let totals = queries.iter().map(|_| SearchHits::default()).collect();
    let board = SearchState {
        queries,
        next: AtomicUsize::new(0),
        stops: queries.iter().map(|query| AtomicUsize::new(if query.most == 0 { 0 } else { usize::MAX })).collect(),
        found: Mutex::new(SearchProgress { slots: Vec::new(), filled: 0, totals, each, fault: None, stopped: None }),
    };
    let keep = shelf.kept().count_search() >= shelf.free_searches();
    let task = SearchTask { shelf, catalogue, queries, cancel, board: &board, keep };
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
    let mut totals = found.totals;
    for (total, query) in totals.iter_mut().zip(queries) {
        total.exhausted = total.lines < query.most && catalogue.incomplete_reason().is_none();
    }
    match found.fault {
        // Some query might have found more.
        Some((_, error)) if totals.iter().zip(queries).any(|(total, query)| total.lines < query.most) => Err(error),
        _ => Ok(totals),
    }
}

/// The work of each thread.
struct SearchTask<'t, 'e, S> {
    shelf: &'t S,
    catalogue: &'t Catalogue,
    queries: &'t [Query<'t>],
    cancel: &'t Cancel,
    board: &'t SearchState<'t, 'e>,
    keep: bool,
}

impl<S: SearchableTree> SearchTask<'_, '_, S> {
    /// Searches the next chunk; `false` when there is none or none is needed.
    fn one_chunk(&self, hand: &mut CatalogueReader<'_>) -> bool {
        let number = self.board.next.fetch_add(1, Ordering::SeqCst);
        if !self.board.needs_some(number) {
            return false;
        }
        match self.catalogue.chunk(number, hand, self.cancel) {
            Ok(Some(chunk)) => match self.search_chunk(hand, &chunk, number) {
                Ok(hits) => self.board.put(number, hits),
                Err(stopped) => self.board.halt(stopped),
            },
            Ok(None) => return false,
            Err(WorkspaceError::Stopped(stopped)) => self.board.halt(stopped),
            Err(error) => self.board.fault(number, error),
        }
        self.board.needs_some(number + 1)
    }

    fn search_chunk(
        &self,
        hand: &mut CatalogueReader<'_>,
        chunk: &PathChunk,
        number: usize,
    ) -> Result<Vec<SearchHits>, CancelReason> {
        let mut hits: Vec<SearchHits> = self.queries.iter().map(|_| SearchHits::default()).collect();
        let contents = self.keep.then(|| chunk.contents());
        let mut wanted = Vec::with_capacity(self.queries.len());
        for (at, (path, file)) in chunk.files().enumerate() {
            self.cancel.check()?;
            // The hits of a chunk that is not needed any more are not looked at, so it need not be searched to its end.
            let is_open = |at: usize| self.board.needs(at, number) && hits[at].lines < self.queries[at].most;
            wanted.clear();
            wanted.extend((0..self.queries.len()).filter(|at| is_open(*at)));
            if wanted.is_empty() {
                break;
            }
            wanted.retain(|at| is_searched(file.mode, path, &self.queries[*at]));
            if wanted.is_empty() {
                continue;
            }
            let found = match contents {
                Some(contents) => self.search_kept(hand, path, file, &contents[at], (&wanted, &mut hits)),
                None => {
                    let may_match = |text: &str| wanted.iter().any(|at| self.queries[*at].pattern.needs_text(text));
                    match self.shelf.load_for(hand, path, file, may_match) {
                        Ok(Some(content)) => self.search_content(path, &content, (&wanted, &mut hits)),
                        Ok(None) => Ok(()),
                        Err(error) => Err(error),
                    }
                }
            };
            for at in &wanted {
                let hits = &mut hits[*at];
                match (&found, RepoPath::from_bytes(path)) {
                    (Ok(()), _) => hits.searched += 1,
                    (Err(error), Ok(path)) => hits.add_unread(path, error.to_string()),
                    (Err(_), Err(_)) => {}
                }
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
        wanted: (&[usize], &mut [SearchHits]),
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
                self.search_content(path, &loaded, wanted)
            }
            kept => self.search_content(path, kept, wanted),
        }
    }

    /// Adds the hits of the `wanted` queries in the contents of a file.
    fn search_content(
        &self,
        path: &[u8],
        content: &SearchContent,
        (wanted, hits): (&[usize], &mut [SearchHits]),
    ) -> Result<(), WorkspaceError> {
        let mut masked = None;
        for at in wanted {
            let (query, hits) = (&self.queries[*at], &mut hits[*at]);
            match content {
                SearchContent::Text { text, .. } if query.pattern.is_costly(text) => {
                    hits.add_unread(RepoPath::from_bytes(path)?, COSTLY.to_owned());
                }
                SearchContent::Text { text, charset } if query.pattern.may_match(text) => {
                    let path = RepoPath::from_bytes(path)?;
                    let text = masked.get_or_insert_with(|| self.shelf.kept().text_of(&path, text, charset));
                    query.add_lines(path, Arc::clone(text), hits);
                }
                SearchContent::Text { .. } | SearchContent::Binary | SearchContent::NotKept => {}
                SearchContent::TooLarge(size) => {
                    hits.add_unread(RepoPath::from_bytes(path)?, format!("it has {size} bytes"));
                }
            }
        }
        Ok(())
    }
}

/// Links and submodules have no lines.
fn is_searched(mode: FileMode, path: &[u8], query: &Query<'_>) -> bool {
    matches!(mode, FileMode::File | FileMode::Executable) && query.files.is_none_or(|files| files.allows_bytes(path))
}

/// Searches a small tree file by file; see [`search()`].
pub(super) fn search_sequentially(
    files: &[TreeEntry],
    read: impl Fn(&RepoPath) -> Result<Arc<FileText>, WorkspaceError>,
    queries: &[Query<'_>],
    cancel: &Cancel,
    each: &mut EachHits<'_>,
) -> Result<Vec<SearchHits>, WorkspaceError> {
    let mut totals: Vec<SearchHits> =
        queries.iter().map(|_| SearchHits { exhausted: true, ..SearchHits::default() }).collect();
    for file in files {
        cancel.check()?;
        let wants = |(query, total): (&Query<'_>, &SearchHits)| {
            total.exhausted && is_searched(file.mode, file.path.as_bytes(), query)
        };
        let wanted: Vec<bool> = queries.iter().zip(&totals).map(wants).collect();
        if !wanted.contains(&true) {
            continue;
        }
        let text = match read(&file.path) {
            Err(error @ (WorkspaceError::Stopped(_) | WorkspaceError::Repo(_))) => return Err(error),
            text => text,
        };
        for (at, (query, total)) in queries.iter().zip(&mut totals).enumerate().filter(|(at, _)| wanted[*at]) {
            let mut hits = SearchHits::default();
            match &text {
                Ok(text) if query.pattern.is_costly(text.text()) => {
                    hits.add_unread(file.path.clone(), COSTLY.to_owned());
                }
                Ok(text) => {
                    hits.searched = 1;
                    query.add_lines(file.path.clone(), Arc::clone(text), &mut hits);
                }
                Err(WorkspaceError::NotText { .. }) => hits.searched = 1,
                Err(error) => hits.add_unread(file.path.clone(), error.to_string()),
            }
            total.append(hits, query.most, |file| each(at, file));
            total.exhausted = total.lines < query.most;
        }
    }
    Ok(totals)
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
                let mut files = Vec::new();
                let mut each = |_: usize, file: FileHits| files.push((file.path, file.lines));
                let tree = PathEchoTree::new(700, keeps);
                let hits = search_with(&tree, &[query], &Cancel::never(), threads, &mut each).unwrap().remove(0);
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

    #[test]
    fn queries_that_are_asked_together_have_the_answers_that_each_has_alone() {
        let patterns = ["[13]", "0", "f00[2-4]", "none"].map(|pattern| LineRegex::new(pattern).unwrap());
        let filter = PathFilter::new(&["f002*".to_owned(), "f003*".to_owned()], &[]).unwrap();
        let mut queries: Vec<Query<'_>> = Vec::new();
        for (at, pattern) in patterns.iter().enumerate() {
            let files = (at == 0).then_some(&filter);
            queries.push(Query { pattern, files, most: [20, 300, usize::MAX, 1][at], generated_last: false });
        }
        let answers = |queries: &[Query<'_>], threads: usize, keeps: bool| {
            let mut files = vec![Vec::new(); queries.len()];
            let mut each = |at: usize, file: FileHits| files[at].push((file.path, file.lines));
            let tree = PathEchoTree::new(700, keeps);
            let hits = search_with(&tree, queries, &Cancel::never(), threads, &mut each).unwrap();
            hits.into_iter().map(|hits| (hits.lines, hits.exhausted, hits.unread_named)).zip(files).collect::<Vec<_>>()
        };
        let alone: Vec<_> = queries.iter().flat_map(|query| answers(&[*query], 1, false)).collect();
        assert_eq!(alone.iter().map(|answer| answer.0.0).collect::<Vec<_>>(), [20, 300, 270, 0]);
        for threads in [1, 2, 8] {
            for keeps in [false, true] {
                assert_eq!(answers(&queries, threads, keeps), alone, "{threads} threads");
            }
        }
    }
}
