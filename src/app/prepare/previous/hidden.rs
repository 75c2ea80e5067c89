//! `hidden.json`: the findings that a review hid, stored for the next review of the branch. Main functions: [`write()`], [`read`].

use serde::{Deserialize, Serialize};

use crate::domain::finding::Finding;
use crate::present::json;

/// The name of the file in a run's folder.
pub(in crate::app) const NAME: &str = "hidden.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HiddenDocument {
    version: u32,
    findings: Vec<serde_json::Value>,
}

/// An error in reading or writing it.
#[derive(Debug, thiserror::Error)]
pub(in crate::app) enum HiddenFindingsError {
    /// It is damaged.
    #[error("{NAME} cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    /// A finding is malformed.
    #[error("{NAME} cannot be read: {0}")]
    Finding(#[from] json::ParseError),
    /// It has the format of another version.
    #[error("{NAME} has version {0}, this program reads {VERSION}")]
    Version(u32),
}

/// Serializes the hidden findings.
pub(in crate::app) fn write(findings: &[Finding]) -> Result<Vec<u8>, HiddenFindingsError> {
    let findings = findings.iter().map(json::finding).collect();
    Ok(serde_json::to_vec_pretty(&HiddenDocument { version: VERSION, findings })?)
}

/// Parses the hidden findings.
pub(in crate::app) fn read(bytes: &[u8]) -> Result<Vec<Finding>, HiddenFindingsError> {
    let HiddenDocument { version, findings } = serde_json::from_slice(bytes)?;
    if version != VERSION {
        return Err(HiddenFindingsError::Version(version));
    }
    Ok(findings.into_iter().map(json::parse_finding).collect::<Result<_, _>>()?)
}
