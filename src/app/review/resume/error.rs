//! Errors of resuming a run. Main type: [`ResumeError`].

use crate::app::context::error::{AppError, UseCaseError};
use crate::app::prepare::inputs::RunInputsError;
use crate::domain::run::RunId;
use crate::domain::text::count_noun;
use crate::review::{JournalError, JournalReplayError};

/// Limit on the reported differences.
const TOLD: usize = 3;

/// The reason why a run cannot be resumed. No request was made and nothing was written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ResumeError {
    #[error(
        "the run {0} was made by the built-in rules, which keep nothing to go on from: review the change again, it takes moments"
    )]
    Rules(RunId),
    #[error("the run {0} is complete, so there is nothing to go on with: review show {0}")]
    Finished(RunId),
    /// Resuming would end the same way.
    #[error("the run {run} ended as {ended}: {why}. Going on would come to the same; review the change anew")]
    NoUse { run: RunId, ended: &'static str, why: String },
    /// The run spent its budget, and there is no more.
    #[error(
        "the run {run} ended because its {what} were spent: give it more than {had} with {flag}, as in review --resume {run} {flag} {more}"
    )]
    Spent { run: RunId, what: &'static str, had: String, flag: &'static str, more: String },
    /// Its time limit is used up.
    #[error(
        "the run {run} took {took} already, and may take {limit} in all: give it more with --timeout, as in review --resume {run} --timeout {more}"
    )]
    OutOfTime { run: RunId, took: String, limit: String, more: String },
    /// Inputs changed, and the recorded ones are available.
    #[error(
        "the run {run} cannot simply go on, because {} since it began: go on with what it was given (review --resume {run} \
         --resume-as-recorded), or review the change anew",
        join_differences(what)
    )]
    Changed { run: RunId, what: Vec<String> },
    /// The changes: phrases that are joined to a sentence.
    #[error(
        "the run {run} cannot go on, because what it reviews is not committed and {} since it began; what it was is kept nowhere: review \
         it anew",
        join_differences(what)
    )]
    Edited {
        run: RunId,
        /// The changes: phrases that are joined to a sentence.
        what: Vec<String>,
    },
    /// Another patch was given.
    #[error("this is not the patch that the run {run} reviews: {}", if *fed {
        format!("feed it the same one again (review --resume {run} < FILE), or review this one with --diff -")
    } else {
        "put the old one back, or review this one with --diff".to_owned()
    })]
    OtherPatch {
        run: RunId,
        /// `true` if the patch came over standard input.
        fed: bool,
    },
    /// The repository moved.
    #[error("the repository of the run {run} cannot be opened ({why}): say where it is now with -C DIR")]
    NoRepository { run: RunId, why: String },
    /// The reviewed commit no longer exists.
    #[error(
        "the run {run} cannot go on, because the commit {commit} ({what}) is no more in {place}: bring it back with git fetch, or review the \
         change anew"
    )]
    Gone { run: RunId, what: &'static str, commit: String, place: String },
    /// The journal is damaged.
    #[error("the run {run} cannot go on: {source}; review the change anew")]
    Journal {
        run: RunId,
        #[source]
        source: JournalError,
    },
    /// The journal was not written by a run, or not by a supported version.
    #[error("the run {run} is of no use: {source}")]
    Past {
        run: RunId,
        #[source]
        source: JournalReplayError,
    },
    /// The stored request is insufficient to repeat it.
    #[error(
        "the run {0} cannot go on: a path that it was given is not UTF-8, and was not kept; review the change anew"
    )]
    Unnamed(RunId),
}

impl UseCaseError for ResumeError {}

/// Returns why this run can never be resumed, if that is the error: nothing was paid for and nothing was written, so its change may
/// be reviewed anew.
pub(in crate::app) fn reason_to_review_anew(error: &AppError) -> Option<String> {
    if let Some(refused) = error.of_use_case::<ResumeError>() {
        return Some(refused.to_string());
    }
    match error.of_use_case::<RunInputsError>() {
        // The store may be readable the next time.
        Some(RunInputsError::Store(_)) | None => None,
        Some(unusable) => Some(unusable.to_string()),
    }
}

fn join_differences(what: &[String]) -> String {
    let mut told: Vec<String> = what.iter().take(TOLD).cloned().collect();
    if what.len() > TOLD {
        told.push(format!("{} more", count_noun(what.len() - TOLD, "thing")));
    }
    told.join("; ")
}
