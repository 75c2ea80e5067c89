//! The records that a list of runs reads: `begun.json`, written when the engine begins, and `run.json`, written when a run has ended. Both
//! are versioned separately from the review document.

use serde::{Deserialize, Serialize};

use super::version::version_of;
use crate::domain::run::RunId;

/// The name of the record of a run that has ended.
pub(super) const NAME: &str = "run.json";
/// The name of the record of a run that has not ended yet.
pub(super) const BEGUN: &str = "begun.json";
const VERSION: u32 = 1;

/// A record as it is written: its version comes first.
#[derive(Serialize)]
struct VersionedRecord<'a, R> {
    version: u32,
    #[serde(flatten)]
    record: &'a R,
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

pub(super) fn write(record: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec_pretty(&VersionedRecord { version: VERSION, record })
}

/// Parses a record of this run after checking its version.
pub(super) fn read<R: for<'de> Deserialize<'de>>(
    name: &'static str,
    id: RunId,
    bytes: &[u8],
) -> Result<R, RecordFault> {
    #[derive(Deserialize)]
    struct RecordOwner {
        id: String,
    }
    let fault = |error| RecordFault::Shape(name, error);
    let version = version_of(bytes).map_err(fault)?;
    if version != VERSION {
        return Err(RecordFault::Version(name, version));
    }
    let RecordOwner { id: written } = serde_json::from_slice(bytes).map_err(fault)?;
    if written != id.to_string() {
        return Err(RecordFault::Other(name, written));
    }
    serde_json::from_slice(bytes).map_err(fault)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::domain::forge::{PullId, PullSpecifier};
    use crate::domain::money::Money;
    use crate::domain::run::Engine;
    use crate::domain::run_record::{RunRecord, StartedRun};

    fn pull() -> PullId {
        "octo/demo#5".parse::<PullSpecifier>().unwrap().try_into().unwrap()
    }

    #[test]
    fn a_record_of_a_later_version_says_so() {
        let id = RunId::random();
        let fault = read::<RunRecord>(NAME, id, br#"{"version":2,"anything":true}"#).unwrap_err();
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
            pull: Some(pull()),
            engine: Engine::Model,
            identity: Some("abc".to_owned()),
        };
        assert_eq!(read::<StartedRun>(BEGUN, id, &write(&begun).unwrap()).unwrap(), begun);
        let fault = read::<StartedRun>(BEGUN, RunId::random(), &write(&begun).unwrap()).unwrap_err();
        assert_eq!(fault.to_string(), format!("begun.json is of another run: {id}"));
    }

    #[test]
    fn a_record_from_before_folders_and_pull_requests_were_written_down_reads() {
        let id = RunId::random();
        let text = format!(
            r#"{{"version":1,"id":"{id}","started_at":"2020-01-01T00:00:00.000Z","took_ms":1,"repository":"demo","target":"main",
                "head_name":"feature","outcome":"complete","engine":"rules","findings":{{"high":2}}}}"#
        );
        let mut record = read::<RunRecord>(NAME, id, text.as_bytes()).unwrap();
        assert_eq!((record.folder.clone(), record.findings.len()), (None, 1));
        let written = String::from_utf8(write(&record).unwrap()).unwrap();
        assert!(!written.contains("folder") && !written.contains("pull"), "{written}");
        record.pull = Some(pull());
        record.folder = Some(PathBuf::from("/home/ada/demo"));
        let bytes = write(&record).unwrap();
        assert_eq!(read::<RunRecord>(NAME, id, &bytes).unwrap(), record);
        let written = String::from_utf8(bytes).unwrap();
        let fields = r#""took_ms": 1,
  "repository": "demo",
  "folder": "/home/ada/demo",
  "target": "main",
  "head_name": "feature",
  "pull": "octo/demo#5",
  "outcome": "complete",
  "engine": "rules",
  "findings": {
    "high": 2
  }
}"#;
        let begin = format!("{{\n  \"version\": 1,\n  \"id\": \"{id}\",\n  \"started_at\": ");
        assert!(written.starts_with(&begin) && written.ends_with(fields), "{written}");
        let odd =
            written.replace("octo/demo#5", "5").replace("\n  \"findings\"", "\n  \"cost_nanos\": 7,\n  \"findings\"");
        let read: RunRecord = read(NAME, id, odd.as_bytes()).unwrap();
        assert_eq!((read.pull, read.cost.map(Money::nanos)), (None, Some(7)), "the rest of the record is valid");
    }
}
