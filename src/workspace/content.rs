//! The cache of file contents during a run, under one cap. Main types: [`SearchContent`], [`MaskedTextCache`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::path::RepoPath;
use crate::domain::text::FileText;
use crate::sys::charset;

/// Files with more bytes than this are not read.
pub const READ_LIMIT: u64 = 32 << 20;

/// The capacity of the cache, in bytes of text.
const KEEP_LIMIT: u64 = 128 << 20;
/// A text that takes more bytes is read again when it is wanted again: a few of them, which few changes have, would take all the room.
const KEEP_EACH: u64 = 16 << 20;

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

    /// Likewise, but nothing is copied of text that is not `wanted`: then `None`.
    pub(super) fn text_if(bytes: &[u8], wanted: impl FnOnce(&str) -> bool) -> Option<Self> {
        (charset::is_binary(bytes) || wanted(&charset::text(bytes))).then(|| Self::new(bytes))
    }

    fn size(&self) -> u64 {
        match self {
            Self::Text { text, .. } => text.len() as u64,
            Self::Binary | Self::TooLarge(_) | Self::NotKept => 0,
        }
    }
}

/// The cap, and the masked texts that were asked for.
pub(super) struct MaskedTextCache {
    left: AtomicU64,
    texts: Mutex<HashMap<RepoPath, Arc<FileText>>>,
}

impl Default for MaskedTextCache {
    fn default() -> Self {
        Self { left: AtomicU64::new(KEEP_LIMIT), texts: Mutex::default() }
    }
}

impl MaskedTextCache {
    /// Checks whether so many bytes may be kept; if so they are counted.
    fn reserve(&self, bytes: u64) -> bool {
        let take = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Checks whether `content` may be kept.
    pub(super) fn has_room(&self, content: &SearchContent) -> bool {
        self.reserve(content.size())
    }

    /// A text that was kept.
    pub(super) fn text(&self, path: &RepoPath) -> Option<Arc<FileText>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// The masked text of `path`, made from `decoded` where it is not kept yet.
    pub(super) fn text_of(&self, path: &RepoPath, decoded: &str, charset: &'static str) -> Arc<FileText> {
        if let Some(text) = self.text(path) {
            return text;
        }
        self.insert(path, FileText::new(decoded, charset))
    }

    /// Keeps a text while there is room, and lends it. Where another thread was first, its text is lent.
    pub(super) fn insert(&self, path: &RepoPath, text: FileText) -> Arc<FileText> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(path) {
            return Arc::clone(known);
        }
        let text = Arc::new(text);
        // Each line costs four bytes more.
        let bytes = text.text().len() as u64 + u64::from(text.line_count()) * 4;
        if bytes <= KEEP_EACH && self.reserve(bytes) {
            texts.insert(path.clone(), Arc::clone(&text));
        }
        text
    }
}
