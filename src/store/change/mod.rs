//! `change.json`: the whole change of a run as it was collected, so that a run can be resumed or replayed on exactly the same change.
//!
//! Main functions: [`write()`], [`read`]. The shapes on disk are in `wire` and `file`. Collecting a change belongs in `git`.

mod file;
mod id;
mod wire;

use serde::{Deserialize, Serialize};

use crate::domain::change::ChangeSet;
use wire::StoredChange;

/// The name of the file in a run's folder.
pub const NAME: &str = "change.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredChangeFile {
    version: u32,
    change: StoredChange,
}

/// Reasons why a saved change cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFault {
    /// It is not JSON, or not of this shape.
    #[error("change.json cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("change.json has version {0}, this program reads {VERSION}: use the program that wrote it")]
    Version(u32),
}

/// Serializes a change. The same change always gives the same bytes.
pub fn write(change: &ChangeSet) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(&StoredChangeFile { version: VERSION, change: StoredChange::of(change) })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a saved change.
pub fn read(bytes: &[u8]) -> Result<ChangeSet, ChangeFault> {
    #[derive(Deserialize)]
    struct ChangeFileVersion {
        version: u32,
    }
    let ChangeFileVersion { version } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(ChangeFault::Version(version));
    }
    let document: StoredChangeFile = serde_json::from_slice(bytes)?;
    Ok(document.change.into_domain())
}

#[cfg(test)]
mod tests;
