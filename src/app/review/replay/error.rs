//! Errors of replaying a run. Main type: [`ReplayError`].

use crate::app::context::error::UseCaseError;
use crate::domain::run::RunId;

/// The reason why a run cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ReplayError {
    #[error(
        "the run {0} was made by the built-in rules, which keep no journal: the same change gives the same review again, with review \
         --no-model and what it was asked for"
    )]
    Rules(RunId),
    /// The run has not ended.
    #[error(
        "the run {0} did not come to its end, so there is nothing to tell yet: review --resume {0} goes on with it"
    )]
    Unfinished(RunId),
    /// The trees are required, but not available.
    #[error(
        "other rules look at the code, and the code of the run {run} cannot be read ({why}): bring it back, or compare prompts alone"
    )]
    NoTrees { run: RunId, why: String },
    /// The code was not committed and may have changed.
    #[error(
        "other rules look at the code, and the code of the run {0} was not committed: it is kept nowhere; compare prompts alone"
    )]
    NotCommitted(RunId),
    /// A folder has no files of the expected kind.
    #[error("{folder} has no {what}: name a folder of them")]
    Nothing { folder: String, what: &'static str },
}

impl UseCaseError for ReplayError {}
