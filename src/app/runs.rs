//! Looking back at kept runs.

use super::error::AppError;
use super::subject::{self, Surroundings};
use crate::config::Flags;
use crate::domain::review::Review;
use crate::domain::run::KeptRun;
use crate::present::json;
use crate::store::Store;

/// The kept runs, newest first.
pub fn list(around: &Surroundings) -> Result<Vec<KeptRun>, AppError> {
    Ok(Store::at(&around.state).list()?)
}

/// A kept review, by its id, the beginning of its id, or `last`.
pub fn show(around: &Surroundings, name: &str) -> Result<Review, AppError> {
    let store = Store::at(&around.state);
    let id = store.find(name)?;
    let bytes = store.read(id, "review.json")?;
    json::parse(&bytes).map_err(|error| AppError::Damaged { id: id.to_string(), why: error.to_string() })
}

/// Removes the runs that are older than the settings keep them; says how many.
pub fn prune(around: &Surroundings) -> Result<usize, AppError> {
    let settings = subject::resolve(None, &Flags::default(), around)?.settings;
    Ok(Store::at(&around.state).prune(settings.keep_runs)?)
}
