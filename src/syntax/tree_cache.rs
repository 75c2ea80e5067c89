//! A cache of parsed texts, so that a text with several queries is parsed once. Main type: [`TreeCache`].

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use foldhash::quality::RandomState;

use super::blocks::DividedText;
use super::defined_names::affected_names;
use super::excerpt::{Excerpt, ExcerptQuery};
use super::focus::ScanFocus;
use super::grammar::{Grammar, ParseFailure, ParseLimits};
use super::other_version::OtherVersion;
use super::probe::ParserProbe;
use super::symbols::Symbols;
use super::tree::SyntaxTree;
use crate::sys::threads::thread_count;

/// Maximum bytes of text whose trees are cached at a time; a tree takes some forty times as much memory as its text. The cached trees of
/// a large change should fit into the processor's cache.
const MOST: usize = 192 << 10;
/// Number of texts whose division is cached: both sides of a file, for as many threads as examine files.
const MOST_DIVISIONS: usize = 8;
/// Bytes of text above which only the last two trees are cached.
const MOST_OF_FEW: usize = 1 << 20;

/// Maximum number of entries in the cached symbols of all texts; an entry takes some 200 bytes.
const MOST_SYMBOLS: usize = 250_000;

/// Caches trees by their texts for a while, and short results for the whole run. A caller with several queries about a file has it parsed
/// once, and large changes take no more memory than small ones.
#[derive(Default)]
pub struct TreeCache {
    hasher: RandomState,
    kept: Mutex<TreeCacheState>,
    /// Held while a large text is parsed and matched.
    large: Mutex<()>,
    /// The probe that tries texts first.
    probe: Option<Arc<ParserProbe>>,
    /// Number of texts parsed so far, of their bytes, and of the nodes that rules were matched against.
    done: [AtomicU64; 3],
}

/// The work of a run, on whatever machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseWork {
    /// Number of texts that were parsed.
    pub texts: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Number of nodes that rules were matched against.
    pub nodes: u64,
}

/// A text under a grammar, by its hash and its length.
type TreeKey = (Grammar, u64, usize);

#[derive(Default)]
struct TreeCacheState {
    trees: HashMap<TreeKey, Arc<SyntaxTree>>,
    /// In order of insertion, with the inserting thread.
    order: VecDeque<(TreeKey, ThreadId)>,
    /// Bytes of the texts of the trees.
    bytes: usize,
    said: HashMap<TreeKey, TextAnswer>,
    /// Number of entries in the symbols among them.
    symbols: usize,
    /// Divisions into blocks, the last one first.
    divided: VecDeque<(TreeKey, Option<Arc<DividedText>>)>,
}

/// Short results for a text, which outlive its tree.
#[derive(Default)]
pub(super) struct TextAnswer {
    /// The names around its lines: none if there is none at a line.
    pub(super) names: HashMap<u32, Option<Vec<String>>>,
    pub(super) symbols: Option<Arc<Symbols>>,
    /// Its exported symbols.
    pub(super) outline: Option<Arc<Symbols>>,
    /// Its number of errors.
    pub(super) errors: Option<usize>,
    /// Set if this is an excerpt with a syntax error.
    is_unusable: bool,
}

impl std::fmt::Debug for TreeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trees")
    }
}

impl TreeCache {
    /// Creates a cache that parses only texts that `probe` survived.
    pub fn with_probe(probe: Option<Arc<ParserProbe>>) -> Self {
        Self { probe, ..Self::default() }
    }

    /// Returns the work that was done so far.
    pub fn work(&self) -> ParseWork {
        let [texts, bytes, nodes] = [0, 1, 2].map(|at| self.done[at].load(Ordering::Relaxed));
        ParseWork { texts, bytes, nodes }
    }

    /// Counts nodes that rules were matched against.
    pub fn add_nodes(&self, nodes: u64) {
        self.done[2].fetch_add(nodes, Ordering::Relaxed);
    }

    /// Waits until no other large text is being parsed: the trees of several at once would exhaust the memory.
    pub fn begin_large(&self) -> MutexGuard<'_, ()> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tree of a text, as [`SyntaxTree::parse`] makes it.
    pub fn parse(
        &self,
        grammar: Grammar,
        text: &str,
        watch: &ParseLimits<'_>,
    ) -> Result<Arc<SyntaxTree>, ParseFailure> {
        self.parse_with_other(grammar, text, None, watch)
    }

