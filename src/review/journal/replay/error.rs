//! Errors of replaying and resuming. Main types: [`JournalReplayError`], [`ReplayDivergence`].

use crate::review::journal::record::ConversationId;

/// Reasons why a journal can be neither resumed nor replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalReplayError {
    /// It does not describe its run.
    #[error("the journal does not say what run it is of: it broke off before anything was done; start a new run")]
    Empty,
    /// It was written before everything was written down.
    #[error("the journal has version {0}, which lacks what is needed: start a new run")]
    TooOld(u32),
    /// All was done.
    #[error("the run is finished: there is nothing to resume")]
    Finished,
    /// Its entries cannot have been written by a run.
    #[error("the journal contradicts itself at {place}: {why}; it was damaged, start a new run")]
    Damaged {
        /// Conversation and turn, in words.
        place: String,
        /// Description of the error, a clause.
        why: &'static str,
    },
}

/// The replay differs from the recording: some input has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run cannot be told as it was, at turn {turn} of {unit}: {what}")]
pub struct ReplayDivergence {
    /// The conversation.
    pub unit: ConversationId,
    /// Turn; 0 if it is about none.
    pub turn: u32,
    /// Changed input.
    pub what: DivergedInput,
}

/// Changed input of a replay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DivergedInput {
    #[error(
        "another request would be sent (the prompts, the rules, the settings, the change or this program are not what they were)"
    )]
    Request,
    /// Result of one of this program's own tools.
    #[error("{tool} answers something else to call {call} (the trees or this program are not what they were)")]
    Result {
        tool: String,
        /// The call, from 0.
        call: u32,
    },
    /// A file is read that was not read.
    #[error("{0} is read, which was not read then")]
    Read(String),
    #[error("it ends otherwise than it did: {now} (then: {then})")]
    End { then: String, now: String },
}
