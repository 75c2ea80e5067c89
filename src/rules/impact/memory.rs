//! Symbols shared between runs, by the contents they were read from. Main type: the trait [`SymbolMemory`].
//!
//! The storage belongs to the implementor. Corrupt entries are recomputed.

use std::sync::Arc;

use crate::domain::id::BlobId;
use crate::syntax::{Symbols, TreeCache, symbols};
use crate::sys::cancel::Cancel;

/// A key-value store of bytes. It may drop any entry, and never fails.
pub trait SymbolMemory: Send + Sync {
    /// Returns the bytes stored under a key of letters, digits and dashes.
    fn recall(&self, key: &str) -> Option<Vec<u8>>;

    /// Stores bytes under a key.
    fn keep(&self, key: &str, symbols: &[u8]);
}

/// Incremented whenever other symbols are extracted from the same text.
const READING: u32 = 1;
/// Minimum size of a text with stored symbols, in bytes; smaller ones are parsed faster than loaded.
const SMALLEST: usize = 4096;

/// Returns the symbols of a text, using the store if its contents have the id `blob`.
pub(super) fn recall_symbols(
    memory: Option<&dyn SymbolMemory>,
    blob: Option<BlobId>,
    language: &str,
    text: &str,
    trees: &TreeCache,
    cancel: &Cancel,
) -> Option<Arc<Symbols>> {
    let (Some(memory), Some(blob), true) = (memory, blob, text.len() >= SMALLEST) else {
        return symbols(language, text, trees, cancel);
    };
    let key = format!("{}-{language}-{READING}", blob.0);
    let kept = memory.recall(&key).and_then(|bytes| serde_json::from_slice::<Symbols>(&bytes).ok());
    if let Some(kept) = kept.filter(Symbols::is_complete) {
        return Some(Arc::new(kept));
    }
    let found = symbols(language, text, trees, cancel)?;
    if let Ok(bytes) = serde_json::to_vec(&*found) {
        memory.keep(&key, &bytes);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::*;
    use crate::domain::id::ObjectId;

    #[derive(Default)]
    struct InMemoryStore(Mutex<HashMap<String, Vec<u8>>>);

    impl SymbolMemory for InMemoryStore {
        fn recall(&self, key: &str) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(key).cloned()
        }

        fn keep(&self, key: &str, symbols: &[u8]) {
            self.0.lock().unwrap().insert(key.to_owned(), symbols.to_vec());
        }
    }

    #[test]
    fn what_was_read_once_is_not_parsed_again_and_what_is_broken_is() {
        let shelf = InMemoryStore::default();
        let blob = Some(BlobId(ObjectId::new([7; 20])));
        let text = format!("fn one(a: u8) {{}}\n{}", "// filler\n".repeat(500));
        let read = |text: &str| {
            recall_symbols(Some(&shelf), blob, "rust", text, &TreeCache::default(), &Cancel::never()).unwrap()
        };
        let first = read(&text);
        // The text differs now: what comes back was stored for the blob.
        assert_eq!(read(&text.replace("one", "two")), first);
        for broken in [&b"{"[..], b"null", br#"{"definitions":[],"imports":[],"uses":[],"others":[]}"#] {
            shelf.0.lock().unwrap().values_mut().for_each(|bytes| *bytes = broken.to_vec());
            assert_eq!(read(&text), first, "{}", String::from_utf8_lossy(broken));
        }
        assert!(
            recall_symbols(Some(&shelf), blob, "rust", "fn small() {}", &TreeCache::default(), &Cancel::never())
                .unwrap()
                .definitions
                .len()
                == 1
        );
        assert_eq!(shelf.0.lock().unwrap().len(), 1);
    }
}
