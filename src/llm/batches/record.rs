//! Records of submitted batches in the state folder, so that a later process gets the answers that were paid for. Main type: [`BatchRecord`].
//!
//! A record has the batch's id and the hashes of its requests, no code. A file that is no record is passed over.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::api::is_plain_id;
use crate::domain::id::hex;
use crate::sys::files::{self, FileError};

/// Age in seconds beyond which a record is removed. A batch ends within a day.
const MOST_AGE: i64 = 7 * 24 * 3600;
/// Maximum size of a record in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// A submitted batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchRecord {
    /// The hash of provider, address and model.
    pub(super) identity: String,
    /// The provider's id of the batch.
    pub(super) batch: String,
    /// The time of submission: seconds since 1970.
    pub(super) submitted_at: i64,
    /// The ids of its requests: each the hash of the request and a number.
    pub(super) items: Vec<String>,
}

impl BatchRecord {
    /// Returns its file.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(format!("{}\0{}", self.identity, self.batch)));
        folder.join(format!("{}.json", name.get(..32).unwrap_or_default()))
    }

    /// Writes it down.
    pub(super) fn save(&self, folder: &Path) -> Result<(), FileError> {
        files::private_folder(folder)?;
        files::write_private(&self.path(folder), &serde_json::to_vec(self).unwrap_or_default())
    }

    /// Removes its file. One that stays is removed when it is old.
    pub(super) fn remove(&self, folder: &Path) {
        let _ = files::remove_file(&self.path(folder));
    }
}

/// Reads the records of an identity, and removes those that are old.
pub(super) fn load(folder: &Path, identity: &str, now: i64) -> Vec<BatchRecord> {
    let paths = files::plain_files(folder).unwrap_or_default();
    let read = |path: PathBuf| -> Option<BatchRecord> {
        let bytes = files::read_plain(&path, MOST_BYTES).ok()??;
        let record: BatchRecord = serde_json::from_slice(&bytes).ok()?;
        if now.saturating_sub(record.submitted_at) > MOST_AGE {
            let _ = files::remove_file(&path);
            return None;
        }
        // One that was never written to its end has another name.
        let is_whole = path == record.path(folder);
        (is_whole && record.identity == identity && is_plain_id(&record.batch)).then_some(record)
    };
    paths.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_whatever_else_is_there_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("batches");
        let record = |batch: &str, submitted_at| BatchRecord {
            identity: "here".to_owned(),
            batch: batch.to_owned(),
            submitted_at,
            items: vec!["a-0".to_owned()],
        };
        let now = 10 * MOST_AGE;
        let (young, old, hostile) = (record("b1", now - 5), record("b2", 5), record("../b3", now));
        let elsewhere = BatchRecord { identity: "there".to_owned(), ..record("b4", now) };
        for one in [&young, &old, &hostile, &elsewhere] {
            one.save(&folder).unwrap();
        }
        std::fs::write(folder.join("odd.json"), "{").unwrap();
        assert_eq!(load(&folder, "here", now), std::slice::from_ref(&young));
        assert!(!old.path(&folder).exists() && elsewhere.path(&folder).exists());
        young.remove(&folder);
        assert_eq!(load(&folder, "here", now), []);
        assert_eq!(load(&folder.join("none"), "here", now), []);
    }
}
