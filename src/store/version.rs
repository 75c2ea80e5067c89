//! The version that every stored file names. Main function: [`version_of`].

use serde::Deserialize;

/// Reads the version of a stored file, whatever else is in it.
pub fn version_of(bytes: &[u8]) -> Result<u32, serde_json::Error> {
    #[derive(Deserialize)]
    struct FileVersion {
        version: u32,
    }
    serde_json::from_slice(bytes).map(|FileVersion { version }| version)
}
