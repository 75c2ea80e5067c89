//! On-disk cache of the symbols of parsed files: one small file for each, under `$XDG_CACHE_HOME/review/symbols/`. Main type:
//! [`SymbolCache`].
//!
//! A lost entry is computed again, so no failure here is reported: if the folder cannot be written, nothing is cached. The meaning of the
//! bytes belongs to the modules that write them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::sys::{files, folder};

/// The version of the entries' format; entries of older versions stay until their folder is removed.
const FORMAT: &str = "v1";
/// Upper bound on the number of entries in one of the 256 folders.
const MOST_IN_FOLDER: usize = 128;
/// Upper bound on the size of an entry, in bytes; larger ones are not cached.
const LARGEST: usize = 1 << 20;

/// A folder of cached entries, named by their keys.
#[derive(Debug, Clone)]
pub struct SymbolCache {
    root: PathBuf,
}

impl SymbolCache {
    /// Returns the cache under a folder, which need not exist yet.
    pub fn at(folder: &Path) -> Self {
        Self { root: folder.join(FORMAT) }
    }

    /// Reads the entry of a key, which consists of hexadecimal digits, letters and dashes.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        folder::read_plain(&self.place(key)?, LARGEST)
    }

    /// Saves an entry, and makes room for it if needed.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        let Some(place) = self.place(key).filter(|_| bytes.len() <= LARGEST) else { return };
        let Some(folder) = place.parent() else { return };
        if files::private_folder(folder).is_err() {
            return;
        }
        // The oldest half is removed at once: looking for room at every entry would cost more than the entry is worth.
        if let Ok(mut there) = files::plain_files(folder)
            && there.len() >= MOST_IN_FOLDER
        {
            there.sort_by_key(|file| files::modified(file).unwrap_or(SystemTime::UNIX_EPOCH));
            for old in there.iter().take(MOST_IN_FOLDER / 2) {
                let _ = files::remove_file(old);
            }
        }
        let _ = files::write_private(&place, bytes);
    }

    fn place(&self, key: &str) -> Option<PathBuf> {
        let plain = key.len() > 2 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let (folder, name) = key.split_at_checked(2).filter(|_| plain)?;
        Some(self.root.join(folder).join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_and_the_oldest_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SymbolCache::at(&folder.path().join("symbols"));
        assert_eq!(cache.get("abc-rust"), None);
        cache.put("abc-rust", b"1");
        assert_eq!(cache.get("abc-rust").as_deref(), Some(&b"1"[..]));
        for at in 0..MOST_IN_FOLDER + 5 {
            cache.put(&format!("ab{at:05}"), b"2");
        }
        let kept = std::fs::read_dir(folder.path().join("symbols/v1/ab")).unwrap().count();
        assert!(kept <= MOST_IN_FOLDER, "{kept}");
        assert_eq!(cache.get(&format!("ab{:05}", MOST_IN_FOLDER + 4)).as_deref(), Some(&b"2"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn what_somebody_else_put_there_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SymbolCache::at(folder.path());
        cache.put("abc", b"1");
        let place = folder.path().join("v1/ab/c");
        std::fs::write(folder.path().join("elsewhere"), b"2").unwrap();
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &place).unwrap();
        assert_eq!(cache.get("abc"), None, "a link");
        std::fs::remove_file(&place).unwrap();
        std::fs::write(&place, vec![b' '; LARGEST + 1]).unwrap();
        assert_eq!(cache.get("abc"), None, "too large");
        std::fs::remove_file(&place).unwrap();
        // Opening a socket fails where opening a pipe would block forever; neither is a plain file.
        let _socket = std::os::unix::net::UnixListener::bind(&place).unwrap();
        assert_eq!(cache.get("abc"), None, "no file");
    }

    #[test]
    fn no_key_leads_out_of_the_folder_and_no_fault_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SymbolCache::at(&folder.path().join("symbols"));
        for key in ["", "a", "../../x", "ab/../../x", "ab\u{0}"] {
            cache.put(key, b"1");
            assert_eq!(cache.get(key), None, "{key}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("symbols"), b"a file").unwrap();
        cache.put("abc", b"1");
        assert_eq!(cache.get("abc"), None);
    }
}
