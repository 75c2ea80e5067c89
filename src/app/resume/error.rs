//! Why a run is not taken up again. Main type: [`ResumeError`].

use crate::domain::run::RunId;
use crate::domain::text::counted;
use crate::review::{JournalError, PastError};

/// So many differences are told.
const TOLD: usize = 3;

/// Why a run is not taken up again. Nobody was asked and nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The rules reviewed it.
    #[error(
        "the run {0} was made by the built-in rules, which keep nothing to go on from: review the change again, it takes moments"
    )]
    Rules(RunId),
    /// All is done.
    #[error("the run {0} is complete, so there is nothing to go on with: review show {0}")]
    Finished(RunId),
    /// Going on would end the same way.
    #[error("the run {run} ended as {ended}: {why}. Going on would come to the same; review the change anew")]
    NoUse {
        /// The run.
        run: RunId,
        /// The word for how it ended.
        ended: &'static str,
        /// Its own words.
        why: String,
    },
    /// It has what it spent, and no more.
    #[error(
        "the run {run} ended because its {what} were spent: give it more than {had} with {flag}, as in review --resume {run} {flag} {more}"
    )]
    Spent {
        /// The run.
        run: RunId,
        /// Of what.
        what: &'static str,
        /// How much it had.
        had: String,
        /// The flag that gives more.
        flag: &'static str,
        /// What more would be.
        more: String,
    },
    /// Its time is over.
    #[error(
        "the run {run} took {took} already, and may take {limit} in all: give it more with --timeout, as in review --resume {run} --timeout {more}"
    )]
    OutOfTime {
        /// The run.
        run: RunId,
        /// How long it took.
        took: String,
        /// The limit.
        limit: String,
        /// What more would be.
        more: String,
    },
    /// Something is not what it was, and what it was is at hand.
    #[error(
        "the run {run} cannot simply go on, because {} since it began: go on with what it was given (review --resume {run} \
         --resume-as-recorded), or review the change anew",
        told(what)
    )]
    Changed {
        /// The run.
        run: RunId,
        /// What, one piece of a sentence each.
        what: Vec<String>,
    },
    /// The files are not what they were.
    #[error(
        "the run {run} cannot go on, because what it reviews is not committed and {} since it began; what it was is kept nowhere: review \
         it anew",
        told(what)
    )]
    Edited {
        /// The run.
        run: RunId,
        /// What, one piece of a sentence each.
        what: Vec<String>,
    },
    /// Another patch was given.
    #[error("this is not the patch that the run {run} reviews: {}", if *fed {
        format!("feed it the same one again (review --resume {run} < FILE), or review this one with --diff -")
    } else {
        "put the old one back, or review this one with --diff".to_owned()
    })]
    OtherPatch {
        /// The run.
        run: RunId,
        /// Whether it came over standard input.
        fed: bool,
    },
    /// The repository is not where it was.
    #[error("the repository of the run {run} cannot be opened ({why}): say where it is now with -C DIR")]
    NoRepository {
        /// The run.
        run: RunId,
        /// Why not.
        why: String,
    },
    /// What was reviewed is gone.
    #[error(
        "the run {run} cannot go on, because the commit {commit} ({what}) is no more in {place}: bring it back with git fetch, or review the \
         change anew"
    )]
    Gone {
        /// The run.
        run: RunId,
        /// What the commit was.
        what: &'static str,
        /// The commit.
        commit: String,
        /// The repository.
        place: String,
    },
    /// The journal is not what was written.
    #[error("the run {run} cannot go on: {source}; review the change anew")]
    Journal {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        #[source]
        source: JournalError,
    },
    /// The journal cannot have been written by a run, or by one of today.
    #[error("the run {run} is of no use: {source}")]
    Past {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        #[source]
        source: PastError,
    },
    /// What is kept of the question does not say enough to ask it again.
    #[error(
        "the run {0} cannot go on: a path that it was given is not UTF-8, and was not kept; review the change anew"
    )]
    Unnamed(RunId),
}

fn told(what: &[String]) -> String {
    let mut told: Vec<String> = what.iter().take(TOLD).cloned().collect();
    if what.len() > TOLD {
        told.push(format!("{} more", counted(what.len() - TOLD, "thing")));
    }
    told.join("; ")
}
