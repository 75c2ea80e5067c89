//! Writes and reads the inputs of a run. Main functions: [`save`], [`read`].

use crate::app::context::error::UseCaseError;
use serde::{Deserialize, Serialize};

use super::super::dismissals::DismissedFile;
use super::super::previous;
use super::super::previous::PriorError;
use super::RunInputs;
use crate::config::ConfigError;
use crate::domain::change::ChangeSet;
use crate::domain::run::RunId;
use crate::domain::run_record::StartedRun;
use crate::review::BranchHistory;
use crate::store::{RunLock, Store, StoreError, change, version_of};

/// The name of the file.
pub(in crate::app) const NAME: &str = "given.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct InputsDocument<G> {
    version: u32,
    given: G,
}

/// An error in writing or reading the inputs of a run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunInputsError {
    /// The folder of the run.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}; the run cannot be used any more: review the change anew")]
    Change(#[from] change::ChangeFault),
    /// The file is damaged.
    #[error(
        "given.json of the run {run} cannot be read ({source}); the run cannot be used any more: review the change anew"
    )]
    Shape {
        run: RunId,
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the program wrote it.
    #[error(
        "given.json of the run {run} has version {version}, this program reads {VERSION}: use the program that wrote it"
    )]
    Version { run: RunId, version: u32 },
    /// It cannot be serialized, for instance a path that is not UTF-8.
    #[error("cannot write down what the run was given: {0}")]
    Words(#[source] serde_json::Error),
    /// The stored previous review cannot be read.
    #[error(
        "prior.json of the run {run} cannot be read ({source}); the run cannot be used any more: review the change anew"
    )]
    Prior {
        run: RunId,
        #[source]
        source: PriorError,
    },
    #[error("the dismissals that the run {run} followed cannot be read ({source}); review the change anew")]
    Dismissed {
        run: RunId,
        #[source]
        source: Box<ConfigError>,
    },
    /// The run was made by an older version, or by another program.
    #[error(
        "the run {0} keeps nothing of what it was given: it was made by an older version, or got no further; review the change anew"
    )]
    Nothing(RunId),
}

impl UseCaseError for RunInputsError {
    fn exit_code(&self) -> u8 {
        if let Self::Store(error) = self { error.exit_code() } else { 2 }
    }
}

/// Writes the inputs of a run before its engine begins. While the returned lock is held, the run counts as running.
pub(in crate::app) fn save(
    store: &Store,
    run: &StartedRun,
    given: &RunInputs,
    change: &ChangeSet,
    dismissed: Option<&DismissedFile>,
) -> Result<RunLock, RunInputsError> {
    let held = store.start(run)?;
    store.save(run.id, change::NAME, &change::write(change).map_err(RunInputsError::Words)?)?;
    // The data of the previous review is stored when it is found.
    if let Some(file) = dismissed {
        file.save(store, run.id)?;
    }
    // Written last: its presence means that the inputs are complete.
    update(store, run.id, given)?;
    Ok(held)
}

/// Writes the inputs again, after a resumed run changed them.
pub(in crate::app) fn update(store: &Store, run: RunId, given: &RunInputs) -> Result<(), RunInputsError> {
    let bytes =
        serde_json::to_vec_pretty(&InputsDocument { version: VERSION, given }).map_err(RunInputsError::Words)?;
    store.save(run, NAME, &bytes)?;
    Ok(())
}

/// Reads the inputs of a run.
pub(in crate::app) fn read(store: &Store, run: RunId) -> Result<(RunInputs, ChangeSet, BranchHistory), RunInputsError> {
    let bytes = match store.read(run, NAME) {
        Err(StoreError::Missing { .. }) => return Err(RunInputsError::Nothing(run)),
        bytes => bytes?,
    };
    let fault = |source| RunInputsError::Shape { run, source };
    let version = version_of(&bytes).map_err(fault)?;
    if version != VERSION {
        return Err(RunInputsError::Version { run, version });
    }
    let InputsDocument { given, .. } = serde_json::from_slice::<InputsDocument<RunInputs>>(&bytes).map_err(fault)?;
    let change = change::read(&store.read(run, change::NAME)?)?;
    Ok((given, change, read_known(store, run)?))
}

/// Reads the history of the branch: the previous review and the dismissals.
fn read_known(store: &Store, run: RunId) -> Result<BranchHistory, RunInputsError> {
    let prior = if store.has_files(run, &[previous::NAME])? {
        let fault = |source| RunInputsError::Prior { run, source };
        Some(previous::read(&store.read(run, previous::NAME)?).map_err(fault)?)
    } else {
        None
    };
    let dismissals = match DismissedFile::load(store, run)? {
        Some(file) => file.parse().map_err(|source| RunInputsError::Dismissed { run, source: Box::new(source) })?,
        None => Vec::new(),
    };
    Ok(BranchHistory { prior, dismissals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_stored_inputs_are_fixed() {
        let stored = include_str!("../../../../fixtures/runs/given.json");
        for (word, other) in [
            (r#""whose": "user""#, r#""whose": "user""#),
            (r#""whose": "user""#, r#""whose": "target""#),
            (r#""which": "worst""#, r#""which": "all""#),
            (r#""verify": "auto""#, r#""verify": "all""#),
            (r#""verify": "auto""#, r#""verify": "none""#),
        ] {
            assert!(stored.contains(word), "{word}");
            let stored = stored.replacen(word, other, 1);
            let inputs: InputsDocument<RunInputs> = serde_json::from_str(&stored).unwrap();
            assert_eq!(serde_json::to_string_pretty(&inputs).unwrap(), stored);
        }
    }
}
