//! The cache of file contents during a run, under caps. Main types: [`SearchContent`], [`MaskedTextCache`].

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::charset;

/// Files with more bytes than this are not read.
pub const READ_LIMIT: u64 = 32 << 20;

/// The capacity for the contents that searches read, in bytes of text.
const CONTENT_LIMIT: u64 = 128 << 20;
/// The capacity for the first masked texts, in bytes; they stay. A large change is read from its first file to its last several times, so that
/// the last texts would push out each other before they are wanted again. Of a change of a thousand files it is half. With 4 MiB a review of that
/// takes a twentieth more of the processor and 17 MiB less, with 16 MiB as much and 10 MiB more.
const FIRST_LIMIT: u64 = 10 << 20;
/// The capacity for those that come after them, in bytes: each pushes out the oldest. A file is asked several questions one after another.
const LATEST_LIMIT: u64 = 4 << 20;

/// The contents of a file as a search needs them: decoded, not masked. Nothing but a search's first look may use them.
pub(super) enum SearchContent {
    Text {
        /// Without a byte order mark.
        text: Box<str>,
        /// The source charset.
        charset: &'static str,
    },
    Binary,
    /// More bytes than are read; how many.
    TooLarge(u64),
    /// The cap was reached: to be read again each time.
    NotKept,
}

impl SearchContent {
    /// Decodes what is text.
    pub(super) fn new(bytes: &[u8]) -> Self {
        if charset::is_binary(bytes) {
            return Self::Binary;
        }
        let decoded = charset::decode(bytes);
        Self::Text { text: decoded.text.into_boxed_str(), charset: decoded.charset }
    }

    /// Likewise, but nothing is copied of text that is not wanted: then `None`.
    pub(super) fn if_wanted(bytes: &[u8], is_wanted: impl FnOnce(&str) -> bool) -> Option<Self> {
        (charset::is_binary(bytes) || is_wanted(&charset::text(bytes))).then(|| Self::new(bytes))
    }

    fn size(&self) -> u64 {
        match self {
            Self::Text { text, .. } => text.len() as u64,
            Self::Binary | Self::TooLarge(_) | Self::NotKept => 0,
        }
    }
}

/// The remaining room for contents, the number of searches, and the masked texts.
pub(super) struct MaskedTextCache {
    left: AtomicU64,
    searches: AtomicU32,
    texts: Mutex<MaskedTexts>,
}

/// Masked texts under two caps: the first ones, and the latest of the others.
#[derive(Default)]
struct MaskedTexts {
    by_path: HashMap<RepoPath, Arc<FileText>>,
    /// `true` if a file has the same contents whenever it is read.
    is_fixed: bool,
    /// If so, those that are not kept and have no secret: they need not be searched for one again, which is most of the cost of reading them.
    clean: HashSet<RepoPath>,
    first: u64,
    /// The latest ones with their sizes, the oldest first.
    latest: VecDeque<(RepoPath, u64)>,
    latest_bytes: u64,
}

impl Default for MaskedTextCache {
    fn default() -> Self {
        Self { left: AtomicU64::new(CONTENT_LIMIT), searches: AtomicU32::default(), texts: Mutex::default() }
    }
}

impl MaskedTextCache {
    /// Creates a cache of files that have the same contents whenever they are read.
    pub(super) fn of_fixed() -> Self {
        let texts = MaskedTexts { is_fixed: true, ..MaskedTexts::default() };
        Self { texts: Mutex::new(texts), ..Self::default() }
    }