    /// Returns the tree of a text, reusing the common parts of another version whose tree is still cached.
    pub fn parse_with_other(
        &self,
        grammar: Grammar,
        text: &str,
        beside: Option<&OtherVersion<'_>>,
        watch: &ParseLimits<'_>,
    ) -> Result<Arc<SyntaxTree>, ParseFailure> {
        let key = self.key(grammar, text);
        if let Some(known) = self.known(key, text, None) {
            watch.check()?;
            return Ok(known);
        }
        let probe = self.probe.as_ref().filter(|probe| probe.covers(grammar));
        if let Some(probe) = probe {
            probe.check(grammar, text, watch)?;
        }
        // A trial does not cover reuse of another tree.
        let other = beside.filter(|_| probe.is_none()).and_then(|beside| {
            let other = self.known(self.key(grammar, beside.other), beside.other, None)?;
            Some((other, beside))
        });
        let tree = Arc::new(match other {
            Some((other, beside)) => SyntaxTree::parse_with_other(text, &other, beside, watch)?,
            None => SyntaxTree::parse(grammar, text, watch)?,
        });
        self.store(key, &tree);
        Ok(tree)
    }

    /// Divides a text into blocks; `None` if they are not known.
    fn divide(&self, grammar: Grammar, text: &str) -> Option<Arc<DividedText>> {
        let key = self.key(grammar, text);
        let known = self.kept().divided.iter().find(|(of, _)| *of == key).map(|(_, divided)| divided.clone());
        known.unwrap_or_else(|| {
            let divided = DividedText::of(grammar, text).map(Arc::new);
            let mut kept = self.kept();
            kept.divided.push_front((key, divided.clone()));
            kept.divided.truncate(MOST_DIVISIONS);
            divided
        })
    }

    /// Returns the first and the last line of the innermost block around each of some lines; `None` if the blocks are not known.
    pub fn blocks_around(&self, grammar: Grammar, text: &str, lines: &[u32]) -> Option<Vec<(u32, u32)>> {
        let divided = self.divide(grammar, text)?;
        let around = |line: &u32| {
            let block = divided.lines_around(usize::try_from(line.checked_sub(1)?).ok()?);
            Some((u32::try_from(block.start + 1).ok()?, u32::try_from(block.end).ok()?))
        };
        lines.iter().map(around).collect()
    }

    /// Returns the part of a text that is examined; `None` if that is nearly all of it, or the text cannot be divided.
    pub fn excerpt(&self, grammar: Grammar, text: &str, query: ExcerptQuery<'_>) -> Option<Excerpt> {
        Excerpt::of(&*self.divide(grammar, text)?, text, query)
    }

