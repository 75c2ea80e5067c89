//! The records that a list of runs reads: `begun.json`, written when the engine begins, and `run.json`, written when a run has ended. Both
//! are versioned separately from the review document.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::finding::Severity;
use crate::domain::forge::{PullId, PullSpecifier};
use crate::domain::money::Money;
use crate::domain::review::ReviewOutcome;
use crate::domain::run::{Engine, RunId};
use crate::domain::run_record::{RunRecord, StartedRun};

/// The name of the record of a run that has ended.
pub(super) const NAME: &str = "run.json";
/// The name of the record of a run that has not ended yet.
pub(super) const BEGUN: &str = "begun.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredRecord {
    version: u32,
    id: String,
    started_at: String,
    took_ms: u64,
    repository: String,
    /// Left out if the path is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    target: String,
    head_name: String,
    /// `owner/name#12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pull: Option<String>,
    outcome: ReviewOutcome,
    engine: Engine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_nanos: Option<Money>,
    findings: BTreeMap<Severity, u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredStart {
    version: u32,
    id: String,
    started_at: String,
    repository: String,
    target: String,
    head_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pull: Option<String>,
    engine: Engine,
}

/// Reasons why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordFault {
    /// It is not JSON, or not of this shape.
    #[error("{0} cannot be read: {1}")]
    Shape(&'static str, #[source] serde_json::Error),
    /// Another version of the program wrote it.
    #[error("{0} has version {1}, this program reads {VERSION}")]
    Version(&'static str, u32),
    /// It belongs to another run.
    #[error("{0} is of another run: {1}")]
    Other(&'static str, String),
}

pub(super) fn write(record: &RunRecord) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec_pretty(&StoredRecord {
        version: VERSION,
        id: record.id.to_string(),
        started_at: record.started_at.clone(),
        took_ms: record.took_ms,
        repository: record.repository.clone(),
        folder: record.folder.as_deref().and_then(Path::to_str).map(str::to_owned),
        target: record.target.clone(),
        head_name: record.head_name.clone(),
        pull: record.pull.as_ref().map(ToString::to_string),
        outcome: record.outcome,
        engine: record.engine,
        cost_nanos: record.cost,
        findings: record.findings.clone(),
    })
}

pub(super) fn read(id: RunId, bytes: &[u8]) -> Result<RunRecord, RecordFault> {
    let record: StoredRecord = document(NAME, bytes)?;
    belongs(NAME, id, record.id)?;
    Ok(RunRecord {
        id,
        started_at: record.started_at,
        took_ms: record.took_ms,
        repository: record.repository,
        folder: record.folder.map(PathBuf::from),
        target: record.target,
        head_name: record.head_name,
        pull: record.pull.as_deref().and_then(pull),
        outcome: record.outcome,
        engine: record.engine,
        cost: record.cost_nanos,
        findings: record.findings,
    })
}

pub(super) fn write_start(run: &StartedRun) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec_pretty(&StoredStart {
        version: VERSION,
        id: run.id.to_string(),
        started_at: run.started_at.clone(),
        repository: run.repository.clone(),
        target: run.target.clone(),
        head_name: run.head_name.clone(),
        pull: run.pull.as_ref().map(ToString::to_string),
        engine: run.engine,
    })
}

pub(super) fn read_start(id: RunId, bytes: &[u8]) -> Result<StartedRun, RecordFault> {
    let begun: StoredStart = document(BEGUN, bytes)?;
    belongs(BEGUN, id, begun.id)?;
    Ok(StartedRun {
        id,
        started_at: begun.started_at,
        repository: begun.repository,
        target: begun.target,
        head_name: begun.head_name,
        pull: begun.pull.as_deref().and_then(pull),
        engine: begun.engine,
    })
}

/// Parses a record after checking its version.
fn document<T: for<'de> Deserialize<'de>>(name: &'static str, bytes: &[u8]) -> Result<T, RecordFault> {
    #[derive(Deserialize)]
    struct RecordVersion {
        version: u32,
    }
    let fault = |error| RecordFault::Shape(name, error);
    let RecordVersion { version } = serde_json::from_slice(bytes).map_err(fault)?;
    if version != VERSION {
        return Err(RecordFault::Version(name, version));
    }
    serde_json::from_slice(bytes).map_err(fault)
}

fn belongs(name: &'static str, id: RunId, written: String) -> Result<(), RecordFault> {
    if written == id.to_string() { Ok(()) } else { Err(RecordFault::Other(name, written)) }
}

/// Parses the name of a pull request. An invalid one is ignored: the rest of the record is still valid.
fn pull(text: &str) -> Option<PullId> {
    match text.parse() {
        Ok(PullSpecifier::Whole { host: None, id }) => Some(id),
        Ok(PullSpecifier::Whole { .. } | PullSpecifier::Number(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_later_version_says_so() {
        let id = RunId::random();
        let fault = read(id, br#"{"version":2,"anything":true}"#).unwrap_err();
        assert_eq!(fault.to_string(), "run.json has version 2, this program reads 1");
    }

    #[test]
    fn what_began_reads_back() {
        let id = RunId::random();
        let begun = StartedRun {
            id,
            started_at: "2020-01-01T00:00:00.000Z".to_owned(),
            repository: "demo".to_owned(),
            target: "main".to_owned(),
            head_name: "feature".to_owned(),
            pull: pull("octo/demo#5"),
            engine: Engine::Model,
        };
        assert_eq!(read_start(id, &write_start(&begun).unwrap()).unwrap(), begun);
        let fault = read_start(RunId::random(), &write_start(&begun).unwrap()).unwrap_err();
        assert_eq!(fault.to_string(), format!("begun.json is of another run: {id}"));
    }

    #[test]
    fn a_record_from_before_folders_and_pull_requests_were_written_down_reads() {
        let id = RunId::random();
        let text = format!(
            r#"{{"version":1,"id":"{id}","started_at":"2020-01-01T00:00:00.000Z","took_ms":1,"repository":"demo","target":"main",
                "head_name":"feature","outcome":"complete","engine":"rules","findings":{{"high":2}}}}"#
        );
        let mut record = read(id, text.as_bytes()).unwrap();
        assert_eq!((record.folder.clone(), record.findings.len()), (None, 1));
        let written = String::from_utf8(write(&record).unwrap()).unwrap();
        assert!(!written.contains("folder") && !written.contains("pull"), "{written}");
        record.pull = pull("octo/demo#5");
        assert!(record.pull.is_some());
        record.folder = Some(PathBuf::from("/home/ada/demo"));
        assert_eq!(read(id, &write(&record).unwrap()).unwrap(), record);
    }
}