    /// Counts a search of the tree; returns the number of those before it.
    pub(super) fn count_search(&self) -> u32 {
        self.searches.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks whether `content` may be kept; if so its bytes are counted.
    pub(super) fn has_room(&self, content: &SearchContent) -> bool {
        let take = |left: u64| left.checked_sub(content.size());
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// A text that was kept.
    pub(super) fn text(&self, path: &RepoPath) -> Option<Arc<FileText>> {
        self.lock().by_path.get(path).cloned()
    }

    /// The masked text of `path`, made from `decoded` where it is not kept yet.
    pub(super) fn text_of(&self, path: &RepoPath, decoded: &str, charset: &'static str) -> Arc<FileText> {
        let is_clean = {
            let texts = self.lock();
            if let Some(text) = texts.by_path.get(path) {
                return Arc::clone(text);
            }
            !path.is_masked() && texts.clean.contains(path)
        };
        let text =
            if is_clean { FileText::masked_before(decoded, charset, &[]) } else { FileText::new(decoded, charset) };
        self.insert(path, text)
    }

    /// Keeps a text as far as there is room, and lends it. Where another thread was first, its text is lent.
    pub(super) fn insert(&self, path: &RepoPath, text: FileText) -> Arc<FileText> {
        let mut texts = self.lock();
        if let Some(known) = texts.by_path.get(path) {
            return Arc::clone(known);
        }
        let text = Arc::new(text);
        texts.insert(path, Arc::clone(&text));
        text
    }

    fn lock(&self) -> MutexGuard<'_, MaskedTexts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MaskedTexts {
    fn insert(&mut self, path: &RepoPath, text: Arc<FileText>) {
        // Each line costs four bytes more.
        let bytes = text.text().len() as u64 + u64::from(text.line_count()) * 4;
        if self.first + bytes <= FIRST_LIMIT {
            self.first += bytes;
        } else if bytes <= LATEST_LIMIT {
            self.latest.push_back((path.clone(), bytes));
            self.latest_bytes += bytes;
        } else {
            self.forget(path.clone(), &text);
            return;
        }
        self.by_path.insert(path.clone(), text);
        while self.latest_bytes > LATEST_LIMIT
            && let Some((oldest, bytes)) = self.latest.pop_front()
        {
            self.latest_bytes -= bytes;
            if let Some(text) = self.by_path.remove(&oldest) {
                self.forget(oldest, &text);
            }
        }
    }

    /// Keeps of a text only that it has no secret. Paths that are masked may be equal and those of two files.
    fn forget(&mut self, path: RepoPath, text: &FileText) {
        if self.is_fixed && !path.is_masked() && text.has_no_secret() {
            self.clean.insert(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_keeps_nothing_copies_only_text_that_it_needs() {
        let has_a = |text: &str| text.contains('a');
        assert!(SearchContent::if_wanted(b"b\n", has_a).is_none());
        assert!(SearchContent::if_wanted(b"ba\n", has_a).is_some());
        assert!(SearchContent::if_wanted(b"\0", has_a).is_some());
    }

    #[test]
    fn the_first_texts_stay_and_the_others_push_out_each_other() {
        let cache = MaskedTextCache::default();
        let path = |at: usize| RepoPath::parse(&format!("f{at:02}")).unwrap();
        let text = "x".repeat(1 << 20);
        for at in 0..40 {
            cache.insert(&path(at), FileText::new(&text, "UTF-8"));
        }
        let is_kept = |at: &usize| cache.text(&path(*at)).is_some();
        let kept: Vec<usize> = (0..40).filter(is_kept).collect();
        assert_eq!(kept, [(0..9).collect::<Vec<_>>(), (37..40).collect()].concat());
        let large = cache.insert(&path(40), FileText::new(&text.repeat(5), "UTF-8"));
        assert_eq!((large.text().len(), is_kept(&40), is_kept(&39)), (5 << 20, false, true));
    }

    #[test]
    fn a_text_that_is_read_again_is_masked_again_unless_it_had_no_secret_and_cannot_have_changed() {
        let secret = format!("password = \"{}\"\n", "kX9mQ2vL7pR4tW8zB3nD");
        let (clean, dirty) = ("y = 1\n".repeat(2 << 20), secret + &"y = 1\n".repeat(2 << 20));
        for (cache, knows) in [(MaskedTextCache::default(), false), (MaskedTextCache::of_fixed(), true)] {
            let path = |name: &str| RepoPath::parse(name).unwrap();
            for (name, text) in [("clean", &clean), ("dirty", &dirty)] {
                // Too large to be kept.
                cache.text_of(&path(name), text, "UTF-8");
                assert!(cache.text(&path(name)).is_none());
            }
            assert_eq!(cache.lock().clean.contains(&path("clean")), knows);
            assert_eq!(cache.text_of(&path("clean"), &clean, "UTF-8").text(), clean);
            // Two files whose names differ in a secret alone have equal paths.
            let named = |end: &str| path(&format!("ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5z{end}/a"));
            assert_eq!(named("Ab"), named("Cd"));
            cache.text_of(&named("Ab"), &clean, "UTF-8");
            assert!(!cache.text_of(&named("Cd"), &dirty, "UTF-8").text().contains("kX9m"));
            assert!(!cache.text_of(&path("dirty"), &dirty, "UTF-8").text().contains("kX9m"));
        }
    }
}
