//! `prior.json`: the stored history that a run was given. Main functions: [`write()`], [`read`].

use crate::app::context::error::UseCaseError;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::path::RepoPath;
use crate::domain::prior::{EarlierFinding, EarlierFindingStatus, NearbyPlace, Prior};
use crate::domain::run::{InvalidRunId, RunId};
use crate::present::json;
use crate::store::version_of;

/// The name of the file in a run's folder.
pub(in crate::app) const NAME: &str = "prior.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct PriorDocument {
    version: u32,
    run: String,
    findings: Vec<PriorFindingRecord>,
    carried: BTreeMap<RepoPath, String>,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct PriorFindingRecord {
    finding: serde_json::Value,
    standing: EarlierFindingStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    near: Option<NearbyPlace>,
    #[serde(default)]
    disproved: bool,
}

/// An error in reading or writing the previous review.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PriorError {
    #[error(
        "--previous {0:?}: there is no saved run and no file of that name; `review list` shows the runs, `none` compares with nothing"
    )]
    Nothing(String),
    /// It is a file of something else, or damaged.
    #[error("--previous {name}: {source}")]
    NotAReview {
        name: String,
        #[source]
        source: json::ParseError,
    },
    /// The stored data is damaged.
    #[error("{NAME} cannot be read: {0}")]
    Shape(#[from] serde_json::Error),
    /// A finding is malformed.
    #[error("{NAME} cannot be read: {0}")]
    Finding(#[from] json::ParseError),
    /// A run id is malformed.
    #[error("{NAME} cannot be read: {0}")]
    Run(#[from] InvalidRunId),
    /// It has the format of another version.
    #[error("{NAME} has version {0}, this program reads {VERSION}")]
    Version(u32),
}

impl UseCaseError for PriorError {}

/// Serializes the history.
pub(in crate::app) fn write(prior: &Prior) -> Result<Vec<u8>, PriorError> {
    let one = |earlier: &EarlierFinding| PriorFindingRecord {
        finding: json::finding(&earlier.finding),
        standing: earlier.standing,
        near: earlier.near.clone(),
        disproved: earlier.disproved,
    };
    Ok(serde_json::to_vec_pretty(&PriorDocument {
        version: VERSION,
        run: prior.run.to_string(),
        findings: prior.findings.iter().map(one).collect(),
        carried: prior.carried.clone(),
        notes: prior.notes.clone(),
    })?)
}

/// Parses the history.
pub(in crate::app) fn read(bytes: &[u8]) -> Result<Prior, PriorError> {
    let version = version_of(bytes)?;
    if version != VERSION {
        return Err(PriorError::Version(version));
    }
    let PriorDocument { run, findings, carried, notes, .. } = serde_json::from_slice(bytes)?;
    let one = |one: PriorFindingRecord| -> Result<EarlierFinding, PriorError> {
        let PriorFindingRecord { finding, standing, near, disproved } = one;
        Ok(EarlierFinding { finding: json::parse_finding(finding)?, standing, near, disproved })
    };
    let findings = findings.into_iter().map(one).collect::<Result<_, _>>()?;
    Ok(Prior { run: run.parse::<RunId>()?, findings, carried, notes })
}
