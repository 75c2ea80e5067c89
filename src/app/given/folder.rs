//! Writing and reading what a run was given. Main functions: [`keep`], [`read`].

use serde::{Deserialize, Serialize};

use super::Given;
use crate::app::dismissed::DismissedFile;
use crate::app::prior::{self, PriorError};
use crate::config::ConfigError;
use crate::domain::change::ChangeSet;
use crate::domain::run::{BegunRun, RunId};
use crate::review::Known;
use crate::store::{Store, StoreError, change};
use crate::sys::files::Held;

/// The name of the file.
pub(in crate::app) const NAME: &str = "given.json";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Document<G> {
    version: u32,
    given: G,
}

/// Why what a run was given cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// The folder of the run.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The change.
    #[error("{0}; the run cannot be used any more: review the change anew")]
    Change(#[from] change::ChangeFault),
    /// What stands in the file is not what was written.
    #[error(
        "given.json of the run {run} cannot be read ({source}); the run cannot be used any more: review the change anew"
    )]
    Shape {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the program wrote it.
    #[error(
        "given.json of the run {run} has version {version}, this program reads {VERSION}: use the program that wrote it"
    )]
    Version {
        /// The run.
        run: RunId,
        /// Its version.
        version: u32,
    },
    /// It cannot be put into words; a path that is not UTF-8, say.
    #[error("cannot write down what the run was given: {0}")]
    Words(#[source] serde_json::Error),
    /// What was kept of the review before it cannot be read.
    #[error(
        "prior.json of the run {run} cannot be read ({source}); the run cannot be used any more: review the change anew"
    )]
    Prior {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: PriorError,
    },
    /// The dismissals that it followed cannot be read.
    #[error("the dismissals that the run {run} followed cannot be read ({source}); review the change anew")]
    Dismissed {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: Box<ConfigError>,
    },
    /// It is a run of before this was kept, or of another program.
    #[error(
        "the run {0} keeps nothing of what it was given: it was made by an older version, or got no further; review the change anew"
    )]
    Nothing(RunId),
}

/// Keeps what a run is given, before its engine begins. As long as what this gives is kept, the run counts as going on.
pub(in crate::app) fn keep(
    store: &Store,
    run: &BegunRun,
    given: &Given,
    change: &ChangeSet,
    dismissed: Option<&DismissedFile>,
) -> Result<Held, GivenError> {
    let held = store.begin(run)?;
    store.keep(run.id, change::NAME, &change::write(change).map_err(GivenError::Words)?)?;
    // What the review before this one said is kept when it is found.
    if let Some(file) = dismissed {
        file.keep(store, run.id)?;
    }
    // Last: with it, all is there.
    update(store, run.id, given)?;
    Ok(held)
}

/// Keeps it anew, for a sitting that changed something.
pub(in crate::app) fn update(store: &Store, run: RunId, given: &Given) -> Result<(), GivenError> {
    let bytes = serde_json::to_vec_pretty(&Document { version: VERSION, given }).map_err(GivenError::Words)?;
    store.keep(run, NAME, &bytes)?;
    Ok(())
}

/// Reads what a run was given.
pub(in crate::app) fn read(store: &Store, run: RunId) -> Result<(Given, ChangeSet, Known), GivenError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let bytes = match store.read(run, NAME) {
        Err(StoreError::Missing { .. }) => return Err(GivenError::Nothing(run)),
        bytes => bytes?,
    };
    let fault = |source| GivenError::Shape { run, source };
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(fault)?;
    if version != VERSION {
        return Err(GivenError::Version { run, version });
    }
    let Document { given, .. } = serde_json::from_slice::<Document<Given>>(&bytes).map_err(fault)?;
    let change = change::read(&store.read(run, change::NAME)?)?;
    Ok((given, change, read_known(store, run)?))
}

/// What was known of the branch from before: the earlier review and what people dismissed.
fn read_known(store: &Store, run: RunId) -> Result<Known, GivenError> {
    let prior = if store.has(run, &[prior::NAME]) {
        let fault = |source| GivenError::Prior { run, source };
        Some(prior::read(&store.read(run, prior::NAME)?).map_err(fault)?)
    } else {
        None
    };
    let dismissals = match DismissedFile::kept(store, run)? {
        Some(file) => file.parse().map_err(|source| GivenError::Dismissed { run, source: Box::new(source) })?,
        None => Vec::new(),
    };
    Ok(Known { prior, dismissals })
}
