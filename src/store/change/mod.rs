//! `change.json`: the whole change of a run as it was collected, so that a run can be resumed or replayed on exactly the same change.
//!
//! Main functions: [`write()`], [`read`]. The shape on disk is that of [`ChangeSet`]. Collecting a change belongs in `git`.

use serde::{Deserialize, Serialize};

use super::version::version_of;
use crate::domain::change::ChangeSet;

/// The name of the file in a run's folder.
pub const NAME: &str = "change.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredChange<C> {
    version: u32,
    change: C,
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
    let mut bytes = serde_json::to_vec(&StoredChange { version: VERSION, change })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a saved change.
pub fn read(bytes: &[u8]) -> Result<ChangeSet, ChangeFault> {
    let version = version_of(bytes)?;
    if version != VERSION {
        return Err(ChangeFault::Version(version));
    }
    Ok(serde_json::from_slice::<StoredChange<ChangeSet>>(bytes)?.change)
}

#[cfg(test)]
mod tests;