    /// Returns the parts of two texts that are examined and differ; `None` if they cannot be divided. Both are empty if nothing differs.
    pub(super) fn different_excerpts(
        &self,
        grammar: Grammar,
        texts: [(&str, ExcerptQuery<'_>); 2],
    ) -> Option<[Excerpt; 2]> {
        let [(old, of_old), (new, of_new)] = texts;
        let (old_blocks, new_blocks) = (self.divide(grammar, old)?, self.divide(grammar, new)?);
        Some(Excerpt::select_different([(&*old_blocks, old, of_old), (&*new_blocks, new, of_new)]))
    }

    /// Returns the names of what the affected code of a text defines. Other code that has them may mean something else now.
    pub fn affected_names(&self, grammar: Grammar, text: &str, focus: &ScanFocus) -> BTreeSet<String> {
        let divided = if grammar.has_local_rules() { None } else { self.divide(grammar, text) };
        divided.map(|divided| affected_names(&divided, text, focus)).unwrap_or_default()
    }

    /// Returns the tree of an excerpt, or of the text if there is none or it has a syntax error.
    pub fn parse_affected(
        &self,
        grammar: Grammar,
        text: &str,
        excerpt: Option<&Excerpt>,
        beside: Option<&OtherVersion<'_>>,
        watch: &ParseLimits<'_>,
    ) -> Result<Arc<SyntaxTree>, ParseFailure> {
        if let Some(excerpt) = excerpt
            && let Some(tree) = self.parse_excerpt(grammar, text, excerpt, watch)?
        {
            return Ok(tree);
        }
        self.parse_with_other(grammar, text, beside, watch)
    }

    /// Returns the tree of an excerpt; `None` if it has a syntax error.
    pub(super) fn parse_excerpt(
        &self,
        grammar: Grammar,
        text: &str,
        excerpt: &Excerpt,
        watch: &ParseLimits<'_>,
    ) -> Result<Option<Arc<SyntaxTree>>, ParseFailure> {
        watch.check()?;
        let key = self.excerpt_key(grammar, text, excerpt);
        if let Some(known) = self.known(key, text, Some(excerpt)) {
            return Ok(Some(known));
        }
        if self.kept().said.get(&key).is_some_and(|said| said.is_unusable) {
            return Ok(None);
        }
        if let Some(probe) = self.probe.as_ref().filter(|probe| probe.covers(grammar)) {
            // To the parser, pieces at their places are the same as pieces one after the other.
            probe.check(grammar, &excerpt.join(text), watch)?;
        }
        let Some(tree) = SyntaxTree::parse_excerpt(grammar, text, excerpt.parts(), watch)?.map(Arc::new) else {
            self.kept().said.entry(key).or_default().is_unusable = true;
            return Ok(None);
        };
        self.store(key, &tree);
        Ok(Some(tree))
    }

    fn store(&self, key: TreeKey, tree: &Arc<SyntaxTree>) {
        self.done[0].fetch_add(1, Ordering::Relaxed);
        self.done[1].fetch_add(key.2 as u64, Ordering::Relaxed);
        let left = self.kept().keep(key, Arc::clone(tree));
        // Freeing a large tree takes time, and is not done under the lock.
        drop(left);
    }

    /// Returns the cached result at `place` for a text, or computes it with `answer`. `None` is not cached.
    pub(super) fn get_or_compute<T: Clone>(
        &self,
        (grammar, text): (Grammar, &str),
        place: impl Fn(&mut TextAnswer) -> &mut Option<T>,
        answer: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        self.get_or_compute_at(self.key(grammar, text), place, answer)
    }

    fn get_or_compute_at<T: Clone>(
        &self,
        key: TreeKey,
        place: impl Fn(&mut TextAnswer) -> &mut Option<T>,
        answer: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        if let Some(known) = self.kept().said.get_mut(&key).and_then(|said| place(said).clone()) {
            return Some(known);
        }
        let answer = answer()?;
        *place(self.kept().said.entry(key).or_default()) = Some(answer.clone());
        Some(answer)
    }

    /// Returns the cached symbols at `place` for a text, or for an excerpt of it, or reads them with `answer`. When they are too many, all
    /// are forgotten.
    pub(super) fn symbols(
        &self,
        (grammar, text): (Grammar, &str),
        excerpt: Option<&Excerpt>,
        place: impl Fn(&mut TextAnswer) -> &mut Option<Arc<Symbols>>,
        answer: impl FnOnce() -> Option<Arc<Symbols>>,
    ) -> Option<Arc<Symbols>> {
        let mut added = 0;
        let read = || answer().inspect(|symbols| added = symbols.entry_count());
        let key = excerpt.map_or_else(|| self.key(grammar, text), |excerpt| self.excerpt_key(grammar, text, excerpt));
        let symbols = self.get_or_compute_at(key, place, read)?;
        let mut kept = self.kept();
        kept.symbols += added;
        if kept.symbols > MOST_SYMBOLS {
            kept.symbols = 0;
            for said in kept.said.values_mut() {
                (said.symbols, said.outline) = (None, None);
            }
        }
        Some(symbols)
    }

    fn known(&self, key: TreeKey, text: &str, excerpt: Option<&Excerpt>) -> Option<Arc<SyntaxTree>> {
        let known = self.kept().trees.get(&key).cloned();
        known.filter(|tree| tree.text() == text.as_bytes() && excerpt.is_none_or(|excerpt| tree.is_of(excerpt.parts())))
    }

    fn excerpt_key(&self, grammar: Grammar, text: &str, excerpt: &Excerpt) -> TreeKey {
        (grammar, self.hasher.hash_one((text, excerpt)), excerpt.len())
    }

    fn key(&self, grammar: Grammar, text: &str) -> TreeKey {
        (grammar, self.hasher.hash_one(text), text.len())
    }

    fn kept(&self) -> MutexGuard<'_, TreeCacheState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TreeCacheState {
    /// Inserts a tree, and returns those evicted for it.
    fn keep(&mut self, key: TreeKey, tree: Arc<SyntaxTree>) -> Vec<Arc<SyntaxTree>> {
        let own = std::thread::current().id();
        if self.trees.insert(key, tree).is_none() {
            self.order.push_back((key, own));
            self.bytes += key.2;
        }
        let mut left = Vec::new();
        let is_over = |kept: &Self| {
            // Both sides of the file that each thread examines.
            let few = if kept.bytes > MOST_OF_FEW { 2 } else { 2 * thread_count() };
            kept.bytes > MOST && kept.order.len() > few
        };
        while is_over(self) {
            // A tree is freed fastest by the thread that made it; the last two are both sides of the file that it examines.
            let older = self.order.len().saturating_sub(2);
            let first = self.order.iter().take(older).position(|(_, thread)| *thread == own).unwrap_or(0);
            let Some((first, _)) = self.order.remove(first) else { break };
            self.bytes -= first.2;
            left.extend(self.trees.remove(&first));
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cancel::Cancel;
    use std::time::Duration;

    #[test]
    fn a_text_is_parsed_once_and_another_one_anew() {
        let (trees, cancel) = (TreeCache::default(), Cancel::never());
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let parse = |grammar, text: &str| trees.parse(grammar, text, &watch).unwrap();
        let first = parse(Grammar::Rust, "fn a() {}");
        assert!(Arc::ptr_eq(&first, &parse(Grammar::Rust, "fn a() {}")));
        assert!(!Arc::ptr_eq(&first, &parse(Grammar::Go, "fn a() {}")));
        assert!(!Arc::ptr_eq(&first, &parse(Grammar::Rust, "fn b() {}")));
    }

    #[test]
    fn the_trees_of_the_last_texts_are_kept() {
        let (trees, cancel) = (TreeCache::default(), Cancel::never());
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let texts: Vec<String> = (0..12).map(|at| format!("# {at}\n{}", "# filler\n".repeat(MOST / 90))).collect();
        let parse = |text: &String| trees.parse(Grammar::Bash, text, &watch).unwrap();
        let first: Vec<_> = texts.iter().map(parse).collect();
        let (bytes, kept, order) = {
            let kept = trees.kept();
            (kept.bytes, kept.trees.len(), kept.order.len())
        };
        assert!(bytes <= MOST && kept == order);
        assert!(Arc::ptr_eq(&first[11], &parse(&texts[11])) && Arc::ptr_eq(&first[10], &parse(&texts[10])));
        assert!(!Arc::ptr_eq(&first[0], &parse(&texts[0])));
    }

    #[test]
    fn however_large_both_sides_of_a_file_are_kept() {
        let (trees, cancel) = (TreeCache::default(), Cancel::never());
        let watch = ParseLimits::new(&cancel, Duration::from_mins(1));
        let texts = ["# one\n", "# two\n"].map(|text| text.repeat(MOST / 6 + 1));
        let parse = |text: &String| trees.parse(Grammar::Bash, text, &watch).unwrap();
        let first = [parse(&texts[0]), parse(&texts[1])];
        assert!(Arc::ptr_eq(&first[0], &parse(&texts[0])) && Arc::ptr_eq(&first[1], &parse(&texts[1])));
    }

    #[test]
    fn symbols_are_forgotten_when_they_are_too_many() {
        let trees = TreeCache::default();
        let reads = std::cell::Cell::new(0);
        let read = |text, names: usize| {
            let answer = || {
                reads.set(reads.get() + 1);
                let others = (0..names).map(|at| at.to_string()).collect();
                Some(Arc::new(Symbols { others, ..Symbols::default() }))
            };
            trees.symbols((Grammar::Go, text), None, |said| &mut said.symbols, answer).unwrap().entry_count()
        };
        assert_eq!([read("a", 9), read("a", 9), reads.get()], [9, 9, 1]);
        assert_eq!([read("b", MOST_SYMBOLS), reads.get()], [MOST_SYMBOLS, 2]);
        assert_eq!([read("a", 9), read("a", 9), reads.get()], [9, 9, 3]);
    }

    #[test]
    fn an_answer_is_kept_and_its_absence_is_not() {
        let trees = TreeCache::default();
        let ask = |text, line: u32, answer: Option<&str>| {
            let answer = || answer.map(|name| vec![name.to_owned()]);
            let found = trees.get_or_compute((Grammar::Go, text), |said| said.names.entry(line).or_default(), answer);
            found.map(|names| names.concat())
        };
        assert_eq!(ask("a", 1, None), None);
        assert_eq!(ask("a", 1, Some("f")).as_deref(), Some("f"));
        assert_eq!(ask("a", 1, Some("g")).as_deref(), Some("f"));
        assert_eq!(ask("a", 2, Some("g")).as_deref(), Some("g"));
        assert_eq!(ask("b", 1, Some("h")).as_deref(), Some("h"));
    }
}
