//! The symbol cache shared by runs. Main type: [`SymbolFileCache`].

use std::path::Path;

use crate::rules::SymbolMemory;
use crate::store::SymbolCache;

/// A symbol cache stored in a folder.
pub(in crate::app) struct SymbolFileCache(SymbolCache);

impl SymbolFileCache {
    pub(in crate::app) fn at(folder: &Path) -> Self {
        Self(SymbolCache::at(folder))
    }
}

impl SymbolMemory for SymbolFileCache {
    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn keep(&self, key: &str, symbols: &[u8]) {
        self.0.put(key, symbols);
    }
}
