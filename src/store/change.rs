//! `change.json`: the whole change of a run as it was collected, so that a run is taken up or told again on the very same change.
//!
//! Main functions: [`write()`], [`read`]. The shapes on the disk stand in `wire` and `file`. Where the change comes from belongs in `git`.

mod file;
mod wire;

use serde::{Deserialize, Serialize};

use crate::domain::change::ChangeSet;
use wire::Change;

/// The name of the file in a run's folder.
pub const NAME: &str = "change.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    change: Change,
}

/// Why a kept change cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ChangeFault {
    /// It is not JSON, or not of this shape.
    #[error("change.json cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("change.json has version {0}, this program reads {VERSION}: use the program that wrote it")]
    Version(u32),
}

/// A change as it is kept. The same change gives the same bytes.
pub fn write(change: &ChangeSet) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(&Document { version: VERSION, change: Change::of(change) })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a kept change.
pub fn read(bytes: &[u8]) -> Result<ChangeSet, ChangeFault> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(ChangeFault::Version(version));
    }
    let document: Document = serde_json::from_slice(bytes)?;
    Ok(document.change.back())
}

#[cfg(test)]
mod tests;
